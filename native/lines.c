/* Lines: flows into the balance rows of their ends, |S|²/rating into the rating rows (LineBlock in blocks.py).

   With u = vm_f/tap, A = u², B = vm_t², C = u·vm_t·cos δ, S = u·vm_t·sin δ and h = b + bc/2

       pf = g·(A − C) − b·S            pt = g·(B − C) + b·S
       qf = b·C − h·A − g·S            qt = b·C − h·B + g·S

   Where the parameters are variables, each y of (g, b, bc) is base·e^u. `locals` is 3 or 6, and constant wherever these
   functions are inlined, so that both forms share their code and neither pays for the other. One pass does everything
   for a line, and what it leaves behind are sine and cosine (and y): the rest is cheaper made again than fetched. */

#include "blocks.h"

#include <math.h>

enum { DELTA = 2, VOLTAGES = 3, ALL = 6, FLOWS = 4, RATED = 6 };
enum { COSINE, SINE, G, B, BC, MOVING_STATE, STATE = G };

typedef struct line {
    double vm_from, vm_to, inverse_tap, cosine, sine, scaled_from, A, B, C, S, g, b, h, bc;
} line;

static inline line line_at(const gv_block *block, const double *state, const double *x, int i, int locals)
{
    line t;
    t.vm_from = x[block->columns[0][i]];
    t.vm_to = x[block->columns[1][i]];
    t.inverse_tap = block->numbers[4][i];
    t.cosine = state[COSINE];
    t.sine = state[SINE];
    t.scaled_from = t.vm_from * t.inverse_tap;
    double product = t.scaled_from * t.vm_to;
    t.A = t.scaled_from * t.scaled_from;
    t.B = t.vm_to * t.vm_to;
    t.C = product * t.cosine;
    t.S = product * t.sine;
    t.g = locals == ALL ? state[G] : block->numbers[0][i];
    t.b = locals == ALL ? state[B] : block->numbers[1][i];
    t.bc = locals == ALL ? state[BC] : 0.0;
    t.h = locals == ALL ? t.b + 0.5 * t.bc : block->numbers[2][i];
    return t;
}

static inline void line_flows(const line *t, double flow[FLOWS])
{
    double gC = t->g * t->C, bC = t->b * t->C, gS = t->g * t->S, bS = t->b * t->S;
    flow[0] = t->g * t->A - gC - bS;
    flow[1] = bC - t->h * t->A - gS;
    flow[2] = t->g * t->B - gC + bS;
    flow[3] = bC - t->h * t->B + gS;
}

/* ∂(A, B, C, S)/∂(vm_f, vm_t, δ). */
typedef struct line_slopes {
    double A[VOLTAGES], B[VOLTAGES], C[VOLTAGES], S[VOLTAGES];
} line_slopes;

static inline line_slopes slopes_of(const line *t)
{
    double scaled_to = t->vm_to * t->inverse_tap;
    return (line_slopes){
        .A = {2.0 * t->scaled_from * t->inverse_tap, 0.0, 0.0},
        .B = {0.0, 2.0 * t->vm_to, 0.0},
        .C = {scaled_to * t->cosine, t->scaled_from * t->cosine, -t->S},
        .S = {scaled_to * t->sine, t->scaled_from * t->sine, t->C},
    };
}

/* ∂flow/∂local; those of active flows by the charging are 0, and not part of any pattern. */
static inline void line_gradients(const line *t, int locals, double d[FLOWS][ALL])
{
    const line_slopes by = slopes_of(t);
    for (int l = 0; l < VOLTAGES; l++) {
        double gC = t->g * by.C[l], bC = t->b * by.C[l], gS = t->g * by.S[l], bS = t->b * by.S[l];
        d[0][l] = -(gC + bS);
        d[1][l] = bC - gS;
        d[2][l] = bS - gC;
        d[3][l] = bC + gS;
    }
    d[0][0] += t->g * by.A[0];
    d[1][0] -= t->h * by.A[0];
    d[2][1] += t->g * by.B[1];
    d[3][1] -= t->h * by.B[1];
    if (locals == ALL) { /* ∂/∂u = y·∂/∂y */
        double gS = t->g * t->S, bS = t->b * t->S;
        d[0][3] = t->g * (t->A - t->C), d[0][4] = -bS, d[0][5] = 0.0;
        d[1][3] = -gS, d[1][4] = t->b * (t->C - t->A), d[1][5] = -0.5 * t->bc * t->A;
        d[2][3] = t->g * (t->B - t->C), d[2][4] = bS, d[2][5] = 0.0;
        d[3][3] = gS, d[3][4] = t->b * (t->C - t->B), d[3][5] = -0.5 * t->bc * t->B;
    }
}

/* ∂²/∂voltage∂u: the gradient of Σ w·∂flow/∂(g, b, bc), which is again a sum of terms; times y. */
static inline void mixed_hessian(const line *t, const double w[FLOWS], double second[ALL][ALL])
{
    const line_slopes by = slopes_of(t);
    for (int l = 0; l < VOLTAGES; l++) {
        double by_g = (w[3] - w[1]) * by.S[l] - (w[0] + w[2]) * by.C[l] + w[0] * by.A[l] + w[2] * by.B[l];
        double by_b = (w[2] - w[0]) * by.S[l] + (w[1] + w[3]) * by.C[l] - w[1] * by.A[l] - w[3] * by.B[l];
        second[l][3] = t->g * by_g;
        second[l][4] = t->b * by_b;
        second[l][5] = t->bc * -0.5 * (w[1] * by.A[l] + w[3] * by.B[l]);
    }
}

/* Σ w·∂²flow, upper triangle. */
static inline void line_curvatures(
    const line *t, int locals, const double w[FLOWS], double d[FLOWS][ALL], double second[ALL][ALL])
{
    double a = t->g * w[0] - t->h * w[1], b = t->g * w[2] - t->h * w[3];
    double c = t->b * (w[1] + w[3]) - t->g * (w[0] + w[2]);
    double s = t->b * (w[2] - w[0]) + t->g * (w[3] - w[1]);
    double even = (c * t->cosine + s * t->sine) * t->inverse_tap;
    double odd = (s * t->cosine - c * t->sine) * t->inverse_tap;
    second[0][0] = 2.0 * a * (t->inverse_tap * t->inverse_tap);
    second[0][1] = even;
    second[0][2] = odd * t->vm_to;
    second[1][1] = 2.0 * b;
    second[1][2] = odd * t->vm_from;
    second[2][2] = -even * t->vm_from * t->vm_to;
    if (locals == ALL) { /* flows are linear in y, so that ∂²/∂u² = y·∂/∂y is the gradient itself */
        mixed_hessian(t, w, second);
        for (int l = VOLTAGES; l < ALL; l++) {
            for (int k = l + 1; k < ALL; k++)
                second[l][k] = 0.0;
            second[l][l] = w[0] * d[0][l] + w[1] * d[1][l] + w[2] * d[2][l] + w[3] * d[3][l];
        }
    }
}

static inline void line_values(const gv_block *block, double *state, const gv_pass *to, int locals)
{
    const int n = block->n, rated = block->n_functions == RATED;
    const int *rows = block->rows;
    for (int i = 0; i < n; i++, state += locals == ALL ? MOVING_STATE : STATE) {
        double delta = to->x[block->columns[2][i]] - to->x[block->columns[3][i]] - block->numbers[5][i];
        state[COSINE] = cos(delta);
        state[SINE] = sin(delta);
        if (locals == ALL)
            for (int k = 0; k < 3; k++)
                state[G + k] = block->numbers[k][i] * exp(to->x[block->columns[4 + k][i]]);
        const line t = line_at(block, state, to->x, i, locals);
        double flow[FLOWS];
        line_flows(&t, flow);
        for (int k = 0; k < FLOWS; k++)
            to->rows[rows[k * n + i]] += flow[k];
        if (rated) {
            double inverse_rating = block->numbers[3][i];
            to->rows[rows[4 * n + i]] += (flow[0] * flow[0] + flow[1] * flow[1]) * inverse_rating;
            to->rows[rows[5 * n + i]] += (flow[2] * flow[2] + flow[3] * flow[3]) * inverse_rating;
        }
    }
}

/* Adds the gradient of one function, which may depend on the charging; returns the places of the next. */
static inline const int *add_gradient(double *out, const int *place, const double *d, int locals, int charging, int row)
{
    const int columns = locals == ALL ? 6 + charging : 4;
    if (row >= 0) {
        out[place[0]] += d[0];
        out[place[1]] += d[1];
        out[place[2]] += d[DELTA]; /* va_f */
        out[place[3]] -= d[DELTA]; /* va_t */
        for (int column = 4; column < columns; column++)
            out[place[column]] += d[column - 1];
    }
    return place + columns;
}

static inline void line_jacobian(const gv_block *block, const double *state, const gv_pass *to, int locals)
{
    const int n = block->n, rated = block->n_functions == RATED;
    const int *place = block->jacobian_place;
    for (int i = 0; i < n; i++, state += locals == ALL ? MOVING_STATE : STATE) {
        const line t = line_at(block, state, to->x, i, locals);
        double d[FLOWS][ALL];
        line_gradients(&t, locals, d);
        for (int k = 0; k < FLOWS; k++) {
            int row = block->rows[k * n + i];
            place = add_gradient(gv_target(to, row), place, d[k], locals, k % 2, row); /* the reactive ones do */
        }
        if (!rated) continue;
        double flow[FLOWS], of_square[ALL], twice = 2.0 * block->numbers[3][i];
        line_flows(&t, flow);
        for (int k = 0; k < FLOWS; k += 2) {
            int row = block->rows[(4 + k / 2) * n + i];
            for (int l = 0; l < locals; l++)
                of_square[l] = twice * flow[k] * d[k][l] + twice * flow[k + 1] * d[k + 1][l];
            place = add_gradient(gv_target(to, row), place, of_square, locals, 1, row);
        }
    }
}

static inline void line_hessian(const gv_block *block, const double *state, const gv_pass *to, int locals)
{
    const int n = block->n, rated = block->n_functions == RATED;
    const int *place = block->hessian_place;
    double *out = to->hessian;
    for (int i = 0; i < n; i++, state += locals == ALL ? MOVING_STATE : STATE) {
        const line t = line_at(block, state, to->x, i, locals);
        double d[FLOWS][ALL], w[FLOWS], square[FLOWS] = {0.0}, second[ALL][ALL];
        for (int k = 0; k < FLOWS; k++)
            w[k] = to->weight[block->rows[k * n + i]];
        if (rated || locals == ALL) line_gradients(&t, locals, d);
        if (rated) { /* a squared flow weighs its flow by 2·flow/rating, and adds the square of the flow's gradient */
            double flow[FLOWS], twice = 2.0 * block->numbers[3][i];
            square[0] = square[1] = twice * to->weight[block->rows[4 * n + i]];
            square[2] = square[3] = twice * to->weight[block->rows[5 * n + i]];
            line_flows(&t, flow);
            for (int k = 0; k < FLOWS; k++)
                w[k] += square[k] * flow[k];
        }
        line_curvatures(&t, locals, w, d, second);
        for (int one = 0; one < locals; one++)
            for (int two = one; two < locals; two++) {
                double sum = second[one][two];
                if (rated)
                    for (int k = 0; k < FLOWS; k++)
                        sum += square[k] * d[k][one] * d[k][two];
                out[*place++] += sum;
                if (one == DELTA || two == DELTA) out[*place++] -= sum; /* va_t for va_f */
                if (one == DELTA && two == DELTA) out[*place++] += sum; /* and both */
            }
    }
}

static size_t state_size(const gv_block *block)
{
    return (size_t)block->n * (block->n_locals == ALL ? MOVING_STATE : STATE);
}

static void values(const gv_block *block, double *state, const gv_pass *to)
{
    if (block->n_locals == ALL) line_values(block, state, to, ALL);
    else line_values(block, state, to, VOLTAGES);
}

static void gradients(const gv_block *block, const double *state, const gv_pass *to)
{
    if (block->n_locals == ALL) line_jacobian(block, state, to, ALL);
    else line_jacobian(block, state, to, VOLTAGES);
}

static void hessian(const gv_block *block, const double *state, const gv_pass *to)
{
    if (block->n_locals == ALL) line_hessian(block, state, to, ALL);
    else line_hessian(block, state, to, VOLTAGES);
}

const gv_kind gv_line_kind = {state_size, values, gradients, hessian};
