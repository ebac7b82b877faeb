"""Kane's method of sympy.physics.mechanics on the robots of the benchmarks: time to generate, and what cse leaves."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.dynamics_models import Robot, robot
from benchmarks.tally import TreeTally


def kane(name: str) -> dict[str, Any]:
    """Seconds until M and the forcing vector are made and shortened by cse; their operations; their error."""
    import sympy as sp

    model = robot(name)
    start = time.perf_counter()
    mass, forcing, q, u = equations(model)
    steps, (short_mass, short_forcing) = sp.cse([mass, forcing])
    took = time.perf_counter() - start
    tally = TreeTally([*q, *u]).program(steps, [*short_mass, *short_forcing])
    function = sp.lambdify([*q, *u], [mass, forcing], cse=True)
    return {"seconds": took, "operations": tally.total, "trig": tally.trig, "error": _error(model, function)}


def equations(model: Robot) -> tuple[Any, Any, list[Any], list[Any]]:
    """M (n, n) and M qdd = forcing (n,) over plain symbols q, u."""
    import sympy as sp
    from sympy.physics import mechanics as me

    q, u = me.dynamicsymbols(f"q:{model.n}"), me.dynamicsymbols(f"u:{model.n}")
    world, origin = me.ReferenceFrame("world"), me.Point("origin")
    origin.set_vel(world, 0)
    frames: list[Any] = []
    points: list[Any] = []
    bodies, loads = [], []
    g = sum((float(x) * axis for x, axis in zip(model.gravity, world)), me.Vector(0))
    for k, b in enumerate(model.bodies):
        above, at = (frames[b.parent], points[b.parent]) if b.parent >= 0 else (world, origin)
        joint, frame = me.ReferenceFrame(f"j{k}"), me.ReferenceFrame(f"b{k}")
        joint.orient_explicit(above, sp.Matrix(b.rotation))
        axis = tuple(joint)[b.axis]
        frame.orient_axis(joint, axis, q[k])
        frame.set_ang_vel(above, u[k] * axis)
        point = at.locatenew(f"p{k}", sum((float(x) * e for x, e in zip(b.position, above)), me.Vector(0)))
        point.v2pt_theory(at, world, above)
        centre = point.locatenew(f"c{k}", sum((float(x) * e for x, e in zip(b.com, frame)), me.Vector(0)))
        centre.v2pt_theory(point, world, frame)
        i = b.inertia
        tensor = me.inertia(frame, i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[1, 2], i[0, 2])
        bodies.append(me.RigidBody(f"body{k}", centre, frame, b.mass, (tensor, centre)))
        loads.append((centre, b.mass * g))
        frames.append(frame)
        points.append(point)
    method = me.KanesMethod(world, q, u, [x.diff() - y for x, y in zip(q, u)])
    method.kanes_equations(bodies, loads)
    plain = dict(zip([*q, *u], sp.symbols(f"q0:{model.n} u0:{model.n}", real=True)))
    symbols = list(plain.values())
    mass, forcing = method.mass_matrix.xreplace(plain), method.forcing.xreplace(plain)
    return mass, forcing, symbols[: model.n], symbols[model.n :]


def _error(model: Robot, function: Any) -> float:
    """Of M qdd - forcing against Newton-Euler, relative."""
    from benchmarks.dynamics_recursions import workload

    values = model.sample(3)
    expected = workload(model, "inverse").expected(values)
    found = []
    for q, qd, qdd in zip(values["q"], values["qd"], values["qdd"]):
        mass, forcing = function(*q, *qd)
        found.append(np.asarray(mass, dtype=float) @ qdd - np.asarray(forcing, dtype=float).ravel())
    return float(np.max(np.abs(np.array(found) - expected)) / np.max(np.abs(expected)))
