/* Which pivots in which order, and what that makes of the pattern: done once per pattern. */
#ifndef GV_ANALYSE_H
#define GV_ANALYSE_H

#include <stddef.h>

/* Memory that is given back in one go; `failed` once it has run out, and then every request gets NULL. */
typedef struct {
    void **block;
    int used, room, failed;
} Arena;

void *gv_take(Arena *arena, size_t count, size_t size); /* zeroed */
void gv_release(Arena *arena);

/* The pattern as a forest of fronts, the children before their parent. Front s eliminates the columns
 * first[s] .. first[s+1]) of the permuted matrix and also has the rows row[row_start[s] .. row_start[s+1]). In the parent's
 * front (its columns, then its rows) these stand at place[row_start[s] ..]. */
typedef struct {
    int n, fronts, slots;
    int *permutation;    /* permuted index -> index */
    int *first, *parent, *children;
    int *row_start, *row, *place;
    int *slot;           /* where an entry of the matrix is added up: entries of one place share a slot */
    int *slot_start;     /* slots by front, */
    int *at_row, *at_column; /* and where each stands among columns and rows of its front */
    int largest;         /* order of the largest front */
    long long entries;   /* of the factor, were no pivot put off */
} Analysis;

/* Analyse; `value` tells which diagonals are zero, so that such a column is eliminated together with another one. */
int gv_analyse(Analysis *a, Arena *memory, int n, int count, const int *row, const int *column, const double *value);

#endif
