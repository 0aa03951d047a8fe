/* The line search: a filter, second-order corrections, and what an accepted step changes. */
#include "phase.h"

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

/* Second-order corrections: steps to where the rows are at the trial point (27). Leaves an accepted one in dw. */
static int correct(Ipm *s, Phase *ph, double longest, double slope, Tried *t, Search *found) {
    double before = ph->theta, a = longest;
    for (int r = 0; r < s->m; r++) s->ry2[r] = row_residual(s, s->w, s->g, ph->p, ph->q, r);
    for (int k = 0; k < 4; k++) {
        for (int r = 0; r < s->m; r++)
            s->ry2[r] = a * s->ry2[r] + row_residual(s, s->trial, s->trial_g, NULL, NULL, r);
        newton_step(s, ph, s->ry2, s->dw2, s->dy2, s->dzl2, s->dzu2, NULL, NULL);
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

int line_search(Ipm *s, Phase *ph, Search *found) {
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
        if (0.5 * a < larger(least, 1e-16)) return 0;
    }
}

/* Go to the trial point. */
void take_step(Ipm *s, Phase *ph, const Search *found) {
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
