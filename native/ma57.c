/* The factorisation under the five names that Ipopt calls HSL's MA57 by, so that Ipopt takes it through `hsllib`.
 *
 * Written from the argument lists that Ipopt declares; nothing of HSL's is in it. What MA57 keeps in the arrays KEEP, FACT
 * and IFACT is here one object, whose address is kept in them. MA57 has no call that gives memory back, for all of it
 * belongs to the caller; so the objects of a thread stand in a list until `gridveil_ma57_release`.
 */
#include <stdlib.h>
#include <string.h>

#include "gridveil.h"
#include "ldl.h"

typedef struct Made {
    gv_ldl *object;
    struct Made *before;
} Made;

static _Thread_local Made *made;

void gridveil_ma57_release(void) {
    while (made) {
        Made *one = made;
        made = one->before;
        gv_ldl_free(one->object);
        free(one);
    }
}

enum { SINGULAR = 4, OUT_OF_MEMORY = -100, NOT_FINITE = -101 };
enum { NEEDED_REAL = 8, NEEDED_INTEGER = 9, NEGATIVE = 23, RANK = 24, IN_FACTOR = 13, DELAYED = 22 }; /* places in INFO */

GRIDVEIL_EXPORT void ma57id_(double *cntl, int *icntl) {
    memset(cntl, 0, 5 * sizeof *cntl);
    memset(icntl, 0, 20 * sizeof *icntl);
    cntl[0] = 0.01;
}

static void keep_address(int *place, gv_ldl *object) { memcpy(place, &object, sizeof object); }

static gv_ldl *address(const int *place) {
    gv_ldl *object;
    memcpy(&object, place, sizeof object);
    return object;
}

/* Analyse: only the pattern is kept; the order of pivots is chosen when values are known. Indices count from 1. */
GRIDVEIL_EXPORT void ma57ad_(const int *n, const int *ne, const int *irn, const int *jcn, const int *lkeep, int *keep, int *iwork,
             int *icntl, int *info, double *rinfo) {
    int status = GV_NO_MEMORY, count = *ne;
    int *row = malloc(((size_t)count + 1) * sizeof(int)), *column = malloc(((size_t)count + 1) * sizeof(int));
    Made *one = malloc(sizeof *one);
    gv_ldl *object = NULL;
    if (row && column && one) {
        for (int e = 0; e < count; e++) row[e] = irn[e] - 1, column[e] = jcn[e] - 1;
        object = gv_ldl_new(*n, count, row, column, &status);
    }
    free(row), free(column);
    memset(info, 0, 40 * sizeof *info);
    (void)lkeep, (void)iwork, (void)icntl, (void)rinfo;
    if (!object) {
        free(one);
        info[0] = status == GV_NO_MEMORY ? OUT_OF_MEMORY : status;
        return;
    }
    one->object = object, one->before = made;
    made = one;
    keep_address(keep, object);
    info[NEEDED_REAL] = info[NEEDED_INTEGER] = 16; /* for the address */
}

GRIDVEIL_EXPORT void ma57bd_(const int *n, const int *ne, const double *a, double *fact, const int *lfact, int *ifact, const int *lifact,
             const int *lkeep, const int *keep, int *iwork, const int *icntl, const double *cntl, int *info, double *rinfo) {
    gv_ldl *object = address(keep);
    int status = gv_ldl_factor(object, a, cntl[0]);
    (void)ne, (void)fact, (void)lfact, (void)lifact, (void)lkeep, (void)iwork, (void)icntl, (void)rinfo;
    keep_address(ifact, object);
    info[0] = status == GV_OK ? 0 : status == GV_SINGULAR ? SINGULAR : status == GV_NO_MEMORY ? OUT_OF_MEMORY : NOT_FINITE;
    info[NEGATIVE] = gv_ldl_negative(object);
    info[RANK] = *n - gv_ldl_zero(object);
    info[DELAYED] = gv_ldl_delayed(object);
}

GRIDVEIL_EXPORT void ma57cd_(const int *job, const int *n, const double *fact, const int *lfact, const int *ifact, const int *lifact,
             const int *nrhs, double *rhs, const int *lrhs, double *work, const int *lwork, int *iwork, const int *icntl,
             int *info) {
    (void)job, (void)n, (void)fact, (void)lfact, (void)lifact, (void)work, (void)lwork, (void)iwork, (void)icntl;
    for (int k = 0; k < *nrhs; k++) gv_ldl_solve(address(ifact), rhs + (size_t)k * (size_t)*lrhs);
    info[0] = 0;
}

/* Copy to larger arrays: there is but the address in them. */
GRIDVEIL_EXPORT void ma57ed_(const int *n, const int *ic, int *keep, const double *fact, const int *lfact, double *newfac, const int *lnew,
             const int *ifact, const int *lifact, int *newifc, const int *linew, int *info) {
    (void)n, (void)keep, (void)fact, (void)lfact, (void)newfac, (void)lnew, (void)lifact, (void)linew;
    if (*ic >= 1) keep_address(newifc, address(ifact));
    info[0] = 0;
}
