/* Evaluates a program of blocks (src/gridveil/nlp/problem.py and blocks.py, whose words are used here) in C.

       rows(x) = A·x + constant + Σ functions of blocks,      row 0 is the objective, the others are constraints

   A block has n elements; each has the same functions of the same few locals. A local is a column of x or, for δ of a
   line, the difference of two; a function is added to one row. Where the derivatives of an element go is looked up once
   per pattern and stands in two tables, so that an evaluation is one pass over the elements that adds to the caller's
   arrays. Everything that is pointed to belongs to the caller and must live as long as the evaluator. */

#ifndef GV_EVALUATE_H
#define GV_EVALUATE_H

#include "export.h"
#include "functions.h"

/* Kinds of blocks with their columns | their numbers, each of n entries. */
enum {
    GV_LINES = 1,       /* vm_f vm_t va_f va_t | g b h inverse_rating inverse_tap shift */
                        /* vm_f vm_t va_f va_t u_g u_b u_bc | g b bc (at u = 0) inverse_rating inverse_tap shift */
    GV_SHUNTS,          /* vm | gs −bs */
    GV_SWITCHED_SHUNTS, /* vm on | gs −bs */
    GV_DISTANCE,        /* x | target weight */
    GV_GROWTH,          /* u | power, then a coefficient per function */
    GV_POLYNOMIAL,      /* x | coefficients of x², x³, ... */
    GV_KINDS
};

typedef struct gv_block {
    int kind, n, n_functions, n_locals, n_numbers;
    const int *rows;                /* functions × n: the row of a function, −1 where it is left out */
    const int *const *columns;
    const double *const *numbers;
    const int *jacobian_place;      /* n × (function, column on which it depends): which entry of the Jacobian that is;
                                       of the dense gradient, if the function belongs to the objective */
    const int *hessian_place;       /* n × (pair of locals, its columns): which entry of the Hessian */
} gv_block;

typedef struct gv_program {
    int n_variables, n_constraints, n_blocks, n_linear, n_gradient, n_constant, n_jacobian, n_hessian;
    double constant;                                    /* of the objective */
    const gv_block *blocks;
    const int *linear_row, *linear_column;              /* the entries of A, as they are added to the rows ... */
    const double *linear_coefficient;
    const int *gradient_column;                         /* ... and to the derivatives: to the objective's gradient, */
    const double *gradient_constant;
    const int *constant_place;                          /* and to entries of the Jacobian */
    const double *jacobian_constant;
    const int *jacobian_row, *jacobian_column, *hessian_row, *hessian_column;
} gv_program;

typedef struct gv_evaluator gv_evaluator;

GRIDVEIL_EXPORT gv_evaluator *gv_evaluator_new(const gv_program *program); /* NULL: no memory, or a kind of block that is not known */
GRIDVEIL_EXPORT void gv_evaluator_free(gv_evaluator *evaluator);
GRIDVEIL_EXPORT void gv_evaluator_functions(gv_evaluator *evaluator, gv_functions *out);

#endif
