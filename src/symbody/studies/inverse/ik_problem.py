"""What inverse kinematics asks of a Mechanism: targets, errors with Jacobians, limits, distances of coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, ShapeError, nearest, wrong_argument
from symbody.mechanics.memoised.kernels import quick_kernel
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.coordinates import increment, retract
from symbody.model.record.joint_limits import joint_limits
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers
from symbody.model.spatial.quaternion import matrix_from_quaternion
from symbody.studies.linear.operating_point import coordinates, driven_motion
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System, node_array

LAST_ROW = 1e-6  # by which the last row of a pose may differ from (0, 0, 0, 1)


class TargetPose(NamedTuple):
    """A wanted position (3,), m, and rotation (3, 3), frame to world; None where it does not matter."""

    p: np.ndarray | None
    R: np.ndarray | None


def check_targets(targets: Any) -> None:
    """A mapping, not the name of one frame."""
    if not isinstance(targets, Mapping):
        raise wrong_argument("targets", targets, 'frame -> position or pose, such as {"tool": [0.4, 0.1, 0.3]}')


def read_targets(targets: Mapping[str, Any], model: str) -> dict[str, TargetPose]:
    """Poses from the forms in which people give them."""
    if not targets:
        raise DefinitionError(f"no target was given for {model}; expected frame -> position or pose.")
    return {name: _pose(value, name) for name, value in targets.items()}


def _pose(value: Any, name: str) -> TargetPose:
    if isinstance(value, TargetPose):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if key not in ("p", "R"):
                raise NameLookupError(f"target {name!r} has {key!r}. {nearest(str(key), ('p', 'R'))}")
        p, R = value.get("p"), value.get("R")
        return TargetPose(None if p is None else _numbers(p, (3,), name), None if R is None else _rotation(R, name))
    array = np.asarray(value, dtype=float)
    if array.shape == (3,):
        return TargetPose(_numbers(array, (3,), name), None)
    if array.shape == (3, 3):
        return TargetPose(None, _rotation(array, name))
    if array.shape == (4, 4):
        _check_last_row(array, name)
        return TargetPose(_numbers(array[:3, 3], (3,), name), _rotation(array[:3, :3], name))
    if array.shape == (7,):
        size = float(np.linalg.norm(array[3:]))
        if not size > 1e-8:
            raise DefinitionError(f"the quaternion of target {name!r} is zero; expected (w, x, y, z) of unit length.")
        R = np.asarray(matrix_from_quaternion(array[3:] / size), dtype=float)
        return TargetPose(_numbers(array[:3], (3,), name), R)
    raise ShapeError(f"target {name!r} has shape {array.shape}; expected (3,), (3, 3), (4, 4) or (7,).")


def _numbers(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    array = np.array(value, dtype=float)
    if array.shape != shape or not np.isfinite(array).all():
        raise DefinitionError(f"target {name!r} has {value!r}; expected finite numbers of shape {shape}.")
    return array


def _rotation(value: Any, name: str) -> np.ndarray:
    array = _numbers(value, (3, 3), name)
    if np.abs(array @ array.T - np.eye(3)).max() > 1e-6 or np.linalg.det(array) < 0:
        raise DefinitionError(f"target {name!r} has a matrix that is no rotation: R R^T is not 1, or det R is -1.")
    return array


def _check_last_row(pose: np.ndarray, name: str) -> None:
    """Refuse a pose (4, 4) whose last row is not (0, 0, 0, 1); one that takes rows of points is its transpose."""
    last = np.array([0.0, 0.0, 0.0, 1.0])
    if np.abs(pose[3] - last).max() <= LAST_ROW:  # nan is refused too
        return
    hint = " It seems to be transposed: give pose.T." if np.abs(pose[:, 3] - last).max() <= LAST_ROW else ""
    raise DefinitionError(
        f"target {name!r} is a pose (4, 4) whose last row is {pose[3].tolist()}; expected [0, 0, 0, 1], below the "
        f"rotation and the position, which stands in the last column.{hint}"
    )


class Reaching:
    """Frames of a Mechanism with their Jacobians, rows of closed loops, and limits of coordinates."""

    def __init__(
        self,
        mech: Mechanism,
        frames: Sequence[str],
        parameters: Mapping[str, Any] | None,
        limits: bool,
        fixed: Any,
        t: float,
    ) -> None:
        self.mech, self.frames, self.t = mech, list(frames), t
        self.parameters = given_numbers(mech, parameters)
        if not self.frames:
            raise DefinitionError(f"no target was given for {mech.name}; expected frame -> position or pose.")
        self.system, self._kernel = _frame_motions(mech, tuple(self.frames))
        found: tuple[System | None, Any] = _loop_rows(mech) if has_loops(mech) else (None, None)
        self._loop_system, self._loop_kernel = found
        self.lower, self.upper = _bounds(mech, limits)
        self.free = _free(mech, fixed)

    # -- coordinates

    def start(self, q0: Any) -> np.ndarray:
        """(nq,) where the search starts: given, or zero, moved into the limits."""
        law = driven_motion(self.mech, self.t, self.parameters)[0]
        q = coordinates(self.mech, q0, law, self.parameters)
        for p in self.mech.slots:
            if p.mode == "driven":
                q[p.iq : p.iq + p.nq] = law[p.iq : p.iq + p.nq]
        if q0 is None:
            outside = (q < self.lower) | (q > self.upper)
            both = np.isfinite(self.lower) & np.isfinite(self.upper)
            q = np.where(outside & both, (np.where(both, self.lower, 0.0) + np.where(both, self.upper, 0.0)) / 2, q)
        return q

    def clipped(self, q: np.ndarray) -> np.ndarray:
        """q within the limits; joints that do not move keep what they have."""
        return np.where(self._moving, np.clip(q, self.lower, self.upper), q)

    @property
    def _moving(self) -> np.ndarray:
        """(nq,) coordinates of free velocities."""
        out = np.zeros(self.mech.nq, dtype=bool)
        for p in self.mech.slots:
            out[p.q] = self.free[p.v] if p.plain else self.free[p.iv]
        return out

    def blocked(self, q: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """(nv,) velocities at a limit that the direction (nv,) would leave."""
        out = np.zeros(self.mech.nv, dtype=bool)
        for p in self.mech.slots:
            if p.plain:
                at, way = q[p.q], direction[p.v]
                low, high = self.lower[p.q], self.upper[p.q]
                out[p.v] = ((at <= low) & (way < 0)) | ((at >= high) & (way > 0))
        return out

    def at_limit(self, q: np.ndarray) -> np.ndarray:
        """(nq,)"""
        near = 1e-9
        return (q <= self.lower + near) | (q >= self.upper - near)

    def random(self, q0: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A configuration somewhere within the limits, or around q0 where there are none."""
        step = np.zeros(self.mech.nv)
        for p in self.mech.slots:
            for k in range(p.nv):
                if not self.free[p.iv + k]:
                    continue
                step[p.iv + k] = rng.uniform(-1, 1) * (0.5 if p.rate_units[k] == "m/s" else math.pi)
                if p.plain:
                    low, high = self.lower[p.iq + k], self.upper[p.iq + k]
                    if np.isfinite(low) and np.isfinite(high) and high - low < 2 * math.pi:
                        step[p.iv + k] = rng.uniform(low, high) - q0[p.iq + k]
        return self.clipped(retract(self.mech, q0, step))

    def difference(self, q: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """(nv,) increment that leads from q to goal."""
        return increment(self.mech, q, goal)

    # -- errors

    def weights(self, poses: Mapping[str, TargetPose], given: Mapping[str, Any] | None) -> np.ndarray:
        """(m,) weight of each row of the errors; rows of loops have weight 1."""
        for name in given or {}:
            if name not in poses:
                raise NameLookupError(f"weights name {name!r}, which has no target. {nearest(name, poses)}")
        out: list[float] = []
        for name, pose in poses.items():
            pair = np.ravel(np.asarray((given or {}).get(name, 1.0), dtype=float))
            if len(pair) not in (1, 2) or not (pair > 0).all():
                raise DefinitionError(f"the weight of {name!r} is {pair}; expected a positive number, or two of them.")
            out += [float(pair[0])] * 3 if pose.p is not None else []
            out += [float(pair[-1])] * 3 if pose.R is not None else []
        rows = 0 if self._loop_system is None else self._loop_system.outputs["h"].size
        return np.array(out + [1.0] * rows)

    def errors(self, poses: Mapping[str, TargetPose], q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """e (m,) and de/dq (m, nv): frames minus targets (positions, rotation vectors, world axes), then loops."""
        found = self._frames(q)
        parts, jacobians = [], []
        for name, pose in poses.items():
            key = identifier(name)
            J = found[f"J_{key}"]
            if pose.p is not None:
                parts.append(found[f"p_{key}"] - pose.p)
                jacobians.append(J[3:])
            if pose.R is not None:
                parts.append(rotation_vector(found[f"R_{key}"] @ pose.R.T))
                jacobians.append(J[:3])
        if self._loop_system is not None:
            h, J = self._loops(q)
            parts.append(h)
            jacobians.append(J)
        return np.concatenate(parts), np.vstack(jacobians)

    def distances(self, poses: Mapping[str, TargetPose], q: np.ndarray) -> tuple[dict[str, tuple[float, float]], float]:
        """Frame -> (m, rad), and the largest residual of the loops."""
        found = self._frames(q)
        out = {}
        for name, pose in poses.items():
            key = identifier(name)
            gap = math.nan if pose.p is None else math.hypot(*(found[f"p_{key}"] - pose.p))
            turn = math.nan if pose.R is None else float(np.linalg.norm(rotation_vector(found[f"R_{key}"] @ pose.R.T)))
            out[name] = (gap, turn)
        loops = 0.0 if self._loop_system is None else float(np.abs(self._loops(q)[0]).max(initial=0.0))
        return out, loops

    def _frames(self, q: np.ndarray) -> dict[str, np.ndarray]:
        return self._call(self.system, self._kernel, q)

    def _loops(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert self._loop_system is not None
        found = self._call(self._loop_system, self._loop_kernel, q)
        return found["h"], found["J"]

    def _call(self, system: System, kernel: Any, q: np.ndarray) -> dict[str, np.ndarray]:
        given = {"q": q, "qd": np.zeros(self.mech.nv), "qdd": np.zeros(self.mech.nv), "t": np.array(self.t)}
        own = {n: v for n, v in self.parameters.items() if n in system.parameters}
        made = kernel(**{n: given[n] for n in system.inputs}, parameters=own or None)
        results = [made] if len(system.outputs) == 1 else list(made)
        return {n: np.asarray(x) for n, x in zip(system.outputs, results, strict=True)}


def _frame_motions(mech: Mechanism, frames: tuple[str, ...]) -> tuple[System, Any]:
    """(q, qd) -> R, p, J of frames of the opened tree."""
    system = kinematics(mech, list(frames), quantities=("R", "p", "J"), loops=False)
    return system, quick_kernel(system)


def _loop_rows(mech: Mechanism) -> tuple[System | None, Any]:
    system = derived_of(mech).get("loop_rows", (), lambda: _loop_system(mech))
    return system, None if system is None else quick_kernel(system)


def _loop_system(mech: Mechanism) -> System | None:
    """(q[, t]) -> h, J of the loops that are never switched; conditions on velocities alone bind no q."""
    found = derived_of(mech).fresh_constraints()
    tree = found.tree
    found = found.select([i for i, row in enumerate(found.rows) if row.h is not None and row.switch is None])
    if not found.rows:
        return None
    nodes = {"h": node_array(found.h, tree.graph), "J": node_array(found.J, tree.graph)}
    inputs: dict[str, Any] = {"q": tree.q}
    for s in free_symbols([x for a in nodes.values() for x in a.flat]):
        if s.data.role == "time":
            inputs["t"] = node_array(s, tree.graph)
    return System(f"{identifier(mech.name)}_loop_rows", inputs=inputs, outputs=nodes)


def _bounds(mech: Mechanism, limits: bool) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = np.full(mech.nq, -math.inf), np.full(mech.nq, math.inf)
    known = joint_limits(mech)
    for p in mech.slots:
        if limits and p.joint is not None and p.plain:
            span = slice(p.iq, p.iq + p.nq - (p.joint.elastic is not None))
            own = known[p.owner]
            lower[span] = -math.inf if own.lower is None else own.lower
            upper[span] = math.inf if own.upper is None else own.upper
    return lower, upper


def _free(mech: Mechanism, fixed: Any) -> np.ndarray:
    """(nv,) velocities that may move: not those of fixed and driven joints, nor deflections of elastic ones."""
    out = np.ones(mech.nv, dtype=bool)
    known = {p.owner: p for p in mech.slots}
    for name in [fixed] if isinstance(fixed, str) else fixed:
        if name not in known:
            raise NameLookupError(f"fixed of {mech.name} names {name!r}. {nearest(str(name), known)}")
        out[known[name].iv : known[name].iv + known[name].nv] = False
    for p in known.values():
        if p.mode == "driven":
            out[p.iv : p.iv + p.nv] = False
    out[list(mech.elastic_velocities)] = False
    if not out.any():
        raise ModelError(f"no joint of {mech.name} may move; free some of those in fixed.")
    return out


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """(3,) axis times angle of a rotation matrix, 0 to pi (Shepperd's quaternion, which is safe near half turns)."""
    trace = float(np.trace(R))
    k = int(np.argmax([trace, R[0, 0], R[1, 1], R[2, 2]]))
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if k == 0:
        w, v = 1 + trace, skew
    else:
        i = k - 1
        v = R[i] + R[:, i]
        v[i] = 1 + 2 * R[i, i] - trace
        w = skew[i]
        if w < 0:
            w, v = -w, -v
    size = float(np.linalg.norm(v))
    if size < 1e-300:
        return np.zeros(3)
    return v / size * 2 * math.atan2(size, w)
