/* Functions and derivatives, scaled; what is measured of a point; the filter. */
#include <time.h>

#include "phase.h"

double seconds_now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Objective and rows at the x of w; 1 where all are finite, 0 where not, -1 to stop. */
int values(Ipm *s, const double *w, double *f, double *g) {
    double sum = 0.0, begun = seconds_now();
    int stop = s->fn->values(s->fn->self, w, f, g);
    s->out->seconds_evaluation += seconds_now() - begun;
    if (stop) return -1;
    *f *= s->objective_scale;
    for (int r = 0; r < s->m; r++) g[r] *= s->row_scale[r], sum += g[r];
    return isfinite(sum) && isfinite(*f);
}

int derivatives(Ipm *s) {
    const gv_functions *fn = s->fn;
    double sum = 0.0, begun = seconds_now();
    int stop = fn->gradients(fn->self, s->gradient, s->jacobian);
    s->out->seconds_evaluation += seconds_now() - begun;
    if (stop) return -1;
    for (int i = 0; i < s->n; i++) s->gradient[i] *= s->objective_scale, sum += s->gradient[i];
    for (int e = 0; e < fn->n_jacobian; e++) s->jacobian[e] *= s->row_scale[fn->jacobian_row[e]], sum += s->jacobian[e];
    return isfinite(sum);
}

int lagrangian_hessian(Ipm *s, const Phase *ph) {
    double sum = 0.0, begun = seconds_now();
    for (int r = 0; r < s->m; r++) s->scaled_y[r] = ph->y[r] * s->row_scale[r];
    int stop = s->fn->hessian(s->fn->self, ph->elastic ? 0.0 : s->objective_scale, s->scaled_y, s->hessian);
    s->out->seconds_evaluation += seconds_now() - begun;
    if (stop) return -1;
    for (int h = 0; h < s->fn->n_hessian; h++) sum += s->hessian[h];
    return isfinite(sum);
}

/* Slacks of rows without bounds follow their rows. */
void follow(const Ipm *s, double *w, const double *g) {
    for (int r = 0; r < s->m; r++)
        if (s->kind[r] == FREE_ROW) w[s->n + r] = g[r];
}

double violation_1(const Ipm *s, const double *w, const double *g, const double *p, const double *q) {
    double sum = 0.0;
    for (int r = 0; r < s->m; r++) sum += fabs(row_residual(s, w, g, p, q, r));
    return sum;
}

double violation_unscaled(const Ipm *s) {
    double size = 0.0;
    for (int r = 0; r < s->m; r++) size = larger(size, fabs(s->g[r] - s->w[s->n + r]) / s->row_scale[r]);
    return size;
}

/* A sum of logarithms is that of products, as long as these are numbers. */
typedef struct {
    double sum, product;
} Logs;

static inline void add_log(Logs *logs, double value) {
    logs->product *= value;
    if (logs->product > 1e-100 && logs->product < 1e100) return;
    logs->sum += log(logs->product), logs->product = 1.0;
}

/* φ_μ (4), with a little weight on variables that have but one bound; the objective is the phase's. */
double barrier(const Ipm *s, const Phase *ph, const double *w, double f, const double *p, const double *q) {
    Logs logs = {0.0, 1.0};
    double damped = 0.0;
    for (int k = 0; k < s->bounds_lower; k++) {
        int i = s->lower[k];
        add_log(&logs, above(s, w, i));
        if (s->damping[i] > 0) damped += w[i] - s->l[i];
    }
    for (int k = 0; k < s->bounds_upper; k++) {
        int i = s->upper[k];
        add_log(&logs, below(s, w, i));
        if (s->damping[i] < 0) damped += s->u[i] - w[i];
    }
    if (ph->elastic) {
        f = 0.0;
        for (int i = 0; i < s->n; i++) f += 0.5 * ph->eta * ph->weight[i] * (w[i] - ph->origin[i]) * (w[i] - ph->origin[i]);
        for (int r = 0; r < s->m; r++)
            if (s->kind[r] != FREE_ROW) f += RHO * (p[r] + q[r]), add_log(&logs, p[r]), add_log(&logs, q[r]);
    }
    return f - ph->mu * (logs.sum + log(logs.product)) + KAPPA_D * ph->mu * damped;
}

/* The error of the optimality conditions (5); `*complementarity` is what is added to it by μ. Needs s->jty. */
double error_of(const Ipm *s, const Phase *ph, double mu, double *dual_unscaled) {
    double dual = 0.0, primal = 0.0, complementarity = 0.0, sum_y = 0.0, sum_z = 0.0, elastic = 0.0;
    int n = s->n, counted = 0, bounds = s->bounds_lower + s->bounds_upper;
    for (int i = 0; i < n; i++) {
        if (s->fixed[i]) continue;
        double e = s->jty[i] - ph->zl[i] + ph->zu[i];
        e += ph->elastic ? ph->eta * ph->weight[i] * (s->w[i] - ph->origin[i]) : s->gradient[i];
        dual = larger(dual, fabs(e));
    }
    for (int r = 0; r < s->m; r++) {
        int j = n + r;
        if (s->kind[r] == FREE_ROW) continue;
        if (s->kind[r] == INEQUALITY) dual = larger(dual, fabs(-ph->y[r] - ph->zl[j] + ph->zu[j]));
        primal = larger(primal, fabs(row_residual(s, s->w, s->g, ph->p, ph->q, r)));
        sum_y += fabs(ph->y[r]), counted++;
        if (!ph->elastic) continue;
        dual = larger(dual, larger(fabs(RHO - ph->y[r] - ph->zp[r]), fabs(RHO + ph->y[r] - ph->zq[r])));
        elastic = larger(elastic, larger(fabs(ph->p[r] * ph->zp[r] - mu), fabs(ph->q[r] * ph->zq[r] - mu)));
        sum_z += ph->zp[r] + ph->zq[r], bounds += 2;
    }
    for (int k = 0; k < s->bounds_lower; k++) {
        int i = s->lower[k];
        complementarity = larger(complementarity, fabs((s->w[i] - s->l[i]) * ph->zl[i] - mu)), sum_z += ph->zl[i];
    }
    for (int k = 0; k < s->bounds_upper; k++) {
        int i = s->upper[k];
        complementarity = larger(complementarity, fabs((s->u[i] - s->w[i]) * ph->zu[i] - mu)), sum_z += ph->zu[i];
    }
    double s_d = larger(100.0, (sum_y + sum_z) / larger(1.0, counted + bounds)) / 100.0;
    double s_c = larger(100.0, sum_z / larger(1.0, bounds)) / 100.0;
    if (dual_unscaled) *dual_unscaled = dual / s->objective_scale;
    if (!isfinite(dual + primal + complementarity + elastic)) return INFINITY;
    return larger(larger(dual / s_d, primal), larger(complementarity, elastic) / s_c);
}

int filter_add(Filter *f, double theta, double phi) {
    int kept = 0;
    for (int k = 0; k < f->used; k++) /* those behind the new corner say nothing any more */
        if (f->corner[k].theta < theta || f->corner[k].phi < phi) f->corner[kept++] = f->corner[k];
    f->used = kept;
    if (f->used == f->room) {
        Corner *corner = realloc(f->corner, (size_t)(2 * f->room + 16) * sizeof *corner);
        if (!corner) return -1;
        f->corner = corner, f->room = 2 * f->room + 16;
    }
    f->corner[f->used++] = (Corner){theta, phi};
    return 0;
}

int filter_allows(const Filter *f, double theta, double phi) {
    for (int k = 0; k < f->used; k++)
        if (theta >= f->corner[k].theta && phi >= f->corner[k].phi) return 0;
    return 1;
}
