/* mj_step looped inside C, so that no binding is timed. The model says integrator, step and what is switched off. */

#include <mujoco/mujoco.h>
#include <string.h>

/* x (states, nq + nv): positions and velocities of each state, replaced by those after so many steps */
void rollout(const mjModel *m, mjData *d, double *x, long long states, long long steps) {
  for (long long k = 0; k < states; ++k) {
    double *q = x + k * (m->nq + m->nv), *v = q + m->nq;
    memcpy(d->qpos, q, m->nq * sizeof(double));
    memcpy(d->qvel, v, m->nv * sizeof(double));
    d->time = 0;
    for (long long i = 0; i < steps; ++i) mj_step(m, d);
    memcpy(q, d->qpos, m->nq * sizeof(double));
    memcpy(v, d->qvel, m->nv * sizeof(double));
  }
}
