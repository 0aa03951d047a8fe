/* Functions and derivatives of a nonlinear program, as whoever minimises it sees them.

       minimise  f(x)    subject to  row_lower ≤ c(x) ≤ row_upper,  x_lower ≤ x ≤ x_upper

   Whatever is behind them (evaluate.c, or a Python evaluator's callbacks), they are called in this order: `values` at
   a point, then `gradients` there, then `hessian` there, each of the two as often as wanted or not at all. Each returns
   0, or something else where the solve must stop (an exception in a callback). A number that cannot be computed is NaN
   and no reason to stop: a line search knows what to do with it. One thread at a time. */

#ifndef GV_FUNCTIONS_H
#define GV_FUNCTIONS_H

typedef struct gv_functions {
    void *self;
    int n, m, n_jacobian, n_hessian;            /* variables, constraints, entries of the two patterns */
    const int *jacobian_row, *jacobian_column;  /* of the constraints, sorted by row, then by column */
    const int *hessian_row, *hessian_column;    /* of the Lagrangian, lower triangle, sorted likewise */
    int (*values)(void *self, const double *x, double *objective, double *rows);
    int (*gradients)(void *self, double *objective_gradient, double *jacobian); /* the former dense, n entries */
    int (*hessian)(void *self, double objective_factor, const double *multipliers, double *hessian);
} gv_functions;

#endif
