// Pinocchio's rnea, aba and crba looped over states inside C++, so that no binding is timed.
// The model comes as numbers: for each joint its parent, axis (0, 1, 2), armature, and 22 numbers
// (rotation 9 by rows, position 3, mass 1, centre of mass 3, inertia about it 6: xx xy yy xz yz zz).

#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <string>

namespace pin = pinocchio;
typedef Eigen::Matrix<double, 3, 3, Eigen::RowMajor> Rows;
typedef Eigen::Map<const Eigen::VectorXd> Vector;

struct Robot {
  pin::Model model;
  pin::Data data;
  explicit Robot(const pin::Model &m) : model(m), data(m) {}
};

#pragma GCC visibility push(default)
extern "C" {

Robot *robot(int joints, const long long *parent, const long long *axis, const double *armature, const double *numbers,
             const double *gravity) {
  pin::Model m;
  for (int k = 0; k < joints; ++k) {
    const double *x = numbers + 22 * k;
    const pin::SE3 placement(Rows(Eigen::Map<const Rows>(x)), Eigen::Vector3d(x[9], x[10], x[11]));
    const pin::JointIndex above = parent[k] + 1;
    const std::string name = "joint" + std::to_string(k + 1);
    pin::JointIndex i;
    if (axis[k] == 0) i = m.addJoint(above, pin::JointModelRX(), placement, name);
    else if (axis[k] == 1) i = m.addJoint(above, pin::JointModelRY(), placement, name);
    else i = m.addJoint(above, pin::JointModelRZ(), placement, name);
    Eigen::Matrix3d tensor;
    tensor << x[16], x[17], x[19], x[17], x[18], x[20], x[19], x[20], x[21];
    m.appendBodyToJoint(i, pin::Inertia(x[12], Eigen::Vector3d(x[13], x[14], x[15]), tensor), pin::SE3::Identity());
  }
  m.armature = Vector(armature, joints);
  m.gravity.linear() = Eigen::Vector3d(gravity[0], gravity[1], gravity[2]);
  return new Robot(m);
}

void inverse(Robot *r, const double *q, const double *v, const double *a, double *out, long long states) {
  const int n = r->model.nv;
  for (long long k = 0; k < states; ++k)
    Eigen::Map<Eigen::VectorXd>(out + k * n, n) =
        pin::rnea(r->model, r->data, Vector(q + k * n, n), Vector(v + k * n, n), Vector(a + k * n, n));
}

void forward(Robot *r, const double *q, const double *v, const double *tau, double *out, long long states) {
  const int n = r->model.nv;
  for (long long k = 0; k < states; ++k)
    Eigen::Map<Eigen::VectorXd>(out + k * n, n) =
        pin::aba(r->model, r->data, Vector(q + k * n, n), Vector(v + k * n, n), Vector(tau + k * n, n));
}

// M (upper triangle, by columns of n) and then c
void semi_explicit(Robot *r, const double *q, const double *v, double *out, long long states) {
  const int n = r->model.nv;
  for (long long k = 0; k < states; ++k) {
    double *at = out + k * (n * n + n);
    Eigen::Map<Eigen::MatrixXd>(at, n, n) = pin::crba(r->model, r->data, Vector(q + k * n, n));
    Eigen::Map<Eigen::VectorXd>(at + n * n, n) =
        pin::nonLinearEffects(r->model, r->data, Vector(q + k * n, n), Vector(v + k * n, n));
  }
}
}  // extern "C"
#pragma GCC visibility pop
