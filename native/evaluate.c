/* Functions and derivatives of a program of blocks; evaluate.h says what that is. Lines are in lines.c.

   The reference is Python: every formula here stands in src/gridveil/nlp/blocks.py too, and
   tests/test_native_evaluate.py compares the two. NumPy computes all dense derivatives and then adds them up by sparse
   matrices; here each element adds its own as soon as they are known, because large networks wait for memory and not
   for arithmetic. */

#include "blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shunts: gs·vm² active and −bs·vm² reactive; where they are switched, times the share that is on ------------ */

static void shunt_values(const gv_block *block, double *state, const gv_pass *to)
{
    const int n = block->n, switched = block->kind == GV_SWITCHED_SHUNTS;
    (void)state;
    for (int i = 0; i < n; i++) {
        double vm = to->x[block->columns[0][i]], on = switched ? to->x[block->columns[1][i]] : 1.0;
        for (int k = 0; k < 2; k++)
            to->rows[block->rows[k * n + i]] += block->numbers[k][i] * (on * vm * vm);
    }
}

static void shunt_gradients(const gv_block *block, const double *state, const gv_pass *to)
{
    const int n = block->n, switched = block->kind == GV_SWITCHED_SHUNTS;
    const int *place = block->jacobian_place;
    (void)state;
    for (int i = 0; i < n; i++) {
        double vm = to->x[block->columns[0][i]], on = switched ? to->x[block->columns[1][i]] : 1.0;
        for (int k = 0; k < 2; k++, place += 1 + switched) {
            int row = block->rows[k * n + i];
            if (row < 0) continue;
            gv_target(to, row)[place[0]] += block->numbers[k][i] * (2.0 * on * vm);
            if (switched) gv_target(to, row)[place[1]] += block->numbers[k][i] * (vm * vm);
        }
    }
}

static void shunt_hessian(const gv_block *block, const double *state, const gv_pass *to)
{
    const int n = block->n, switched = block->kind == GV_SWITCHED_SHUNTS;
    const int *place = block->hessian_place;
    (void)state;
    for (int i = 0; i < n; i++) {
        double vm = to->x[block->columns[0][i]], on = switched ? to->x[block->columns[1][i]] : 1.0;
        double weighted = 2.0 * (block->numbers[0][i] * to->weight[block->rows[i]] +
                                 block->numbers[1][i] * to->weight[block->rows[n + i]]);
        to->hessian[*place++] += weighted * on;
        if (switched) to->hessian[*place++] += weighted * vm;
    }
}

/* ---- Blocks of one local z: `scalar` gives function k of element i, or its first or second derivative ----------- */

static inline double raised(double x, int k) /* for k = 0, 1, 2 */
{
    return k == 0 ? 1.0 : k == 1 ? x : x * x;
}

/* weight·(x − target)² */
static inline double distance(const gv_block *block, double memory, double z, int i, int k, int derivative)
{
    double weight = block->numbers[1][i], away = z - block->numbers[0][i];
    (void)memory, (void)k;
    return derivative == 0 ? weight * (away * away) : derivative == 1 ? 2.0 * weight * away : 2.0 * weight;
}

/* c·e^(power·u), whose derivatives are multiples of itself; `memory` is the exponential */
static inline double growth(const gv_block *block, double memory, double z, int i, int k, int derivative)
{
    (void)z;
    return raised(block->numbers[0][i], derivative) * (block->numbers[1 + k][i] * memory);
}

/* Σ c_k·xᵏ for k ≥ 2, by Horner's rule */
static inline double polynomial(const gv_block *block, double memory, double z, int i, int k, int derivative)
{
    double sum = 0.0;
    (void)memory, (void)k;
    for (int power = block->n_numbers + 1; power >= 2; power--) {
        double factor = derivative == 0 ? 1.0 : derivative == 1 ? power : (double)power * (power - 1);
        sum = sum * z + factor * block->numbers[power - 2][i];
    }
    return sum * raised(z, 2 - derivative);
}

static inline double scalar(const gv_block *block, double memory, double z, int i, int k, int derivative)
{
    if (block->kind == GV_DISTANCE) return distance(block, memory, z, i, k, derivative);
    if (block->kind == GV_GROWTH) return growth(block, memory, z, i, k, derivative);
    return polynomial(block, memory, z, i, k, derivative);
}

static void scalar_values(const gv_block *block, double *state, const gv_pass *to)
{
    for (int i = 0; i < block->n; i++) {
        double z = to->x[block->columns[0][i]];
        state[i] = block->kind == GV_GROWTH ? exp(block->numbers[0][i] * z) : 0.0;
        for (int k = 0; k < block->n_functions; k++)
            to->rows[block->rows[k * block->n + i]] += scalar(block, state[i], z, i, k, 0);
    }
}

static void scalar_gradients(const gv_block *block, const double *state, const gv_pass *to)
{
    const int *place = block->jacobian_place;
    for (int i = 0; i < block->n; i++)
        for (int k = 0; k < block->n_functions; k++, place++) {
            int row = block->rows[k * block->n + i];
            if (row >= 0) gv_target(to, row)[*place] += scalar(block, state[i], to->x[block->columns[0][i]], i, k, 1);
        }
}

static void scalar_hessian(const gv_block *block, const double *state, const gv_pass *to)
{
    for (int i = 0; i < block->n; i++)
        for (int k = 0; k < block->n_functions; k++)
            to->hessian[block->hessian_place[i]] += to->weight[block->rows[k * block->n + i]] *
                                                    scalar(block, state[i], to->x[block->columns[0][i]], i, k, 2);
}

/* ---- The whole ---------------------------------------------------------------------------------------------------- */

static size_t one_each(const gv_block *block)
{
    return (size_t)block->n;
}

static size_t none(const gv_block *block)
{
    (void)block;
    return 0;
}

static const gv_kind shunt_kind = {none, shunt_values, shunt_gradients, shunt_hessian};
static const gv_kind scalar_kind = {one_each, scalar_values, scalar_gradients, scalar_hessian};

static const gv_kind *const kinds[GV_KINDS] = {
    [GV_LINES] = &gv_line_kind,
    [GV_SHUNTS] = &shunt_kind,
    [GV_SWITCHED_SHUNTS] = &shunt_kind,
    [GV_DISTANCE] = &scalar_kind,
    [GV_GROWTH] = &scalar_kind,
    [GV_POLYNOMIAL] = &scalar_kind,
};

/* One block with its share of the states. */
typedef struct part {
    const gv_block *block;
    const gv_kind *kind;
    double *state;
} part;

struct gv_evaluator {
    gv_program program;
    part *parts;
    double *x, *rows, *weight;  /* the last point; the latter two with an entry at −1 */
    double *memory;
};

static void copy(double *to, const double *from, int count)
{
    if (count) memcpy(to, from, sizeof(double) * (size_t)count);
}

static void clear(double *values, int count)
{
    if (count) memset(values, 0, sizeof(double) * (size_t)count);
}

static int values(void *self, const double *x, double *objective, double *rows)
{
    gv_evaluator *e = self;
    const gv_program *program = &e->program;
    const gv_pass to = {.x = e->x, .rows = e->rows};
    copy(e->x, x, program->n_variables);
    clear(e->rows, program->n_constraints + 1);
    for (part *p = e->parts; p < e->parts + program->n_blocks; p++)
        p->kind->values(p->block, p->state, &to);
    for (int k = 0; k < program->n_linear; k++)
        e->rows[program->linear_row[k]] += program->linear_coefficient[k] * e->x[program->linear_column[k]];
    *objective = e->rows[0] + program->constant;
    copy(rows, e->rows + 1, program->n_constraints);
    return 0;
}

static int gradients(void *self, double *objective_gradient, double *jacobian)
{
    gv_evaluator *e = self;
    const gv_program *program = &e->program;
    const gv_pass to = {.x = e->x, .objective = objective_gradient, .jacobian = jacobian};
    clear(objective_gradient, program->n_variables);
    for (int k = 0; k < program->n_gradient; k++)
        objective_gradient[program->gradient_column[k]] = program->gradient_constant[k];
    clear(jacobian, program->n_jacobian);
    for (int k = 0; k < program->n_constant; k++)
        jacobian[program->constant_place[k]] = program->jacobian_constant[k];
    for (part *p = e->parts; p < e->parts + program->n_blocks; p++)
        p->kind->gradients(p->block, p->state, &to);
    return 0;
}

static int hessian(void *self, double objective_factor, const double *multipliers, double *hessian)
{
    gv_evaluator *e = self;
    const gv_program *program = &e->program;
    const gv_pass to = {.x = e->x, .weight = e->weight, .hessian = hessian};
    e->weight[0] = objective_factor;
    copy(e->weight + 1, multipliers, program->n_constraints);
    clear(hessian, program->n_hessian);
    for (part *p = e->parts; p < e->parts + program->n_blocks; p++)
        p->kind->hessian(p->block, p->state, &to);
    return 0;
}

gv_evaluator *gv_evaluator_new(const gv_program *program)
{
    size_t n = (size_t)program->n_variables, rows = (size_t)program->n_constraints + 2, states = 0;
    for (int k = 0; k < program->n_blocks; k++) {
        const gv_block *block = &program->blocks[k];
        if (block->kind <= 0 || block->kind >= GV_KINDS) return NULL;
        states += kinds[block->kind]->state_size(block);
    }
    gv_evaluator *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->program = *program;
    e->parts = calloc((size_t)program->n_blocks + 1, sizeof *e->parts);
    e->memory = calloc(n + 2 * rows + states, sizeof(double));
    if (!e->parts || !e->memory) {
        gv_evaluator_free(e);
        return NULL;
    }
    e->x = e->memory;
    e->rows = e->x + n + 1;
    e->weight = e->rows + rows;
    double *state = e->x + n + 2 * rows;
    for (int k = 0; k < program->n_blocks; k++) {
        const gv_block *block = &program->blocks[k];
        e->parts[k] = (part){block, kinds[block->kind], state};
        state += kinds[block->kind]->state_size(block);
    }
    return e;
}

void gv_evaluator_free(gv_evaluator *evaluator)
{
    if (!evaluator) return;
    free(evaluator->parts);
    free(evaluator->memory);
    free(evaluator);
}

void gv_evaluator_functions(gv_evaluator *evaluator, gv_functions *out)
{
    const gv_program *program = &evaluator->program;
    *out = (gv_functions){
        .self = evaluator,
        .n = program->n_variables,
        .m = program->n_constraints,
        .n_jacobian = program->n_jacobian,
        .n_hessian = program->n_hessian,
        .jacobian_row = program->jacobian_row,
        .jacobian_column = program->jacobian_column,
        .hessian_row = program->hessian_row,
        .hessian_column = program->hessian_column,
        .values = values,
        .gradients = gradients,
        .hessian = hessian,
    };
}
