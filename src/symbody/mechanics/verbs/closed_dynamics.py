"""The verbs of mechanisms with closed loops: the same words, said of the closed mechanism.

Inputs q and qd have their full sizes; their dependent parts are guesses for the closure (q), or not read at all (qd).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, NameLookupError, argument, nearest, word_argument
from symbody.codegen.kernel.cache import digest
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.formulation import Choice, equations
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.loops.closing.closure import Closure, ClosurePlan
from symbody.mechanics.loops.closing.projection import gaps, iterated, projected, softness
from symbody.mechanics.loops.equations.augmented import augmented, switches
from symbody.mechanics.loops.equations.inverse import actuated_velocities
from symbody.mechanics.loops.equations.reduced import PLAIN, PRODUCTS, ROUTES, USUAL, Route
from symbody.mechanics.loops.equations.tree_equations import Opened, opened
from symbody.mechanics.loops.partition.counted import FEW_LINKS
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.memoised.model_memory import derived_of, options_key
from symbody.mechanics.memoised.partitions import Chosen
from symbody.mechanics.verbs.closed_problem import (
    ClosedProblem,
    closed_efforts,
    closed_motion_equations,
    closed_problem,
    say_partition,
)
from symbody.mechanics.verbs.problem import MANY_LINKS, SOURCES, rounds_for
from symbody.mechanics.verbs.smallest.budget import Progress, check_budget, is_kept
from symbody.mechanics.verbs.smallest.check_program import AGREE, first_exact, random_values, with_digits
from symbody.mechanics.verbs.smallest.stored import STORED, StoredChoice, keep, stored
from symbody.mechanics.verbs.smallest.tuned import pattern
from symbody.mechanics.verbs.system_of_tree import time_input
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array, scalar_array
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.rewrite.cost import cost
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System

Rank = tuple[int, ...]  # cheaper compares less

FORMULATIONS = ("auto", "reduced", "augmented")
OPTIONS = ("preset", "formulation", "partition", "lam", "alpha", "beta")
SEARCHES = ("budget", "progress")  # options of "auto" besides
COUNTED, FINALISTS = 6, 3  # candidates that are rewritten for counting, and by the preset
COUNTED_OF_MANY = 2  # the former, of "auto" for a tree of more than MANY_LINKS; else the smallest as written is taken
LONG_COUNTED, LONG_FINALISTS = 24, 6  # the same of budget="long"
ENOUGH, TRIALS = 2, 8  # random states at which a program must agree with another one, and how many are tried
STEP = 1e-7  # relative change of all inputs that measures how sensitive a program's values are


@dataclass(frozen=True)
class Candidate:
    """How a reduced program is formulated: the Choice of the tree, the Route of the reduction, how velocities close.

    direct: dependent velocities are solved for without B.
    """

    choice: Choice
    route: Route = PLAIN
    direct: bool = False

    def say(self) -> str:
        return json.dumps({**self.choice.as_dict(), **asdict(self.route), "direct": self.direct})

    def as_dict(self) -> dict[str, Any]:
        """In values that JSON knows."""
        return {"choice": self.choice.as_dict(), "route": asdict(self.route), "direct": self.direct}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Candidate:
        return Candidate(Choice.from_dict(data["choice"]), Route(**data["route"]), bool(data["direct"]))


# -- dynamics


def closed_dynamics(
    mech: Mechanism, quantity: str, formalism: str, parameters: str, wrenches: Sequence[str], options: dict[str, Any]
) -> System:
    """Inverse, semi-explicit or forward dynamics of a closed mechanism.

    formulation  "reduced" (independent joints; closes the loops), "augmented" (all joints and multipliers; takes q and
                 qd as they are; nan where constraints depend on each other; forward dynamics only), or "auto": reduced
                 unless a loop opens and closes
    partition    of the velocities: "auto", "heuristic", "pivoting", names of independent joints, or a Partition
    lam          whether the multipliers are an output too (forward dynamics)
    alpha, beta  of Baumgarte's stabilisation, 1/s (augmented)
    budget       of "auto", reduced: how long the smallest program is searched for, see `smallest/budget.py`; progress:
                 called with a `Progress` meanwhile
    """
    known = (*OPTIONS, *SEARCHES) if formalism == "auto" else OPTIONS
    for name in options:
        if name not in known:
            raise NameLookupError(f"dynamics of a closed mechanism has no option {name!r}. {nearest(name, known)}")
    check_budget(options.get("budget", "quick"))
    check_formulation(options.get("formulation", "auto"))
    if formalism == "order_n":
        raise ModelError(
            argument("formalism", "order_n"),
            " never forms the mass matrix, which closed loops are reduced by. Use 'base' or 'auto'.",
        )
    problem = closed_problem(mech, parameters, wrenches, options.get("partition", "auto"))
    formulation = options.get("formulation", "auto")
    if quantity == "forward":
        formulation = chosen_formulation(problem, formulation)
    if formulation == "augmented":
        for name in SEARCHES:
            if name in options:
                raise ModelError(f"{name} belongs to formulation='reduced'; of the augmented one there is one program.")
        return _augmented(problem, quantity, formalism, options)
    for name in ("alpha", "beta"):
        if name in options:
            told = "; the reduced one closes the loops exactly."
            raise ModelError(f"{name} belongs to ", argument("formulation", "augmented"), told)
    return _reduced(problem, quantity, formalism, options)


def check_formulation(formulation: Any) -> None:
    """Refuse by name."""
    word_argument("formulation", formulation, FORMULATIONS, error=NameLookupError)


def chosen_formulation(problem: ClosedProblem, formulation: str) -> str:
    """What "auto" means: reduced, unless a loop opens and closes."""
    check_formulation(formulation)
    if formulation != "auto":
        return formulation
    return "augmented" if switches(problem.constraints) else "reduced"


def _reduced(problem: ClosedProblem, quantity: str, formalism: str, options: dict[str, Any]) -> System:
    closure = problem.closure()
    lam = bool(options.get("lam", False))
    auto = formalism == "auto"
    budget, tell = options.get("budget", "quick"), options.get("progress")
    small = len(problem.tree.links) <= MANY_LINKS
    usual = "quick" if budget == "quick" and not small else "full"
    preset = options.get("preset", usual if auto else "standard")
    rounds = rounds_for(problem.tree)

    made: dict[Choice, Opened] = {}

    def outputs(candidate: Candidate) -> dict[str, Any]:
        choice, other = candidate.choice, formalism in ("screw", "lagrange")
        with quiet_collector():
            if quantity == "inverse":
                found = problem.outputs("inverse", formalism) if other else equations(problem.tree, quantity, choice)
                return problem.with_derivatives(closed_efforts(closure, found["tau"]))
            if choice not in made and other:
                m_c = problem.outputs("semi_explicit", formalism)
                made[choice] = Opened(problem.tree, m_c["M"], m_c["c"])
            elif choice not in made:
                made[choice] = opened(problem.tree, choice)
            return problem.with_derivatives(
                closed_motion_equations(closure, quantity, made[choice], candidate.route, lam)
            )

    candidates = _candidates(problem, quantity, formalism, is_kept(budget))
    if preset == "none":
        candidates = candidates[:1]
    if budget == "stored":
        found = stored(_key(problem, closure, quantity, lam), problem.mech.name, quantity)
        candidates = [Candidate.from_dict(found.choice)]
    # a count as written decides who is counted well, and that who is rewritten in full
    ranks: dict[Candidate, Rank] = {}

    def written(candidate: Candidate) -> Rank:
        if candidate not in ranks:
            ranks[candidate] = cost(closure.plan(outputs(candidate), "none", candidate.direct).nodes).rank
        return ranks[candidate]

    counted, finalists = _numbers(len(problem.tree.links), budget, auto)
    if len(candidates) > counted:
        if budget == "quick" and not small:
            candidates = _one_by_one(candidates, written)
        candidates = sorted(candidates, key=written)[:counted]
    sizes: dict[Candidate, Rank] = {}
    if len(candidates) > finalists:
        for c in candidates:
            sizes[c] = cost(closure.plan(outputs(c), "standard", c.direct, 1).nodes).rank
            if tell is not None:
                tell(Progress(len(sizes), len(candidates), min(sizes.values())[0], "candidates"))
        candidates = sorted(candidates, key=sizes.__getitem__)[:finalists]
    plans = [(c, closure.plan(outputs(c), preset, c.direct, rounds)) for c in candidates]
    plans.sort(key=lambda pair: cost(pair[1].nodes).rank)
    best, plan = plans[0]
    error = 0.0
    notes: list[str] = []
    if auto:
        safe = Candidate(Choice())
        last = ((safe, closure.plan(outputs(safe), p, safe.direct, rounds)) for p in (preset, "none"))
        plain = closure.plan(outputs(safe), "none")
        (best, plan), error, notes = first_exact(
            chain(plans, last),
            lambda pair: _error(problem, pair[1], plain),
            lambda pair: cost(pair[1].nodes).total,
            problem.mech.name,
        )
    if is_kept(budget):
        keep(
            _key(problem, closure, quantity, lam),
            StoredChoice(best.as_dict(), cost(plan.nodes).rank[0], max(len(sizes), len(candidates))),
        )
    words = STORED if budget == "stored" else SOURCES["auto"]
    source = f"{words}: {best.say()}" if auto else SOURCES[formalism]
    solved, made_outputs = problem.bind(plan)
    labels = _labels(problem.mech, closure, made_outputs)
    system = solved.closed_system(quantity, made_outputs, f"reduced, {source}", labels, closure)
    return with_digits(system, error, notes) if auto else system


def _one_by_one(candidates: Sequence[Candidate], rank: Callable[[Candidate], Rank]) -> list[Candidate]:
    """The candidates that are met when first the best Route is taken, then Choice, then `direct`."""
    best, met = candidates[0], dict.fromkeys(candidates[:1])
    for name in ("route", "choice", "direct"):
        met.update(dict.fromkeys(c for c in candidates if replace(c, **{name: getattr(best, name)}) == best))
        best = min(met, key=rank)
    return list(met)


def _numbers(links: int, budget: str | int, auto: bool) -> tuple[int, int]:
    """How many candidates are rewritten for counting, and how many of them by the preset."""
    if isinstance(budget, int):
        return budget, FINALISTS
    if budget == "long":
        return LONG_COUNTED, LONG_FINALISTS
    if links <= MANY_LINKS:
        return COUNTED, FINALISTS
    return (1 if links > FEW_LINKS or not auto else COUNTED_OF_MANY), 1


def _key(problem: ClosedProblem, closure: Closure, quantity: str, lam: bool) -> str:
    """Under which a search is kept: the opened tree, which constraints bind which velocities, and the partition."""
    rows = [(row.name, sorted(row.J)) for row in closure.constraints.rows]
    return f"{pattern(problem.tree, quantity)}/closed/{digest((rows, closure.u, closure.v, lam))[:16]}"


def _candidates(problem: ClosedProblem, quantity: str, formalism: str, every: bool = False) -> list[Candidate]:
    """What is tried; the first is a sound default. every: also of large mechanisms all that there are."""
    many = len(problem.tree.links) > MANY_LINKS and not every
    large = len(problem.tree.links) > FEW_LINKS and not every
    other = formalism in ("screw", "lagrange")
    if other:
        choices = [Choice()]
    elif formalism != "auto":
        choices = [problem.choice(formalism)]
    else:
        plain = Choice(reference="com") if problem.tree.runtime else Choice(grouping="base")
        frames = ("group",) if large else ("group", "sequential")
        choices = [plain.replace(frames=f, mass_frames=m) for f, m in product(frames, frames)]
    ways = (False,) if large else (False, True)
    if quantity == "inverse":
        return [Candidate(c, PLAIN, direct) for c in choices for direct in ways]
    routes = PRODUCTS if other else USUAL if many else ROUTES
    return [Candidate(c, route, direct) for c in choices for route in routes for direct in ways]


def _error(problem: ClosedProblem, plan: ClosurePlan, plain: ClosurePlan) -> float:
    """Backward error of a program beside plain Newton-Euler, as algebra: at states closed or not.

    A difference counts beside the values and what changes of all inputs by their own size would make of them (numeric
    derivatives). A random state may lie near a lock, where rounding is magnified; a wrong program agrees nowhere.
    """
    found: list[float] = []
    for seed in range(TRIALS):
        values = random_values([*plain.outputs, *plan.outputs, *problem.tree.tau], problem.tree, seed)
        want, got = (np.array([float(x) for x in evaluate(p.outputs, values)]) for p in (plain, plan))
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), len(values))
        moved = {s: values[s] * (1 + STEP * x) for s, x in zip(sorted(values, key=lambda s: s.data.name), signs)}
        near = np.array([float(x) for x in evaluate(plain.outputs, moved)])
        scale = np.maximum(1e-3 * np.max(np.abs(want), initial=0.0), np.abs(want)) + np.abs(near - want) / STEP
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(want == got, 0.0, np.abs(want - got) / scale)
        found.append(float(np.max(ratios, initial=0.0)) if np.all(np.isfinite(ratios)) else math.inf)
        if sum(x <= AGREE for x in found) == ENOUGH:
            break
    return sorted(found)[min(ENOUGH, len(found)) - 1]


def _labels(mech: Mechanism, closure: Closure, outputs: Iterable[str]) -> dict[str, str]:
    """Which independent velocity a row of M, c, Psi and G stands for, and which constraint an entry of lam."""
    names = velocity_labels(mech)
    out = {f"{n}[{i}]": names[k] for n in outputs if n in ("M", "c", "Psi", "G") for i, k in enumerate(closure.u)}
    if "G" in outputs:
        out.update({f"G[:, {j}]": names[k] for j, k in enumerate(actuated_velocities(mech))})
    if "lam" in outputs:
        out.update(_multiplier_labels(closure.constraints))
    return out


def _multiplier_labels(found: Constraints) -> dict[str, str]:
    return {f"lam[{i}]": f"{row.name}: {row.meaning}".rstrip(": ") for i, row in enumerate(found.rows)}


def _augmented(problem: ClosedProblem, quantity: str, formalism: str, options: dict[str, Any]) -> System:
    if quantity != "forward":
        raise ModelError("formulation='augmented' gives forward dynamics only; expected formulation='reduced' here.")
    tree = problem.tree
    if formalism == "auto":
        formalism = "newton_euler" if tree.runtime else "base"
    problem = with_switches(problem)
    qdd, lam = augmented_motion(problem, formalism, options.get("alpha", 0), options.get("beta", 0))
    outputs = {"qdd": qdd, **({"lam": lam} if options.get("lam", False) else {})}
    labels = _multiplier_labels(problem.constraints) if "lam" in outputs else {}
    system = problem.closed_system("forward", outputs, f"augmented, {SOURCES[formalism]}", labels)
    return optimize_system(system, options.get("preset", "standard"), rounds=rounds_for(tree))


def augmented_motion(
    problem: ClosedProblem, formalism: str = "newton_euler", alpha: Any = 0, beta: Any = 0
) -> tuple[Array, Array]:
    """(qdd (nv,), lam (m,)) with multipliers."""
    tree, found = problem.tree, problem.standing()
    m_c = problem.outputs("semi_explicit", formalism)
    rows = independent_rows(problem)
    soft = softness(found, rows)
    with quiet_collector():
        return augmented(
            found, m_c["M"], m_c["c"], tree.tau, driven_velocities(tree), tree.qdd, rows, alpha, beta, soft
        )


def with_switches(problem: ClosedProblem) -> ClosedProblem:
    """The problem with the switches of its loops among the inputs."""
    return problem.replace(inputs={**problem.inputs, **switch_inputs(problem.constraints)})


def switch_inputs(found: Constraints) -> dict[str, Array]:
    """s_<loop> -> its symbol, of loops that open and close."""
    return {name: scalar_array(s) for name, s in switches(found).items()}


def independent_rows(problem: ClosedProblem) -> list[int]:
    """Rows without the redundant ones among those that always hold, on the branch of the problem's Partition."""
    chosen = problem.wanted
    return derived_of(problem.mech).independent_rows(chosen if isinstance(chosen, Partition) else None)


# -- states


@declared
def closure(
    mech: Mechanism,
    partition: Chosen = "auto",
    parameters: str = "setup",
    preset: str = "standard",
    velocities: bool = False,
) -> System:
    """(q, qd[, t]) -> q, qd of the closed mechanism that have the same independent parts.

    velocities: also output B (nv, u) with qd = B qd_u, where no constraint depends on time.
    """
    key = ("closure", options_key({"partition": partition}), parameters, preset, velocities)
    return derived_of(mech).system(key, lambda: _closure(mech, partition, parameters, preset, velocities))


def _closure(mech: Mechanism, partition: Chosen, parameters: str, preset: str, velocities: bool) -> System:
    problem = closed_problem(mech, parameters, (), partition)
    made = problem.closure()
    tree = problem.tree
    outputs: dict[str, Any] = {"q": tree.q, "qd": tree.qd}
    if velocities:
        outputs["B"] = velocity_map(made)
    problem = problem.without_states(inputs={})
    bound = made.plan(outputs, preset, direct=not velocities).bound()
    source = "Newton's iteration block by block (robotran 3.13)"
    system = problem.closed_system("closure", bound, source, closure=made)
    names = velocity_labels(mech)
    labels = {f"B[:, {j}]": names[k] for j, k in enumerate(made.u)} if velocities else {}
    return system.replace(origins={**system.origins, "q": "closed coordinates", "qd": "closed velocities", **labels})


def projection(mech: Mechanism, preset: str = "standard", partition: Chosen = "auto") -> System:
    """(q, qd[, t, s_<loop>]) -> q, qd nearest to them that close the loops: no joint is dependent, see `projection`.

    partition: only the branch of a Partition matters, by the constraints that it leaves out.
    """
    key = ("projection", preset, options_key({"partition": partition}))
    return derived_of(mech).system(key, lambda: _projection(mech, preset, partition))


def _projection(mech: Mechanism, preset: str, partition: Chosen) -> System:
    problem = closed_problem(mech, partition=partition)
    found = problem.standing()
    rows = independent_rows(problem)
    with quiet_collector():
        q, qd = projected(found, rows, driven_velocities(problem.tree), softness(found, rows), preset)
    problem = problem.without_states(inputs=switch_inputs(found))
    return problem.closed_system("projection", {"q": q, "qd": qd}, "least change, Newton's iteration")


def projection_formula(mech: Mechanism, partition: Chosen = "auto") -> System:
    """What `projection` finds from a small gap, as a formula that can be differentiated; see `iterated`."""
    key = ("projection formula", options_key({"partition": partition}))
    return derived_of(mech).system(key, lambda: _projection_formula(mech, partition))


def _projection_formula(mech: Mechanism, partition: Chosen) -> System:
    problem = closed_problem(mech, partition=partition)
    found = problem.standing()
    rows = independent_rows(problem)
    with quiet_collector():
        q, qd = iterated(found, rows, driven_velocities(problem.tree), softness(found, rows))
    problem = problem.without_states(inputs=switch_inputs(found))
    return problem.closed_system("projection_formula", {"q": q, "qd": qd}, "least change, two of Newton's steps")


def impact(mech: Mechanism) -> System:
    """(q, qd[, t, s_<loop>]) -> what the closing of loops follows from, for every row of the constraints.

    gap (m,) m or rad; J (m, nv); ht (m,); s (m,) whether it is closed; M (nv, nv) of the opened tree
    """
    return derived_of(mech).system("impact", lambda: _impact(mech))


def _impact(mech: Mechanism) -> System:
    problem = closed_problem(mech)
    found, on = problem.constraints, switches(problem.constraints)
    outputs = {
        "gap": np.array(gaps(found), dtype=object),
        "J": found.J,
        "ht": found.ht,
        "s": np.array([1 if row.switch is None else on[row.switch] for row in found.rows], dtype=object),
        "M": problem.outputs("semi_explicit", "newton_euler")["M"],
    }
    problem = problem.without_states(inputs=switch_inputs(found))
    return optimize_system(problem.closed_system("impact", outputs, ""), "standard")


def velocity_map(made: Closure) -> Array:
    """B (nv, u): all velocities from the independent ones."""
    out = np.zeros((len(made.tree.qd), len(made.u)), dtype=object)
    out[list(made.u), range(len(made.u))] = 1
    for i, k in enumerate(made.v):
        out[k] = made.B[i]
    return out


def at_closed_state(mech: Mechanism, tree_system: Any, partition: Chosen, parameters: str, preset: str) -> System:
    """A System of the tree, made by `tree_system(problem, closure)`, at the closed position and velocity."""
    problem = closed_problem(mech, parameters, (), partition)
    made = problem.closure()
    system: System = tree_system(problem, made)
    bound = made.plan(system.outputs, preset).bound()
    origins = {**system.origins, "partition": say_partition(mech, made.partition)}
    inputs = {**system.inputs, **time_input(bound.values())}
    return system.replace(inputs=inputs, outputs=bound, origins=origins, name=identifier(system.name))
