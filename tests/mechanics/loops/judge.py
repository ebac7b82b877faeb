"""What symbody makes of a random closed mechanism, judged by the oracle: right, refused, left out or WRONG.

right     every program equals the oracle, and so does the motion of 1 s
refused   a sentence (a SymbodyError, or an outcome that is not good) where the oracle finds an ordinary state
left out  the state or the motion is singular or too sensitive to be compared; what must hold there held
WRONG     numbers that differ, loops that open, energy that changes, another exception: in silence
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import qr

import symbody as sb
from mechanics.loops.maximal_motion import consistent, gap, integrated, jacobian, moved
from mechanics.loops.maximal_records import WIDTH_V
from mechanics.loops.random_mechanisms import CONDITION, Case, make
from symbody.basics.errors import SymbodyError
from symbody.mechanics.verbs.closed_problem import closed_problem

SAME = 1e-8  # relative difference that counts as none
SENSITIVE, NUDGE = 1e-9, 1e-12  # a start moved by NUDGE that ends farther away than SENSITIVE is not compared
OPEN = 1e-7  # m or rad: a gap during motion that counts as open
RTOL, MOST_STEPS = 1e-11, 20_000
PARTITIONS = 3
WORST_CHOICE = 300.0  # condition of J_v, relative to that of J, up to which a random partition is taken
RANKING = ("WRONG", "refused", "left out", "right")


@dataclass
class Verdict:
    """word: the worst of all findings; findings: (word, sentence); reasons: short texts for the table."""

    seed: int
    family: str
    text: str
    findings: list[tuple[str, str]] = field(default_factory=list)

    @property
    def word(self) -> str:
        words = {w for w, _ in self.findings}
        return next((w for w in RANKING if w in words), "right")

    @property
    def reasons(self) -> list[str]:
        return sorted({f"{w}: {t.split(':')[0]}" for w, t in self.findings if w != "right"})

    def add(self, word: str, text: str) -> None:
        self.findings.append((word, text))

    def say(self) -> str:
        told = "; ".join(f"{w}: {t}" for w, t in self.findings if w != "right")
        return f"{self.word:8} seed {self.seed} {self.text} | {told}"


def judge(seed: int, family: str = "", motion: bool = True) -> Verdict:
    """The Verdict on the Case of a seed."""
    case = make(seed, family)
    verdict = Verdict(seed, case.family, case.say() + (" moved" if case.moved else ""))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge_state(case, verdict)
        if motion:
            judge_motion(case, verdict)
    return verdict


# -- states


def judge_state(case: Case, verdict: Verdict) -> None:
    """Reduced, augmented and random partitions against the oracle's accelerations and J^T lam."""
    world = case.world
    qdd, effort, _ = world.accelerations(case.q, case.qd, case.tau, driven=case.driven)
    size, most = max(1.0, np.abs(qdd).max()), max(1.0, np.abs(effort).max(), np.abs(case.tau).max())
    regular = not case.singular and case.condition < CONDITION
    J: Any = None

    def compare(label: str, choice: Any, **options: Any) -> None:
        nonlocal J
        try:
            if J is None:
                J = rows_of(case)
            if choice is not None:
                options["partition"] = sb.partition(case.mech, choice, q=case.q)
            target = "native" if choice == "auto" else "python"  # the interpreter needs no compiling
            kernel = sb.forward_dynamics(case.mech, lam=True, **options).compile(target)
            out = call(kernel, case, case.q)
            found, lam = np.asarray(out.qdd), np.asarray(out.lam)
            shaken = None
            if options["formulation"] == "reduced":
                guess = shaken_guess(case, options["partition"].dependent, 1e-3)
                shaken = np.asarray(call(kernel, case, guess).qdd)
        except SymbodyError as error:
            verdict.add(
                "refused" if regular else "left out", f"{label.split()[0]} refused: {label} {first_line(error)}"
            )
            return
        except Exception as error:
            verdict.add("WRONG", f"{label} raises {type(error).__name__}: {first_line(error)}")
            return
        judge_numbers(label, found, lam, shaken)

    def judge_numbers(label: str, found: np.ndarray, lam: np.ndarray, shaken: np.ndarray | None) -> None:
        if not (np.all(np.isfinite(found)) and np.all(np.isfinite(lam))):
            verdict.add("refused" if regular else "left out", f"{label} gives nan:")
            return
        if not regular:
            off = breaks_laws(case, found)
            verdict.add("WRONG" if off > 1e-5 else "left out", f"{label} at a singular start: rows broken by {off:.1e}")
            return
        a, f = np.abs(found - qdd).max() / size, np.abs(J.T @ lam - effort)[world.free].max() / most
        if a > SAME or f > SAME:
            verdict.add(
                "WRONG",
                f"{label.split()[0]} differs: {label} qdd {a:.1e}, J^T lam {f:.1e} (condition {case.condition:.0e})",
            )
        elif shaken is not None and np.abs(shaken - qdd).max() / size > SAME:
            b = np.abs(shaken - qdd).max() / size
            verdict.add("WRONG", f"{label.split()[0]} depends on the guess: {label} qdd {b:.1e}")
        else:
            verdict.add("right", label)

    plain = {"formalism": "newton_euler", "preset": "none"}
    reduced = {0: {"formalism": "base"}, 3: {"formalism": "auto"}}.get(case.seed % 24, plain)
    compare("reduced", "auto", formulation="reduced", **reduced)
    compare("augmented", "auto", formulation="augmented", **plain)
    for names in partitions(case):
        compare(f"partition {','.join(names)}", names, formulation="reduced", **plain)
    if case.seed % 4 == 1:
        judge_default(case, verdict, qdd)
    if J is not None:
        judge_rows(case, J, verdict)
    if regular and case.full_rank and case.mech.cuts:
        judge_forces(case, verdict)


def judge_default(case: Case, verdict: Verdict, qdd: np.ndarray) -> None:
    """Programs that were not told the branch: right at this state, or they say that it lies on another branch."""
    for formulation in ("reduced", "augmented"):
        try:
            system = sb.forward_dynamics(case.mech, formalism="newton_euler", preset="none", formulation=formulation)
            found = np.asarray(call(system.compile("python"), case, case.q))
        except SymbodyError:
            continue
        except Exception as error:
            verdict.add("WRONG", f"default {formulation} raises {type(error).__name__}: {first_line(error)}")
            continue
        off = np.abs(found - qdd).max() / max(1.0, np.abs(qdd).max())
        if off > SAME and case.condition < CONDITION and not case.singular:
            verdict.add("WRONG", f"default {formulation} differs: by {off:.1e}")


def judge_forces(case: Case, verdict: Verdict) -> None:
    """Where multipliers are determined: what each cut exerts on its second body, in the axes of its second frame."""
    world = case.world
    _, _, wrenches = world.accelerations(case.q, case.qd, case.tau, driven=case.driven)
    s = world.state(case.q, case.qd)
    most = max(1.0, *(float(np.abs(x).max()) for x in wrenches.values()))
    try:
        made = sb.partition(case.mech, q=case.q)
        kernel = sb.reactions(case.mech, joints=[], preset="none", partition=made).compile("python")
        out = call(kernel, case, case.q)
    except SymbodyError as error:
        verdict.add("refused", f"reactions refused: {first_line(error)}")
        return
    except Exception as error:
        verdict.add("WRONG", f"reactions raises {type(error).__name__}: {first_line(error)}")
        return
    second = {row.name: row.j for row in world.cut_rows}
    for cut in case.mech.cuts:
        found = np.asarray(getattr(out, f"reaction_{cut.name}", out))
        body, rotation, _ = world.frames[second[cut.name]]
        R = s.R[body] @ rotation
        off = np.abs(np.r_[R @ found[:3], R @ found[3:]] - wrenches[cut.name]).max() / most
        if not off < SAME:
            verdict.add("WRONG", f"reactions differ: of {cut.name} ({cut.kind}) by {off:.1e}")


def rows_of(case: Case) -> np.ndarray:
    """(m, nv) J of symbody's rows, to which its multipliers belong."""
    problem = closed_problem(case.mech)
    found, tree = problem.constraints, problem.tree
    values = dict(zip(tree.q, case.q, strict=True))  # no random cut depends on time
    J = np.zeros((len(found.rows), case.world.nv))
    for i, row in enumerate(found.rows):
        for k, x in row.J.items():
            J[i, k] = sb.evaluate(x, values) if isinstance(x, sb.Node) else x
    return J


def judge_rows(case: Case, J: np.ndarray, verdict: Verdict) -> None:
    """symbody's rows and the oracle's forbid the same velocities."""
    mine = case.world.constraints(case.q, case.qd)[1]
    both = [np.linalg.matrix_rank(x, tol=1e-7 * np.linalg.norm(x, 2)) for x in (mine, J, np.vstack([mine, J]))]
    if case.condition < CONDITION and len(set(both)) > 1:
        verdict.add("WRONG", f"rows forbid other velocities than the cuts: ranks {both}")


def call(kernel: Any, case: Case, q: np.ndarray) -> Any:
    known = {"q": q, "qd": case.qd, "tau": case.tau, "qdd_driven": case.driven, "t": 0.0}
    return kernel(**{p.name: known[p.name] for p in kernel.inputs})


def shaken_guess(case: Case, dependent: Iterable[int], size: float) -> np.ndarray:
    """Dependent coordinates moved a little: a guess from which the loops must close again."""
    dependent = set(dependent)
    step = np.zeros(case.world.nv)
    for m in case.world.motions:
        mine = range(m.v, m.v + WIDTH_V.get(m.letter, 1))
        # a rotation of which a part is independent has no coordinates of its own for that part
        if m.how == "own" and dependent.issuperset(mine):
            step[mine] = 1.0
    if any(c.kind == "velocity" for c in case.mech.couplings):
        step[:] = 0.0  # their velocities depend, their coordinates do not
    step *= np.random.default_rng(case.seed).uniform(-size, size, len(step))
    return moved(case.world, case.q, step)


def breaks_laws(case: Case, qdd: np.ndarray) -> float:
    """How far accelerations break the constraints, relative to their own size."""
    _, J, _, bias = case.world.constraints(case.q, case.qd)
    return float(np.abs(J @ qdd + bias).max() / max(1.0, np.abs(qdd).max(), np.abs(bias).max()))


def partitions(case: Case) -> list[list[str]]:
    """Random sets of independent velocities by name, for which J_v is well conditioned at the start."""
    world, rng = case.world, np.random.default_rng([case.seed, 7])
    if case.singular:
        return []
    J = jacobian(world, case.q)
    u, s, _ = np.linalg.svd(J)
    rows = u[:, : case.rank].T @ J  # as many rows as the rank
    best = s[case.rank - 1]
    names = [world.names_v[k].removeprefix("qd.") for k in world.free]
    found: list[list[str]] = []
    for _ in range(40):
        order = qr(rows * rng.uniform(0.05, 1.0, rows.shape[1]) ** 2, mode="r", pivoting=True)[1]
        dependent = sorted(order[: case.rank])
        if np.linalg.svd(rows[:, dependent], compute_uv=False)[-1] < best / WORST_CHOICE:
            continue
        chosen = [n for k, n in enumerate(names) if k not in dependent]
        if chosen not in found:
            found.append(chosen)
        if len(found) == PARTITIONS:
            break
    return found


def first_line(error: Any) -> str:
    return str(error).splitlines()[0][:160] if str(error) else ""


# -- motion


def judge_motion(case: Case, verdict: Verdict, duration: float = 1.0) -> None:
    """1 s from the start without efforts, against the oracle's own integration."""
    world = case.world
    qd = consistent(world, case.q, case.qd)
    formulation = "augmented" if case.seed % 8 == 5 else "auto"
    label = f"motion ({formulation})" if formulation != "auto" else "motion"

    def run(rtol: float) -> Any:
        return sb.simulate(
            case.mech, duration, q0=case.q, qd0=qd, rtol=rtol, samples=11, formulation=formulation, max_steps=MOST_STEPS
        )

    try:
        trajectory = run(RTOL)
    except SymbodyError as error:
        verdict.add("left out" if case.singular else "refused", f"{label} refused: {first_line(error)}")
        return
    except Exception as error:
        verdict.add("WRONG", f"{label} raises {type(error).__name__}: {first_line(error)}")
        return
    broken = breaks_invariants(case, trajectory, qd)
    if broken:
        verdict.add("WRONG", f"{label} {broken}")
        return
    if case.singular:
        verdict.add("left out", f"{label} from a singular start")
        return
    passage = integrated(world, case.q, qd, duration, case.rank, CONDITION)
    if not trajectory.outcome.ok:
        word = "left out" if passage.why else "refused"
        told = trajectory.notes[-1] if trajectory.notes else trajectory.outcome.value
        verdict.add(word, f"{label} ends at {trajectory.t[-1]:.2f} s{': ' + told[:120]}")
        return
    if passage.why:
        verdict.add("left out", f"{label}, {passage.why} by the oracle: at {passage.t:.2f} s")
        return
    off = difference(trajectory, passage)
    if off > SAME:
        nudged = case.q + NUDGE * np.random.default_rng(case.seed).choice([-1.0, 1.0], world.nq)
        other = integrated(world, nudged, qd, duration, case.rank, CONDITION)
        far = max(np.abs(other.q - passage.q).max(), np.abs(other.qd - passage.qd).max())
        if other.why or far > SENSITIVE:
            verdict.add("left out", f"{label}, sensitive: a start moved by {NUDGE} ends {far:.0e} away")
            return
        off = min(off, difference(run(1e-13), passage))
    verdict.add("WRONG" if off > SAME else "right", f"{label} ends elsewhere: by {off:.1e}" if off > SAME else label)


def difference(trajectory: Any, passage: Any) -> float:
    """Largest of the relative differences in q and qd at the end."""
    pairs = ((trajectory.q[-1], passage.q), (trajectory.qd[-1], passage.qd))
    return max(float(np.abs(a - b).max() / max(1.0, np.abs(b).max())) for a, b in pairs)


def breaks_invariants(case: Case, trajectory: Any, qd: np.ndarray) -> str:
    """What must hold in every motion: loops stay closed, velocities fit, energy of conservative mechanisms stays."""
    world = case.world
    whole = len(trajectory.t) - (not trajectory.outcome.ok)  # where a run broke off, its last state is what broke
    for t, q, v in list(zip(trajectory.t, trajectory.q, trajectory.qd))[:whole]:
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
            return "" if not trajectory.outcome.ok else f"is nan: at {t:.2f} s"
        if gap(world, q, t) > OPEN:
            return f"opens a loop: by {gap(world, q, t):.1e} at {t:.2f} s, {trajectory.outcome.name}"
        _, J, ht, _ = world.constraints(q, v, t)
        if np.abs(J @ v + ht).max(initial=0.0) > OPEN * max(1.0, np.abs(v).max()) * max(1.0, np.abs(J).max()):
            return f"has velocities that open a loop: at {t:.2f} s, {trajectory.outcome.name}"
    if np.abs(trajectory.q[0] - case.q).max() > 1e-9 or np.abs(trajectory.qd[0] - qd).max() > 1e-8 * max(
        1.0, np.abs(qd).max()
    ):
        return "starts elsewhere: than it was told"
    if world.conservative and trajectory.outcome.ok:
        energies = [world.energy(q, v) for q, v in zip(trajectory.q, trajectory.qd)]
        kinetic = max(abs(e - energies[0]) for e in energies)
        if kinetic > 1e-6 * max(1.0, abs(energies[0])) and not trajectory.notes:
            return f"changes energy: by {kinetic:.1e} of {energies[0]:.1f} J"
    return ""
