"""sb.inverse_kinematics: coordinates by which frames reach wanted places, within joint limits and with closed loops.

Damped least squares with generated frame Jacobians; damping by the squared error (Sugihara 2011) keeps it steady at
singular configurations and out of reach. Joint limits: coordinates at a bound leave the step (projected steps).
Redundancy: afterwards q moves in the null space to the place nearest to q0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, record_argument
from symbody.model.record.coordinates import coordinate_labels, retract
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.retracted_least_squares import (
    Directions,
    LeastSquaresProblem,
    ResidualPoint,
    StoppingRules,
    least_squares,
)
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.studies.inverse.ik_problem import Reaching, TargetPose, check_targets, read_targets
from symbody.studies.inverse.point_to_point import as_trajectory
from symbody.studies.inverse.sampled_motion import sampled_motion

LARGEST_TURN = 0.5  # rad or m in one step
RULES = StoppingRules(steps=200, damping=1e-2, least=1e-8, longest=LARGEST_TURN, stalled=1e-5)
NEAREST_STEPS = 60  # of approaching q0 in the null space


class Reach(Enum):
    """How a search ended."""

    REACHED = "All targets are reached."
    OUT_OF_REACH = "Not all targets are reached; the coordinates are those of the least error that was found."

    @property
    def ok(self) -> bool:
        return self is Reach.REACHED


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """q (nq,) and what is left: errors frame -> (distance m, angle rad; nan where it was not asked for).

    limited: labels of coordinates at a limit; gap: largest residual of closed loops; starts: how many were tried
    """

    q: np.ndarray
    outcome: Reach
    sentence: str
    errors: Mapping[str, tuple[float, float]]
    limited: tuple[str, ...] = ()
    gap: float = 0.0
    starts: int = 1
    steps: int = 0
    labels: tuple[str, ...] = field(default=())
    model: str = ""

    @property
    def ok(self) -> bool:
        return self.outcome.ok

    def __repr__(self) -> str:
        return f"Inverse kinematics of {self.model}: {self.sentence}"


@declared
def inverse_kinematics(
    mech: Mechanism,
    targets: Mapping[str, Any],
    q0: Any = None,
    *,
    weights: Mapping[str, Any] | None = None,
    limits: bool = True,
    fixed: str | Iterable[str] = (),
    nearest: bool = True,
    starts: int = 30,
    seed: int = 0,
    tolerance: float = 1e-9,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
) -> InverseKinematics:
    """Coordinates for which frames stand where targets say, in world axes.

    targets   frame -> position (3,), rotation (3, 3), pose (4, 4), (7,) position and quaternion (w, x, y, z), or a
              mapping with some of p, R; frames as in `sb.kinematics`
    q0        start, and what a redundant q stays near to; zero (the middle of limits that exclude it) where not given
    weights   frame -> weight, or (of position, of rotation): what matters more where not all can be reached
    limits    whether the joints' limits hold
    fixed     joints that keep q0; driven joints stand where their laws say at t
    nearest   whether a redundant q is moved to the solution nearest to q0
    starts    starting points: q0, then random ones within limits
    tolerance m and rad

    Closed loops are closed along with it. The outcome is a value: look at `.ok` and `.sentence`.
    """
    record_argument("inverse_kinematics", mech, Mechanism, "a Mechanism, as sb.load(name_or_path) gives")
    check_targets(targets)
    problem = Reaching(mech, list(targets), parameters, limits, fixed, t)
    poses = read_targets(targets, mech.name)
    return solve(problem, poses, problem.start(q0), weights, nearest, starts, seed, tolerance)


@declared
def inverse_kinematics_along(
    mech: Mechanism,
    times: Any,
    targets: Mapping[str, Any],
    q0: Any = None,
    *,
    weights: Mapping[str, Any] | None = None,
    limits: bool = True,
    fixed: str | Iterable[str] = (),
    starts: int = 30,
    seed: int = 0,
    tolerance: float = 1e-9,
    parameters: Mapping[str, Any] | None = None,
) -> Trajectory:
    """A Trajectory of q (and qd, qdd by splines) by which frames follow targets, one array of poses (n, ...) each.

    Every instant starts where the one before has ended; only the first has several starts. `error` (n, frames) is the
    distance, in m, or the angle of targets without position; instants that are not reached are in its notes.
    """
    instants = np.asarray(times, dtype=float)
    check_targets(targets)
    arrays = {name: np.asarray(value, dtype=float) for name, value in targets.items()}
    for name, array in arrays.items():
        if array.ndim < 2 or len(array) != len(instants):
            raise DefinitionError(
                f"target {name!r} has shape {array.shape}; expected a pose for each of {len(instants)} times: (n, 3), "
                "(n, 7), (n, 3, 3) or (n, 4, 4)."
            )
    problem = Reaching(mech, list(targets), parameters, limits, fixed, 0.0)
    q, rows, errors, missed = problem.start(q0), [], [], []
    for k in range(len(instants)):
        poses = read_targets({n: a[k] for n, a in arrays.items()}, mech.name)
        found = solve(problem, poses, q, weights, True, starts if k == 0 else 1, seed, tolerance)
        q = found.q
        rows.append(q)
        errors.append([x[0] if np.isfinite(x[0]) else x[1] for x in found.errors.values()])
        if not found.ok:
            missed.append(k)
    made = sampled_motion(mech, instants, np.array(rows))
    trajectory = as_trajectory(mech, instants, made.q, made.qd, made.qdd, "inverse kinematics")
    notes = list(made.notes)
    if missed:
        notes.append(
            f"{len(missed)} of {len(instants)} instants are not reached, the first at t = {instants[missed[0]]:g} s."
        )
    return trajectory.replace(
        values={**trajectory.values, "error": np.array(errors)},
        labels={**trajectory.labels, "error": tuple(targets)},
        units={**trajectory.units, "error": tuple("m" if p.p is not None else "rad" for p in poses.values())},
        notes=tuple(notes),
        outcome=Outcome.NOT_CONVERGED if missed else Outcome.FINISHED,
    )


def solve(
    problem: Reaching,
    poses: Mapping[str, TargetPose],
    q0: np.ndarray,
    weights: Mapping[str, Any] | None,
    nearest: bool,
    starts: int,
    seed: int,
    tolerance: float,
) -> InverseKinematics:
    """The search, for a problem that is ready."""
    scale = problem.weights(poses, weights)
    best: tuple[float, np.ndarray] | None = None
    tried = steps = 0
    for start in _starts(problem, q0, max(1, starts), seed):
        tried += 1
        q, size, steps = _descend(problem, poses, scale, start, tolerance)
        if best is None or size < best[0]:
            best = (size, q)
        if size < tolerance:
            break
    assert best is not None
    size, q = best
    if nearest and size < tolerance:
        q = _approach(problem, poses, scale, q, q0, tolerance)
    return _record(problem, poses, q, tried, steps, tolerance)


def _descend(
    problem: Reaching, poses: Mapping[str, TargetPose], scale: np.ndarray, q: np.ndarray, tolerance: float
) -> tuple[np.ndarray, float, int]:
    """(q, largest error, steps) of damped least squares; coordinates at a limit leave the steps."""

    def at(q: np.ndarray) -> ResidualPoint:
        e, J = problem.errors(poses, q)
        return ResidualPoint(scale * e, lambda: scale[:, None] * J, e)

    def directions(q: np.ndarray, point: ResidualPoint) -> Directions:
        free = problem.free & ~problem.blocked(q, -point.jacobian().T @ point.residual)
        return Directions(np.eye(len(free))[:, free])

    ways: LeastSquaresProblem[np.ndarray] = LeastSquaresProblem(
        at, lambda q, step: problem.clipped(retract(problem.mech, q, step)), None, directions
    )
    least = float(scale.min(initial=1.0))
    found = least_squares(ways, q, replace(RULES, tolerance=0.01 * tolerance * least, near=tolerance))
    return found.x, float(np.abs(found.point.value).max(initial=0.0)), found.steps


def _approach(
    problem: Reaching,
    poses: Mapping[str, TargetPose],
    scale: np.ndarray,
    q: np.ndarray,
    q0: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """q moved within the solutions towards q0, as long as it comes nearer."""
    share = 1.0
    for _ in range(NEAREST_STEPS):
        gap = problem.difference(q, q0)
        _, J = problem.errors(poses, q)
        free = problem.free & ~problem.blocked(q, gap)
        A = J[:, free]
        _, s, vt = np.linalg.svd(A)
        null = vt[int((s > 1e-9 * s.max(initial=0.0)).sum()) :]
        along = np.zeros(len(gap))
        along[free] = null.T @ (null @ gap[free])
        if np.abs(along).max(initial=0.0) < 1e-7:
            break
        far = float(np.abs(along).max())
        moved = problem.clipped(retract(problem.mech, q, along * share * min(1.0, LARGEST_TURN / far)))
        back, size, _ = _descend(problem, poses, scale, moved, tolerance)
        nearer = float(np.linalg.norm(problem.difference(back, q0))) < float(np.linalg.norm(gap))
        if size < tolerance and nearer:
            q, share = back, min(1.0, 2 * share)
        else:
            share /= 4
            if share < 1e-4:
                break
    return q


def _starts(problem: Reaching, q0: np.ndarray, count: int, seed: int) -> Iterator[np.ndarray]:
    """q0, then random configurations: within limits, else within half a turn and half a metre of q0."""
    yield problem.clipped(q0)
    rng = np.random.default_rng(seed)
    for _ in range(1, count):
        yield problem.random(q0, rng)


def _record(
    problem: Reaching, poses: Mapping[str, TargetPose], q: np.ndarray, tried: int, steps: int, tolerance: float
) -> InverseKinematics:
    mech = problem.mech
    errors, gap = problem.distances(poses, q)
    largest = max([gap, *(x for pair in errors.values() for x in pair if np.isfinite(x))])
    outcome = Reach.REACHED if largest <= 2 * tolerance else Reach.OUT_OF_REACH
    limited = tuple(n for n, at in zip(coordinate_labels(mech), problem.at_limit(q)) if at)
    sentence = outcome.value
    if not outcome.ok:
        left = "; ".join(_say(n, pair, tolerance) for n, pair in errors.items() if _say(n, pair, tolerance))
        sentence += f" Left after {tried} starts: {left or f'{gap:.3g} in the closed loops'}."
        if limited:
            sentence += f" At their limits: {', '.join(limited)}."
    return InverseKinematics(
        q, outcome, sentence, errors, limited, gap, tried, steps, coordinate_labels(mech), mech.name
    )


def _say(name: str, pair: tuple[float, float], tolerance: float) -> str:
    words = [f"{x:.3g} {unit}" for x, unit in zip(pair, ("m", "rad")) if np.isfinite(x) and x > tolerance]
    return f"{name} {' and '.join(words)}" if words else ""
