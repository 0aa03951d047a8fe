/* A = L·D·Lᵀ of a sparse symmetric matrix that need not be definite: multifrontal, with threshold pivots of order 1 and 2.
 *
 * The pattern is analysed once, at the first factorisation; later ones of the same pattern only compute. An object must
 * not be used by two threads at once; different objects share nothing. */
#ifndef GV_LDL_H
#define GV_LDL_H

#include "export.h"

enum {
    GV_OK = 0,
    GV_SINGULAR = 1,    /* some pivots are zero; they were skipped, and `gv_ldl_zero` counts them */
    GV_NO_MEMORY = -1,
    GV_NOT_FINITE = -2, /* a value is infinite or no number */
    GV_BAD_PATTERN = -3 /* an index is out of range */
};

typedef struct gv_ldl gv_ldl;

/* Of order n, with `count` entries at (row, column) of either triangle; entries of one place add up. The arrays are
 * copied. Returns NULL if memory runs out or an index lies outside 0..n-1, and says which in `status`. */
GRIDVEIL_EXPORT gv_ldl *gv_ldl_new(int n, int count, const int *row, const int *column, int *status);
GRIDVEIL_EXPORT void gv_ldl_free(gv_ldl *f);

/* Factorise. A pivot is taken if it is at least `threshold` (0 to 0.5) of what stands in its column. */
GRIDVEIL_EXPORT int gv_ldl_factor(gv_ldl *f, const double *value, double threshold);

/* The same in two steps, once the pattern is analysed (before, NULL): the zeroed sums to add entries to, entry e at
 * `(*at)[e]`, and their factorisation. */
GRIDVEIL_EXPORT double *gv_ldl_sums(gv_ldl *f, const int **at);
GRIDVEIL_EXPORT int gv_ldl_factor_sums(gv_ldl *f, double threshold);

/* Solve in place; of a singular matrix the parts along zero pivots are zero. */
GRIDVEIL_EXPORT void gv_ldl_solve(gv_ldl *f, double *b);

/* The same, then refine against the values up to `steps` times while the residual falls. Returns its largest entry. */
GRIDVEIL_EXPORT double gv_ldl_refine(gv_ldl *f, const double *value, const double *b, double *x, int steps);

GRIDVEIL_EXPORT int gv_ldl_negative(const gv_ldl *f);      /* negative eigenvalues */
GRIDVEIL_EXPORT int gv_ldl_zero(const gv_ldl *f);          /* zero pivots */
GRIDVEIL_EXPORT int gv_ldl_delayed(const gv_ldl *f);       /* pivots that were put off to a later front */
GRIDVEIL_EXPORT long long gv_ldl_entries(const gv_ldl *f); /* of the factor */
GRIDVEIL_EXPORT long long gv_ldl_analysed(const gv_ldl *f); /* the entries that the analysis foresaw */

#endif
