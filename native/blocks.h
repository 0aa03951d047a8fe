/* What evaluate.c and the kinds of blocks tell each other. */

#ifndef GV_BLOCKS_H
#define GV_BLOCKS_H

#include <stddef.h>

#include "evaluate.h"

/* A point, and what is added to: whichever of these the pass is about. Rows and weights have an entry at −1 too, for
   functions that are left out: what is added to the one is never read, the other stays 0. */
typedef struct gv_pass {
    const double *x, *weight;
    double *rows, *objective, *jacobian, *hessian;
} gv_pass;

/* What is known of a kind. `values` leaves behind, in `state`, what the other two need of the point and is dear. */
typedef struct gv_kind {
    size_t (*state_size)(const gv_block *);
    void (*values)(const gv_block *, double *state, const gv_pass *);
    void (*gradients)(const gv_block *, const double *state, const gv_pass *);
    void (*hessian)(const gv_block *, const double *state, const gv_pass *);
} gv_kind;

extern const gv_kind gv_line_kind;

/* Where the derivatives of a function go: into the dense gradient if its row is the objective. */
static inline double *gv_target(const gv_pass *to, int row)
{
    return row == 0 ? to->objective : to->jacobian;
}

#endif
