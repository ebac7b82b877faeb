/* pendulum2_forward: emitted by symbody
 *
 * operations: 19 mul, 12 add, 1 div = 32; 4 trig; 25 setup
 */

#include "pendulum2_forward.h"

#include <math.h>

const double pendulum2_forward_parameters[4] = {
    1.0, 1.0, 1.0, 1.0,
};

/* ==== helpers ==== */

/* ==== pendulum2_forward_setup ==== */

void pendulum2_forward_setup(const double *restrict parameters, double *restrict derived)
{
    const double t10 = parameters[2]*parameters[3];
    const double t12 = 0.5*t10;
    derived[1] = t12;
    const double t27 = parameters[0]*parameters[1];
    const double rod1_MZ = 0.5*t27 + parameters[1]*parameters[2];
    derived[2] = 9.81*rod1_MZ;
    const double rod2_XX = 0.08333333333333333*(parameters[2]*(parameters[3]*parameters[3])) + 0.25*(parameters[3]*t10);
    derived[3] = rod2_XX;
    derived[4] = 1.0/rod2_XX;
    derived[5] = parameters[1]*t12;
    derived[6] = 2.0*parameters[1];
    const double t62 = parameters[1]*parameters[1];
    const double rod1_XX = 0.08333333333333333*(parameters[0]*t62) + 0.25*(parameters[1]*t27) + t62*parameters[2];
    derived[7] = rod1_XX + rod2_XX;
    derived[0] = parameters[1];
}

/* ==== pendulum2_forward ==== */

void pendulum2_forward(const double *restrict q, const double *restrict qd, const double *restrict tau, const double *restrict derived, double *restrict qdd, int *restrict status)
{
    /* positions and velocities: what depends on q, qd only */
    const double t13 = sin(q[0]);
    const double t14 = cos(q[1]);
    const double t18 = sin(q[1]);
    const double t26 = derived[1]*(9.81*(t13*t14) + t18*(9.81*cos(q[0]) + derived[0]*(qd[0]*qd[0])));
    const double t42 = derived[1]*t14;
    const double t44 = derived[3] + derived[0]*t42;
    const double t47 = derived[4]*t44;
    const double t49 = qd[0] + qd[1];
    /* what depends on q, qd, tau */
    const double t33 = tau[1] - t26;
    const double t73 = (derived[5]*(t18*(t49*t49)) - t26 - derived[2]*t13 + (tau[0] - t47*t33))/(derived[7] + (derived[6]*t42 - t44*t47));
    /* qdd [rad/s^2]: accelerations of pendulum2: Newton-Euler with base parameters (Gautier and Khalil 1990) */
    qdd[0] = t73;
    qdd[1] = derived[4]*t33 - t47*t73;
    (void)status;
}
