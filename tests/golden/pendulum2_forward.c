/* pendulum2_forward: emitted by symbody */

#include "pendulum2_forward.h"

#include <math.h>

/* ==== helpers ==== */

/* ==== pendulum2_forward_setup ==== */

void pendulum2_forward_setup(const double *restrict parameters, double *restrict derived)
{
    const double t10 = parameters[2]*parameters[3];
    const double t12 = 0.5*t10;
    derived[1] = t12;
    const double t27 = parameters[0]*parameters[1];
    const double t28 = 0.5*t27;
    const double t29 = parameters[1]*parameters[2];
    const double rod1_MZ = t28 + t29;
    const double t31 = 9.81*rod1_MZ;
    derived[2] = t31;
    const double t34 = parameters[3]*parameters[3];
    const double t35 = parameters[2]*t34;
    const double t37 = 0.08333333333333333*t35;
    const double t38 = parameters[3]*t10;
    const double t40 = 0.25*t38;
    const double rod2_XX = t37 + t40;
    derived[3] = rod2_XX;
    const double t46 = 1.0/rod2_XX;
    derived[4] = t46;
    const double t51 = parameters[1]*t12;
    derived[5] = t51;
    const double t59 = 2.0*parameters[1];
    derived[6] = t59;
    const double t62 = parameters[1]*parameters[1];
    const double t63 = parameters[0]*t62;
    const double t64 = 0.08333333333333333*t63;
    const double t65 = parameters[1]*t27;
    const double t66 = 0.25*t65;
    const double t67 = t64 + t66;
    const double t68 = t62*parameters[2];
    const double rod1_XX = t67 + t68;
    const double t70 = rod1_XX + rod2_XX;
    derived[7] = t70;
    derived[0] = parameters[1];
}

/* ==== pendulum2_forward ==== */

void pendulum2_forward(const double *restrict q, const double *restrict qd, const double *restrict tau, const double *restrict derived, double *restrict qdd, int *restrict status)
{
    const double t13 = sin(q[0]);
    const double t14 = cos(q[1]);
    const double t15 = t13*t14;
    const double t17 = 9.81*t15;
    const double t18 = sin(q[1]);
    const double t19 = cos(q[0]);
    const double t20 = 9.81*t19;
    const double t21 = qd[0]*qd[0];
    const double t22 = derived[0]*t21;
    const double t23 = t20 + t22;
    const double t24 = t18*t23;
    const double t25 = t17 + t24;
    const double t26 = derived[1]*t25;
    const double t32 = derived[2]*t13;
    const double t42 = derived[1]*t14;
    const double t43 = derived[0]*t42;
    const double t44 = derived[3] + t43;
    const double t47 = derived[4]*t44;
    const double t49 = qd[0] + qd[1];
    const double t50 = t49*t49;
    const double t52 = t18*t50;
    const double t53 = derived[5]*t52;
    const double t54 = t53 - t26;
    const double t55 = t54 - t32;
    const double t60 = derived[6]*t42;
    const double t61 = t44*t47;
    const double t71 = t60 - t61;
    const double t72 = derived[7] + t71;
    const double t33 = tau[1] - t26;
    const double t48 = t47*t33;
    const double t56 = tau[0] - t48;
    const double t57 = t55 + t56;
    const double t73 = t57/t72;
    qdd[0] = t73;
    const double t74 = derived[4]*t33;
    const double t75 = t47*t73;
    const double t76 = t74 - t75;
    qdd[1] = t76;
    (void)status;
}
