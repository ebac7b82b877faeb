"""sb.kinematics: poses, velocities, accelerations and Jacobians of frames as a System."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, nearest, wrong_argument
from symbody.mechanics.formalisms.frame_kinematics import FrameMotion, choose_scheme, frame_motions
from symbody.mechanics.formalisms.frames import Frame, frame
from symbody.mechanics.formalisms.jacobians import frame_jacobians
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.loops.closing.closure import Closure
from symbody.mechanics.loops.equations.reduced import closed_motion
from symbody.mechanics.memoised.model_memory import derived_of, options_key
from symbody.mechanics.verbs.system_of_tree import has_loops, make_system, time_input
from symbody.model.record.mechanism import WORLD, Mechanism
from symbody.symbolic.lower.optimize import count_system, optimize_system
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System

# quantity -> (order of derivatives, field of FrameMotion, unit, meaning); J and Jd are no fields
QUANTITIES = {
    "R": (0, "rotation", "", "orientation: frame to reference coordinates"),
    "p": (0, "position", "m", "origin"),
    "omega": (1, "omega", "rad/s", "angular velocity"),
    "v": (1, "velocity", "m/s", "velocity of the origin"),
    "J": (1, "", "", "Jacobian of (omega, v) by qd"),
    "alpha": (2, "alpha", "rad/s^2", "angular acceleration"),
    "a": (2, "acceleration", "m/s^2", "classical acceleration of the origin"),
    "Jd": (2, "", "", "time derivative of J"),
}


@declared
def kinematics(
    mech: Mechanism,
    frames: str | Sequence[str] | None = None,
    order: int = 2,
    reference: str = WORLD,
    jacobians: bool = True,
    quantities: Iterable[str] | None = None,
    scheme: str = "auto",
    parameters: str = "setup",
    preset: str = "standard",
    loops: bool = True,
    partition: Any = "auto",
) -> System:
    """(q, qd, qdd) -> motion of frames relative to a reference frame, as it sees them and in its axes.

    frames      bodies, "body.frame", sensors, or frames that one body has; None: every body
    order       0: R_<frame> (3, 3), p_ (3,); 1: also omega_, v_, J_ (6, nv) angular first; 2: also alpha_, a_, Jd_
    reference   "world" or any frame; the recursion starts at the last common ancestor
    jacobians   whether J and Jd are among the outputs
    quantities  a choice of R p omega v J alpha a Jd instead, which sets the order
    scheme      progressive, regressive, or auto: for one frame the smaller program, for several progressive
    loops       closed loops: of the closed mechanism, q, qd and qdd as in `inverse_dynamics`; J_ (6, u) goes by the
                independent velocities, and Jd_ is not given. False: of the opened tree
    partition   of a closed mechanism, as in `forward_dynamics`
    """
    derived, wanted = derived_of(mech), _quantities(order, jacobians, quantities)
    names, closed = _names(mech, frames), loops and has_loops(mech)
    if closed and "Jd" in wanted:
        if quantities is not None:
            raise ModelError(
                f"Jd was asked of {mech.name}, which has closed loops; expected J and a, which hold all of it, or "
                "loops=False."
            )
        wanted.remove("Jd")
    make = _closed if closed else _open
    options = options_key({"partition": partition} if closed else {})
    return derived.system(
        ("kinematics", tuple(names), tuple(wanted), reference, scheme, parameters, preset, closed, options),
        lambda: make(mech, names, wanted, reference, scheme, parameters, preset, partition),
    )


def _open(
    mech: Mechanism,
    names: list[str],
    wanted: list[str],
    reference: str,
    scheme: str,
    parameters: str,
    preset: str,
    partition: Any,
) -> System:
    """The System of a tree."""
    tree = derived_of(mech).tree(parameters)
    found = [frame(tree, name) for name in names]
    seen_from = None if reference == WORLD else frame(tree, reference)
    moving = [k for k in wanted if QUANTITIES[k][1]]
    if scheme != "auto" or len(found) != 1:
        chosen = choose_scheme(len(found), moving) if scheme == "auto" else scheme
        return optimize_system(_system(tree, found, seen_from, wanted, chosen), preset)
    rule = choose_scheme(1, moving)
    schemes = sorted(("progressive", "regressive"), key=lambda s: s != rule)  # the rule wins a draw
    made = [optimize_system(_system(tree, found, seen_from, wanted, s), preset) for s in schemes]
    return min(made, key=lambda system: count_system(system).total)


def _closed(
    mech: Mechanism,
    names: list[str],
    wanted: list[str],
    reference: str,
    scheme: str,
    parameters: str,
    preset: str,
    partition: Any,
) -> System:
    """The System of the closed mechanism: dependent accelerations put in, Jacobians by independent velocities."""
    from symbody.mechanics.verbs.closed_dynamics import at_closed_state
    from symbody.mechanics.verbs.closed_problem import ClosedProblem

    def make(problem: ClosedProblem, closure: Closure) -> System:
        tree = problem.tree
        found = [frame(tree, name) for name in names]
        seen_from = None if reference == WORLD else frame(tree, reference)
        moving = [k for k in wanted if QUANTITIES[k][1]]
        chosen = choose_scheme(len(found), moving) if scheme == "auto" else scheme
        system = _system(tree, found, seen_from, wanted, chosen)
        outputs = closed_motion(closure, system.outputs)
        return system.replace(inputs={**system.inputs, **time_input(outputs.values())}, outputs=outputs)

    return at_closed_state(mech, make, partition, parameters, preset)


def _quantities(order: int, jacobians: bool, chosen: Iterable[str] | None) -> list[str]:
    if chosen is None:
        if order not in (0, 1, 2):
            raise wrong_argument("order", order, "0 (pose), 1 (velocity) or 2 (acceleration)", error=ModelError)
        return [k for k, row in QUANTITIES.items() if row[0] <= order and (row[1] or jacobians)]
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    for k in wanted:
        if k not in QUANTITIES:
            raise ModelError(f"quantity {k!r} was asked for; expected some of {', '.join(QUANTITIES)}.")
    if not wanted:
        raise ModelError(f"no quantity was asked for; expected some of {', '.join(QUANTITIES)}.")
    return [k for k in QUANTITIES if k in wanted]


def _names(mech: Mechanism, frames: str | Sequence[str] | None) -> list[str]:
    names = [frames] if isinstance(frames, str) else [b.name for b in mech.bodies] if frames is None else list(frames)
    if not names:
        raise ModelError(f"no frame of {mech.name} was asked for. {nearest('', [b.name for b in mech.bodies])}")
    return names


def _system(tree: Tree, frames: list[Frame], reference: Frame | None, wanted: list[str], scheme: str) -> System:
    order = max(QUANTITIES[k][0] for k in wanted)
    fields = [k for k in wanted if QUANTITIES[k][1]]
    moves: list[FrameMotion] = []
    if fields:
        moves = frame_motions(tree, frames, reference, max(QUANTITIES[k][0] for k in fields), scheme)
    columns: list[Any] = []
    if "J" in wanted or "Jd" in wanted:
        columns = frame_jacobians(tree, frames, reference, "Jd" in wanted)
    outputs: dict[str, Any] = {}
    units, origins = {}, {}
    for i, f in enumerate(frames):
        for k in wanted:
            name = f"{k}_{identifier(f.name)}"
            if name in outputs:
                raise ModelError(f"two frames give the output {name!r}; ask for them in two calls, or rename one.")
            if k in ("J", "Jd"):
                outputs[name] = columns[i][k == "Jd"]
            else:
                value = getattr(moves[i], QUANTITIES[k][1])
                outputs[name] = np.eye(3, dtype=int).tolist() if value is None else value
            units[name] = QUANTITIES[k][2]
            seen_from = "the world" if reference is None else reference.name
            origins[name] = f"{QUANTITIES[k][3]} of {f.name} relative to {seen_from} ({scheme})"
    inputs = {"q": tree.q, "qd": tree.qd, "qdd": tree.qdd}
    return make_system(tree, "kinematics", dict(list(inputs.items())[: order + 1]), outputs, units, origins)
