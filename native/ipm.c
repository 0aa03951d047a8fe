/* Minimise f(x) subject to g(x) − s = 0 and bounds on x and s: a primal-dual interior point with a filter line search
 * (Wächter and Biegler, Math. Programming 106 (2006) 25-57; their symbols where they have one, their constants but where
 * said). Equations (n) below are theirs.
 *
 * The variables are w = (x, s), one slack to a row; that of an equality stands still at its value, that of a row without
 * bounds follows the row. A *phase* minimises; the restoration is a second phase of the same loop, whose rows are
 * softened by elastic parts, g(x) − s − p + q = 0, and whose objective is ρ·Σ(p + q) + η/2·|D(x − x_R)|²  (29).
 */
#include "ipm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kkt.h"
#include "numbers.h"

#define NONE 1e19 /* bounds beyond are none */
#define RELAXED 1e-8
#define KAPPA_D 1e-5
#define RHO 1000.0
#define EPS 2.220446049250313e-16

typedef struct {
    double theta, phi;
} Corner;

typedef struct {
    Corner *corner;
    int used, room;
} Filter;

typedef struct Phase {
    double mu, tau, theta_min, theta_max, shift; /* shift: the last correction of the inertia */
    double *y, *zl, *zu;
    double *p, *q, *zp, *zq, *origin, *weight, eta; /* of a restoration */
    int elastic;
    Filter filter;
    double f, theta, phi; /* at the current point */
    int tiny_steps, resets, blocked;
} Phase;

typedef struct {
    const gv_functions *fn;
    const ipm_options *opt;
    ipm_result *out;
    Arena memory;
    Kkt kkt;
    int n, m, N, bounds_lower, bounds_upper, single;
    int *kind, *lower, *upper; /* rows; which of w have bounds */
    unsigned char *fixed;      /* of w */
    double *l, *u, *damping;   /* damping: +1 with a lower bound alone, −1 with an upper one alone */
    double *row_scale, objective_scale;
    double *w, *g, *gradient, *jacobian, *hessian, *jty, *scaled_y;
    double *trial, *trial_g, *trial_p, *trial_q, trial_f;
    double *sigma, *slope, *diagonal, *dw, *dy, *dzl, *dzu, *dp, *dq, *dzp, *dzq, *rx, *ry, *soft, *dw2, *dy2, *dzl2, *dzu2, *ry2;
    double started, *zero, *one;
    int acceptable_in_a_row, halted;
} Ipm;

static double seconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double most(const double *a, int count) {
    double size = 0.0;
    for (int i = 0; i < count; i++) size = fabs(a[i]) > size ? fabs(a[i]) : size;
    return size;
}

/* ---- functions and derivatives, scaled ---------------------------------------------------------------------------- */

/* Objective and rows at the x of w; 1 where all are finite, 0 where not, -1 to stop. */
static int values(Ipm *s, const double *w, double *f, double *g) {
    double sum = 0.0, begun = seconds();
    int stop = s->fn->values(s->fn->self, w, f, g);
    s->out->seconds_evaluation += seconds() - begun;
    if (stop) return -1;
    *f *= s->objective_scale;
    for (int r = 0; r < s->m; r++) g[r] *= s->row_scale[r], sum += g[r];
    return isfinite(sum) && isfinite(*f);
}

static int derivatives(Ipm *s) {
    const gv_functions *fn = s->fn;
    double sum = 0.0, begun = seconds();
    int stop = fn->gradients(fn->self, s->gradient, s->jacobian);
    s->out->seconds_evaluation += seconds() - begun;
    if (stop) return -1;
    for (int i = 0; i < s->n; i++) s->gradient[i] *= s->objective_scale, sum += s->gradient[i];
    for (int e = 0; e < fn->n_jacobian; e++) s->jacobian[e] *= s->row_scale[fn->jacobian_row[e]], sum += s->jacobian[e];
    return isfinite(sum);
}

static int lagrangian_hessian(Ipm *s, const Phase *ph) {
    double sum = 0.0, begun = seconds();
    for (int r = 0; r < s->m; r++) s->scaled_y[r] = ph->y[r] * s->row_scale[r];
    int stop = s->fn->hessian(s->fn->self, ph->elastic ? 0.0 : s->objective_scale, s->scaled_y, s->hessian);
    s->out->seconds_evaluation += seconds() - begun;
    if (stop) return -1;
    for (int h = 0; h < s->fn->n_hessian; h++) sum += s->hessian[h];
    return isfinite(sum);
}

/* Slacks of rows without bounds follow their rows. */
static void follow(const Ipm *s, double *w, const double *g) {
    for (int r = 0; r < s->m; r++)
        if (s->kind[r] == FREE_ROW) w[s->n + r] = g[r];
}

/* ---- what is measured of a point ----------------------------------------------------------------------------------- */

static double row_residual(const Ipm *s, const double *w, const double *g, const double *p, const double *q, int r) {
    return g[r] - w[s->n + r] - (p ? p[r] - q[r] : 0.0);
}

static double violation_1(const Ipm *s, const double *w, const double *g, const double *p, const double *q) {
    double sum = 0.0;
    for (int r = 0; r < s->m; r++) sum += fabs(row_residual(s, w, g, p, q, r));
    return sum;
}

static double violation_unscaled(const Ipm *s) {
    double size = 0.0;
    for (int r = 0; r < s->m; r++) size = larger(size, fabs(s->g[r] - s->w[s->n + r]) / s->row_scale[r]);
    return size;
}

static double above(const Ipm *s, const double *w, int i) { return larger(w[i] - s->l[i], EPS * larger(1.0, fabs(s->l[i]))); }
static double below(const Ipm *s, const double *w, int i) { return larger(s->u[i] - w[i], EPS * larger(1.0, fabs(s->u[i]))); }

/* φ_μ (4), with a little weight on variables that have but one bound; the objective is the phase's. */
static double barrier(const Ipm *s, const Phase *ph, const double *w, double f, const double *p, const double *q) {
    double logs = 0.0, damped = 0.0;
    for (int k = 0; k < s->bounds_lower; k++) {
        int i = s->lower[k];
        logs += log(above(s, w, i));
        if (s->damping[i] > 0) damped += w[i] - s->l[i];
    }
    for (int k = 0; k < s->bounds_upper; k++) {
        int i = s->upper[k];
        logs += log(below(s, w, i));
        if (s->damping[i] < 0) damped += s->u[i] - w[i];
    }
    if (ph->elastic) {
        f = 0.0;
        for (int i = 0; i < s->n; i++) f += 0.5 * ph->eta * ph->weight[i] * (w[i] - ph->origin[i]) * (w[i] - ph->origin[i]);
        for (int r = 0; r < s->m; r++)
            if (s->kind[r] != FREE_ROW) f += RHO * (p[r] + q[r]), logs += log(p[r]) + log(q[r]);
    }
    return f - ph->mu * logs + KAPPA_D * ph->mu * damped;
}

/* The error of the optimality conditions (5); `*complementarity` is what is added to it by μ. Needs s->jty. */
static double error_of(const Ipm *s, const Phase *ph, double mu, double *dual_unscaled) {
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

/* ---- the filter ------------------------------------------------------------------------------------------------------ */

static int filter_add(Filter *f, double theta, double phi) {
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

static int filter_allows(const Filter *f, double theta, double phi) {
    for (int k = 0; k < f->used; k++)
        if (theta >= f->corner[k].theta && phi >= f->corner[k].phi) return 0;
    return 1;
}

/* ---- the step --------------------------------------------------------------------------------------------------------- */

/* Slopes of the barrier and Σ, for x and slacks alike. */
static void barrier_terms(Ipm *s, const Phase *ph) {
    for (int i = 0; i < s->N; i++) s->sigma[i] = 0.0, s->slope[i] = KAPPA_D * ph->mu * s->damping[i];
    for (int k = 0; k < s->bounds_lower; k++) {
        int i = s->lower[k];
        double away = above(s, s->w, i);
        s->sigma[i] += ph->zl[i] / away, s->slope[i] -= ph->mu / away;
    }
    for (int k = 0; k < s->bounds_upper; k++) {
        int i = s->upper[k];
        double away = below(s, s->w, i);
        s->sigma[i] += ph->zu[i] / away, s->slope[i] += ph->mu / away;
    }
}

/* Factorise with as much added to the diagonal as gives the right inertia (algorithm IC). Returns 0 or a status. */
static int factorise(Ipm *s, Phase *ph) {
    int n = s->n;
    double shift = 0.0, dual = 0.0, *x_diagonal = s->diagonal, *slack = s->diagonal + n;
    for (int attempt = 0;; attempt++) {
        for (int i = 0; i < n; i++)
            x_diagonal[i] = s->fixed[i] ? 1.0 : s->sigma[i] + shift + (ph->elastic ? ph->eta * ph->weight[i] : 0.0);
        for (int r = 0; r < s->m; r++) {
            slack[r] = s->sigma[n + r] + shift;
            s->soft[r] = dual + (ph->elastic && s->kind[r] != FREE_ROW ? ph->p[r] / ph->zp[r] + ph->q[r] / ph->zq[r] : 0.0);
        }
        int status = kkt_factor(&s->kkt, s->hessian, s->jacobian, x_diagonal, slack, s->soft);
        if (status == GV_NO_MEMORY) return IPM_NO_MEMORY;
        if (status == GV_NOT_FINITE) return IPM_NOT_FINITE;
        if (status == RIGHT) break;
        s->out->corrected++;
        if (status == SINGULAR_MATRIX && dual == 0.0) {
            dual = 1e-8 * pow(ph->mu, 0.25);
            if (attempt == 0) continue; /* dependent equations, perhaps: first without a shift */
        }
        if (shift == 0.0) shift = ph->shift == 0.0 ? 1e-4 : larger(1e-20, ph->shift / 3.0);
        else shift *= ph->shift == 0.0 ? 100.0 : 8.0;
        if (shift > 1e20) return IPM_STUCK;
    }
    if (shift > 0.0) ph->shift = shift;
    return 0;
}

/* What a step of w means for the multipliers of its bounds. */
static void bound_steps(const Ipm *s, const Phase *ph, const double *dw, double *dzl, double *dzu) {
    for (int k = 0; k < s->bounds_lower; k++) {
        int i = s->lower[k];
        double away = above(s, s->w, i);
        dzl[i] = (ph->mu - ph->zl[i] * dw[i]) / away - ph->zl[i];
    }
    for (int k = 0; k < s->bounds_upper; k++) {
        int i = s->upper[k];
        double away = below(s, s->w, i);
        dzu[i] = (ph->mu + ph->zu[i] * dw[i]) / away - ph->zu[i];
    }
}

/* Solve for the step with row residuals `residual`; elastic parts are eliminated from their rows. */
static void step(Ipm *s, Phase *ph, const double *residual, double *dw, double *dy, double *dzl, double *dzu, double *dp, double *dq) {
    int n = s->n;
    double *rx = s->rx, *rs = s->rx + n;
    for (int i = 0; i < n; i++) {
        double own = ph->elastic ? ph->eta * ph->weight[i] * (s->w[i] - ph->origin[i]) : s->gradient[i];
        rx[i] = s->fixed[i] ? 0.0 : -(own + s->jty[i] + s->slope[i]);
    }
    for (int r = 0; r < s->m; r++) {
        rs[r] = s->kind[r] == INEQUALITY ? ph->y[r] - s->slope[n + r] : 0.0;
        s->ry[r] = -residual[r];
        if (ph->elastic && s->kind[r] != FREE_ROW) {
            double gp = RHO - ph->y[r] - ph->mu / ph->p[r], gq = RHO + ph->y[r] - ph->mu / ph->q[r];
            s->ry[r] += gq * ph->q[r] / ph->zq[r] - gp * ph->p[r] / ph->zp[r];
        }
    }
    kkt_solve(&s->kkt, rx, rs, s->ry, dw, dw + n, dy);
    if (ph->elastic)
        for (int r = 0; r < s->m; r++) {
            if (s->kind[r] == FREE_ROW) continue;
            dp[r] = (dy[r] - (RHO - ph->y[r] - ph->mu / ph->p[r])) * ph->p[r] / ph->zp[r];
            dq[r] = (-dy[r] - (RHO + ph->y[r] - ph->mu / ph->q[r])) * ph->q[r] / ph->zq[r];
            s->dzp[r] = (ph->mu - ph->zp[r] * dp[r]) / ph->p[r] - ph->zp[r];
            s->dzq[r] = (ph->mu - ph->zq[r] * dq[r]) / ph->q[r] - ph->zq[r];
        }
    bound_steps(s, ph, dw, dzl, dzu);
}

static double shorten(double length, double tau, double room, double by) { return by < 0.0 && -by * length > tau * room ? tau * room / -by : length; }

/* Fraction to the boundary (15). */
static double longest_primal(const Ipm *s, const Phase *ph, const double *dw, const double *dp, const double *dq) {
    double a = 1.0, tau = ph->tau;
    for (int k = 0; k < s->bounds_lower; k++) a = shorten(a, tau, above(s, s->w, s->lower[k]), dw[s->lower[k]]);
    for (int k = 0; k < s->bounds_upper; k++) a = shorten(a, tau, below(s, s->w, s->upper[k]), -dw[s->upper[k]]);
    for (int r = 0; ph->elastic && r < s->m; r++)
        if (s->kind[r] != FREE_ROW) a = shorten(shorten(a, tau, ph->p[r], dp[r]), tau, ph->q[r], dq[r]);
    return a;
}

static double longest_dual(const Ipm *s, const Phase *ph, const double *dzl, const double *dzu) {
    double a = 1.0, tau = ph->tau;
    for (int k = 0; k < s->bounds_lower; k++) a = shorten(a, tau, ph->zl[s->lower[k]], dzl[s->lower[k]]);
    for (int k = 0; k < s->bounds_upper; k++) a = shorten(a, tau, ph->zu[s->upper[k]], dzu[s->upper[k]]);
    for (int r = 0; ph->elastic && r < s->m; r++)
        if (s->kind[r] != FREE_ROW) a = shorten(shorten(a, tau, ph->zp[r], s->dzp[r]), tau, ph->zq[r], s->dzq[r]);
    return a;
}

/* ---- the line search ------------------------------------------------------------------------------------------------- */

typedef struct {
    double theta, phi;
    int usable; /* all finite */
} Tried;

static int try_point(Ipm *s, Phase *ph, double a, const double *dw, const double *dp, const double *dq, Tried *t) {
    for (int i = 0; i < s->N; i++) s->trial[i] = s->w[i] + a * dw[i];
    const double *p = NULL, *q = NULL;
    if (ph->elastic) {
        for (int r = 0; r < s->m; r++) s->trial_p[r] = ph->p[r] + a * dp[r], s->trial_q[r] = ph->q[r] + a * dq[r];
        p = s->trial_p, q = s->trial_q;
    }
    int status = values(s, s->trial, &s->trial_f, s->trial_g);
    if (status < 0) return IPM_STOPPED;
    follow(s, s->trial, s->trial_g);
    t->theta = violation_1(s, s->trial, s->trial_g, p, q);
    t->phi = barrier(s, ph, s->trial, s->trial_f, p, q);
    t->usable = status && isfinite(t->theta) && isfinite(t->phi);
    return 0;
}

/* Does the trial point help? 0 no, 1 yes and the filter grows, 2 yes by the objective alone. */
static int helps(const Phase *ph, const Tried *t, double a, double slope) {
    if (!t->usable || t->theta > ph->theta_max) return 0;
    double rounding = 10.0 * EPS * fabs(ph->phi);
    if (t->phi > ph->phi) { /* no objective that explodes, however much nearer the rows are */
        double base = fabs(ph->phi) > 10.0 ? log10(fabs(ph->phi)) : 1.0;
        if (log10(t->phi - ph->phi) > 5.0 + base) return 0;
    }
    int by_objective = slope < 0.0 && a * pow(-slope, 2.3) > pow(ph->theta, 1.1); /* (19) */
    int kind;
    if (by_objective && ph->theta <= ph->theta_min) kind = t->phi - ph->phi <= 1e-8 * a * slope + rounding ? 2 : 0; /* (20) */
    else kind = t->theta <= (1.0 - 1e-5) * ph->theta || t->phi - ph->phi <= -1e-8 * ph->theta + rounding; /* (18) */
    return kind && filter_allows(&ph->filter, t->theta, t->phi) ? kind : 0;
}

static double shortest(const Phase *ph, double slope) { /* (23) */
    double a = 1e-5;
    if (slope < 0.0) {
        a = smaller(a, 1e-8 * ph->theta / -slope);
        if (ph->theta <= ph->theta_min) a = smaller(a, pow(ph->theta, 1.1) / pow(-slope, 2.3));
    }
    return 0.05 * a;
}

typedef struct {
    double primal, dual;
    int found, grows, corrected;
} Search;

/* Second-order corrections: steps to where the rows are at the trial point (27). Leaves an accepted one in dw. */
static int correct(Ipm *s, Phase *ph, double longest, double slope, Tried *t, Search *found) {
    double before = ph->theta, a = longest;
    for (int r = 0; r < s->m; r++) s->ry2[r] = row_residual(s, s->w, s->g, ph->p, ph->q, r);
    for (int k = 0; k < 4; k++) {
        for (int r = 0; r < s->m; r++)
            s->ry2[r] = a * s->ry2[r] + row_residual(s, s->trial, s->trial_g, NULL, NULL, r);
        step(s, ph, s->ry2, s->dw2, s->dy2, s->dzl2, s->dzu2, NULL, NULL);
        a = longest_primal(s, ph, s->dw2, NULL, NULL);
        if (try_point(s, ph, a, s->dw2, NULL, NULL, t)) return IPM_STOPPED;
        int kind = helps(ph, t, longest, slope);
        if (kind) {
            memcpy(s->dw, s->dw2, (size_t)s->N * sizeof(double)), memcpy(s->dy, s->dy2, (size_t)s->m * sizeof(double));
            memcpy(s->dzl, s->dzl2, (size_t)s->N * sizeof(double)), memcpy(s->dzu, s->dzu2, (size_t)s->N * sizeof(double));
            found->found = 1, found->grows = kind == 1, found->primal = a, found->corrected = 1;
            found->dual = longest_dual(s, ph, s->dzl, s->dzu);
            return 0;
        }
        if (!t->usable || t->theta > 0.99 * before) return 0;
        before = t->theta;
    }
    return 0;
}

static double slope_along(const Ipm *s, const Phase *ph) {
    double sum = 0.0;
    for (int i = 0; i < s->n; i++) {
        double own = ph->elastic ? ph->eta * ph->weight[i] * (s->w[i] - ph->origin[i]) : s->gradient[i];
        sum += (own + s->slope[i]) * s->dw[i];
    }
    for (int i = s->n; i < s->N; i++) sum += s->slope[i] * s->dw[i];
    for (int r = 0; ph->elastic && r < s->m; r++)
        if (s->kind[r] != FREE_ROW) sum += (RHO - ph->mu / ph->p[r]) * s->dp[r] + (RHO - ph->mu / ph->q[r]) * s->dq[r];
    return sum;
}

static int is_tiny(const Ipm *s) {
    for (int i = 0; i < s->N; i++)
        if (fabs(s->dw[i]) > 10.0 * EPS * (1.0 + fabs(s->w[i]))) return 0;
    return 1;
}

static int search(Ipm *s, Phase *ph, Search *found) {
    double slope = slope_along(s, ph), longest = longest_primal(s, ph, s->dw, s->dp, s->dq), least = shortest(ph, slope);
    int tiny = ph->theta < 1e-4 && is_tiny(s), status;
    Tried t;
    *found = (Search){.primal = longest, .dual = longest_dual(s, ph, s->dzl, s->dzu)};
    ph->tiny_steps = tiny ? ph->tiny_steps + 1 : 0;
    for (double a = longest;; a *= 0.5) {
        if ((status = try_point(s, ph, a, s->dw, s->dp, s->dq, &t))) return status;
        int kind = tiny && t.usable ? 2 : helps(ph, &t, a, slope);
        if (kind) {
            found->found = 1, found->grows = kind == 1, found->primal = a;
            return 0;
        }
        if (a == longest && t.usable && t.theta >= ph->theta && !ph->elastic && s->m) {
            if ((status = correct(s, ph, longest, slope, &t, found)) || found->found) return status;
        }
        if (0.5 * a < least) return 0;
    }
}

/* Go to the trial point. */
static void accept(Ipm *s, Phase *ph, const Search *found) {
    double *w = s->w, *g = s->g;
    s->w = s->trial, s->trial = w, s->g = s->trial_g, s->trial_g = g;
    ph->f = s->trial_f;
    for (int r = 0; r < s->m; r++) ph->y[r] += found->primal * s->dy[r];
    for (int k = 0; k < s->bounds_lower; k++) {
        int i = s->lower[k];
        double away = above(s, s->w, i), z = ph->zl[i] + found->dual * s->dzl[i];
        ph->zl[i] = larger(smaller(z, 1e10 * ph->mu / away), ph->mu / (1e10 * away)); /* (16) */
    }
    for (int k = 0; k < s->bounds_upper; k++) {
        int i = s->upper[k];
        double away = below(s, s->w, i), z = ph->zu[i] + found->dual * s->dzu[i];
        ph->zu[i] = larger(smaller(z, 1e10 * ph->mu / away), ph->mu / (1e10 * away));
    }
    for (int r = 0; ph->elastic && r < s->m; r++) {
        if (s->kind[r] == FREE_ROW) continue;
        ph->p[r] = s->trial_p[r], ph->q[r] = s->trial_q[r];
        ph->zp[r] = larger(smaller(ph->zp[r] + found->dual * s->dzp[r], 1e10 * ph->mu / ph->p[r]), ph->mu / (1e10 * ph->p[r]));
        ph->zq[r] = larger(smaller(ph->zq[r] + found->dual * s->dzq[r], 1e10 * ph->mu / ph->q[r]), ph->mu / (1e10 * ph->q[r]));
    }
}

/* ---- starts ------------------------------------------------------------------------------------------------------------ */

/* Inside the bounds by a share of their size or of their distance, whichever is less. */
static void push_inside(const Ipm *s, double *w, double push, int from, int to) {
    for (int i = from; i < to; i++) {
        double l = s->l[i], u = s->u[i], width = u - l;
        if (s->fixed[i]) continue;
        double from_l = l > -NONE ? smaller(push * larger(1.0, fabs(l)), u < NONE ? push * width : INFINITY) : 0.0;
        double from_u = u < NONE ? smaller(push * larger(1.0, fabs(u)), l > -NONE ? push * width : INFINITY) : 0.0;
        if (l > -NONE && w[i] < l + from_l) w[i] = l + from_l;
        if (u < NONE && w[i] > u - from_u) w[i] = u - from_u;
    }
}

/* Multipliers of the rows that fit the others best, by least squares (36); none where these are huge. */
static int estimate_rows(Ipm *s, Phase *ph) {
    int n = s->n;
    memset(s->hessian, 0, (size_t)s->fn->n_hessian * sizeof(double));
    for (int i = 0; i < s->N; i++) s->diagonal[i] = 1.0;
    memset(s->soft, 0, (size_t)s->m * sizeof(double)), memset(ph->y, 0, (size_t)s->m * sizeof(double));
    int status = kkt_factor(&s->kkt, s->hessian, s->jacobian, s->diagonal, s->diagonal + n, s->soft);
    if (status < 0) return status == GV_NO_MEMORY ? IPM_NO_MEMORY : IPM_NOT_FINITE;
    if (status != RIGHT) return 0;
    for (int i = 0; i < n; i++) s->rx[i] = s->fixed[i] ? 0.0 : -(s->gradient[i] - ph->zl[i] + ph->zu[i]);
    for (int r = 0; r < s->m; r++) s->rx[n + r] = s->kind[r] == INEQUALITY ? ph->zl[n + r] - ph->zu[n + r] : 0.0, s->ry[r] = 0.0;
    kkt_solve(&s->kkt, s->rx, s->rx + n, s->ry, s->dw, s->dw + n, s->dy);
    if (most(s->dy, s->m) <= 1e3) memcpy(ph->y, s->dy, (size_t)s->m * sizeof(double));
    return 0;
}

static void reset_filter(Phase *ph) { ph->filter.used = 0; }

static void remember(const Ipm *s, Phase *ph) {
    ph->theta = violation_1(s, s->w, s->g, ph->p, ph->q);
    ph->phi = barrier(s, ph, s->w, ph->f, ph->p, ph->q);
}

/* Elastic parts that are best for the point as it is. */
static void set_elastic(const Ipm *s, Phase *ph) {
    for (int r = 0; r < s->m; r++) {
        double c = s->g[r] - s->w[s->n + r], half = (ph->mu - RHO * c) / (2.0 * RHO);
        ph->q[r] = larger(half + sqrt(half * half + ph->mu * c / (2.0 * RHO)), 1e-12);
        ph->p[r] = larger(c + ph->q[r], 1e-12);
        ph->zp[r] = ph->mu / ph->p[r], ph->zq[r] = ph->mu / ph->q[r];
    }
}

static int run(Ipm *s, Phase *ph, Phase *outer);

static double *take(Ipm *s, int count) { return gv_take(&s->memory, (size_t)count, sizeof(double)); }

/* A point that the filter allows, from one where no step does: minimise the violation, staying near. */
static int restore(Ipm *s, Phase *ph) {
    static const double LARGE = 1e3;
    Arena before = s->memory;
    s->memory = (Arena){0};
    Phase inner = {.elastic = 1, .eta = 0.0};
    double *w_before = take(s, s->N);
    inner.y = take(s, s->m), inner.zl = take(s, s->N), inner.zu = take(s, s->N);
    inner.p = take(s, s->m), inner.q = take(s, s->m), inner.zp = take(s, s->m), inner.zq = take(s, s->m);
    inner.origin = take(s, s->n), inner.weight = take(s, s->n);
    int status = s->memory.failed ? IPM_NO_MEMORY : 0;
    if (!status) {
        double size = 0.0;
        memcpy(w_before, s->w, (size_t)s->N * sizeof(double));
        for (int i = 0; i < s->n; i++) {
            double scale = smaller(1.0, 1.0 / larger(fabs(s->w[i]), 1e-12));
            inner.origin[i] = s->w[i], inner.weight[i] = scale * scale;
        }
        for (int r = 0; r < s->m; r++) size = larger(size, fabs(row_residual(s, s->w, s->g, NULL, NULL, r)));
        inner.mu = larger(ph->mu, size);
        for (int i = 0; i < s->N; i++) inner.zl[i] = smaller(RHO, ph->zl[i]), inner.zu[i] = smaller(RHO, ph->zu[i]);
        set_elastic(s, &inner);
        s->out->restorations++;
        status = run(s, &inner, ph);
    }
    if (!status) { /* the multipliers of bounds go along with the whole step; far from usual ones begin anew */
        for (int i = 0; i < s->N; i++) s->dw[i] = s->w[i] - w_before[i], s->trial[i] = s->w[i], s->w[i] = w_before[i];
        bound_steps(s, ph, s->dw, s->dzl, s->dzu);
        double a = longest_dual(s, ph, s->dzl, s->dzu), size = 0.0;
        memcpy(s->w, s->trial, (size_t)s->N * sizeof(double));
        for (int i = 0; i < s->N; i++) {
            if (s->l[i] > -NONE && !s->fixed[i]) ph->zl[i] += a * s->dzl[i];
            if (s->u[i] < NONE && !s->fixed[i]) ph->zu[i] += a * s->dzu[i];
            size = larger(size, larger(ph->zl[i], ph->zu[i]));
        }
        if (size > LARGE)
            for (int i = 0; i < s->N; i++) ph->zl[i] = ph->zl[i] > 0.0, ph->zu[i] = ph->zu[i] > 0.0;
        memset(ph->y, 0, (size_t)s->m * sizeof(double));
        ph->f = s->trial_f;
    }
    free(inner.filter.corner);
    gv_release(&s->memory);
    s->memory = before;
    return status;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------- */

/* Whether to end: 0 no, else 1 + status. Counts how often in a row the looser tolerance holds. */
static int finished(Ipm *s, Phase *ph, double error, double dual) {
    const ipm_options *o = s->opt;
    double violated = violation_unscaled(s);
    s->out->error = error, s->out->violation = violated;
    if (!isfinite(error)) return 1 + IPM_NOT_FINITE;
    if (ph->elastic) return error > o->tolerance ? 0 : 1 + (violated > o->violation ? IPM_INFEASIBLE : IPM_STUCK);
    if (error <= o->tolerance && violated <= o->violation && dual <= 1.0) return 1 + IPM_OPTIMAL;
    s->acceptable_in_a_row = error <= o->acceptable && violated <= o->violation ? s->acceptable_in_a_row + 1 : 0;
    return s->acceptable_in_a_row >= 10 ? 1 + IPM_ACCEPTABLE : 0;
}

static void lower_barrier(Ipm *s, Phase *ph) {
    double least = smaller(s->opt->tolerance, 1e-4) / 11.0;
    while (ph->mu > least && error_of(s, ph, ph->mu, NULL) <= 10.0 * ph->mu) {
        ph->mu = larger(least, smaller(0.2 * ph->mu, pow(ph->mu, 1.5)));
        reset_filter(ph);
        if (ph->elastic) ph->eta = sqrt(ph->mu);
    }
    ph->tau = larger(0.99, 1.0 - ph->mu);
}

static int grow_filter(Phase *ph) { return filter_add(&ph->filter, (1.0 - 1e-5) * ph->theta, ph->phi - 1e-8 * ph->theta); }

/* Minimise the phase's problem from the current point. Returns a status; of a restoration 0 where it may go back. */
static int run(Ipm *s, Phase *ph, Phase *outer) {
    ipm_result *out = s->out;
    int status, stubborn = 0;
    if (ph->elastic) ph->eta = sqrt(ph->mu);
    ph->theta_min = -1.0;
    for (;; out->iterations++) {
        if ((status = derivatives(s)) <= 0) return status < 0 ? IPM_STOPPED : IPM_NOT_FINITE;
        memset(s->jty, 0, (size_t)s->n * sizeof(double));
        jacobian_transposed_times(s->fn, s->jacobian, ph->y, s->jty);
        double dual, error = error_of(s, ph, 0.0, &dual);
        int end = finished(s, ph, error, dual);
        double told = ph->elastic ? most(ph->p, s->m) : out->violation;
        if (s->opt->progress && s->opt->progress(s->opt->context, ph->elastic, out->iterations, ph->f / s->objective_scale, told)) return IPM_STOPPED;
        if (end) return end - 1;
        if (out->iterations >= s->opt->max_iterations) return IPM_ITERATIONS;
        if (s->opt->max_seconds > 0.0 && seconds() - s->started > s->opt->max_seconds) return IPM_TIME;
        lower_barrier(s, ph);
        remember(s, ph);
        if (ph->theta_min < 0.0) ph->theta_min = 1e-4 * larger(1.0, ph->theta), ph->theta_max = 1e4 * larger(1.0, ph->theta);
        barrier_terms(s, ph);
        Search found = {0};
        if (!(s->opt->restored && !ph->elastic && out->restorations == 0)) {
            if ((status = lagrangian_hessian(s, ph)) <= 0) return status < 0 ? IPM_STOPPED : IPM_NOT_FINITE;
            status = factorise(s, ph);
            if (status && status != IPM_STUCK) return status;
            if (!status) {
                for (int r = 0; r < s->m; r++) s->ry2[r] = row_residual(s, s->w, s->g, ph->p, ph->q, r);
                step(s, ph, s->ry2, s->dw, s->dy, s->dzl, s->dzu, s->dp, s->dq);
                if ((status = search(s, ph, &found))) return status;
            }
        }
        if (!found.found) {
            if (ph->elastic) { /* set the elastic parts anew, once in a row; where that is no progress, give up */
                if (stubborn++) return IPM_STUCK;
                set_elastic(s, ph), reset_filter(ph);
                continue;
            }
            if (s->acceptable_in_a_row) return IPM_ACCEPTABLE;
            if (violation_unscaled(s) <= s->opt->tolerance && out->restorations > 20) return IPM_STUCK;
            if (grow_filter(ph)) return IPM_NO_MEMORY;
            if ((status = restore(s, ph))) return status;
            continue;
        }
        stubborn = 0;
        if (found.grows && grow_filter(ph)) return IPM_NO_MEMORY;
        accept(s, ph, &found);
        if (ph->tiny_steps > 1) {
            if (ph->mu <= smaller(s->opt->tolerance, 1e-4) / 11.0) return s->acceptable_in_a_row ? IPM_ACCEPTABLE : IPM_STUCK;
            ph->mu = larger(smaller(s->opt->tolerance, 1e-4) / 11.0, smaller(0.2 * ph->mu, pow(ph->mu, 1.5)));
            reset_filter(ph), ph->tiny_steps = 0;
        }
        if (outer) {
            double theta = violation_1(s, s->w, s->g, NULL, NULL), phi = barrier(s, outer, s->w, ph->f, NULL, NULL);
            int better = theta <= 0.9 * outer->theta || (s->opt->restored && s->out->restorations == 1 && theta <= s->opt->violation);
            int enough = theta <= (1.0 - 1e-5) * outer->theta || phi <= outer->phi - 1e-8 * outer->theta;
            if (better && enough && filter_allows(&outer->filter, theta, phi)) {
                out->iterations++;
                return 0;
            }
        }
    }
}

/* ---- the problem ---------------------------------------------------------------------------------------------------- */

static int allocate(Ipm *s) {
    int n = s->n, m = s->m, N = s->N;
    double **of_w[] = {&s->l, &s->u, &s->damping, &s->w, &s->trial, &s->sigma, &s->slope, &s->diagonal, &s->dw, &s->dzl, &s->dzu,
                       &s->rx, &s->dw2, &s->dzl2, &s->dzu2};
    double **of_rows[] = {&s->row_scale, &s->g, &s->scaled_y, &s->trial_g, &s->trial_p, &s->trial_q, &s->dy, &s->dp, &s->dq, &s->dzp,
                          &s->dzq, &s->ry, &s->soft, &s->dy2, &s->ry2};
    for (size_t k = 0; k < sizeof of_w / sizeof *of_w; k++) *of_w[k] = take(s, N);
    for (size_t k = 0; k < sizeof of_rows / sizeof *of_rows; k++) *of_rows[k] = take(s, m);
    s->gradient = take(s, n), s->jty = take(s, n);
    s->jacobian = take(s, s->fn->n_jacobian), s->hessian = take(s, s->fn->n_hessian);
    s->kind = gv_take(&s->memory, (size_t)m, sizeof(int));
    s->lower = gv_take(&s->memory, (size_t)N, sizeof(int)), s->upper = gv_take(&s->memory, (size_t)N, sizeof(int));
    s->fixed = gv_take(&s->memory, (size_t)N, 1);
    return s->memory.failed ? IPM_NO_MEMORY : 0;
}

/* Kinds of rows; bounds, a little relaxed; which of them there are. Rows are scaled before. */
static int set_bounds(Ipm *s, const double *xl, const double *xu, const double *rl, const double *ru) {
    int equalities = 0, free = 0;
    for (int i = 0; i < s->N; i++) {
        int row = i - s->n;
        double l = row < 0 ? xl[i] : rl[row], u = row < 0 ? xu[i] : ru[row], scale = row < 0 ? 1.0 : s->row_scale[row];
        if (!(l <= u) || l >= NONE || u <= -NONE) return IPM_BAD_PROBLEM;
        s->fixed[i] = l == u;
        l = l > -NONE ? l * scale : -INFINITY, u = u < NONE ? u * scale : INFINITY;
        if (row >= 0) {
            s->kind[row] = s->fixed[i] ? EQUALITY : isinf(l) && isinf(u) ? FREE_ROW : INEQUALITY;
            equalities += s->kind[row] == EQUALITY;
        } else free += !s->fixed[i];
        s->l[i] = l, s->u[i] = u;
        if (s->fixed[i]) continue;
        if (!isinf(l)) s->lower[s->bounds_lower++] = i, s->l[i] -= smaller(s->opt->violation * scale, RELAXED * larger(1.0, fabs(l)));
        if (!isinf(u)) s->upper[s->bounds_upper++] = i, s->u[i] += smaller(s->opt->violation * scale, RELAXED * larger(1.0, fabs(u)));
        s->damping[i] = !isinf(l) && isinf(u) ? 1.0 : isinf(l) && !isinf(u) ? -1.0 : 0.0;
    }
    return equalities > free ? IPM_BAD_PROBLEM : 0;
}

/* So that no gradient at the start is larger than 100. */
static int set_scales(Ipm *s, const double *x) {
    const gv_functions *fn = s->fn;
    double f;
    s->objective_scale = 1.0;
    for (int r = 0; r < s->m; r++) s->row_scale[r] = 1.0;
    memcpy(s->w, x, (size_t)s->n * sizeof(double));
    int status = values(s, s->w, &f, s->g);
    if (status > 0) status = derivatives(s);
    if (status <= 0) return status < 0 ? IPM_STOPPED : IPM_NOT_FINITE;
    for (int r = 0; r < s->m; r++) s->scaled_y[r] = 0.0;
    for (int e = 0; e < fn->n_jacobian; e++) s->scaled_y[fn->jacobian_row[e]] = larger(s->scaled_y[fn->jacobian_row[e]], fabs(s->jacobian[e]));
    for (int r = 0; r < s->m; r++) s->row_scale[r] = s->scaled_y[r] > 100.0 ? larger(1e-8, 100.0 / s->scaled_y[r]) : 1.0;
    double size = most(s->gradient, s->n);
    s->objective_scale = size > 100.0 ? larger(1e-8, 100.0 / size) : 1.0;
    return 0;
}

static int prepare(Ipm *s, Phase *ph, const double *xl, const double *xu, const double *rl, const double *ru, const double *x,
                   const double *y, const double *zl, const double *zu) {
    int status, n = s->n;
    if ((status = allocate(s))) return status;
    ph->y = take(s, s->m), ph->zl = take(s, s->N), ph->zu = take(s, s->N);
    if (s->memory.failed) return IPM_NO_MEMORY;
    if ((status = set_scales(s, x)) || (status = set_bounds(s, xl, xu, rl, ru))) return status;
    for (int i = 0; i < n; i++) s->w[i] = s->fixed[i] ? xl[i] : x[i];
    push_inside(s, s->w, s->opt->push, 0, n);
    if ((status = values(s, s->w, &ph->f, s->g)) <= 0) return status < 0 ? IPM_STOPPED : IPM_NOT_FINITE;
    for (int r = 0; r < s->m; r++) s->w[n + r] = s->kind[r] == EQUALITY ? s->l[n + r] : s->g[r];
    push_inside(s, s->w, s->opt->push, n, s->N);
    follow(s, s->w, s->g);
    s->trial_f = ph->f;
    if ((status = kkt_new(&s->kkt, &s->memory, s->fn, s->fixed, s->kind))) return IPM_NO_MEMORY;
    for (int k = 0; k < s->bounds_lower; k++) ph->zl[s->lower[k]] = 1.0;
    for (int k = 0; k < s->bounds_upper; k++) ph->zu[s->upper[k]] = 1.0;
    if ((status = derivatives(s)) <= 0) return status < 0 ? IPM_STOPPED : IPM_NOT_FINITE;
    if (!s->opt->multipliers) return s->opt->restored ? 0 : estimate_rows(s, ph);
    for (int r = 0; r < s->m; r++) ph->y[r] = s->kind[r] == FREE_ROW ? 0.0 : y[r] * s->objective_scale / s->row_scale[r];
    for (int k = 0; k < s->bounds_lower; k++) {
        int i = s->lower[k];
        ph->zl[i] = larger(1e-9, i < n ? zl[i] * s->objective_scale : -ph->y[i - n]);
    }
    for (int k = 0; k < s->bounds_upper; k++) {
        int i = s->upper[k];
        ph->zu[i] = larger(1e-9, i < n ? zu[i] * s->objective_scale : ph->y[i - n]);
    }
    return 0;
}

int gv_minimise(const gv_functions *f, const double *x_lower, const double *x_upper, const double *row_lower,
                 const double *row_upper, const ipm_options *options, double *x, double *y, double *zl, double *zu,
                 ipm_result *result) {
    Ipm s = {.fn = f, .opt = options, .out = result, .n = f->n, .m = f->m, .N = f->n + f->m, .started = seconds()};
    Phase ph = {.mu = options->mu};
    memset(result, 0, sizeof *result);
    int status = prepare(&s, &ph, x_lower, x_upper, row_lower, row_upper, x, y, zl, zu);
    int begun = s.kkt.factor != NULL;
    if (!status) status = run(&s, &ph, NULL);
    result->status = status;
    if (begun) {
        result->factorisations = s.kkt.factorisations, result->refinements = s.kkt.refinements;
        result->entries = gv_ldl_entries(s.kkt.factor), result->objective = ph.f / s.objective_scale;
        memcpy(x, s.w, (size_t)s.n * sizeof(double));
        for (int r = 0; r < s.m; r++) y[r] = ph.y[r] * s.row_scale[r] / s.objective_scale;
        for (int i = 0; i < s.n; i++) zl[i] = ph.zl[i] / s.objective_scale, zu[i] = ph.zu[i] / s.objective_scale;
    }
    kkt_free(&s.kkt);
    free(ph.filter.corner);
    gv_release(&s.memory);
    return status == IPM_NO_MEMORY ? -1 : 0;
}
