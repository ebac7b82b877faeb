/* Integrators over a library's forward dynamics: `forward` of dynamics_pinocchio.cpp or dynamics_mujoco.c. */

#include <stdlib.h>
#include <string.h>

typedef void (*One)(void *, const double *, const double *, const double *, double *, long long);
typedef void (*Two)(void *, void *, const double *, const double *, const double *, double *, long long);

/* what forward dynamics needs first: one object or two, and then the efforts */
typedef struct {
  void *function, *first, *second;
  const double *tau;
  int n;
} Model;

static void accelerations(const Model *m, const double *q, const double *v, double *out) {
  if (m->second)
    ((Two)m->function)(m->first, m->second, q, v, m->tau, out, 1);
  else
    ((One)m->function)(m->first, q, v, m->tau, out, 1);
}

static void semi_implicit_euler(const Model *m, double *x, double h, long long steps, double *a) {
  const int n = m->n;
  double *q = x, *v = x + n;
  for (long long k = 0; k < steps; ++k) {
    accelerations(m, q, v, a);
    for (int i = 0; i < n; ++i) v[i] += h * a[i];
    for (int i = 0; i < n; ++i) q[i] += h * v[i];
  }
}

/* y: state of a stage; the rates of x = (q, v) are (v, a) */
static void rk4(const Model *m, double *x, double h, long long steps, double *work) {
  static const double c[4] = {0, 0.5, 0.5, 1}, b[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
  const int n = m->n;
  double *rate = work, *sum = work + 2 * n, *y = work + 4 * n;
  for (long long k = 0; k < steps; ++k) {
    memset(sum, 0, 2 * n * sizeof(double));
    memcpy(y, x, 2 * n * sizeof(double));
    for (int s = 0; s < 4; ++s) {
      if (s)
        for (int i = 0; i < 2 * n; ++i) y[i] = x[i] + h * c[s] * rate[i];
      memcpy(rate, y + n, n * sizeof(double));
      accelerations(m, y, y + n, rate + n);
      for (int i = 0; i < 2 * n; ++i) sum[i] += b[s] * rate[i];
    }
    for (int i = 0; i < 2 * n; ++i) x[i] += h * sum[i];
  }
}

/* x (states, 2 n): positions and velocities of each state, replaced by those after so many steps of length h */
void rollout(void *function, void *first, void *second, int n, int runge_kutta, double h, double *x, long long states,
             long long steps) {
  double *tau = calloc(n, sizeof(double)), *work = calloc(6 * n, sizeof(double));
  const Model m = {function, first, second, tau, n};
  for (long long k = 0; k < states; ++k) (runge_kutta ? rk4 : semi_implicit_euler)(&m, x + k * 2 * n, h, steps, work);
  free(tau);
  free(work);
}
