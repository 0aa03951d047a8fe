/* A primal-dual interior point with a filter: see ipm.c. */
#ifndef GV_IPM_H
#define GV_IPM_H

#include "export.h"
#include "functions.h"

typedef enum {
    IPM_OPTIMAL = 0,
    IPM_ACCEPTABLE = 1,       /* ten times in a row within the looser tolerance */
    IPM_INFEASIBLE = 2,       /* a local minimum of the constraints' violation */
    IPM_STOPPED = 3,          /* by `progress`, or by a function that said stop */
    IPM_ITERATIONS = 4,
    IPM_TIME = 5,
    IPM_STUCK = 6,            /* no step helps, nor does a restoration */
    IPM_NOT_FINITE = 7,       /* a function or derivative at a point that was needed */
    IPM_BAD_PROBLEM = 8,      /* contradictory bounds, or more equations than variables */
    IPM_NO_MEMORY = 9
} ipm_status;

typedef struct {
    double tolerance;              /* of the optimality conditions, scaled */
    double violation;              /* of the constraints, unscaled */
    double acceptable;
    double mu;                     /* first barrier parameter */
    double push;                   /* how far, relatively, a start is pushed away from its bounds */
    double max_seconds;            /* 0: no limit */
    int max_iterations;
    int restored;                  /* begin with a restoration */
    int multipliers;               /* y, zl, zu of the start are trusted */
    int (*progress)(void *context, int mode, int iteration, double objective, double infeasibility); /* nonzero: stop */
    void *context;
} ipm_options;

typedef struct {
    int status, iterations, factorisations, refinements, restorations, corrected;
    long long entries; /* of the last factor */
    double objective, error, violation, seconds_evaluation;
} ipm_result;

/* Minimise from x; x, y (of the rows), zl and zu (of the variables' bounds) are those of the end. The Lagrangian is
 * f + yᵀg − zlᵀ(x − l) + zuᵀ(x − u). Returns 0, or -1 if memory ran out. */
GRIDVEIL_EXPORT int gv_minimise(const gv_functions *f, const double *x_lower, const double *x_upper, const double *row_lower,
                 const double *row_upper, const ipm_options *options, double *x, double *y, double *zl, double *zu,
                 ipm_result *result);

#endif
