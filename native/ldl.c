/* The multifrontal method (Duff and Reid 1983; Liu, SIAM Review 34 (1992) 82-109).
 *
 * Fronts are worked off from the leaves to the roots. A front gathers its entries of the matrix and what its children have
 * left over, eliminates its columns, and leaves the rest on a stack for its parent. In a front stand first its own columns,
 * then columns that children have put off, then its rows; so all places but those of put-off columns are known from the
 * analysis.
 */
#include "ldl.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse.h"
#include "front.h"
#include "numbers.h"

#define TINY 1e-20 /* what counts as zero, of a matrix with entries of order one or more; of a smaller one, that share */

#define LATE 300   /* columns put off into one front, from which on any pivot is good enough: they grow from front to front */

typedef struct {
    void *data;
    size_t room;
} Pool;

struct gv_ldl {
    int n, count, analysed;
    int *row, *column;
    Arena memory;
    Analysis a;
    int *order, *eliminated, *put_off; /* of each front */
    int64_t *at_factor, *at_id;
    Pool factor, pivot, id;            /* L by fronts, the pivots, the unknowns of each front */
    Pool front, scratch, stack, map;   /* at work */
    double *added, *x, *residual; /* added: the values by slots */
    int negative, zero, delayed;
    int64_t entries;
};

/* Room for `count` things of `size` in a pool; what was in it stays. */
static int grow(Pool *p, int64_t count, size_t size) {
    size_t need = (size_t)count * size;
    if (need <= p->room) return 0;
    size_t room = need + need / 4 + 64;
    void *data = realloc(p->data, room);
    if (!data) return -1;
    p->data = data, p->room = room;
    return 0;
}

gv_ldl *gv_ldl_new(int n, int count, const int *row, const int *column, int *status) {
    *status = GV_BAD_PATTERN;
    if (n < 0 || count < 0) return NULL;
    for (int e = 0; e < count; e++)
        if (row[e] < 0 || row[e] >= n || column[e] < 0 || column[e] >= n) return NULL;
    *status = GV_NO_MEMORY;
    gv_ldl *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->n = n, f->count = count;
    f->row = gv_take(&f->memory, (size_t)count, sizeof(int)), f->column = gv_take(&f->memory, (size_t)count, sizeof(int));
    f->x = gv_take(&f->memory, (size_t)n, sizeof(double)), f->residual = gv_take(&f->memory, (size_t)n, sizeof(double));
    if (f->memory.failed) return gv_ldl_free(f), NULL;
    if (count) memcpy(f->row, row, (size_t)count * sizeof(int)), memcpy(f->column, column, (size_t)count * sizeof(int));
    *status = GV_OK;
    return f;
}

void gv_ldl_free(gv_ldl *f) {
    if (!f) return;
    Pool *pools[] = {&f->factor, &f->pivot, &f->id, &f->front, &f->scratch, &f->stack, &f->map};
    for (size_t k = 0; k < sizeof pools / sizeof *pools; k++) free(pools[k]->data);
    gv_release(&f->memory);
    free(f);
}

static int analyse_once(gv_ldl *f, const double *value) {
    if (f->analysed) return GV_OK;
    int status = gv_analyse(&f->a, &f->memory, f->n, f->count, f->row, f->column, value);
    size_t fronts = (size_t)f->a.fronts;
    if (status) return status;
    f->order = gv_take(&f->memory, fronts, sizeof(int)), f->eliminated = gv_take(&f->memory, fronts, sizeof(int));
    f->put_off = gv_take(&f->memory, fronts, sizeof(int));
    f->at_factor = gv_take(&f->memory, fronts, sizeof(int64_t)), f->at_id = gv_take(&f->memory, fronts, sizeof(int64_t));
    f->added = gv_take(&f->memory, (size_t)f->a.slots, sizeof(double));
    f->analysed = !f->memory.failed;
    return f->analysed ? GV_OK : GV_NO_MEMORY;
}

/* Entries of the matrix that begin in front s. */
static void gather_entries(const gv_ldl *f, int s, int own, int put_off, int order, double *front) {
    const Analysis *a = &f->a;
    for (int k = a->slot_start[s]; k < a->slot_start[s + 1]; k++) {
        int i = a->at_row[k];
        front[(i < own ? i : i + put_off) + (size_t)a->at_column[k] * (size_t)order] = f->added[k];
    }
}

/* Add what child c has left over, a full square of the given order by columns; its first columns were put off. */
static void gather_child(gv_ldl *f, int c, int own, int put_off, int first, int order, double *front, const double *rest) {
    const Analysis *a = &f->a;
    int size = f->order[c] - f->eliminated[c], late = f->put_off[c], *map = f->map.data;
    for (int k = 0; k < late; k++) map[k] = own + first + k;
    for (int k = late; k < size; k++) {
        int place = a->place[a->row_start[c] + k - late];
        map[k] = place < own ? place : place + put_off;
    }
    for (int j = 0; j < size; j++) {
        const double *from = rest + (size_t)j * (size_t)size;
        double *to = front + (size_t)map[j] * (size_t)order;
        if (j >= late)
            for (int i = j; i < size; i++) to[map[i]] += from[i];
        else
            for (int i = j; i < size; i++) {
                if (map[i] >= map[j]) to[map[i]] += from[i];
                else front[map[j] + (size_t)map[i] * (size_t)order] += from[i];
            }
    }
}

/* Which unknowns the rows and columns of front s stand for: its own, those put off by its children, its rows. */
static void name_rows(const gv_ldl *f, int s, const int *child, int children, int *id) {
    const Analysis *a = &f->a;
    for (int j = a->first[s]; j < a->first[s + 1]; j++) *id++ = j;
    for (int k = 0; k < children; k++) {
        const int *of_child = (const int *)f->id.data + f->at_id[child[k]] + f->eliminated[child[k]];
        for (int j = 0; j < f->put_off[child[k]]; j++) *id++ = of_child[j];
    }
    for (int k = a->row_start[s]; k < a->row_start[s + 1]; k++) *id++ = a->row[k];
}

/* One front: gather, eliminate, keep, leave the rest on the stack (`*top` numbers high). */
static int work_off(gv_ldl *f, int s, const int *child, int64_t *top, int64_t *ids, double threshold, double tiny) {
    const Analysis *a = &f->a;
    int own = a->first[s + 1] - a->first[s], rows = a->row_start[s + 1] - a->row_start[s], children = a->children[s];
    int put_off = 0, last = a->parent[s] < 0;
    for (int k = 0; k < children; k++) put_off += f->put_off[child[k]];
    int summed = own + put_off, order = summed + rows;
    int64_t square = (int64_t)order * order, panel = (int64_t)order * summed;
    if (grow(&f->front, square, sizeof(double)) || grow(&f->scratch, panel, sizeof(double))) return GV_NO_MEMORY;
    if (grow(&f->factor, f->entries + panel, sizeof(double)) || grow(&f->pivot, 2 * (*ids + summed), sizeof(double))) return GV_NO_MEMORY;
    if (grow(&f->id, *ids + order, sizeof(int)) || grow(&f->map, order, sizeof(int))) return GV_NO_MEMORY;
    double *front = f->front.data;
    int *id = (int *)f->id.data + *ids;
    name_rows(f, s, child, children, id);
    for (int j = 0; j < order; j++) memset(front + j + (size_t)j * (size_t)order, 0, (size_t)(order - j) * sizeof(double));
    gather_entries(f, s, own, put_off, order, front);
    for (int k = children - 1, first = put_off; k >= 0; k--) { /* the last child's rest lies on top */
        int64_t size = f->order[child[k]] - f->eliminated[child[k]];
        first -= f->put_off[child[k]];
        *top -= size * size;
        gather_child(f, child[k], own, put_off, first, order, front, (const double *)f->stack.data + *top);
    }
    Eliminated done = {.pivot = (double *)f->pivot.data + 2 * *ids};
    gv_eliminate((Front){front, id, order, summed}, put_off > LATE ? 0.0 : threshold, last, tiny, f->scratch.data, &done);
    int64_t kept = (int64_t)order * done.eliminated, rest = order - done.eliminated;
    memcpy((double *)f->factor.data + f->entries, front, (size_t)kept * sizeof(double));
    f->order[s] = order, f->eliminated[s] = done.eliminated, f->put_off[s] = summed - done.eliminated;
    f->at_factor[s] = f->entries, f->at_id[s] = *ids;
    f->entries += kept, *ids += order;
    f->negative += done.negative, f->zero += done.zero, f->delayed += summed - done.eliminated;
    if (last) return GV_OK;
    if (grow(&f->stack, *top + rest * rest, sizeof(double))) return GV_NO_MEMORY;
    double *left = (double *)f->stack.data + *top;
    for (int64_t j = 0; j < rest; j++)
        memcpy(left + j * rest + j, front + (done.eliminated + j) * (int64_t)(order + 1), (size_t)(rest - j) * sizeof(double));
    *top += rest * rest;
    return GV_OK;
}

static int all_finite(const double *value, int count) { /* 0·∞ and 0·NaN are NaN */
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    int e = 0;
    for (; e + 3 < count; e += 4) s0 += 0.0 * value[e], s1 += 0.0 * value[e + 1], s2 += 0.0 * value[e + 2], s3 += 0.0 * value[e + 3];
    for (; e < count; e++) s0 += 0.0 * value[e];
    return s0 + s1 + s2 + s3 == 0.0;
}

double *gv_ldl_sums(gv_ldl *f, const int **at) {
    if (!f->analysed) return NULL;
    memset(f->added, 0, (size_t)f->a.slots * sizeof(double));
    *at = f->a.slot;
    return f->added;
}

int gv_ldl_factor(gv_ldl *f, const double *value, double threshold) {
    if (!all_finite(value, f->count)) return GV_NOT_FINITE;
    int status = analyse_once(f, value);
    if (status) return status;
    const int *at;
    double *sums = gv_ldl_sums(f, &at);
    for (int e = 0; e < f->count; e++) sums[at[e]] += value[e];
    return gv_ldl_factor_sums(f, threshold);
}

int gv_ldl_factor_sums(gv_ldl *f, double threshold) {
    int status = GV_OK, waiting = 0;
    if (!all_finite(f->added, f->a.slots)) return GV_NOT_FINITE;
    double largest = largest_of(f->added, f->a.slots);
    int *open = malloc(((size_t)f->a.fronts + 1) * sizeof(int)); /* fronts whose parent is still to come, as a stack */
    int64_t top = 0, ids = 0;
    if (!open) return GV_NO_MEMORY;
    f->negative = f->zero = f->delayed = 0, f->entries = 0;
    for (int s = 0; s < f->a.fronts && !status; s++) {
        waiting -= f->a.children[s];
        status = work_off(f, s, open + waiting, &top, &ids, threshold, TINY * (largest < 1.0 ? largest : 1.0));
        open[waiting] = s;
        waiting += f->a.parent[s] >= 0;
    }
    free(open);
    return status ? status : f->zero ? GV_SINGULAR : GV_OK;
}

void gv_ldl_solve(gv_ldl *f, double *b) {
    const Analysis *a = &f->a;
    double *x = f->x, *w = f->front.data; /* a front has at least as many entries as rows */
    for (int i = 0; i < f->n; i++) x[i] = b[a->permutation[i]];
    for (int s = 0; s < a->fronts; s++) {
        const int *id = (const int *)f->id.data + f->at_id[s];
        for (int i = 0; i < f->order[s]; i++) w[i] = x[id[i]];
        gv_front_forward((const double *)f->factor.data + f->at_factor[s], f->order[s], f->eliminated[s], w);
        for (int i = 0; i < f->order[s]; i++) x[id[i]] = w[i];
    }
    for (int s = a->fronts - 1; s >= 0; s--) {
        const int *id = (const int *)f->id.data + f->at_id[s];
        for (int i = 0; i < f->order[s]; i++) w[i] = x[id[i]];
        gv_front_backward((const double *)f->factor.data + f->at_factor[s], (const double *)f->pivot.data + 2 * f->at_id[s], f->order[s], f->eliminated[s], w);
        for (int i = 0; i < f->eliminated[s]; i++) x[id[i]] = w[i];
    }
    for (int i = 0; i < f->n; i++) b[a->permutation[i]] = x[i];
}

/* residual := b − A·x; returns its largest entry. */
static double residual(gv_ldl *f, const double *value, const double *b, const double *x) {
    double *r = f->residual;
    for (int i = 0; i < f->n; i++) r[i] = b[i];
    for (int e = 0; e < f->count; e++) {
        int i = f->row[e], j = f->column[e];
        r[i] -= value[e] * x[j];
        if (i != j) r[j] -= value[e] * x[i];
    }
    return largest_of(r, f->n);
}

double gv_ldl_refine(gv_ldl *f, const double *value, const double *b, double *x, int steps) {
    for (int i = 0; i < f->n; i++) x[i] = b[i];
    gv_ldl_solve(f, x);
    double size = residual(f, value, b, x);
    for (int step = 0; step < steps && size > 0.0; step++) {
        gv_ldl_solve(f, f->residual);
        for (int i = 0; i < f->n; i++) x[i] += f->residual[i];
        memcpy(f->x, f->residual, (size_t)f->n * sizeof(double)); /* the step, should it have to be taken back */
        double *taken = f->x, after;
        for (int i = 0; i < f->n; i++) f->x[i] = taken[i];
        after = residual(f, value, b, x);
        if (!(after < size)) {
            for (int i = 0; i < f->n; i++) x[i] -= f->x[i];
            return size;
        }
        size = after;
    }
    return size;
}

int gv_ldl_negative(const gv_ldl *f) { return f->negative; }
int gv_ldl_zero(const gv_ldl *f) { return f->zero; }
int gv_ldl_delayed(const gv_ldl *f) { return f->delayed; }
long long gv_ldl_entries(const gv_ldl *f) { return f->entries; }
long long gv_ldl_analysed(const gv_ldl *f) { return f->a.entries; }
