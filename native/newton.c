/* The step: its matrix with the right inertia, its solution, and how far it may go. */
#include "phase.h"

/* Slopes of the barrier and Σ, for x and slacks alike. */
void barrier_terms(Ipm *s, const Phase *ph) {
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
int factorise(Ipm *s, Phase *ph) {
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
void bound_steps(const Ipm *s, const Phase *ph, const double *dw, double *dzl, double *dzu) {
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
void newton_step(Ipm *s, Phase *ph, const double *residual, double *dw, double *dy, double *dzl, double *dzu, double *dp, double *dq) {
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
double longest_primal(const Ipm *s, const Phase *ph, const double *dw, const double *dp, const double *dq) {
    double a = 1.0, tau = ph->tau;
    for (int k = 0; k < s->bounds_lower; k++) a = shorten(a, tau, above(s, s->w, s->lower[k]), dw[s->lower[k]]);
    for (int k = 0; k < s->bounds_upper; k++) a = shorten(a, tau, below(s, s->w, s->upper[k]), -dw[s->upper[k]]);
    for (int r = 0; ph->elastic && r < s->m; r++)
        if (s->kind[r] != FREE_ROW) a = shorten(shorten(a, tau, ph->p[r], dp[r]), tau, ph->q[r], dq[r]);
    return a;
}

double longest_dual(const Ipm *s, const Phase *ph, const double *dzl, const double *dzu) {
    double a = 1.0, tau = ph->tau;
    for (int k = 0; k < s->bounds_lower; k++) a = shorten(a, tau, ph->zl[s->lower[k]], dzl[s->lower[k]]);
    for (int k = 0; k < s->bounds_upper; k++) a = shorten(a, tau, ph->zu[s->upper[k]], dzu[s->upper[k]]);
    for (int r = 0; ph->elastic && r < s->m; r++)
        if (s->kind[r] != FREE_ROW) a = shorten(shorten(a, tau, ph->zp[r], s->dzp[r]), tau, ph->zq[r], s->dzq[r]);
    return a;
}
