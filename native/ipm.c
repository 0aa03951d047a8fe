/* Minimise f(x) subject to g(x) − s = 0 and bounds on x and s: a primal-dual interior point with a filter line search
 * (Wächter and Biegler, Math. Programming 106 (2006) 25-57; their symbols where they have one, their constants but where
 * said). Equations (n) below are theirs.
 *
 * The variables are w = (x, s), one slack to a row; that of an equality stands still at its value, that of a row without
 * bounds follows the row. A *phase* minimises; the restoration is a second phase of the same loop, whose rows are
 * softened by elastic parts, g(x) − s − p + q = 0, and whose objective is ρ·Σ(p + q) + η/2·|D(x − x_R)|²  (29).
 */
#include "phase.h"

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
    if (largest_of(s->dy, s->m) <= 1e3) memcpy(ph->y, s->dy, (size_t)s->m * sizeof(double));
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
    Phase inner = {.elastic = 1, .eta = 0.0, .f = ph->f};
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
    }
    ph->f = inner.f;
    free(inner.filter.corner);
    gv_release(&s->memory);
    s->memory = before;
    return status;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------- */

/* Copy a point and its multipliers to or from where the last acceptable one is kept. */
static void copy_point(Ipm *s, Phase *ph, int back) {
    double *part[] = {s->w, ph->zl, ph->zu, ph->y}, *kept = s->kept;
    for (int k = 0; k < 4; k++) {
        size_t count = (size_t)(k < 3 ? s->N : s->m);
        memcpy(back ? part[k] : kept, back ? kept : part[k], count * sizeof(double));
        kept += count;
    }
    if (back) ph->f = s->kept_f;
    else s->kept_f = ph->f;
}

/* Where nothing helps any more: rounding may have led away from a point that was good enough. */
static int give_up(Ipm *s, Phase *ph) {
    if (isnan(s->kept_f)) return IPM_STUCK;
    copy_point(s, ph, 1);
    return IPM_ACCEPTABLE;
}

/* Whether to end: 0 no, else 1 + status. Counts how often in a row the looser tolerance holds. */
static int finished(Ipm *s, Phase *ph, double error, double dual) {
    const ipm_options *o = s->opt;
    double violated = violation_unscaled(s);
    s->out->error = error, s->out->violation = violated;
    if (!isfinite(error)) return 1 + IPM_NOT_FINITE;
    if (ph->elastic) return error > o->tolerance ? 0 : 1 + (violated > o->violation ? IPM_INFEASIBLE : IPM_STUCK);
    if (error <= o->tolerance && violated <= o->violation && dual <= 1.0) return 1 + IPM_OPTIMAL;
    s->acceptable_in_a_row = error <= o->acceptable && violated <= o->violation ? s->acceptable_in_a_row + 1 : 0;
    if (s->acceptable_in_a_row) copy_point(s, ph, 0);
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
        double told = ph->elastic ? largest_of(ph->p, s->m) : out->violation;
        if (s->opt->progress && s->opt->progress(s->opt->context, ph->elastic, out->iterations, ph->f / s->objective_scale, told)) return IPM_STOPPED;
        if (end) return end - 1;
        if (ph->tiny_steps > 1) {
            if (ph->mu <= smaller(s->opt->tolerance, 1e-4) / 11.0) return ph->elastic ? IPM_STUCK : give_up(s, ph);
            ph->mu = larger(smaller(s->opt->tolerance, 1e-4) / 11.0, smaller(0.2 * ph->mu, pow(ph->mu, 1.5)));
            reset_filter(ph), ph->tiny_steps = 0;
        }
        if (out->iterations >= s->opt->max_iterations) return IPM_ITERATIONS;
        if (s->opt->max_seconds > 0.0 && seconds_now() - s->started > s->opt->max_seconds) return IPM_TIME;
        lower_barrier(s, ph);
        remember(s, ph);
        int restore_first = s->opt->restored && !ph->elastic && out->restorations == 0;
        if (ph->theta_min < 0.0 && !restore_first) ph->theta_min = 1e-4 * larger(1.0, ph->theta), ph->theta_max = 1e4 * larger(1.0, ph->theta);
        barrier_terms(s, ph);
        Search found = {0};
        if (!restore_first) {
            if ((status = lagrangian_hessian(s, ph)) <= 0) return status < 0 ? IPM_STOPPED : IPM_NOT_FINITE;
            status = factorise(s, ph);
            if (status && status != IPM_STUCK) return status;
            if (!status) {
                for (int r = 0; r < s->m; r++) s->ry2[r] = row_residual(s, s->w, s->g, ph->p, ph->q, r);
                newton_step(s, ph, s->ry2, s->dw, s->dy, s->dzl, s->dzu, s->dp, s->dq);
                if ((status = line_search(s, ph, &found))) return status;
            }
        }
        if (!found.found) {
            if (ph->elastic) { /* set the elastic parts anew, once in a row; where that is no progress, give up */
                if (stubborn++) return IPM_STUCK;
                set_elastic(s, ph), reset_filter(ph);
                continue;
            }
            if (!isnan(s->kept_f)) return give_up(s, ph);
            if (violation_unscaled(s) <= s->opt->tolerance && out->restorations > 20) return IPM_STUCK;
            if (grow_filter(ph)) return IPM_NO_MEMORY;
            if ((status = restore(s, ph))) return status;
            continue;
        }
        stubborn = 0;
        if (found.grows && grow_filter(ph)) return IPM_NO_MEMORY;
        take_step(s, ph, &found);
        if (outer) {
            double theta = violation_1(s, s->w, s->g, NULL, NULL), phi = barrier(s, outer, s->w, ph->f, NULL, NULL);
            int better = theta <= 0.9 * outer->theta || (s->opt->restored && s->out->restorations == 1 && theta <= s->opt->violation);
            int enough = theta <= (1.0 - 1e-5) * outer->theta || phi <= outer->phi - 1e-8 * outer->theta;
            if (better && enough && filter_allows(&outer->filter, theta, phi)) {
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
    s->kept = take(s, 3 * N + m), s->kept_f = NAN;
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
    return free && equalities > free ? IPM_BAD_PROBLEM : 0;
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
    double size = largest_of(s->gradient, s->n);
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
    Ipm s = {.fn = f, .opt = options, .out = result, .n = f->n, .m = f->m, .N = f->n + f->m, .started = seconds_now()};
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
