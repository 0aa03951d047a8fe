/* Approximate minimum degree (Amestoy, Davis and Duff, SIAM J. Matrix Anal. Appl. 17 (1996) 886-905).
 *
 * The graph that is left after some eliminations is kept as a quotient graph: an eliminated node is an *element*, whose
 * list are the nodes that it has made neighbours of each other; a node i that is left has a list of elements and one of
 * nodes. Nodes that cannot be told apart become one (*mass* elimination and supervariables, found by a hash), an element
 * all of whose nodes are in a newer one is *absorbed*, and the degree of a node is bounded from above instead of counted.
 *
 * Lists of nodes shrink where they stand. Lists of new elements are appended to a pool, which so holds no more than the
 * factor's own pattern does, compressed; there is no garbage to collect.
 */
#include "order.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int n;
    int *pool;       /* all lists */
    int64_t used, room;
    int64_t *list;   /* where the list of a node or element begins */
    int *elements;   /* how many elements stand at the front of a node's list; -1: it is an element itself */
    int *length;     /* of the whole list */
    int *weight;     /* of a live node; 0: it is gone (merged, eliminated, absorbed); negative: it is in the new element */
    int *degree;     /* of a node: the bound; of an element: the weight of its nodes */
    int *mark;       /* of an element: `flag` plus the weight of its nodes outside the new one */
    int flag;
    int *head, *next, *previous; /* nodes by degree */
    int least;
    int *hash_head, *hash_next, *hash; /* nodes of the new element by a hash of their lists */
    int *stamp, stamped;               /* for the comparison of two lists */
    int *follower, *last_follower; /* nodes that are eliminated together with one, as a chain */
    int *dense;                    /* whether a node has so many neighbours that it is better left to the end */
} Graph;

#define DENSE 10.0 /* times the root of the order */

static int reserve(Graph *g, int64_t more) {
    if (g->used + more <= g->room) return 0;
    int64_t room = 2 * g->room + more;
    int *pool = realloc(g->pool, (size_t)room * sizeof *pool);
    if (!pool) return -1;
    g->pool = pool;
    g->room = room;
    return 0;
}

static void link_node(Graph *g, int i) {
    int d = g->degree[i], first = g->head[d];
    g->next[i] = first;
    g->previous[i] = -1;
    if (first >= 0) g->previous[first] = i;
    g->head[d] = i;
    if (d < g->least) g->least = d;
}

static void unlink_node(Graph *g, int i) {
    int before = g->previous[i], after = g->next[i];
    if (after >= 0) g->previous[after] = before;
    if (before >= 0) g->next[before] = after;
    else g->head[g->degree[i]] = after;
}

/* Node j goes where i goes. */
static void follow(Graph *g, int i, int j) {
    g->follower[g->last_follower[i]] = j;
    g->last_follower[i] = g->last_follower[j];
}

/* The nodes next to the pivot, directly or through its elements, become the list of the element it turns into; their
 * weights are negated, which says that they are in it. Returns the weight of the element, or -1. */
static int make_element(Graph *g, int pivot) {
    int64_t size = g->length[pivot] - g->elements[pivot];
    for (int k = 0; k < g->elements[pivot]; k++) size += g->length[g->pool[g->list[pivot] + k]];
    if (reserve(g, size)) return -1;
    int64_t begin = g->used, end = begin;
    int total = 0;
    for (int k = 0; k <= g->elements[pivot]; k++) {
        int own = k == g->elements[pivot]; /* last, the nodes of the pivot itself */
        int element = own ? pivot : g->pool[g->list[pivot] + k];
        int64_t from = g->list[element] + (own ? g->elements[pivot] : 0);
        int64_t to = g->list[element] + g->length[element];
        for (; from < to; from++) {
            int i = g->pool[from];
            if (g->weight[i] <= 0) continue;
            total += g->weight[i];
            g->weight[i] = -g->weight[i];
            unlink_node(g, i);
            g->pool[end++] = i;
        }
        if (!own) g->weight[element] = 0, g->mark[element] = 0, g->length[element] = 0; /* absorbed */
    }
    g->list[pivot] = begin;
    g->length[pivot] = (int)(end - begin);
    g->elements[pivot] = -1;
    g->used = end;
    return total;
}

/* For every element that shares nodes with the new one: mark = flag + the weight of its nodes outside. */
static void measure_overlaps(Graph *g, int pivot) {
    for (int k = 0; k < g->length[pivot]; k++) {
        int i = g->pool[g->list[pivot] + k];
        for (int e = 0; e < g->elements[i]; e++) {
            int element = g->pool[g->list[i] + e];
            if (g->mark[element] >= g->flag) g->mark[element] += g->weight[i]; /* negative */
            else if (g->mark[element]) g->mark[element] = g->degree[element] + g->flag + g->weight[i];
        }
    }
}

/* Rid the lists of node i of what the new element covers; bound its degree. Returns whether nothing else is left. */
static int prune(Graph *g, int i, int pivot, int element_weight, int left) {
    int *list = g->pool + g->list[i], end = g->length[i], kept = 0, own = -g->weight[i];
    int64_t outside = 0;
    unsigned sum = (unsigned)pivot;
    for (int k = 0; k < g->elements[i]; k++) {
        int element = list[k];
        if (!g->mark[element]) continue; /* absorbed */
        int beyond = g->mark[element] - g->flag;
        if (beyond == 0) { /* all its nodes are in the new one */
            g->mark[element] = 0;
            continue;
        }
        outside += beyond;
        sum += (unsigned)element;
        list[kept++] = element;
    }
    int elements = kept;
    for (int k = g->elements[i]; k < end; k++) {
        int j = list[k];
        if (g->weight[j] <= 0) continue; /* gone, or in the new element */
        outside += g->weight[j];
        sum += (unsigned)j;
        list[kept++] = j;
    }
    /* There is room for the new element, for the pivot or one of its elements has left the list. */
    if (kept > elements) list[kept] = list[elements];
    list[elements] = pivot;
    g->elements[i] = elements + 1;
    g->length[i] = kept + 1;
    if (outside == 0) return 1;
    int64_t bound = (int64_t)g->degree[i] + element_weight - own, exact = outside + element_weight - own;
    if (exact < bound) bound = exact;
    if (left - own < bound) bound = left - own;
    g->degree[i] = (int)bound;
    g->hash[i] = (int)(sum % (unsigned)g->n);
    return 0;
}

static int equal_lists(const Graph *g, int i, int j) {
    if (g->length[j] != g->length[i] || g->elements[j] != g->elements[i]) return 0;
    for (int k = 0; k < g->length[j]; k++)
        if (g->stamp[g->pool[g->list[j] + k]] != g->stamped) return 0;
    return 1;
}

/* Nodes of the new element with equal lists become one. */
static void merge_twins(Graph *g, int pivot) {
    for (int k = 0; k < g->length[pivot]; k++) {
        int node = g->pool[g->list[pivot] + k];
        if (g->weight[node] == 0) continue;
        int i = g->hash_head[g->hash[node]];
        g->hash_head[g->hash[node]] = -1;
        for (; i >= 0 && g->hash_next[i] >= 0; i = g->hash_next[i]) {
            g->stamped++;
            for (int e = 0; e < g->length[i]; e++) g->stamp[g->pool[g->list[i] + e]] = g->stamped;
            for (int before = i, j = g->hash_next[i]; j >= 0; j = g->hash_next[j]) {
                if (equal_lists(g, i, j)) {
                    g->weight[i] += g->weight[j]; /* both negative */
                    g->weight[j] = 0;
                    follow(g, i, j);
                    g->hash_next[before] = g->hash_next[j];
                } else before = j;
            }
        }
    }
}

static int setup(Graph *g, int n, const int *start, const int *neighbour, const int *weight) {
    size_t count = (size_t)n;
    memset(g, 0, sizeof *g);
    g->n = n;
    g->room = (int64_t)start[n] * 2 + n + 1;
    int **arrays[] = {&g->elements, &g->length, &g->weight, &g->degree, &g->mark, &g->next, &g->previous,
                      &g->hash_head, &g->hash_next, &g->hash, &g->stamp, &g->follower, &g->last_follower, &g->dense};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        if (!(*arrays[k] = calloc(count + 1, sizeof(int)))) return -1;
    int64_t total = 0;
    for (int i = 0; i < n; i++) total += weight[i];
    if (total >= INT32_MAX || !(g->head = malloc(((size_t)total + 1) * sizeof(int)))) return -1;
    if (!(g->list = malloc((count + 1) * sizeof(int64_t))) || !(g->pool = malloc((size_t)g->room * sizeof(int)))) return -1;
    double dense = DENSE * sqrt((double)total) > 16 ? DENSE * sqrt((double)total) : 16;
    memcpy(g->pool, neighbour, (size_t)start[n] * sizeof(int));
    g->used = start[n];
    g->flag = 2;
    g->least = (int)total;
    for (int64_t d = 0; d <= total; d++) g->head[d] = -1;
    for (int i = 0; i < n; i++) {
        g->list[i] = start[i];
        g->length[i] = start[i + 1] - start[i];
        g->weight[i] = weight[i];
        g->mark[i] = 1;
        g->follower[i] = g->hash_head[i] = -1;
        g->last_follower[i] = i;
        for (int k = start[i]; k < start[i + 1]; k++) g->degree[i] += weight[neighbour[k]];
        if ((g->dense[i] = g->degree[i] > dense)) g->weight[i] = 0, total -= weight[i];
        else link_node(g, i);
    }
    return (int)total;
}

static void teardown(Graph *g) {
    int *arrays[] = {g->elements, g->length, g->weight, g->degree, g->mark, g->head, g->next, g->previous, g->hash_head,
                     g->hash_next, g->hash, g->stamp, g->follower, g->last_follower, g->dense, g->pool};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free(arrays[k]);
    free(g->list);
}

/* Eliminate one node and those that fall with it; returns the weight of all, or -1. */
static int eliminate(Graph *g, int left, int *eliminated) {
    while (g->head[g->least] < 0) g->least++;
    int pivot = *eliminated = g->head[g->least], gone = g->weight[pivot];
    unlink_node(g, pivot);
    g->weight[pivot] = 0;
    int element_weight = make_element(g, pivot);
    if (element_weight < 0) return -1;
    measure_overlaps(g, pivot);
    int kept = 0, *list = g->pool + g->list[pivot], size = g->length[pivot];
    for (int k = 0; k < size; k++) {
        int i = list[k];
        if (prune(g, i, pivot, element_weight, left - gone)) { /* falls together with the pivot */
            gone -= g->weight[i];
            g->weight[i] = 0;
            follow(g, pivot, i);
            continue;
        }
        g->hash_next[i] = g->hash_head[g->hash[i]];
        g->hash_head[g->hash[i]] = i;
        list[kept++] = i;
    }
    g->length[pivot] = kept;
    merge_twins(g, pivot);
    g->flag += g->n + left + 1; /* above every mark */
    int live = 0, remaining = left - gone;
    element_weight = 0;
    for (int k = 0; k < kept; k++)
        if (g->weight[list[k]]) element_weight -= g->weight[list[k]], list[live++] = list[k];
    g->length[pivot] = live;
    g->degree[pivot] = element_weight;
    g->mark[pivot] = live ? 1 : 0;
    for (int k = 0; k < live; k++) {
        int i = list[k];
        g->weight[i] = -g->weight[i];
        int most = remaining - g->weight[i];
        if (g->degree[i] > most) g->degree[i] = most;
        if (g->degree[i] < 0) g->degree[i] = 0;
        link_node(g, i);
    }
    return gone;
}

int gv_order(int n, const int *start, const int *neighbour, const int *weight, int *order) {
    Graph g;
    if (n <= 0) return 0;
    int left = setup(&g, n, start, neighbour, weight), place = 0;
    while (left > 0) {
        if (g.flag > INT32_MAX / 2 - 2 * (n + left)) { /* begin to count anew */
            for (int i = 0; i < n; i++) g.mark[i] = g.mark[i] != 0;
            g.flag = 2;
        }
        int pivot = -1, gone = eliminate(&g, left, &pivot);
        left = gone < 0 ? -1 : left - gone;
        for (int i = pivot; gone >= 0 && i >= 0; i = g.follower[i]) order[place++] = i;
    }
    for (int i = 0; left == 0 && i < n; i++)
        if (g.dense[i]) order[place++] = i;
    teardown(&g);
    return left < 0 ? -1 : 0;
}
