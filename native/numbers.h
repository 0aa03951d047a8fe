/* The larger and the smaller of two numbers, without a call; where one is no number, the second. */
#ifndef GV_NUMBERS_H
#define GV_NUMBERS_H

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

#endif
