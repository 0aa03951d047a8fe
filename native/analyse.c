/* From a pattern to a forest of fronts.
 *
 *   1. pairs        a column whose diagonal is zero cannot be a pivot by itself: it is tied to a neighbour that can bear
 *                   it, so that both are eliminated in one front (`tie`)
 *   2. order        approximate minimum degree of the graph of ties (`gv_order`)
 *   3. tree         the parent of a column is the first one below the diagonal of its column of L (`elimination_tree`),
 *                   and columns are numbered anew in postorder, the child with the most rows last
 *   4. fronts       neighbouring columns of (nearly) the same rows (`join_columns`, `merge_fronts`)
 *   5. rows, places of every front in its parent's (`front_rows`), and where each entry of the matrix goes (`file_entries`)
 */
#include "analyse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ldl.h"
#include "order.h"
#include "numbers.h"

void *gv_take(Arena *arena, size_t count, size_t size) {
    if (arena->failed) return NULL;
    if (arena->used == arena->room) {
        int room = 2 * arena->room + 32;
        void **block = realloc(arena->block, (size_t)room * sizeof *block);
        if (!block) return arena->failed = 1, NULL;
        arena->block = block, arena->room = room;
    }
    void *got = calloc(count ? count : 1, size);
    if (!got) return arena->failed = 1, NULL;
    return arena->block[arena->used++] = got;
}

void gv_release(Arena *arena) {
    for (int k = 0; k < arena->used; k++) free(arena->block[k]);
    free(arena->block);
    memset(arena, 0, sizeof *arena);
}

#define INTS(arena, count) ((int *)gv_take(arena, (size_t)(count), sizeof(int)))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* Neighbours of every column, each once, with the size of the entry. */
typedef struct {
    int *start, *neighbour;
    double *size, *diagonal;
} Graph;

static int neighbours(Graph *g, Arena *tmp, int n, int count, const int *row, const int *column, const double *value) {
    int *next = INTS(tmp, n + 1), *seen = INTS(tmp, n);
    g->start = INTS(tmp, n + 1);
    g->neighbour = INTS(tmp, 2 * (size_t)count);
    g->size = gv_take(tmp, 2 * (size_t)count, sizeof(double));
    g->diagonal = gv_take(tmp, (size_t)n, sizeof(double));
    if (tmp->failed) return GV_NO_MEMORY;
    for (int e = 0; e < count; e++)
        if (row[e] != column[e]) next[row[e] + 1]++, next[column[e] + 1]++;
    for (int i = 0; i < n; i++) next[i + 1] += next[i];
    memcpy(g->start, next, ((size_t)n + 1) * sizeof(int));
    for (int e = 0; e < count; e++) {
        int i = row[e], j = column[e];
        if (i == j) g->diagonal[i] += value[e];
        else {
            g->size[next[i]] = g->size[next[j]] = fabs(value[e]);
            g->neighbour[next[i]++] = j, g->neighbour[next[j]++] = i;
        }
    }
    int write = 0; /* now each neighbour once; entries of one place are taken for their sum's size, which is near enough */
    for (int i = 0; i < n; i++) seen[i] = -1;
    for (int i = 0, from = 0; i < n; i++) {
        int to = g->start[i + 1], begin = write;
        for (; from < to; from++) {
            int j = g->neighbour[from];
            double size = g->size[from];
            if (seen[j] >= begin) g->size[seen[j]] += size;
            else seen[j] = write, g->neighbour[write] = j, g->size[write++] = size;
        }
        from = to;
        g->start[i] = begin;
    }
    g->start[n] = write;
    return GV_OK;
}

#define BEARS 0.1   /* a neighbour can bear a column if its entry is that share of the largest one */
#define WIDE 64     /* so many neighbours are looked through */

/* mate[i]: the column that i is eliminated with, -1 if none. Of those that can bear a column with a zero diagonal, the
 * one is best whose neighbours are its neighbours: it adds least to the factor. */
static int tie(const Graph *g, Arena *tmp, int n, int *mate) {
    int *seen = INTS(tmp, n);
    if (tmp->failed) return GV_NO_MEMORY;
    for (int i = 0; i < n; i++) mate[i] = -1, seen[i] = -1;
    for (int z = 0; z < n; z++) {
        if (g->diagonal[z] != 0.0 || mate[z] >= 0) continue;
        double largest = 0.0, best = -1.0;
        for (int k = g->start[z]; k < g->start[z + 1]; k++) seen[g->neighbour[k]] = z, largest = larger(largest, g->size[k]);
        for (int k = g->start[z]; k < g->start[z + 1]; k++) {
            int v = g->neighbour[k], own = g->start[v + 1] - g->start[v], common = 1;
            if (mate[v] >= 0 || g->diagonal[v] == 0.0 || !(g->size[k] >= BEARS * largest)) continue;
            for (int e = g->start[v]; e < MIN(g->start[v + 1], g->start[v] + WIDE); e++) common += seen[g->neighbour[e]] == z;
            double share = (double)common / (double)(own + g->start[z + 1] - g->start[z]);
            if (share > best) best = share, mate[z] = v;
        }
        if (mate[z] >= 0) mate[mate[z]] = z;
    }
    return GV_OK;
}

/* The order of elimination, ties kept together. */
static int order_columns(const Graph *g, Arena *tmp, int n, int *permutation) {
    int *mate = INTS(tmp, n), *node = INTS(tmp, n), *leader = INTS(tmp, n), *seen = INTS(tmp, n), *weight = INTS(tmp, n);
    int *start = INTS(tmp, n + 1), *neighbour = INTS(tmp, g->start[n]), *order = INTS(tmp, n), nodes = 0, used = 0;
    if (tmp->failed || tie(g, tmp, n, mate)) return GV_NO_MEMORY;
    for (int i = 0; i < n; i++) {
        if (mate[i] >= 0 && mate[i] < i) {
            node[i] = node[mate[i]], weight[node[i]] = 2;
            continue;
        }
        leader[nodes] = i, weight[nodes] = 1, node[i] = nodes++;
    }
    for (int k = 0; k < nodes; k++) seen[k] = -1;
    for (int k = 0; k < nodes; k++) {
        seen[k] = k;
        for (int i = leader[k]; i >= 0; i = i == leader[k] ? mate[i] : -1)
            for (int e = g->start[i]; e < g->start[i + 1]; e++) {
                int other = node[g->neighbour[e]];
                if (seen[other] != k) seen[other] = k, neighbour[used++] = other;
            }
        start[k + 1] = used;
    }
    if (gv_order(nodes, start, neighbour, weight, order)) return GV_NO_MEMORY;
    for (int k = 0, place = 0; k < nodes; k++) {
        int i = leader[order[k]], j = mate[i];
        if (j >= 0 && g->diagonal[i] == 0.0) i = j, j = leader[order[k]]; /* what has a diagonal comes first */
        permutation[place++] = i;
        if (j >= 0) permutation[place++] = j;
    }
    return GV_OK;
}

/* Liu's algorithm, and the number of entries below the diagonal of every column of L; `inverse` is index -> permuted. */
static int elimination_tree(const Graph *g, Arena *tmp, int n, const int *permutation, const int *inverse, int *parent, int *count) {
    int *ancestor = INTS(tmp, n), *seen = INTS(tmp, n);
    if (tmp->failed) return GV_NO_MEMORY;
    for (int i = 0; i < n; i++) {
        parent[i] = ancestor[i] = -1, count[i] = 0, seen[i] = i;
        int k = permutation[i];
        for (int e = g->start[k]; e < g->start[k + 1]; e++)
            for (int j = inverse[g->neighbour[e]], next; j < i && j >= 0; j = next) {
                next = ancestor[j], ancestor[j] = i;
                if (next < 0) parent[j] = i;
                if (next == i) break;
            }
        for (int e = g->start[k]; e < g->start[k + 1]; e++)
            for (int j = inverse[g->neighbour[e]]; j < i && seen[j] != i; j = parent[j]) seen[j] = i, count[j]++;
    }
    return GV_OK;
}

/* Number the columns in postorder, the child with the most rows last: its front is the most alike. */
static int postorder(Arena *tmp, int n, int *permutation, int *parent, int *count) {
    int *child = INTS(tmp, n), *sibling = INTS(tmp, n), *bucket = INTS(tmp, n + 1), *sorted = INTS(tmp, n);
    int *stack = INTS(tmp, n), *place = INTS(tmp, n), *old = INTS(tmp, 3 * (size_t)n), next = 0;
    if (tmp->failed) return GV_NO_MEMORY;
    for (int i = 0; i < n; i++) child[i] = -1, bucket[count[i] + 1]++;
    for (int c = 0; c < n; c++) bucket[c + 1] += bucket[c];
    for (int i = 0; i < n; i++) sorted[bucket[count[i]]++] = i;
    for (int k = n - 1; k >= 0; k--) { /* the most rows first, so that it becomes the last of its list */
        int i = sorted[k];
        if (parent[i] >= 0) sibling[i] = child[parent[i]], child[parent[i]] = i;
    }
    for (int root = 0; root < n; root++) {
        if (parent[root] >= 0) continue;
        int depth = 0;
        stack[0] = root;
        while (depth >= 0) {
            int i = stack[depth];
            if (child[i] >= 0) stack[++depth] = child[i], child[i] = sibling[child[i]];
            else place[i] = next++, depth--;
        }
    }
    memcpy(old, permutation, (size_t)n * sizeof(int));
    memcpy(old + n, parent, (size_t)n * sizeof(int));
    memcpy(old + 2 * (size_t)n, count, (size_t)n * sizeof(int));
    for (int i = 0; i < n; i++) {
        permutation[place[i]] = old[i];
        parent[place[i]] = old[n + i] < 0 ? -1 : place[old[n + i]];
        count[place[i]] = old[2 * (size_t)n + i];
    }
    return GV_OK;
}

#define WIDEST 48 /* columns of a front, unless the pattern itself has wider ones */

/* Fronts of columns with the same rows, then fronts joined to their parents' where that adds few zeros. */
static void join_columns(Analysis *a, int n, const int *parent, const int *count) {
    a->fronts = 0;
    for (int j = 0; j < n; j++)
        if (j == 0 || parent[j - 1] != j || count[j - 1] != count[j] + 1 || j - a->first[a->fronts - 1] >= WIDEST)
            a->first[a->fronts++] = j;
    a->first[a->fronts] = n;
}

/* Are so many zeros worth a front of that width less? Small fronts cost more by being fronts than by their zeros. */
static int worth(double zeros, double entries, int width) {
    double share = zeros / entries;
    return width <= 4 || (width <= 8 && share < 0.5) || (width <= 16 && share < 0.2) || (width <= WIDEST && share < 0.05);
}

static int merge_fronts(Analysis *a, Arena *tmp, const int *parent, const int *count) {
    int *begin = INTS(tmp, a->fronts + 1), *rows = INTS(tmp, a->fronts), kept = 0;
    double *zeros = gv_take(tmp, (size_t)a->fronts, sizeof(double));
    if (tmp->failed) return GV_NO_MEMORY;
    for (int s = 0; s < a->fronts; s++) { /* the kept fronts are a stack: only its top can be the last child of s */
        int c0 = a->first[s], c1 = a->first[s + 1], below = count[c1 - 1];
        double zero = 0.0;
        while (kept > 0 && parent[c0 - 1] >= c0 && parent[c0 - 1] < c1) {
            int b0 = begin[kept - 1], own = c0 - b0, width = c1 - b0;
            double more = zero + zeros[kept - 1] + (double)own * ((c1 - c0) + below - rows[kept - 1]);
            if (!worth(more, (double)width * (0.5 * width + below), width)) break;
            zero = more, c0 = b0, kept--;
        }
        begin[kept] = c0, rows[kept] = below, zeros[kept++] = zero;
    }
    memcpy(a->first, begin, (size_t)kept * sizeof(int));
    a->first[kept] = a->n;
    a->fronts = kept;
    return GV_OK;
}

static int by_value(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }

/* Rows of every front, from its entries and its children's rows; and where they stand in the parent's front. */
static int front_rows(Analysis *a, Arena *memory, Arena *tmp, const Graph *g, const int *inverse, const int *count) {
    int n = a->n, *seen = INTS(tmp, n), *front = INTS(tmp, n), *child = INTS(tmp, a->fronts), *sibling = INTS(tmp, a->fronts);
    long long room = 0;
    if (tmp->failed) return GV_NO_MEMORY;
    for (int s = 0; s < a->fronts; s++) {
        room += count[a->first[s + 1] - 1];
        child[s] = -1, a->parent[s] = -1;
        for (int j = a->first[s]; j < a->first[s + 1]; j++) front[j] = s, seen[j] = -1;
    }
    if (room > 0x7fffffff) return GV_NO_MEMORY;
    a->row = INTS(memory, room), a->place = INTS(memory, room);
    if (memory->failed) return GV_NO_MEMORY;
    for (int s = 0, used = 0; s < a->fronts; s++) {
        int c0 = a->first[s], c1 = a->first[s + 1], begin = used;
        for (int j = c0; j < c1; j++)
            for (int e = g->start[a->permutation[j]]; e < g->start[a->permutation[j] + 1]; e++) {
                int i = inverse[g->neighbour[e]];
                if (i >= c1 && seen[i] != s) seen[i] = s, a->row[used++] = i;
            }
        for (int c = child[s]; c >= 0; c = sibling[c])
            for (int k = a->row_start[c]; k < a->row_start[c + 1]; k++)
                if (a->row[k] >= c1 && seen[a->row[k]] != s) seen[a->row[k]] = s, a->row[used++] = a->row[k];
        qsort(a->row + begin, (size_t)(used - begin), sizeof(int), by_value);
        a->row_start[s + 1] = used;
        if (used > begin) {
            int p = a->parent[s] = front[a->row[begin]];
            sibling[s] = child[p], child[p] = s, a->children[p]++;
        }
        long long width = c1 - c0, order = width + used - begin;
        a->entries += width * (2 * order - width + 1) / 2;
        a->largest = MAX(a->largest, (int)order);
    }
    for (int s = 0; s < a->fronts; s++) {
        int p = a->parent[s], k = a->row_start[s], width = p < 0 ? 0 : a->first[p + 1] - a->first[p];
        for (int m = p < 0 ? 0 : a->row_start[p]; k < a->row_start[s + 1]; k++) {
            if (a->row[k] < a->first[p + 1]) a->place[k] = a->row[k] - a->first[p];
            else {
                while (a->row[m] != a->row[k]) m++;
                a->place[k] = width + m - a->row_start[p];
            }
        }
    }
    return GV_OK;
}

/* Sort `order` by a key from 0 to `most`; what is equal keeps its order. */
static int sort_by(Arena *tmp, int count, const int *key, int most, int *order) {
    int *next = INTS(tmp, (size_t)most + 2), *sorted = INTS(tmp, count);
    if (tmp->failed) return GV_NO_MEMORY;
    for (int e = 0; e < count; e++) next[key[e] + 1]++;
    for (int k = 0; k < most; k++) next[k + 1] += next[k];
    for (int e = 0; e < count; e++) sorted[next[key[order[e]]]++] = order[e];
    memcpy(order, sorted, (size_t)count * sizeof(int));
    return GV_OK;
}

/* Where each entry of the matrix goes: to the front that eliminates the earlier of its two columns. */
static int file_entries(Analysis *a, Arena *memory, Arena *tmp, int count, const int *row, const int *column, const int *inverse) {
    int *front = INTS(tmp, a->n), *order = INTS(tmp, count), *of = INTS(tmp, count), *i = INTS(tmp, count), *j = INTS(tmp, count);
    if (tmp->failed) return GV_NO_MEMORY;
    for (int s = 0; s < a->fronts; s++)
        for (int c = a->first[s]; c < a->first[s + 1]; c++) front[c] = s;
    for (int e = 0; e < count; e++) {
        int one = inverse[row[e]], other = inverse[column[e]], low = MIN(one, other), high = MAX(one, other), s = front[low];
        order[e] = e, of[e] = s, j[e] = low - a->first[s], i[e] = high - a->first[s];
        if (high < a->first[s + 1]) continue;
        int from = a->row_start[s], to = a->row_start[s + 1];
        while (to - from > 1) {
            int middle = (from + to) / 2;
            if (a->row[middle] <= high) from = middle;
            else to = middle;
        }
        i[e] = a->first[s + 1] - a->first[s] + from - a->row_start[s];
    }
    if (sort_by(tmp, count, i, a->largest, order) || sort_by(tmp, count, j, a->largest, order)) return GV_NO_MEMORY;
    if (sort_by(tmp, count, of, a->fronts, order)) return GV_NO_MEMORY;
    int slots = 0;
    for (int k = 0, before = -1; k < count; before = order[k++]) {
        int e = order[k];
        slots += before < 0 || of[e] != of[before] || i[e] != i[before] || j[e] != j[before];
        a->slot[e] = slots - 1;
    }
    a->slots = slots, a->at_row = INTS(memory, slots), a->at_column = INTS(memory, slots);
    if (memory->failed) return GV_NO_MEMORY;
    for (int e = 0; e < count; e++) a->at_row[a->slot[e]] = i[e], a->at_column[a->slot[e]] = j[e];
    for (int k = 0, before = -1; k < count; before = a->slot[order[k++]])
        if (a->slot[order[k]] != before) a->slot_start[of[order[k]] + 1]++;
    for (int s = 0; s < a->fronts; s++) a->slot_start[s + 1] += a->slot_start[s];
    return GV_OK;
}

static int analyse(Analysis *a, Arena *memory, Arena *tmp, int n, int count, const int *row, const int *column, const double *value) {
    Graph g;
    int *inverse = INTS(tmp, n), *parent = INTS(tmp, n), *below = INTS(tmp, n), status;
    memset(a, 0, sizeof *a);
    a->n = n;
    a->permutation = INTS(memory, n), a->first = INTS(memory, n + 1);
    a->slot = INTS(memory, count);
    if (tmp->failed || memory->failed) return GV_NO_MEMORY;
    if ((status = neighbours(&g, tmp, n, count, row, column, value))) return status;
    if ((status = order_columns(&g, tmp, n, a->permutation))) return status;
    for (int i = 0; i < n; i++) inverse[a->permutation[i]] = i;
    if ((status = elimination_tree(&g, tmp, n, a->permutation, inverse, parent, below))) return status;
    if ((status = postorder(tmp, n, a->permutation, parent, below))) return status;
    for (int i = 0; i < n; i++) inverse[a->permutation[i]] = i;
    join_columns(a, n, parent, below);
    if ((status = merge_fronts(a, tmp, parent, below))) return status;
    a->parent = INTS(memory, a->fronts), a->children = INTS(memory, a->fronts);
    a->row_start = INTS(memory, a->fronts + 1), a->slot_start = INTS(memory, a->fronts + 1);
    if (memory->failed) return GV_NO_MEMORY;
    if ((status = front_rows(a, memory, tmp, &g, inverse, below))) return status;
    return file_entries(a, memory, tmp, count, row, column, inverse);
}

int gv_analyse(Analysis *a, Arena *memory, int n, int count, const int *row, const int *column, const double *value) {
    Arena tmp = {0};
    int status = analyse(a, memory, &tmp, n, count, row, column, value);
    gv_release(&tmp);
    return status;
}
