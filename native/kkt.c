/* A Newton step of the interior point solves, in variables x, slacks s and multipliers y of the rows g(x) − s = 0,
 *
 *     [ H + D        Jᵀ ] [dx]   [rx]      H, J    of the Lagrangian and the rows
 *     [       S     −I  ] [ds] = [rs]      D       of the barrier on x (and what corrects the inertia), diagonal
 *     [ J    −I     −E  ] [dy]   [ry]      S, E    of the barrier on s, and of whatever softens a row; diagonal
 *
 * An equality has no ds (its 1/S is 0). Slacks are always eliminated: with 1/w = 1/S + E and q = ry + rs/S
 *
 *     J·dx − dy/w = q,      so      dy = w·(J·dx − q)      and      ds = (rs + dy)/S.
 *
 * A short row of an inequality is eliminated altogether, which adds w·jᵀj to the matrix and w·q·j to its right-hand side
 * (the *condensed* form); an equality stays as a row with the diagonal −E, and so does a row with many entries, which
 * would fill the matrix. The system has a minimum where the matrix has one negative eigenvalue for each row that stays.
 *
 * Where a limit holds, w grows without bound, and w·jᵀj would round away what it is added to. Where such a matrix has the
 * wrong inertia or its solution does not come out exactly, rows that heavy become rows that stay, for good (`lay_out_anew`).
 */
#include "kkt.h"

#include <math.h>
#include <string.h>

#include "numbers.h"

#define SHORT 10           /* entries of a row that is eliminated */
#define HEAVY 1e9          /* what a row may add to the matrix before it is suspected of rounding others away */
#define REFINED 1e-10      /* a residual below that share of the system is left */
#define MOST_REFINEMENTS 6
#define EXACT 1e-8         /* what counts as solved exactly */

#define DOUBLES(count) ((double *)gv_take(memory, (size_t)(count), sizeof(double)))
#define INTS(count) ((int *)gv_take(memory, (size_t)(count), sizeof(int)))

static int eliminated(const Kkt *k, int row) {
    return k->kind[row] == INEQUALITY && k->row_start[row + 1] - k->row_start[row] <= SHORT && !k->stays[row];
}

/* Visit the entries of the condensed matrix in their order: with `at` null count them, else write where they stand. */
static int lay_out(const Kkt *k, int *row, int *column) {
    const gv_functions *f = k->f;
    int e = 0;
#define ENTRY(i, j) (row ? (row[e] = (i), column[e] = (j)) : 0, e++)
    for (int h = 0; h < f->n_hessian; h++) {
        int i = k->column[f->hessian_row[h]], j = k->column[f->hessian_column[h]];
        if (i >= 0 && j >= 0) ENTRY(i, j);
    }
    for (int i = 0; i < k->order; i++) ENTRY(i, i);
    for (int r = 0; r < f->m; r++) {
        int from = k->row_start[r], to = k->row_start[r + 1];
        if (k->kind[r] == FREE_ROW) continue;
        for (int p = from; p < to; p++) {
            int i = k->column[f->jacobian_column[p]];
            if (i < 0) continue;
            if (k->place[r] >= 0) ENTRY(i, k->place[r]);
            else
                for (int q = from; q <= p; q++)
                    if (k->column[f->jacobian_column[q]] >= 0) ENTRY(i, k->column[f->jacobian_column[q]]);
        }
    }
#undef ENTRY
    return e;
}

/* Places of what is left, and a factorisation of that pattern. */
static int set_up(Kkt *k) {
    const gv_functions *f = k->f;
    Arena tmp = {0}, *memory = &k->memory;
    int status;
    gv_ldl_free(k->factor), k->factor = NULL;
    gv_release(memory);
    k->order = k->positive, k->negative = 0;
    for (int r = 0; r < f->m; r++) {
        int stays = k->kind[r] != FREE_ROW && !eliminated(k, r);
        k->place[r] = stays ? k->order++ : -1, k->negative += stays;
    }
    k->entries = lay_out(k, NULL, NULL);
    k->value = DOUBLES(k->entries), k->rhs = DOUBLES(k->order);
    int *row = gv_take(&tmp, (size_t)k->entries, sizeof(int)), *column = gv_take(&tmp, (size_t)k->entries, sizeof(int));
    if (memory->failed || tmp.failed) return gv_release(&tmp), GV_NO_MEMORY;
    lay_out(k, row, column);
    k->factor = gv_ldl_new(k->order, k->entries, row, column, &status);
    gv_release(&tmp);
    return status;
}

int kkt_new(Kkt *k, Arena *memory, const gv_functions *f, const unsigned char *fixed, const int *kind) {
    int n = f->n, m = f->m;
    size_t whole = (size_t)n + 2 * (size_t)m;
    memset(k, 0, sizeof *k);
    k->f = f, k->fixed = fixed, k->kind = kind, k->threshold = 1e-8;
    k->row_start = INTS(m + 1), k->hessian_end = INTS(n), k->column = INTS(n), k->place = INTS(m), k->weight = DOUBLES(m);
    k->stays = gv_take(memory, (size_t)m, 1);
    k->residual = DOUBLES(whole), k->correction = DOUBLES(whole), k->best = DOUBLES(whole);
    if (memory->failed) return GV_NO_MEMORY;
    for (int e = 0; e < f->n_jacobian; e++) k->row_start[f->jacobian_row[e] + 1]++;
    for (int r = 0; r < m; r++) k->row_start[r + 1] += k->row_start[r];
    for (int h = 0; h < f->n_hessian; h++) k->hessian_end[f->hessian_row[h]]++;
    for (int i = 1; i < n; i++) k->hessian_end[i] += k->hessian_end[i - 1];
    for (int i = 0; i < n; i++) k->column[i] = fixed[i] ? -1 : k->positive++;
    return set_up(k);
}

void kkt_free(Kkt *k) {
    gv_ldl_free(k->factor);
    gv_release(&k->memory);
}

/* Let heavy rows stay. Returns whether there were any: 1, 0, or a negative status. */
static int lay_out_anew(Kkt *k) {
    int found = 0;
    for (int r = 0; r < k->f->m; r++) {
        double size = 0.0;
        if (k->place[r] >= 0 || k->kind[r] == FREE_ROW) continue;
        for (int p = k->row_start[r]; p < k->row_start[r + 1]; p++) size = larger(size, k->jacobian[p] * k->jacobian[p]);
        if (size * k->weight[r] > HEAVY) k->stays[r] = 1, found = 1;
    }
    if (!found) return 0;
    k->layouts++;
    int status = set_up(k);
    return status ? status : 1;
}

/* Write the numbers, in the order of `lay_out`; or, where it is known `at` which places entries meet, add them up there. */
static inline void fill(const Kkt *k, double *v, const int *at) {
    const gv_functions *f = k->f;
    int e = 0;
#define PUT(number) (at ? (v[at[e]] += (number)) : (v[e] = (number)), e++)
    for (int h = 0; h < f->n_hessian; h++)
        if (k->column[f->hessian_row[h]] >= 0 && k->column[f->hessian_column[h]] >= 0) PUT(k->hessian[h]);
    for (int i = 0; i < f->n; i++)
        if (k->column[i] >= 0) PUT(k->diagonal[i]);
    for (int r = 0; r < f->m; r++)
        if (k->place[r] >= 0) PUT(k->kind[r] == EQUALITY ? -k->dual[r] : -(1.0 / k->slack[r] + k->dual[r]));
    for (int r = 0; r < f->m; r++) {
        int from = k->row_start[r], to = k->row_start[r + 1];
        if (k->kind[r] == FREE_ROW) continue;
        double w = k->kind[r] == EQUALITY ? 0.0 : 1.0 / (1.0 / k->slack[r] + k->dual[r]);
        k->weight[r] = w; /* for `solve_once`, too */
        for (int p = from; p < to; p++) {
            if (k->column[f->jacobian_column[p]] < 0) continue;
            if (k->place[r] >= 0) {
                PUT(k->jacobian[p]);
                continue;
            }
            double weighted = w * k->jacobian[p];
            for (int q = from; q <= p; q++)
                if (k->column[f->jacobian_column[q]] >= 0) PUT(weighted * k->jacobian[q]);
        }
    }
#undef PUT
}

static int factor_once(Kkt *k) {
    const int *at;
    double *sums = gv_ldl_sums(k->factor, &at);
    int status;
    k->factorisations++;
    if (sums) fill(k, sums, at), status = gv_ldl_factor_sums(k->factor, k->threshold);
    else fill(k, k->value, NULL), status = gv_ldl_factor(k->factor, k->value, k->threshold);
    if (status < 0) return status;
    if (status == GV_SINGULAR) return SINGULAR_MATRIX;
    return gv_ldl_negative(k->factor) == k->negative ? RIGHT : WRONG_INERTIA;
}

int kkt_factor(Kkt *k, const double *hessian, const double *jacobian, const double *diagonal, const double *slack, const double *dual) {
    k->hessian = hessian, k->jacobian = jacobian, k->diagonal = diagonal, k->slack = slack, k->dual = dual;
    int status = factor_once(k), changed = status > 0 ? lay_out_anew(k) : 0;
    return changed < 0 ? changed : changed ? factor_once(k) : status;
}

/* One solve through the condensed matrix. */
static void solve_once(Kkt *k, const double *rx, const double *rs, const double *ry, double *dx, double *ds, double *dy) {
    const gv_functions *f = k->f;
    double *b = k->rhs;
    for (int i = 0; i < f->n; i++)
        if (k->column[i] >= 0) b[k->column[i]] = rx[i];
    for (int r = 0; r < f->m; r++) {
        if (k->kind[r] == FREE_ROW) continue;
        double q = ry[r] + (k->kind[r] == EQUALITY ? 0.0 : rs[r] / k->slack[r]);
        dy[r] = q;
        if (k->place[r] >= 0) {
            b[k->place[r]] = q;
            continue;
        }
        q *= k->weight[r];
        for (int p = k->row_start[r]; p < k->row_start[r + 1]; p++) {
            int i = k->column[f->jacobian_column[p]];
            if (i >= 0) b[i] += q * k->jacobian[p];
        }
    }
    gv_ldl_solve(k->factor, b);
    for (int i = 0; i < f->n; i++) dx[i] = k->column[i] >= 0 ? b[k->column[i]] : 0.0;
    for (int r = 0; r < f->m; r++) {
        if (k->kind[r] == FREE_ROW) {
            dy[r] = ds[r] = 0.0;
            continue;
        }
        if (k->place[r] >= 0) dy[r] = b[k->place[r]];
        else {
            double sum = -dy[r];
            for (int p = k->row_start[r]; p < k->row_start[r + 1]; p++) sum += k->jacobian[p] * dx[f->jacobian_column[p]];
            dy[r] = k->weight[r] * sum;
        }
        ds[r] = k->kind[r] == EQUALITY ? 0.0 : (rs[r] + dy[r]) / k->slack[r];
    }
}

void jacobian_times(const gv_functions *f, const double *jacobian, const double *x, double *out) {
    memset(out, 0, (size_t)f->m * sizeof(double));
    for (int e = 0; e < f->n_jacobian; e++) out[f->jacobian_row[e]] += jacobian[e] * x[f->jacobian_column[e]];
}

void jacobian_transposed_times(const gv_functions *f, const double *jacobian, const double *y, double *out) {
    for (int e = 0; e < f->n_jacobian; e++) out[f->jacobian_column[e]] += jacobian[e] * y[f->jacobian_row[e]];
}

/* What is left of the right-hand sides; returns its largest entry. */
static double remainder_of(Kkt *k, const double *rx, const double *rs, const double *ry, const double *dx, const double *ds, const double *dy) {
    const gv_functions *f = k->f;
    int n = f->n, m = f->m;
    double *ex = k->residual, *es = ex + n, *ey = es + m, largest = 0.0;
    for (int i = 0; i < n; i++) ex[i] = -k->diagonal[i] * dx[i];
    for (int i = 0, h = 0; i < n; i++) { /* a row at a time: its sum stays in a register */
        double sum = 0.0, x = dx[i];
        for (; h < k->hessian_end[i]; h++) {
            int j = f->hessian_column[h];
            sum += k->hessian[h] * dx[j];
            if (i != j) ex[j] -= k->hessian[h] * x;
        }
        ex[i] -= sum;
    }
    for (int r = 0; r < m; r++) {
        double sum = 0.0, y = dy[r];
        for (int e = k->row_start[r]; e < k->row_start[r + 1]; e++) {
            int i = f->jacobian_column[e];
            ex[i] -= k->jacobian[e] * y, sum += k->jacobian[e] * dx[i];
        }
        ey[r] = ry[r] + ds[r] + k->dual[r] * y - sum;
    }
    for (int i = 0; i < n; i++) ex[i] = k->fixed[i] ? 0.0 : ex[i] + rx[i], largest = larger(largest, fabs(ex[i]));
    for (int r = 0; r < m; r++) {
        es[r] = k->kind[r] == INEQUALITY ? rs[r] - k->slack[r] * ds[r] + dy[r] : 0.0;
        if (k->kind[r] == FREE_ROW) ey[r] = 0.0;
        largest = larger(largest, larger(fabs(es[r]), fabs(ey[r])));
    }
    return largest;
}

static double size_of(const Kkt *k, const double *x, const double *s, const double *y) {
    return larger(largest_of(x, k->f->n), larger(largest_of(s, k->f->m), largest_of(y, k->f->m)));
}

static void solve_refined(Kkt *k, const double *rx, const double *rs, const double *ry, double *dx, double *ds, double *dy) {
    int n = k->f->n, m = k->f->m;
    double right = larger(size_of(k, rx, rs, ry), 1e-300), before = INFINITY;
    double *cx = k->correction, *cs = cx + n, *cy = cs + m, *bx = k->best, *bs = bx + n, *by = bs + m;
    solve_once(k, rx, rs, ry, dx, ds, dy);
    for (int step = 0;; step++) {
        double left = size_of(k, dx, ds, dy);
        double ratio = remainder_of(k, rx, rs, ry, dx, ds, dy) / (right + smaller(left, 1e6 * right));
        if (!(ratio < before)) { /* no better: the one before it */
            if (step == 0) break;
            memcpy(dx, bx, (size_t)n * sizeof(double)), memcpy(ds, bs, (size_t)m * sizeof(double)), memcpy(dy, by, (size_t)m * sizeof(double));
            break;
        }
        int slow = ratio > 0.5 * before;
        before = ratio;
        if (ratio <= REFINED || step == MOST_REFINEMENTS || slow) break;
        memcpy(bx, dx, (size_t)n * sizeof(double)), memcpy(bs, ds, (size_t)m * sizeof(double)), memcpy(by, dy, (size_t)m * sizeof(double));
        solve_once(k, k->residual, k->residual + n, k->residual + n + m, cx, cs, cy);
        for (int i = 0; i < n; i++) dx[i] += cx[i];
        for (int r = 0; r < m; r++) ds[r] += cs[r], dy[r] += cy[r];
        k->refinements++;
    }
    k->quality = before;
}

void kkt_solve(Kkt *k, const double *rx, const double *rs, const double *ry, double *dx, double *ds, double *dy) {
    solve_refined(k, rx, rs, ry, dx, ds, dy);
    if (k->quality <= EXACT || lay_out_anew(k) != 1 || factor_once(k) < 0) return;
    solve_refined(k, rx, rs, ry, dx, ds, dy);
}
