"""The textbook recursions of rigid-body dynamics over any scalar, for libraries that bring no mechanics of their own.

Newton-Euler, composite bodies, articulated bodies, each as one writes it by hand for speed: numbers for all parameters,
vectors in body axes, classical accelerations (so that linear velocities are not needed), a joint turns in a plane,
constant rotations are applied apart, symmetric tensors by their upper halves. Products with 0 and 1 are left to the
library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.dynamics_models import INPUTS, Body, Robot
from benchmarks.workloads import Scalars, Values, Vector, Workload

Tensor = list[Vector]


def workload(robot: Robot, quantity: str, method: str = "") -> Workload:
    """quantity of `INPUTS`; method of forward: "" (articulated bodies) or "ldlt". semi_explicit: M by rows, then c."""

    def build(s: Scalars, v: Values) -> Vector:
        turns = [(s.cos(x), s.sin(x)) for x in v["q"]]
        if quantity == "inverse":
            return newton_euler(robot, turns, v["qd"], v["qdd"])
        if quantity == "semi_explicit":
            mass, bias = composite_bodies(robot, turns), newton_euler(robot, turns, v["qd"], None)
            return [x for row in mass for x in row] + bias
        if method == "ldlt":
            mass, bias = composite_bodies(robot, turns), newton_euler(robot, turns, v["qd"], None)
            return solve_ldlt(mass, [t - b for t, b in zip(v["tau"], bias)])
        return articulated_bodies(robot, turns, v["qd"], v["tau"])

    name = f"{robot.name} {quantity}" + (f" {method}" if method else "")
    return Workload(name, dict.fromkeys(INPUTS[quantity], robot.n), build)


def newton_euler(robot: Robot, turns: Any, qd: Any, qdd: Any) -> Vector:
    """Efforts (n,). Luh, Walker and Paul 1980, about the origins of the frames; qdd None: at zero acceleration."""
    rates: list[Vector] = []
    accelerations: list[tuple[Vector, Vector]] = []  # angular, of the origin
    gyros: list[Tensor] = []
    forces: list[Vector] = []
    moments: list[Vector] = []
    for k, (body, turn) in enumerate(zip(robot.bodies, turns)):
        # outward: angular velocity and acceleration, acceleration of the origin
        if body.parent < 0:
            w, wd, a = [0.0] * 3, [0.0] * 3, into(body, turn, [-g for g in robot.gravity])
        else:
            p = body.parent
            w, wd = into(body, turn, rates[p]), into(body, turn, accelerations[p][0])
            a = into(body, turn, plus(accelerations[p][1], times(gyros[p], body.position)))
        x, y, z = body.axis, (body.axis + 1) % 3, (body.axis + 2) % 3
        wd = list(wd)
        wd[y] = wd[y] + w[z] * qd[k]
        wd[z] = wd[z] - w[y] * qd[k]
        if qdd is not None:
            wd[x] = wd[x] + qdd[k]
        w = list(w)
        w[x] = w[x] + qd[k]
        h, tensor = body.at_origin()
        gyro = gyration(w, wd)
        rates.append(w)
        accelerations.append((wd, a))
        gyros.append(gyro)
        forces.append(plus([body.mass * c for c in a], times(gyro, h)))
        spin = cross(w, times(tensor, w))
        moments.append(plus(plus(times(tensor, wd), spin), cross(h, a)))
    efforts: Vector = [None] * robot.n
    for k in reversed(range(robot.n)):
        # inward: what the joint carries
        body = robot.bodies[k]
        efforts[k] = moments[k][body.axis]
        if body.armature and qdd is not None:
            efforts[k] = efforts[k] + body.armature * qdd[k]
        if body.parent >= 0:
            force, moment = out_of(body, turns[k], forces[k]), out_of(body, turns[k], moments[k])
            forces[body.parent] = plus(forces[body.parent], force)
            moments[body.parent] = plus(moments[body.parent], plus(moment, cross(body.position, force)))
    return efforts


def composite_bodies(robot: Robot, turns: Any) -> Tensor:
    """Mass matrix (n, n). Featherstone 2008, ch. 6."""
    masses = [b.mass for b in robot.bodies]
    moments: list[Any] = [list(b.at_origin()[0]) for b in robot.bodies]
    tensors: list[Any] = [b.at_origin()[1].tolist() for b in robot.bodies]
    mass_matrix: Tensor = [[0.0] * robot.n for _ in range(robot.n)]
    for k in reversed(range(robot.n)):
        body = robot.bodies[k]
        # unit acceleration of joint k: force and moment on all that it carries
        unit = [float(i == body.axis) for i in range(3)]
        force, moment = cross(unit, moments[k]), [tensors[k][i][body.axis] for i in range(3)]
        mass_matrix[k][k] = moment[body.axis] + body.armature
        at = k
        while robot.bodies[at].parent >= 0:
            b = robot.bodies[at]
            force, moment = out_of(b, turns[at], force), out_of(b, turns[at], moment)
            moment = plus(moment, cross(b.position, force))
            at = b.parent
            mass_matrix[at][k] = mass_matrix[k][at] = moment[robot.bodies[at].axis]
        if body.parent >= 0:
            h, tensor = out_of(body, turns[k], moments[k]), tensor_out_of(body, turns[k], tensors[k])
            p, m, up = body.position, masses[k], body.parent
            masses[up] += m
            moments[up] = plus(moments[up], [h[i] + m * p[i] for i in range(3)])
            tensors[up] = added(tensors[up], shifted(tensor, m, h, p))
    return mass_matrix


def articulated_bodies(robot: Robot, turns: Any, qd: Any, tau: Any) -> Vector:
    """Accelerations (n,). Featherstone 2008, ch. 7, with N = A alpha + B a, F = B^T alpha + C a."""
    rates: list[Vector] = []
    spins: list[Vector] = []
    swings: list[Vector] = []
    aa: list[Any] = []
    bb: list[Any] = []
    cc: list[Any] = []
    forces: list[Vector] = []
    moments: list[Vector] = []
    for k, (body, turn) in enumerate(zip(robot.bodies, turns)):
        w = into(body, turn, rates[body.parent]) if body.parent >= 0 else [0.0] * 3
        x, y, z = body.axis, (body.axis + 1) % 3, (body.axis + 2) % 3
        spin: Vector = [0.0] * 3  # angular acceleration without qdd, beyond the parent's
        spin[y], spin[z] = w[z] * qd[k], -(w[y] * qd[k])
        # acceleration of the joint in the parent's rotation, in parent axes
        carried = body.parent >= 0
        swings.append(times(gyration(rates[body.parent], [0.0] * 3), body.position) if carried else [0.0] * 3)
        w = list(w)
        w[x] = w[x] + qd[k]
        rates.append(w)
        spins.append(spin)
        h, tensor = body.at_origin()
        aa.append(tensor.tolist())
        bb.append(skew(h))
        cc.append((body.mass * np.eye(3)).tolist())
        moments.append(cross(w, times(tensor, w)))
        forces.append(times(gyration(w, [0.0] * 3), h))
    columns: list[Any] = [None] * robot.n
    for k in reversed(range(robot.n)):
        body = robot.bodies[k]
        x = body.axis
        un, uf = [aa[k][i][x] for i in range(3)], [bb[k][x][i] for i in range(3)]
        inverse = 1 / (un[x] + body.armature)
        u = tau[k] - moments[k][x]
        columns[k] = (un, uf, inverse, u)
        if body.parent < 0:
            continue
        # without the joint's own motion
        gn, gf = [inverse * c for c in un], [inverse * c for c in uf]
        a = [[aa[k][i][j] - un[i] * gn[j] if i <= j else None for j in range(3)] for i in range(3)]
        b = [[bb[k][i][j] - gn[i] * uf[j] for j in range(3)] for i in range(3)]
        c = [[cc[k][i][j] - uf[i] * gf[j] if i <= j else None for j in range(3)] for i in range(3)]
        if not body.armature:  # then it gives way entirely
            for i in range(3):
                a[min(i, x)][max(i, x)] = 0.0
                b[x][i] = 0.0
        a, c = mirrored(a), mirrored(c)
        moment = plus(plus(moments[k], times(a, spins[k])), [g * u for g in gn])
        force = plus(plus(forces[k], times(transposed(b), spins[k])), [g * u for g in gf])
        # in axes of the parent, about its origin
        turn, p, up = turns[k], body.position, body.parent
        a, c = tensor_out_of(body, turn, a), tensor_out_of(body, turn, c)
        b = [out_of(body, turn, row) for row in b]
        b = transposed([out_of(body, turn, column) for column in transposed(b)])
        moment, force = out_of(body, turn, moment), out_of(body, turn, force)
        moment, force = plus(moment, times(b, swings[k])), plus(force, times(c, swings[k]))
        moments[up] = plus(moments[up], plus(moment, cross(p, force)))
        forces[up] = plus(forces[up], force)
        shifted_b = added(b, transposed([cross(p, column) for column in transposed(c)]))  # B + [p] C
        # A - B [p] + [p] B'^T: rows of -B [p] are p x rows of B
        first = [cross(p, row) for row in b]
        second = transposed([cross(p, row) for row in shifted_b])
        a = mirrored([[a[i][j] + first[i][j] + second[i][j] if i <= j else None for j in range(3)] for i in range(3)])
        aa[up], bb[up], cc[up] = added(aa[up], a), added(bb[up], shifted_b), added(cc[up], c)
    result: Vector = []
    known: list[tuple[Vector, Vector]] = []
    for k, (body, turn) in enumerate(zip(robot.bodies, turns)):
        if body.parent < 0:
            alpha, a0 = [0.0] * 3, into(body, turn, [-g for g in robot.gravity])
        else:
            above, origin = known[body.parent]
            alpha = plus(into(body, turn, above), spins[k])
            a0 = into(body, turn, plus(plus(origin, cross(above, body.position)), swings[k]))
        un, uf, inverse, u = columns[k]
        qdd = inverse * (u - dot(un, alpha) - dot(uf, a0))
        alpha = list(alpha)
        alpha[body.axis] = alpha[body.axis] + qdd
        known.append((alpha, a0))
        result.append(qdd)
    return result


def solve_ldlt(m: Tensor, b: Vector) -> Vector:
    """x of M x = b by M = L D L^T."""
    n = len(b)
    low: Tensor = [[0.0] * n for _ in range(n)]
    scaled: Tensor = [[0.0] * n for _ in range(n)]  # L D
    inverse: Vector = []
    for i in range(n):
        for j in range(i + 1):
            x = m[i][j]
            for k in range(j):
                x = x - scaled[i][k] * low[j][k]
            if i == j:
                inverse.append(1 / x)
            else:
                scaled[i][j], low[i][j] = x, x * inverse[j]
    y: Vector = []
    for i in range(n):
        x = b[i]
        for k in range(i):
            x = x - low[i][k] * y[k]
        y.append(x)
    out: Vector = [y[i] * inverse[i] for i in range(n)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            out[i] = out[i] - low[k][i] * out[k]
    return out


# -- vectors and tensors


def into(body: Body, turn: Any, v: Any) -> Vector:
    """From parent axes to body axes."""
    x, y, z = body.axis, (body.axis + 1) % 3, (body.axis + 2) % 3
    v, (c, s) = times(body.rotation.T, v), turn
    out: Vector = [None] * 3
    out[x], out[y], out[z] = v[x], c * v[y] + s * v[z], c * v[z] - s * v[y]
    return out


def out_of(body: Body, turn: Any, v: Any) -> Vector:
    """From body axes to parent axes."""
    x, y, z = body.axis, (body.axis + 1) % 3, (body.axis + 2) % 3
    c, s = turn
    out: Vector = [None] * 3
    out[x], out[y], out[z] = v[x], c * v[y] - s * v[z], s * v[y] + c * v[z]
    return times(body.rotation, out)


def tensor_out_of(body: Body, turn: Any, t: Tensor) -> Tensor:
    """A symmetric tensor from body axes to parent axes: a plane turn in five products, then the constant rotation."""
    x, y, z = body.axis, (body.axis + 1) % 3, (body.axis + 2) % 3
    c, s = turn
    out: Tensor = [[None] * 3 for _ in range(3)]
    skewed = s * (t[y][y] - t[z][z]) + 2 * (c * t[y][z])
    out[x][x], out[y][y], out[z][z] = t[x][x], t[y][y] - s * skewed, t[z][z] + s * skewed
    out[y][z] = out[z][y] = c * skewed - t[y][z]
    out[x][y] = out[y][x] = c * t[x][y] - s * t[x][z]
    out[x][z] = out[z][x] = s * t[x][y] + c * t[x][z]
    r = body.rotation
    if np.array_equal(r, np.eye(3)):
        return out
    half = [times(r, column) for column in transposed(out)]  # columns of R T
    rows = transposed(half)
    return mirrored([[dot(rows[i], r[j]) if i <= j else None for j in range(3)] for i in range(3)])


def shifted(t: Tensor, m: float, h: Vector, p: Any) -> Tensor:
    """Tensor about the parent's origin, of a body of mass m and first moment h about the point p."""
    both = dot(h, p) * 2 + m * float(p @ p)
    out: Tensor = [[None] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i, 3):
            off = t[i][j] - (h[i] * p[j] + p[i] * h[j] + m * p[i] * p[j])
            out[i][j] = off + both if i == j else off
    return mirrored(out)


def gyration(w: Any, wd: Any) -> Tensor:
    """[wd] + [w][w]: what it makes of p is the acceleration of the point p relative to the origin."""
    xx, yy, zz = (w[i] * w[i] for i in range(3))
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [-(yy + zz), xy - wd[2], xz + wd[1]],
        [xy + wd[2], -(xx + zz), yz - wd[0]],
        [xz - wd[1], yz + wd[0], -(xx + yy)],
    ]


def cross(a: Any, b: Any) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def plus(a: Any, b: Any) -> Vector:
    return [x + y for x, y in zip(a, b)]


def times(m: Any, v: Any) -> Vector:
    return [dot(row, v) for row in m]


def skew(p: Any) -> Tensor:
    return [[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]]


def transposed(m: Any) -> Tensor:
    return [list(column) for column in zip(*m)]


def added(a: Any, b: Any) -> Tensor:
    return [plus(x, y) for x, y in zip(a, b)]


def mirrored(upper: Any) -> Tensor:
    """The lower half from the upper one."""
    return [[upper[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)]
