/* pendulum2_inverse: emitted by symbody
 *
 * operations: 15 mul, 10 add, 0 div = 25; 4 trig; 22 setup
 */

#include "pendulum2_inverse.h"

#include <math.h>

const double pendulum2_inverse_parameters[4] = {
    1.0, 1.0, 1.0, 1.0,
};

/* ==== helpers ==== */

/* ==== pendulum2_inverse_setup ==== */

void pendulum2_inverse_setup(const double *restrict parameters, double *restrict derived)
{
    const double t14 = parameters[2]*parameters[3];
    const double rod2_XX = 0.08333333333333333*(parameters[2]*(parameters[3]*parameters[3])) + 0.25*(parameters[3]*t14);
    derived[1] = rod2_XX;
    const double t22 = 0.5*t14;
    derived[2] = t22;
    const double t40 = parameters[1]*parameters[1];
    const double t43 = parameters[0]*parameters[1];
    const double rod1_XX = 0.08333333333333333*(parameters[0]*t40) + 0.25*(parameters[1]*t43) + t40*parameters[2];
    derived[3] = rod1_XX;
    const double rod1_MZ = 0.5*t43 + parameters[1]*parameters[2];
    derived[4] = 9.81*rod1_MZ;
    derived[5] = parameters[1]*t22;
    derived[0] = parameters[1];
}

/* ==== pendulum2_inverse ==== */

void pendulum2_inverse(const double *restrict q, const double *restrict qd, const double *restrict qdd, const double *restrict derived, double *restrict tau, int *restrict status)
{
    /* positions and velocities: what depends on q, qd only */
    const double t23 = cos(q[1]);
    const double t24 = sin(q[0]);
    const double t30 = sin(q[1]);
    const double t56 = qd[0] + qd[1];
    /* what depends on q, qd, qdd */
    const double t19 = qdd[0] + qdd[1];
    const double t38 = derived[2]*(t30*(9.81*cos(q[0]) + derived[0]*(qd[0]*qd[0])) + t23*(9.81*t24 + derived[0]*qdd[0]));
    const double t39 = derived[1]*t19 + t38;
    /* tau [N m]: efforts on the velocities of pendulum2: Newton-Euler with base parameters (Gautier and Khalil 1990) */
    tau[1] = t39;
    tau[0] = derived[4]*t24 + (t39 + derived[3]*qdd[0] - derived[5]*(t30*(t56*t56) - t23*t19));
    (void)status;
}
