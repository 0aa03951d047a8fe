/* Orders the pivots of a sparse symmetric matrix so that its factor stays sparse. */
#ifndef GV_ORDER_H
#define GV_ORDER_H

/* Approximate minimum degree. The graph has `n` nodes; the neighbours of i are neighbour[start[i] .. start[i+1]), each
 * edge in both lists, none twice, no loops; `weight[i]` is how many unknowns stand behind node i. Writes the nodes in the
 * order of their elimination into `order`. Returns 0, or -1 if memory runs out. */
int gv_order(int n, const int *start, const int *neighbour, const int *weight, int *order);

#endif
