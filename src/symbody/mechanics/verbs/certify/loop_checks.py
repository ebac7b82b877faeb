"""What is certified of closed loops, against the reference: closure, freedom, dynamics, multipliers, reactions.

The reference closes the loops by itself and takes the states by itself. A program that holds on one branch only must
say so; then it is judged there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.loops.equations.inverse import actuated_velocities
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.certify.assembled import assembly_checks
from symbody.mechanics.verbs.certify.certificate import LEAST_SHARE, Check, backward, indefiniteness, output_of, worst
from symbody.mechanics.verbs.certify.closed_states import CLOSED, ClosedStates
from symbody.mechanics.verbs.certify.derivatives import STEP, closed_derivatives
from symbody.mechanics.verbs.certify.projection_checks import projection_checks
from symbody.mechanics.verbs.certify.states import states_after
from symbody.mechanics.verbs.certify.tree_checks import AGREE, energy_error, frames_error, frames_of, reaction_error
from symbody.mechanics.verbs.closed_dynamics import closure, projection
from symbody.mechanics.verbs.dynamics import forward_dynamics, inverse_dynamics, semi_explicit
from symbody.mechanics.verbs.energy import energy
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.mechanics.verbs.reactions import cut_output, reactions
from symbody.model.record.mechanism import Mechanism
from symbody.reference import closed_search as assembly
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.frame_motion import seen
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System

DYNAMIC = 1e-9  # backward error of accelerations and of forces in loops
GUESS = 1e-2  # by which the guess of dependent coordinates is moved
RETURNED = 1e-7  # relative, where an iteration came back: it leaves 1e-12, which the condition magnifies twice
FEW_FRAMES = 40  # frames whose closed motion is compared

__all__ = ["ClosedStates", "accelerations_error", "loop_checks", "multiplier_checks", "reaction_checks"]


def loop_checks(mechanism: Mechanism, point: ClosedStates, smallest: System, refused: list[str]) -> Iterator[Check]:
    said = " ".join(f"{smallest.origins.get('partition', '')} {point.partition.explanation}".split())
    yield from _freedom(point, said, refused)
    if not len(point.q):
        return
    given: dict[str, Any] = {"tau": point.tau, "qdd_driven": point.qdd[:, point.model.driven]}
    way: dict[str, Any] = {"partition": point.partition}
    yield from _constraints(mechanism, point)
    made = closure(mechanism, point.partition, velocities=True)
    yield from _closure(point, made, refused)
    qdd = output_of(point.evaluate(smallest, **given), "qdd")
    yield Check("closed loops: accelerations equal the reference", accelerations_error(point, qdd, given), DYNAMIC)
    native = output_of(point.evaluate(smallest, "native", **given), "qdd")
    distance = accelerations_error(point, native, given)
    yield Check("closed loops: accelerations of native code equal the reference", distance, DYNAMIC)
    plain = forward_dynamics(mechanism, formalism="newton_euler", lam=True, **way)
    found = point.evaluate(plain, **given)
    distance = accelerations_error(point, np.asarray(found.qdd), given)
    yield Check("closed loops: accelerations by newton_euler equal the reference", distance, DYNAMIC)
    yield from multiplier_checks(mechanism, point, found, "reduced", given)
    try:
        full = point.evaluate(forward_dynamics(mechanism, formulation="augmented", lam=True, **way), **given)
        distance = accelerations_error(point, np.asarray(full.qdd), given)
        yield Check("augmented equations equal the reference", distance, 1e-8)
        yield from multiplier_checks(mechanism, point, full, "augmented", given)
    except SymbodyError as error:
        refused.append(f"augmented equations: {error}")
    yield from _reduced(mechanism, point, refused)
    yield from _frames(mechanism, point, refused)
    yield from _energy(mechanism, point)
    try:
        wrenches = reactions(mechanism, [j.name for j in mechanism.joints], partition=point.partition)
        yield from reaction_checks(mechanism, point, wrenches, given, np.asarray(found.qdd))
    except SymbodyError as error:
        refused.append(f"reactions of the closed mechanism: {error}")
    yield from _moved_guess(point, made, smallest, given, refused)
    yield from projection_checks(projection(mechanism, partition=point.partition), point, refused)
    yield from assembly_checks(mechanism, point, refused)
    yield from closed_derivatives(point, smallest, given, refused)
    if point.model.driven or np.any(point.closures.rows(point.motion(qd=0 * point.qd)).hd):
        refused.append("closed loops: driven joints or laws of time bring power, hence no power balance")
    else:
        yield Check("closed loops do no work", _power_balance(mechanism, point, smallest, given, qdd), 1e-9)


# -- freedom and closure


def _freedom(point: ClosedStates, said: str, refused: list[str]) -> Iterator[Check]:
    """The rank of J at closed positions of the reference against the number of independent velocities."""
    u, nv = len(point.independent), point.model.nv
    known = int(np.sum(point.positions.rank >= 0))
    others = point.others
    yield (
        Check(f"degrees of freedom at the positions of the user: {u}", float(len(point.wrong.q)), 0.0)
        if len(point.given)
        else Check(f"closed positions were found: {known}", float(not known), 0.0)
    )
    counts = {int(nv - r): int(np.sum(others.rank == r)) for r in np.unique(others.rank)}
    text = ", ".join(f"{d} at {n}" for d, n in counts.items())
    if counts and ("made for the branch" in said or len(point.given)):
        refused.append(
            f"the program is made for the branch with {u} degrees of freedom; of {known} closed positions on all "
            f"branches there are {text}, where it was not judged"
        )
        counts = {}
    on = f", but {text}" if counts else ""
    yield Check(
        f"degrees of freedom at {known} closed positions of the reference: {u}{on}", float(sum(counts.values())), 0.0
    )


def _constraints(mechanism: Mechanism, point: ClosedStates) -> Iterator[Check]:
    """The rows of the program: closed where the frames meet, and blind to the same motions."""
    found = derived_of(mechanism).constraints()
    numeric = Numeric(found, {n: point.model.number(s) for n, s in mechanism.parameters.items()})
    gap = point.opening_of(found.rows, numeric.h(point.q))
    yield Check("constraints hold where the frames of cuts meet (m, rad)", gap, CLOSED)
    slopes = numeric.J(point.q)
    errors = [0.0]
    for one, q in zip(slopes, point.q, strict=True):
        free = assembly.null_space(point.closures.jacobian(q[None], point.t)[0], point.rank)
        sizes = np.maximum(np.abs(free), LEAST_SHARE)  # of a locked joint a column has nothing but rounding
        errors.append(backward((one @ free)[None], 0.0, (np.abs(one) @ sizes)[None]))
        values = np.linalg.svd(one * assembly.scales(point.model), compute_uv=False)
        if point.rank:
            rank = int(np.sum(values > assembly.ZERO * max(values[0], 1e-300))) if len(values) else 0
            errors.append(float(abs(rank - point.rank)))
    yield Check("J sees the motions that open the loops, and no others", worst(np.array(errors)), DYNAMIC)
    bias = numeric.bias(point.q, point.qd)
    terms = np.einsum("nij,nj->ni", np.abs(slopes), np.maximum(np.abs(point.qdd), LEAST_SHARE)) + np.abs(bias)
    left = np.einsum("nij,nj->ni", slopes, point.qdd) + bias
    yield Check("J qdd + bias vanishes for accelerations that keep them closed", backward(left, 0.0, terms), DYNAMIC)
    rate = np.einsum("nij,nj->ni", slopes, point.qd) + numeric.ht(point.q)
    terms = np.einsum("nij,nj->ni", np.abs(slopes), np.abs(point.qd)) + np.abs(numeric.ht(point.q))
    yield Check("J qd + ht vanishes for velocities that keep them closed", backward(rate, 0.0, terms + 1e-3), DYNAMIC)


def _closure(point: ClosedStates, made: System, refused: list[str]) -> Iterator[Check]:
    """`sb.closure` at closed states: it stays there, with velocities and B that keep the loops closed."""
    found, good = point.evaluate_with_status(made)
    if not good.all():
        refused.append(f"closure: {int(np.sum(~good))} of {len(good)} closed states are refused by its status")
    if not good.any():
        yield Check("the closure converges at some closed state", 1.0, 0.0)
        return
    q, qd = np.asarray(found.q)[good], np.asarray(found.qd)[good]
    gap = point.opening(point.closures.gap(q, point.t))
    yield Check("the loops are closed, measured on the frames of cuts (m, rad)", gap, CLOSED)
    distance = worst(np.abs(q - point.q[good]))
    yield Check("closed positions are left as they are (m, rad)", distance, 1e-8)
    yield Check("velocities keep them closed", velocity_error(point, q, qd), DYNAMIC)
    driven = point.qd[good][:, point.independent]
    yield Check(
        "independent velocities are kept", backward(qd[:, point.independent], driven, np.abs(driven) + 1e-3), AGREE
    )
    if "B" in made.outputs:
        wanted = point.maps(q)
        terms = np.abs(wanted).max(axis=(1, 2), keepdims=True, initial=0.0)
        yield Check("B equals the reference", backward(np.asarray(found.B)[good], wanted, terms), DYNAMIC)


def velocity_error(point: ClosedStates, q: np.ndarray, qd: np.ndarray) -> float:
    """How fast velocities open the loops, relative to the terms |J| |qd|."""
    rate = point.closures.rows(BodyMotion(point.model, q, qd, t=point.t)).hd
    slopes = point.closures.jacobian(q, point.t, qd)
    return backward(rate, 0.0, np.einsum("nij,nj->ni", np.abs(slopes), np.abs(qd)) + 1e-3)


def _moved_guess(
    point: ClosedStates, made: System, smallest: System, given: dict[str, Any], refused: list[str]
) -> Iterator[Check]:
    """Dependent coordinates off the solution: the program comes back closed and right, or its status says so."""
    rng = np.random.default_rng(point.seed + 1)
    step = rng.uniform(-GUESS, GUESS, point.qd.shape)
    step[:, point.independent] = 0.0
    guess = assembly.advanced(point.model, point.q, step)
    found, good = point.evaluate_with_status(made, q=guess)
    result, fine = point.evaluate_with_status(smallest, q=guess, **given)
    good = good & fine
    if not good.all():
        refused.append(
            f"guess moved by {GUESS:g}: {int(np.sum(~good))} of {len(good)} states are refused by the status"
        )
    if not good.any():
        return
    q, qd = np.asarray(found.q)[good], np.asarray(found.qd)[good]
    gap = point.opening(point.closures.gap(q, point.t))
    yield Check(f"guess moved by {GUESS:g}: the loops are closed (m, rad)", gap, CLOSED)
    yield Check(f"guess moved by {GUESS:g}: velocities keep them closed", velocity_error(point, q, qd), RETURNED)
    if gap <= CLOSED:
        qdd = output_of(result, "qdd")[good]
        there = {k: np.asarray(v)[good] for k, v in given.items()}
        error = accelerations_error(point, qdd, there, q, qd)
        yield Check(f"guess moved by {GUESS:g}: accelerations equal the reference", error, RETURNED)


# -- dynamics


def accelerations_error(
    point: ClosedStates, qdd: np.ndarray, given: Mapping[str, Any], q: Any = None, qd: Any = None
) -> float:
    """Backward error of accelerations: they keep the loops closed, and no virtual displacement feels a rest.

    Both are residuals in the reference's equations relative to their terms, so that no condition magnifies them. Of a
    joint that a loop locks these are what efforts would do if it were free: its own acceleration is but rounding.
    """
    q, qd = point.q if q is None else q, point.qd if qd is None else qd
    motion = point.motion(q=q, qd=qd, qdd=qdd)
    slopes, rows = point.closures.jacobian(q, point.t, qd), point.closures.rows(motion).hdd
    inertia = np.einsum("nii->ni", motion.mass_matrix)
    efforts = motion.effort_terms() + np.abs(given["tau"])
    alone = np.divide(efforts, inertia, out=np.zeros_like(efforts), where=inertia > 0)
    push = np.einsum("nij,nj->ni", np.abs(slopes), np.abs(qdd) + LEAST_SHARE * alone)
    bias = rows - np.einsum("nij,nj->ni", slopes, qdd)
    errors = [backward(rows, 0.0, push + np.abs(bias))]
    driven = point.model.driven
    if driven:
        wanted = np.asarray(given["qdd_driven"])
        errors.append(backward(qdd[:, driven], wanted, np.abs(wanted) + 1e-3))
    rest = motion.efforts() - given["tau"]
    for k in range(len(q)):
        free = point.virtual(q[k])
        errors.append(backward((free.T @ rest[k])[None], 0.0, (np.abs(free).T @ efforts[k])[None]))
    return worst(np.array(errors))


def multiplier_checks(
    mechanism: Mechanism, point: ClosedStates, found: Any, name: str, given: Mapping[str, Any]
) -> Iterator[Check]:
    """J^T lam with the rows of the program: what the efforts of the joints leave for the loops to carry."""
    qdd, lam = np.asarray(found.qdd), np.asarray(found.lam)
    motion = point.motion(qdd=qdd)
    rows = derived_of(mechanism).constraints()
    numeric = Numeric(rows, {n: point.model.number(s) for n, s in mechanism.parameters.items()})
    slopes = numeric.J(point.q)
    wanted = motion.efforts() - given["tau"]
    carried = np.einsum("nmi,nm->ni", slopes, lam)
    terms = motion.effort_terms() + np.abs(given["tau"]) + np.einsum("nmi,nm->ni", np.abs(slopes), np.abs(lam))
    own = [k for k in range(point.model.nv) if k not in point.model.driven]
    error = backward(carried[:, own], wanted[:, own], terms[:, own])
    yield Check(f"multipliers of the {name} equations carry what the reference needs", error, 1e-8)


def _reduced(mechanism: Mechanism, point: ClosedStates, refused: list[str]) -> Iterator[Check]:
    """M, c of the independent velocities and inverse dynamics."""
    maps, u = point.maps(point.q), point.independent
    still = point.motion(qdd=point.consistent(point.q, point.qd, 0 * point.qdd))
    back = np.swapaxes(maps, 1, 2)
    found = point.evaluate(semi_explicit(mechanism, formalism="newton_euler", partition=point.partition))
    m = back @ still.mass_matrix @ maps
    size = np.sqrt(np.einsum("nii->ni", np.abs(back) @ np.abs(still.mass_matrix) @ np.abs(maps)))
    yield Check(
        "the reduced M equals the reference", backward(found.M, m, size[:, :, None] * size[:, None, :]), DYNAMIC
    )
    c, terms = _felt(back, still)
    yield Check("the reduced c equals the reference", backward(found.c, c, terms), DYNAMIC)
    driven = [k in point.model.driven for k in u]
    share = indefiniteness(np.asarray(found.M), driven) if u else 0.0
    yield Check("the reduced M is positive definite", share, 0.0)
    motion, actuated = point.motion(), actuated_velocities(mechanism)
    need, terms = _felt(back, motion)
    system = inverse_dynamics(mechanism, partition=point.partition)
    made = point.evaluate(system)
    if "tau" not in system.outputs:
        yield Check("closed loops: Psi equals the reference", backward(made.Psi, need, terms), DYNAMIC)
        gains = back[:, :, actuated]
        yield Check("closed loops: G equals the reference", backward(made.G, gains, np.abs(gains) + 1), DYNAMIC)
        refused.append("closed loops: fewer actuators than degrees of freedom, hence no efforts to compare")
        return
    tau = output_of(made, "tau")
    left = np.einsum("nij,nj->ni", back, tau) - need
    size = terms + np.einsum("nij,nj->ni", np.abs(back), np.abs(tau))
    yield Check("closed loops: efforts of inverse dynamics give the motion", backward(left, 0.0, size), 1e-8)
    passive = [k for k in range(point.model.nv) if k not in point.model.actuated]
    gains = back[:, :, actuated]
    least = np.einsum("nij,nj->ni", np.linalg.pinv(gains) @ gains, tau[:, actuated])
    size = np.abs(tau).max(axis=-1, keepdims=True, initial=0.0) + 1e-9
    errors = [backward(tau[:, actuated], least, size), worst(np.abs(tau[:, passive]))]
    yield Check("closed loops: these efforts are the least, and none on passive joints", worst(np.array(errors)), 1e-7)


def _felt(back: np.ndarray, motion: BodyMotion) -> tuple[np.ndarray, np.ndarray]:
    """Efforts (n, u) on the independent velocities, B^T (M qdd + c), and the sizes of their terms."""
    need = np.einsum("nij,nj->ni", back, motion.efforts())
    return need, np.einsum("nij,nj->ni", np.abs(back), motion.effort_terms())


# -- frames, energies, reactions


def _frames(mechanism: Mechanism, point: ClosedStates, refused: list[str]) -> Iterator[Check]:
    """Motion of frames of the closed mechanism, J by independent velocities."""
    named = frames_of(mechanism)
    ends = {end for cut in mechanism.cuts for end in (cut.first, cut.second)}
    named = sorted(named, key=lambda pair: pair[1] not in ends)[:FEW_FRAMES]
    quantities = ("R", "p", "omega", "v", "J", "alpha", "a")
    try:
        system = kinematics(mechanism, [n for n, _ in named], partition=point.partition, quantities=quantities)
    except SymbodyError as error:
        refused.append(f"kinematics of the closed mechanism: {error}")
        return
    found = point.evaluate(system)
    motion, maps = point.motion(), point.maps(point.q)
    wanted = seen(motion, [f for _, f in named])
    plain = tuple(k for k in quantities if k != "J")
    distance = frames_error(motion, found, [n for n, _ in named], wanted, plain)
    yield Check("closed loops: kinematics of frames equal the reference", distance, DYNAMIC)
    errors = []
    for (name, _), w in zip(named, wanted, strict=True):
        terms = np.abs(w.J) @ np.abs(maps)
        value = np.asarray(getattr(found, f"J_{identifier(name)}"))
        errors.append(backward(value, w.J @ maps, terms + 1))
    yield Check("closed loops: Jacobians of frames equal the reference", worst(np.array(errors)), DYNAMIC)


def _energy(mechanism: Mechanism, point: ClosedStates) -> Iterator[Check]:
    found = point.evaluate(energy(mechanism, partition=point.partition), tau=point.tau)
    error = energy_error(found, point.motion(), point.tau)
    yield Check("closed loops: energies and powers equal the reference", error, DYNAMIC)


def reaction_checks(
    mechanism: Mechanism, point: ClosedStates, system: System, given: Mapping[str, Any], qdd: np.ndarray
) -> Iterator[Check]:
    """Wrenches of cuts do no work on the motions that they leave free, and with them every body is in balance.

    system: `sb.reactions` of all joints
    """
    names = [j.name for j in mechanism.joints]
    found = point.evaluate(system, **given)
    motion = point.motion(qdd=qdd)
    more = np.zeros((motion.count, len(point.model.parts), 6))
    work = [0.0]
    for cut, (_, _, two) in zip(mechanism.cuts, point.closures.body_maps(motion), strict=True):
        body, frame = cut.second
        rotation, position = point.model.frames.get((body, frame), (np.eye(3), np.zeros(3)))
        local = output_of(found, cut_output(cut.name, names))
        index = point.model.index[body]
        turn, origin = np.broadcast_to(rotation, (motion.count, 3, 3)), np.broadcast_to(position, (motion.count, 3))
        if index >= 0:
            pose = motion.poses[index].moved(rotation, position)
            turn, origin = pose.rotation.x, pose.position.x
        moment, force = (np.einsum("nij,nj->ni", turn, v) for v in (local[:, :3], local[:, 3:]))
        wrench = np.concatenate([moment + np.cross(origin, force), force], axis=-1)
        for end, sign in ((point.model.index[cut.first[0]], -1), (index, 1)):
            if end >= 0:
                more[:, end] += sign * wrench
        work.append(_free_work(wrench, two, origin))
    yield Check("wrenches of cuts do no work on the motions that they leave free", worst(np.array(work)), DYNAMIC)
    loops = point.closures.coupling_maps(motion)
    rest = motion.efforts(more) - given["tau"]
    terms = motion.effort_terms() + np.abs(given["tau"])
    terms = terms + np.einsum("nbik,nbi->nk", np.abs(motion.maps), np.abs(more))
    errors = [0.0]
    for k in range(motion.count):
        # what couplings carry acts on joints alone; driven joints carry what is left
        span = np.concatenate([loops[k], np.eye(point.model.nv)[point.model.driven]])
        free = assembly.null_space(span, np.linalg.matrix_rank(span)) if len(span) else np.eye(point.model.nv)
        errors.append(backward((free.T @ rest[k])[None], 0.0, (np.abs(free).T @ terms[k])[None]))
    yield Check("with the wrenches of cuts every joint is in balance", worst(np.array(errors)), 1e-8)
    yield Check(
        "closed loops: reactions of joints equal the reference", reaction_error(found, names, motion, more), 1e-8
    )


def _free_work(wrench: np.ndarray, rows: np.ndarray, origin: np.ndarray) -> float:
    """Power of a cut's wrench on relative twists that its rows do not see, over the sizes of its parts."""
    errors = [0.0]
    for w, h, at in zip(wrench, rows, origin, strict=True):
        # twists about the frame's origin, so that forces and arms do not mix
        shift = np.eye(6)
        shift[3:, :3] = np.array([[0, at[2], -at[1]], [-at[2], 0, at[0]], [at[1], -at[0], 0]])
        seen_rows = h @ np.linalg.inv(shift)
        values = np.linalg.svd(seen_rows, compute_uv=False)
        free = assembly.null_space(seen_rows, int(np.sum(values > 1e-9 * max(values[0], 1e-300))))
        local = np.linalg.inv(shift).T @ w
        errors.append(backward((free.T @ local)[None], 0.0, np.abs(local).max()[None, None] + 1e-9))
    return worst(np.array(errors))


def _power_balance(
    mechanism: Mechanism, point: ClosedStates, dynamics: System, given: dict[str, Any], qdd: np.ndarray
) -> float:
    """|d/dt (T + V) + dissipated - power| relative to its terms: forces of loops do no work.

    d/dt by complex step along the motion; the energies close the loops by themselves, imaginary parts included.
    """
    system = energy(mechanism, partition=point.partition)
    moved = states_after(point, dynamics, point.evaluate(dynamics, **given), 1j * STEP)
    q, qd = point.q + 1j * STEP * point.rates(point.qd), point.qd + 1j * STEP * qdd
    there = point.evaluate(system, q=q, qd=qd, tau=point.tau, **moved)
    here = point.evaluate(system, tau=point.tau)
    rate = np.imag(there.kinetic + there.potential) / STEP
    # the parts of the rate may be far larger than their sum near a lock
    parts = np.sum(np.abs(point.qd) * point.motion(qdd=qdd).effort_terms(), axis=-1)
    size = parts + np.abs(here.dissipated) + np.abs(here.power) + 1e-3
    return float(np.max(np.abs(rate + here.dissipated - here.power) / size, initial=0.0))
