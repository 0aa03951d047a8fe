/* What the files of the interior point share: ipm.c (the loop, starts, the problem), measure.c (functions, errors, the
 * filter), newton.c (the step), search.c (the line search). Equations (n) are of Wächter and Biegler 2006. */
#ifndef GV_PHASE_H
#define GV_PHASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ipm.h"
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
    int tiny_steps;
} Phase;

typedef struct {
    const gv_functions *fn;
    const ipm_options *opt;
    ipm_result *out;
    Arena memory;
    Kkt kkt;
    int n, m, N, bounds_lower, bounds_upper;
    int *kind, *lower, *upper; /* rows; which of w have bounds */
    unsigned char *fixed;      /* of w */
    double *l, *u, *damping;   /* damping: +1 with a lower bound alone, −1 with an upper one alone */
    double *row_scale, objective_scale;
    double *w, *g, *gradient, *jacobian, *hessian, *jty, *scaled_y;
    double *trial, *trial_g, *trial_p, *trial_q, trial_f;
    double *sigma, *slope, *diagonal, *dw, *dy, *dzl, *dzu, *dp, *dq, *dzp, *dzq, *rx, *ry, *soft, *dw2, *dy2, *dzl2, *dzu2, *ry2;
    double started;
    int acceptable_in_a_row;
    double *kept, kept_f; /* w, y, zl, zu of the last point within the looser tolerance; no f if there is none */
} Ipm;

/* How far a search went: the length of the step and that of the multipliers of bounds. */
typedef struct {
    double primal, dual;
    int found, grows, corrected;
} Search;

static inline double row_residual(const Ipm *s, const double *w, const double *g, const double *p, const double *q, int r) {
    return g[r] - w[s->n + r] - (p ? p[r] - q[r] : 0.0);
}

/* How far w is from its bounds, and never less than rounding. */
static inline double above(const Ipm *s, const double *w, int i) { return larger(w[i] - s->l[i], EPS * larger(1.0, fabs(s->l[i]))); }
static inline double below(const Ipm *s, const double *w, int i) { return larger(s->u[i] - w[i], EPS * larger(1.0, fabs(s->u[i]))); }

/* measure.c */
double seconds_now(void);
int values(Ipm *s, const double *w, double *f, double *g);
int derivatives(Ipm *s);
int lagrangian_hessian(Ipm *s, const Phase *ph);
void follow(const Ipm *s, double *w, const double *g);
double violation_1(const Ipm *s, const double *w, const double *g, const double *p, const double *q);
double violation_unscaled(const Ipm *s);
double barrier(const Ipm *s, const Phase *ph, const double *w, double f, const double *p, const double *q);
double error_of(const Ipm *s, const Phase *ph, double mu, double *dual_unscaled);
int filter_add(Filter *f, double theta, double phi);
int filter_allows(const Filter *f, double theta, double phi);

/* newton.c */
void barrier_terms(Ipm *s, const Phase *ph);
int factorise(Ipm *s, Phase *ph);
void bound_steps(const Ipm *s, const Phase *ph, const double *dw, double *dzl, double *dzu);
void newton_step(Ipm *s, Phase *ph, const double *residual, double *dw, double *dy, double *dzl, double *dzu, double *dp, double *dq);
double longest_primal(const Ipm *s, const Phase *ph, const double *dw, const double *dp, const double *dq);
double longest_dual(const Ipm *s, const Phase *ph, const double *dzl, const double *dzu);

/* search.c */
int line_search(Ipm *s, Phase *ph, Search *found);
void take_step(Ipm *s, Phase *ph, const Search *found);

#endif
