/* A dense front: the part of the matrix that is at work while a few of its columns are eliminated. */
#ifndef GV_FRONT_H
#define GV_FRONT_H

#include <stddef.h>

/* Of order `order`, by columns, the lower triangle: entry (i, j), i >= j, is entry[i + j·order]. The first `summed`
 * columns are complete and may be eliminated; `id` are the unknowns that rows and columns stand for. */
typedef struct {
    double *entry;
    int *id;
    int order, summed;
} Front;

/* What elimination leaves: pivots (two numbers each, see `gv_eliminate`), and how many there were of which kind. */
typedef struct {
    double *pivot;
    int eliminated, negative, zero;
} Eliminated;

/* Eliminate what can be: columns 0 .. eliminated of the front become those of L (unit diagonal not stored), and what is
 * left is the Schur complement. `last`: nothing may be put off, for there is no later front. Pivot k has numbers
 * (1/d, 0), or, for one of order 2 in columns k and k + 1, (a, b) and (c, 0) with [a b; b c] its inverse; b is never 0.
 * `tiny`: what counts as zero. `scratch` has room for order × summed numbers. */
void gv_eliminate(Front f, double threshold, int last, double tiny, double *scratch, Eliminated *out);

/* x := L⁻¹x and x := L⁻ᵀD⁻¹x along one front, for x gathered in the order of its rows. */
void gv_front_forward(const double *l, int order, int eliminated, double *x);
void gv_front_backward(const double *l, const double *pivot, int order, int eliminated, double *x);

#endif
