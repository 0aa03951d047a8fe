/* The linear system of a Newton step of an interior point, condensed, factorised and solved. */
#ifndef GV_KKT_H
#define GV_KKT_H

#include "analyse.h"
#include "functions.h"
#include "ldl.h"

enum { EQUALITY, INEQUALITY, FREE_ROW };
enum { RIGHT = 0, WRONG_INERTIA = 1, SINGULAR_MATRIX = 2 }; /* else a negative number of ldl.h */

/* See kkt.c for the system. `column` and `place` are where variables and rows stand in the condensed matrix, -1: nowhere. */
typedef struct {
    const gv_functions *f;
    const unsigned char *fixed;
    const int *kind;
    int order, entries, positive, negative;
    int *row_start, *hessian_end, *column, *place;
    unsigned char *stays; /* rows that were too heavy to be eliminated */
    Arena memory;         /* of what goes with the places */
    double *value, *weight, *rhs, *residual, *correction, *best;
    const double *hessian, *jacobian, *diagonal, *slack, *dual; /* of the last factorisation */
    gv_ldl *factor;
    double threshold, quality;
    int factorisations, refinements, layouts;
} Kkt;

int kkt_new(Kkt *k, Arena *memory, const gv_functions *f, const unsigned char *fixed, const int *kind);
void kkt_free(Kkt *k);

/* The matrix of these numbers; whether its inertia is that of a minimum. The arrays must stay until the next call. */
int kkt_factor(Kkt *k, const double *hessian, const double *jacobian, const double *diagonal, const double *slack, const double *dual);

/* (dx, ds, dy) of the right-hand sides. `quality` is then the residual beside the size of the system. */
void kkt_solve(Kkt *k, const double *rx, const double *rs, const double *ry, double *dx, double *ds, double *dy);

void jacobian_times(const gv_functions *f, const double *jacobian, const double *x, double *out);
void jacobian_transposed_times(const gv_functions *f, const double *jacobian, const double *y, double *out); /* adds */

#endif
