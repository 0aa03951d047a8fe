/* Dense elimination with threshold pivots.
 *
 * A pivot of order 1 is taken if |d| ≥ u·(largest entry beside it in its column); one of order 2, of columns p and q, if
 * u·|[p q]⁻¹|·(largest entries beside) ≤ 1 in both rows (Duff and Reid, ACM Trans. Math. Software 9 (1983) 302-325). Only
 * complete columns are pivots, but entries of all rows are looked at. Good pivots (u = GOOD) are looked for first, then such
 * as the caller allows; what finds none is put off to the parent's front, where more of its column is complete.
 */
#include "front.h"
#include "numbers.h"

#include <math.h>
#include <string.h>

#define GOOD 0.01
#define PATIENT 50 /* searches of a front without a good pivot, after which none is made */
#define AT(i, j) a[(size_t)(i) + (size_t)(j) * (size_t)n]

/* Largest entries of column p beside its diagonal: among complete ones at `*where`, and of all but `except`. */
static double largest_beside(const double *a, int n, int summed, int k, int p, int except, int *where, double *best) {
    double all = 0.0, most = -1.0;
    int at = -1;
    for (int j = k; j < p; j++) {
        double size = fabs(AT(p, j));
        if (size > most) most = size, at = j;
        if (j != except && size > all) all = size;
    }
    for (int i = p + 1; i < summed; i++) {
        double size = fabs(AT(i, p));
        if (size > most) most = size, at = i;
        if (i != except && size > all) all = size;
    }
    int from = summed > p + 1 ? summed : p + 1;
    double below = largest_of(&AT(0, p) + from, n - from);
    if (where) *where = at, *best = most;
    return below > all ? below : all;
}

/* Exchange unknowns p < q. */
static void exchange(Front f, int p, int q) {
    double *a = f.entry, t;
    int n = f.order, id = f.id[p];
    if (p == q) return;
    f.id[p] = f.id[q], f.id[q] = id;
    for (int j = 0; j < p; j++) t = AT(p, j), AT(p, j) = AT(q, j), AT(q, j) = t; /* rows of L move too */
    t = AT(p, p), AT(p, p) = AT(q, q), AT(q, q) = t;
    for (int i = p + 1; i < q; i++) t = AT(i, p), AT(i, p) = AT(q, i), AT(q, i) = t;
    for (int i = q + 1; i < n; i++) t = AT(i, p), AT(i, p) = AT(i, q), AT(i, q) = t;
}

typedef struct {
    int order, p, q;
} Pivot;

/* The first acceptable pivot among the complete columns from k on, looked for from `begin` on and then from k: what was
 * refused is not looked at again before the others. */
static Pivot find(Front f, int k, int begin, double u, double tiny) {
    const double *a = f.entry;
    int n = f.order;
    for (int turn = 0; turn < f.summed - k; turn++) {
        int p = begin + turn < f.summed ? begin + turn : begin + turn - f.summed + k, q;
        double most, beside = largest_beside(a, n, f.summed, k, p, -1, &q, &most), d = fabs(AT(p, p));
        if (d > tiny && d >= u * beside) return (Pivot){1, p, -1};
        if (q < 0 || !(most > tiny)) continue;
        double x = AT(p, p), y = p < q ? AT(q, p) : AT(p, q), z = AT(q, q), det = x * z - y * y, size = fabs(det);
        if (!(size > 1e-10 * larger(fabs(x * z), y * y))) continue;
        double of_p = largest_beside(a, n, f.summed, k, p, q, NULL, NULL), of_q = largest_beside(a, n, f.summed, k, q, p, NULL, NULL);
        if (u * (fabs(z) * of_p + fabs(y) * of_q) <= size && u * (fabs(y) * of_p + fabs(x) * of_q) <= size)
            return p < q ? (Pivot){2, p, q} : (Pivot){2, q, p};
    }
    return (Pivot){0, -1, -1};
}

/* The largest pivot there is, of order 1 or 2: for the last front, where none may be put off. */
static Pivot find_largest(Front f, int k, double tiny) {
    const double *a = f.entry;
    int n = f.order;
    double diagonal = 0.0, beside = 0.0;
    Pivot one = {1, -1, -1}, two = {2, -1, -1};
    for (int j = k; j < f.summed; j++) {
        if (fabs(AT(j, j)) > diagonal) diagonal = fabs(AT(j, j)), one.p = j;
        for (int i = j + 1; i < f.summed; i++)
            if (fabs(AT(i, j)) > beside) beside = fabs(AT(i, j)), two.p = j, two.q = i;
    }
    if (diagonal >= 0.64 * beside && diagonal > tiny) return one; /* (1 + √17)/8, Bunch and Parlett's */
    return beside > tiny ? two : (Pivot){0, -1, -1};
}

/* Eliminate column k: scale it, and bring the complete columns behind it up to date; `w` keeps what it was. */
static void eliminate_one(Front f, int k, double *w, Eliminated *out) {
    int n = f.order;
    double *a = f.entry, *restrict l = a + (size_t)k * (size_t)n, inverse = 1.0 / l[k];
    out->negative += l[k] < 0.0;
    out->pivot[2 * k] = inverse, out->pivot[2 * k + 1] = 0.0;
    memcpy(w + k + 1, l + k + 1, (size_t)(n - k - 1) * sizeof(double));
    for (int i = k + 1; i < n; i++) l[i] *= inverse;
    for (int j = k + 1; j < f.summed; j++) {
        double *restrict c = a + (size_t)j * (size_t)n, s = w[j];
        if (s == 0.0) continue;
        for (int i = j; i < n; i++) c[i] -= s * l[i];
    }
}

static void eliminate_two(Front f, int k, double *w, Eliminated *out) {
    double *a = f.entry;
    int n = f.order;
    double *restrict l = a + (size_t)k * (size_t)n, *restrict m = l + n, *v = w + n;
    double x = l[k], y = l[k + 1], z = m[k + 1], det = x * z - y * y, p = z / det, q = -y / det, r = x / det;
    out->negative += det < 0.0 ? 1 : x + z < 0.0 ? 2 : 0;
    out->pivot[2 * k] = p, out->pivot[2 * k + 1] = q, out->pivot[2 * k + 2] = r, out->pivot[2 * k + 3] = 0.0;
    l[k + 1] = 0.0;
    memcpy(w + k + 2, l + k + 2, (size_t)(n - k - 2) * sizeof(double));
    memcpy(v + k + 2, m + k + 2, (size_t)(n - k - 2) * sizeof(double));
    for (int i = k + 2; i < n; i++) l[i] = p * w[i] + q * v[i], m[i] = q * w[i] + r * v[i];
    for (int j = k + 2; j < f.summed; j++) {
        double *restrict c = a + (size_t)j * (size_t)n, s = w[j], t = v[j];
        for (int i = j; i < n; i++) c[i] -= s * l[i] + t * m[i];
    }
}

/* Columns from `summed` on, less L times what the eliminated columns were: four of these and two of those at a time. */
static void update_rest(Front f, int eliminated, const double *w) {
    double *a = f.entry;
    int n = f.order, j = f.summed;
    size_t m = (size_t)n;
    for (; j + 1 < n; j += 2) {
        double *restrict c = a + (size_t)j * m, *restrict d = c + m;
        int k = 0;
        for (; k + 3 < eliminated; k += 4) {
            const double *restrict l0 = a + (size_t)k * m, *restrict l1 = l0 + m, *restrict l2 = l1 + m, *restrict l3 = l2 + m;
            const double *v = w + (size_t)k * m + j;
            double c0 = v[0], c1 = v[m], c2 = v[2 * m], c3 = v[3 * m], d0 = v[1], d1 = v[m + 1], d2 = v[2 * m + 1], d3 = v[3 * m + 1];
            c[j] -= c0 * l0[j] + c1 * l1[j] + c2 * l2[j] + c3 * l3[j];
            for (int i = j + 1; i < n; i++) {
                double p = l0[i], q = l1[i], r = l2[i], s = l3[i];
                c[i] -= c0 * p + c1 * q + c2 * r + c3 * s;
                d[i] -= d0 * p + d1 * q + d2 * r + d3 * s;
            }
        }
        for (; k < eliminated; k++) {
            const double *l = a + (size_t)k * m;
            double s = w[(size_t)k * m + j], t = w[(size_t)k * m + j + 1];
            c[j] -= s * l[j];
            for (int i = j + 1; i < n; i++) c[i] -= s * l[i], d[i] -= t * l[i];
        }
    }
    for (int k = 0; j < n && k < eliminated; k++) a[(size_t)j * m + j] -= w[(size_t)k * m + j] * a[(size_t)k * m + j];
}

void gv_eliminate(Front f, double threshold, int last, double tiny, double *scratch, Eliminated *out) {
    int k = 0, begin = 0, refused = 0;
    out->negative = out->zero = 0;
    while (k < f.summed) {
        Pivot found = {0, -1, -1};
        if (refused < PATIENT) found = find(f, k, begin < k ? k : begin, threshold > GOOD ? threshold : GOOD, tiny);
        if (!found.order) refused++;
        if (!found.order && threshold < GOOD) found = find(f, k, begin < k ? k : begin, threshold, tiny);
        if (!found.order && !last) break;
        if (!found.order) found = find_largest(f, k, tiny);
        double *w = scratch + (size_t)k * (size_t)f.order;
        if (!found.order) { /* nothing but zeros is left */
            memset(w, 0, (size_t)f.order * sizeof(double));
            memset(f.entry + (size_t)k * (size_t)f.order, 0, (size_t)f.order * sizeof(double));
            out->pivot[2 * k] = out->pivot[2 * k + 1] = 0.0, out->zero++, k++;
            continue;
        }
        begin = found.p + 1 < f.summed ? found.p + 1 : 0;
        exchange(f, k, found.p);
        if (found.order == 1) {
            eliminate_one(f, k, w, out), k++;
            continue;
        }
        exchange(f, k + 1, found.q); /* still there, for k <= p < q */
        eliminate_two(f, k, w, out), k += 2;
    }
    out->eliminated = k;
    update_rest(f, k, scratch);
}

void gv_front_forward(const double *l, int order, int eliminated, double *x) {
    size_t n = (size_t)order;
    int k = 0;
    for (; k + 1 < eliminated; k += 2) {
        const double *p = l + (size_t)k * n, *q = p + n;
        double s = x[k], t = x[k + 1] -= p[k + 1] * s;
        for (int i = k + 2; i < order; i++) x[i] -= p[i] * s + q[i] * t;
    }
    if (k < eliminated)
        for (int i = k + 1; i < order; i++) x[i] -= l[(size_t)k * n + i] * x[k];
}

void gv_front_backward(const double *l, const double *pivot, int order, int eliminated, double *x) {
    size_t n = (size_t)order;
    for (int k = 0; k < eliminated; k++) {
        if (pivot[2 * k + 1] == 0.0) {
            x[k] *= pivot[2 * k];
            continue;
        }
        double s = x[k], t = x[k + 1];
        x[k] = pivot[2 * k] * s + pivot[2 * k + 1] * t;
        x[k + 1] = pivot[2 * k + 1] * s + pivot[2 * k + 2] * t;
        k++;
    }
    for (int k = eliminated - 1; k >= 0; k--) {
        const double *p = l + (size_t)k * n;
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
        int i = k + 1;
        for (; i + 3 < order; i += 4) s0 += p[i] * x[i], s1 += p[i + 1] * x[i + 1], s2 += p[i + 2] * x[i + 2], s3 += p[i + 3] * x[i + 3];
        for (; i < order; i++) s0 += p[i] * x[i];
        x[k] -= (s0 + s1) + (s2 + s3);
    }
}
