/* pendulum2_inverse: emitted by symbody */

#include "pendulum2_inverse.h"

#include <math.h>

/* ==== helpers ==== */

/* ==== pendulum2_inverse_setup ==== */

void pendulum2_inverse_setup(const double *restrict parameters, double *restrict derived)
{
    const double t10 = parameters[3]*parameters[3];
    const double t11 = parameters[2]*t10;
    const double t13 = 0.08333333333333333*t11;
    const double t14 = parameters[2]*parameters[3];
    const double t15 = parameters[3]*t14;
    const double t17 = 0.25*t15;
    const double rod2_XX = t13 + t17;
    derived[1] = rod2_XX;
    const double t22 = 0.5*t14;
    derived[2] = t22;
    const double t40 = parameters[1]*parameters[1];
    const double t41 = parameters[0]*t40;
    const double t42 = 0.08333333333333333*t41;
    const double t43 = parameters[0]*parameters[1];
    const double t44 = parameters[1]*t43;
    const double t45 = 0.25*t44;
    const double t46 = t42 + t45;
    const double t47 = t40*parameters[2];
    const double rod1_XX = t46 + t47;
    derived[3] = rod1_XX;
    const double t50 = 0.5*t43;
    const double t51 = parameters[1]*parameters[2];
    const double rod1_MZ = t50 + t51;
    const double t53 = 9.81*rod1_MZ;
    derived[4] = t53;
    const double t55 = parameters[1]*t22;
    derived[5] = t55;
    derived[0] = parameters[1];
}

/* ==== pendulum2_inverse ==== */

void pendulum2_inverse(const double *restrict q, const double *restrict qd, const double *restrict qdd, const double *restrict derived, double *restrict tau, int *restrict status)
{
    const double t23 = cos(q[1]);
    const double t24 = sin(q[0]);
    const double t26 = 9.81*t24;
    const double t30 = sin(q[1]);
    const double t31 = cos(q[0]);
    const double t32 = 9.81*t31;
    const double t33 = qd[0]*qd[0];
    const double t34 = derived[0]*t33;
    const double t35 = t32 + t34;
    const double t36 = t30*t35;
    const double t54 = derived[4]*t24;
    const double t56 = qd[0] + qd[1];
    const double t57 = t56*t56;
    const double t58 = t30*t57;
    const double t19 = qdd[0] + qdd[1];
    const double t20 = derived[1]*t19;
    const double t27 = derived[0]*qdd[0];
    const double t28 = t26 + t27;
    const double t29 = t23*t28;
    const double t37 = t36 + t29;
    const double t38 = derived[2]*t37;
    const double t39 = t20 + t38;
    tau[1] = t39;
    const double t49 = derived[3]*qdd[0];
    const double t59 = t23*t19;
    const double t60 = t58 - t59;
    const double t61 = derived[5]*t60;
    const double t62 = t39 + t49;
    const double t63 = t62 - t61;
    const double t64 = t54 + t63;
    tau[0] = t64;
    (void)status;
}
