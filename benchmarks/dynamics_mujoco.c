/* MuJoCo's smooth dynamics looped over states inside C, so that no binding is timed: only the stages that inverse and
   forward dynamics of a tree without contacts, tendons and actuators need. */

#include <mujoco/mujoco.h>
#include <string.h>

static void set(const mjModel *m, mjData *d, const double *q, const double *v) {
  memcpy(d->qpos, q, m->nq * sizeof(double));
  memcpy(d->qvel, v, m->nv * sizeof(double));
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_comVel(m, d);
}

/* recursive Newton-Euler; the inertia of rotors is added where this version of mj_rne leaves it out */
void inverse(const mjModel *m, mjData *d, const double *q, const double *v, const double *a, double *out,
             long long states, int armature) {
  const int n = m->nv;
  for (long long k = 0; k < states; ++k) {
    set(m, d, q + k * n, v + k * n);
    memcpy(d->qacc, a + k * n, n * sizeof(double));
    mj_rne(m, d, 1, out + k * n);
    if (armature)
      for (int i = 0; i < n; ++i) out[k * n + i] += m->dof_armature[i] * a[k * n + i];
  }
}

/* composite bodies, sparse L^T D L, back substitution */
void forward(const mjModel *m, mjData *d, const double *q, const double *v, const double *tau, double *out,
             long long states) {
  const int n = m->nv;
  for (long long k = 0; k < states; ++k) {
    set(m, d, q + k * n, v + k * n);
    mj_makeM(m, d);
    mj_factorM(m, d);
    mj_rne(m, d, 0, d->qfrc_bias);
    for (int i = 0; i < n; ++i) d->qfrc_smooth[i] = tau[k * n + i] - d->qfrc_bias[i];
    mj_solveM(m, d, out + k * n, d->qfrc_smooth, 1);
  }
}

/* M (full, by rows) and then c */
void semi_explicit(const mjModel *m, mjData *d, const double *q, const double *v, double *out, long long states) {
  const int n = m->nv;
  for (long long k = 0; k < states; ++k) {
    double *at = out + k * (n * n + n);
    set(m, d, q + k * n, v + k * n);
    mj_makeM(m, d);
    mj_rne(m, d, 0, at + n * n);
    memset(at, 0, n * n * sizeof(double));
    for (int i = 0; i < n; ++i)
      for (int e = 0; e < m->M_rownnz[i]; ++e) {
        const int address = m->M_rowadr[i] + e, j = m->M_colind[address];
        at[i * n + j] = at[j * n + i] = d->M[address];
      }
  }
}
