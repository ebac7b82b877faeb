"""What is certified of the opened tree against the reference: motion of frames, dynamics, energies, forces, reactions.

Errors are backward errors: relative to the sizes of the terms that were added up, which is what rounding can explain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.formalisms.applied_forces import wrenches
from symbody.mechanics.formalisms.frame_kinematics import kinematic_map
from symbody.mechanics.formalisms.prescribed import prescribed
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.certify.certificate import Check, backward, output_of, worst
from symbody.mechanics.verbs.certify.states import States
from symbody.mechanics.verbs.dynamics import inverse_dynamics
from symbody.mechanics.verbs.energy import energy
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.mechanics.verbs.reactions import reactions
from symbody.mechanics.verbs.system_of_tree import make_system, time_input
from symbody.model.record.mechanism import Mechanism
from symbody.reference import frame_motion as reference_frames
from symbody.reference.bodies import NumericModel
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.energies import energies
from symbody.reference.frame_motion import GROUND, Frame, RelativeMotion, seen
from symbody.symbolic.expr.arrays import matmul
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System

AGREE = 1e-10  # backward error
MANY_COLUMNS = 400  # frames times velocities up to which Jacobians of all frames are made
TIMES = (0.0, 0.3, 1.7)  # s, at which laws of driven joints are compared
QUANTITIES = ("R", "p", "omega", "v", "J", "alpha", "a", "Jd")


def tree_checks(mechanism: Mechanism, point: States, motion: BodyMotion, refused: list[str]) -> Iterator[Check]:
    """All but inverse and forward dynamics, which `verify` makes anyway."""
    yield from _rates(mechanism, point, motion)
    yield from frame_checks(mechanism, point, motion, refused)
    yield from _energies(mechanism, point, motion)
    yield from _forces(mechanism, point, motion, refused)
    if point.model.nv:
        yield from _reactions(mechanism, point, motion, refused)
        yield from _outside(mechanism, point, motion)
    yield from _laws(mechanism, point.model)


# -- motion


def frames_of(mechanism: Mechanism) -> list[tuple[str, Frame]]:
    """Names for `sb.kinematics`, and (body, frame), of all bodies, their frames and sensors: one for each output name.

    A name that several have is that of a body, then of a frame, then of a sensor, as `sb.kinematics` reads it.
    """
    named = [(b.name, (b.name, "")) for b in mechanism.bodies]
    named += [(f"{b.name}.{f}", (b.name, f)) for b in mechanism.bodies for f in b.frames]
    named += [(s.name, (s.body, s.frame)) for s in mechanism.sensors]
    named = list(dict(reversed(named)).items())[::-1]
    return list({identifier(name): (name, f) for name, f in reversed(named)}.values())[::-1]


def _rates(mechanism: Mechanism, point: States, motion: BodyMotion) -> Iterator[Check]:
    if not point.model.nv:
        return
    tree = derived_of(mechanism).tree()
    system = System(
        "rates", inputs={"q": tree.q, "qd": tree.qd}, outputs={"q_dot": matmul(kinematic_map(tree), tree.qd)}
    )
    found, wanted = np.asarray(point.evaluate(system)), motion.coordinates.x1
    yield Check("rates of coordinates equal the reference", backward(found, wanted, np.abs(wanted) + 1), AGREE)


def frame_checks(mechanism: Mechanism, point: States, motion: BodyMotion, refused: list[str]) -> Iterator[Check]:
    """Poses, twists, accelerations and Jacobians of all frames, and of one as another sees it."""
    every = frames_of(mechanism)
    if not every:
        return
    few = len(every) * max(point.model.nv, 1) <= MANY_COLUMNS
    leaves = every if few else [every[k] for k in sorted({0, len(mechanism.bodies) - 1, len(every) - 1})]
    jobs: list[tuple[str, Sequence[tuple[str, Frame]], dict[str, Any], Frame]] = []
    moving = tuple(k for k in QUANTITIES if k not in ("J", "Jd"))
    if few:
        jobs.append(("all frames", every, {"quantities": QUANTITIES}, GROUND))
    else:
        jobs.append(("all frames", every, {"quantities": moving}, GROUND))
        jobs.append(("some frames, with Jacobians", leaves, {"quantities": QUANTITIES}, GROUND))
    deep = max(range(len(point.model.parts)), key=lambda b: len(point.model.ancestry[b]))
    chain = point.model.ancestry[deep]
    last, other = (point.model.parts[k].name for k in (chain[0], chain[len(chain) // 2]))
    if {last, other} <= {name for name, _ in every}:
        # towards the ground, and back: there the reference moves itself, as the common ancestor sees it
        pairs = [(last, GROUND if other == last else (other, ""))]
        pairs += [(other, (last, ""))] if other != last else []
        for (name, base), scheme in product(pairs, ("progressive", "regressive")):
            options: dict[str, Any] = {"quantities": QUANTITIES, "scheme": scheme, "reference": base[0]}
            jobs.append((f"{name} seen from {base[0]}, {scheme}", [(name, (name, ""))], options, base))
        others = [(name, (name, "")) for name in _other_kinds(mechanism, {point.model.parts[k].name for k in chain})]
        for scheme in ("progressive", "regressive") if others else ():
            options = {"quantities": QUANTITIES, "scheme": scheme, "reference": last}
            jobs.append((f"bodies on other joints seen from {last}, {scheme}", others, options, (last, "")))
    for text, named, asked, base in jobs:
        try:
            system = kinematics(mechanism, [name for name, _ in named], loops=False, **asked)
        except SymbodyError as error:
            refused.append(f"kinematics of {text}: {error}")
            continue
        found = point.evaluate(system)
        wanted = seen(motion, [f for _, f in named], base)
        distance = frames_error(motion, found, [name for name, _ in named], wanted, asked["quantities"])
        yield Check(f"kinematics of {text} equal the reference", distance, AGREE)


def _other_kinds(mechanism: Mechanism, chain: set[str]) -> list[str]:
    """A body for every kind of joint that no body of the chain has: each has its own way to be passed."""
    known = {joint.kind for joint in mechanism.joints if joint.child in chain}
    found: dict[str, str] = {}
    for joint in mechanism.joints:
        if joint.kind not in known:
            found.setdefault(joint.kind, joint.child)
    return list(found.values())


def frames_error(
    motion: BodyMotion, found: Any, names: Sequence[str], wanted: Sequence[RelativeMotion], quantities: Sequence[str]
) -> float:
    """Largest backward error of R, p, omega, v, J, alpha, a, Jd of frames."""
    length = motion.model.size + max((float(np.abs(w.p).max(initial=0.0)) for w in wanted), default=0.0)
    errors = []
    for name, w in zip(names, wanted, strict=True):
        speed = np.einsum("nij,nj->ni", np.abs(w.J), np.abs(motion.qd))
        push = np.einsum("nij,nj->ni", np.abs(w.J), np.abs(motion.qdd))
        push = push + np.einsum("nij,nj->ni", np.abs(w.Jd), np.abs(motion.qd))
        # what a frame has in common with its reference cancels, and was added up too
        fast = np.abs(motion.qd).max(axis=-1, initial=0.0)[:, None]
        hard = np.abs(motion.qdd).max(axis=-1, initial=0.0)[:, None] + fast**2
        arms = np.array([1.0] * 3 + [length] * 3)
        speed, push, column = speed + fast * arms, push + hard * arms, arms[:, None]
        terms = {
            "R": 1.0, "p": length, "omega": speed[:, :3], "v": speed[:, 3:], "alpha": push[:, :3], "a": push[:, 3:],
            "J": np.abs(w.J) + column, "Jd": np.abs(w.Jd) + column * (1 + fast[:, :, None]),
        }  # fmt: skip
        for k in quantities:
            value = np.asarray(getattr(found, f"{k}_{identifier(name)}"))
            errors.append(backward(value, getattr(w, k), terms[k]))
    return worst(np.array(errors))


def _laws(mechanism: Mechanism, model: NumericModel) -> Iterator[Check]:
    """Laws of driven joints and their derivatives."""
    errors = []
    for joint in mechanism.joints:
        if joint.mode != "driven" or joint.value is None:
            continue
        made = prescribed(joint)
        for t in TIMES:
            given = {**_defaults(mechanism, model), "t": t}
            wanted = reference_frames.prescribed(model.number, joint, t)
            for nodes, values in zip((made.q, made.qd, made.qdd), wanted, strict=True):
                found = np.array([float(x) for x in evaluate(nodes, given)])
                errors.append(backward(found[None], values[None], np.abs(values[None]) + 1e-3))
    if errors:
        yield Check("laws of driven joints equal the reference", worst(np.array(errors)), 1e-9)


def _defaults(mechanism: Mechanism, model: NumericModel) -> dict[str, float]:
    return {n: model.number(s) for n, s in mechanism.parameters.items()}


# -- energies and forces


def _energies(mechanism: Mechanism, point: States, motion: BodyMotion) -> Iterator[Check]:
    tau = motion.efforts()
    found = point.evaluate(energy(mechanism, loops=False), tau=tau)
    yield Check("energies, powers and centre of mass equal the reference", energy_error(found, motion, tau), AGREE)


def energy_error(found: Any, motion: BodyMotion, tau: np.ndarray) -> float:
    """Largest error of the outputs of `sb.energy` against the reference."""
    wanted = energies(motion, tau)
    errors = [backward(getattr(found, name), getattr(wanted, name), wanted.sizes[name] + 1e-9) for name in wanted.sizes]
    errors.append(backward(np.broadcast_to(found.mass, (motion.count,)), wanted.mass, wanted.mass))
    if hasattr(found, "com"):
        errors.append(backward(found.com, wanted.com, np.abs(wanted.com) + motion.model.size))
    return worst(np.array(errors))


def _forces(mechanism: Mechanism, point: States, motion: BodyMotion, refused: list[str]) -> Iterator[Check]:
    """What force elements show, the rates of their states, their guards and resets."""
    if not mechanism.forces:
        return
    tree = derived_of(mechanism).tree()
    made = wrenches(tree)
    outputs = {**made.outputs, **{f"{n}_dot": x for n, x in made.derivatives.items()}}
    outputs |= {f"guard_{name}": event.guard for name, event in made.events.items()}
    outputs |= {f"reset_{name}_{n}": x for name, event in made.events.items() for n, x in event.reset.items()}
    loads = motion.loads
    if loads.foreign:
        names = ", ".join(sorted(set(loads.foreign)))
        refused.append(f"not transcribed, taken as the user gives them: laws of {names}")
    owned = {*(f"{n}_dot" for n in loads.rates), *loads.events}
    missing = sorted(owned - set(outputs))
    if missing:
        refused.append(f"force elements own {', '.join(missing)} by the reference, and the equations do not have them")
    yield Check("states and events of force elements are those of the reference", float(len(missing)), 0.0)
    if not outputs:
        return
    inputs: dict[str, Any] = {"q": tree.q, "qd": tree.qd, **made.inputs, **made.states, **made.modes}
    inputs |= time_input(outputs.values())
    system = make_system(tree, "forces", {n: np.ravel(a) for n, a in inputs.items()}, outputs, {}, {})
    system = system.replace(inputs={n: inputs.get(n, a) for n, a in system.inputs.items()})
    found = point.evaluate(system)
    wanted = {**loads.observed, **{f"{n}_dot": x for n, x in loads.rates.items()}, **loads.events}
    largest = float(np.max(loads.sizes, initial=0.0))
    errors = []
    for name in outputs:
        value = output_of(found, name)
        if name not in wanted:
            errors.append(float("inf"))
            continue
        force = largest if name.rsplit("_", 1)[-1] in ("F", "E", "Fx", "Fy", "Fz", "Mz", "Fn") else 0.0
        errors.append(backward(value, wanted[name], np.abs(wanted[name]) + 1 + 1e-3 * force))
    yield Check("force elements show what the reference computes", worst(np.array(errors)), 1e-9)


# -- reactions, wrenches from outside


def _reactions(mechanism: Mechanism, point: States, motion: BodyMotion, refused: list[str]) -> Iterator[Check]:
    names = [j.name for j in mechanism.joints]
    try:
        system = reactions(mechanism, names, loops=False)
    except SymbodyError as error:
        refused.append(f"reactions: {error}")
        return
    found = point.evaluate(system)
    yield Check("reactions of joints equal the reference", reaction_error(found, names, motion, None), AGREE)


def reaction_error(found: Any, joints: Sequence[str], motion: BodyMotion, more: np.ndarray | None) -> float:
    """Largest error of reaction_<joint> against the wrenches that free bodies need; more: given wrenches of cuts."""
    wanted, terms = motion.joint_wrenches(more), motion.wrench_terms()
    errors = []
    for b, part in enumerate(motion.model.parts):
        if part.joint.name not in joints:
            continue
        pose, force = motion.poses[b], wanted[:, b, 3:]
        moment = wanted[:, b, :3] - np.cross(pose.position.x, force)
        local = np.concatenate([np.einsum("nji,nj->ni", pose.rotation.x, v) for v in (moment, force)], axis=-1)
        size = terms[:, b]
        if more is not None:
            for k in range(len(motion.model.parts)):
                if b in motion.model.ancestry[k]:
                    load = np.linalg.norm(more[:, k, 3:], axis=-1)
                    turn = more[:, k, :3] - np.cross(pose.position.x, more[:, k, 3:])
                    size = size + np.stack([np.linalg.norm(turn, axis=-1), load], axis=-1)
        value = output_of(found, f"reaction_{identifier(part.joint.name)}")
        errors.append(backward(value, local, np.repeat(size, 3, axis=-1)))
    return worst(np.array(errors))


def _outside(mechanism: Mechanism, point: States, motion: BodyMotion) -> Iterator[Check]:
    """A wrench from outside on the last body, which is an input."""
    body = point.model.parts[-1].name
    name = f"w_{identifier(body)}"
    system = inverse_dynamics(mechanism, formalism="newton_euler", loops=False, wrenches=[body], preset="none")
    found = output_of(point.evaluate(system), "tau")
    local = np.broadcast_to(point.number(name, (6,)), (motion.count, 6))
    more = body_wrench(motion, len(point.model.parts) - 1, local)
    terms = motion.effort_terms() + np.einsum("nik,ni->nk", np.abs(motion.maps[:, -1]), np.abs(more[:, -1]))
    yield Check("a wrench from outside acts as in the reference", backward(found, motion.efforts(more), terms), AGREE)


def body_wrench(motion: BodyMotion, index: int, local: np.ndarray) -> np.ndarray:
    """(n, bodies, 6) of one wrench (n, 6), moment then force, in axes of a Part at its origin."""
    pose = motion.poses[index]
    moment, force = (np.einsum("nij,nj->ni", pose.rotation.x, v) for v in (local[:, :3], local[:, 3:]))
    out = np.zeros((motion.count, len(motion.model.parts), 6))
    out[:, index, :3] = moment + np.cross(pose.position.x, force)
    out[:, index, 3:] = force
    return out
