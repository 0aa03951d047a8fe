/* The larger and the smaller of two numbers, without a call; where one is no number, the second. */
#ifndef GV_NUMBERS_H
#define GV_NUMBERS_H

#include <math.h>

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* The size of the largest entry. Four at a time: a maximum waits for the one before it. */
static inline double largest_of(const double *a, int count) {
    double m0 = 0.0, m1 = 0.0, m2 = 0.0, m3 = 0.0;
    int i = 0;
    for (; i + 3 < count; i += 4)
        m0 = larger(fabs(a[i]), m0), m1 = larger(fabs(a[i + 1]), m1), m2 = larger(fabs(a[i + 2]), m2), m3 = larger(fabs(a[i + 3]), m3);
    for (; i < count; i++) m0 = larger(fabs(a[i]), m0);
    return larger(larger(m0, m1), larger(m2, m3));
}

#endif
