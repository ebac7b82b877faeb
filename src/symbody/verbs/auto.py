"""The smallest program: coordinate descent over the discrete choices of `formalisms.choices`, each judged by its full count.

The budget counts candidate programs, so that a search is reproducible. Choices that were found for bundled models are kept in
`tuned.json` and used without a search. No program is handed out, and no count believed, before it has agreed with plain Newton-
Euler at random states: a wrong program is often the cheaper one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from symbody.errors import SolveError, SymbodyError
from symbody.expr.arrays import is_zero
from symbody.expr.evaluate import evaluate
from symbody.expr.functions import as_nodes
from symbody.expr.node import Node
from symbody.expr.walk import free_symbols
from symbody.formalisms.base import FIRST, LAMINA, SECOND, clear_targets
from symbody.formalisms.choices import Choice, equations, placed
from symbody.formalisms.poses import FRAMES
from symbody.formalisms.tree import Tree
from symbody.formalisms.units import slide_steps, unit_lengths
from symbody.lower.optimize import optimize_system
from symbody.model.mechanism import Mechanism
from symbody.rewrite.cost import Cost, cost
from symbody.rewrite.presets import optimize
from symbody.system.system import System
from symbody.verbs.dynamics import SOURCES, Problem

BUDGET = 60  # candidate programs
LARGE = 40  # Links beyond which the search narrows: the budget shrinks in proportion
SLACK = 12  # operations by which a raw program may exceed the best one's and still be worth rewriting
AGREE = 1e-9
TUNED = Path(__file__).with_name("tuned.json")


@dataclass
class Smallest:
    """The program found: the System, the Choice it came from, what it costs, and how it was found."""

    system: System
    choice: Choice
    cost: Cost
    candidates: int = 0
    source: str = "search"
    history: list[tuple[str, int]] = field(default_factory=list)
    text: str = ""

    def say(self) -> str:
        """A few lines for people."""
        head = f"{self.system.name}: {self.cost} ({self.source}, {self.candidates} candidates)"
        return f"{head}\n{self.text}"


def smallest(
    mech: Mechanism,
    quantity: str,
    parameters: str = "setup",
    wrenches: tuple[str, ...] = (),
    budget: int | None = None,
    preset: str = "full",
    tuned: bool = True,
) -> Smallest:
    """The cheapest program for "inverse", "semi_explicit" or "forward" that the budget of candidates finds."""
    problem = Problem(mech, parameters, wrenches)
    key = pattern(problem.tree, quantity)
    if tuned and key in tuned_choices():
        choice, source, candidates, history = Choice.from_dict(tuned_choices()[key]), "tuned", 0, []
    else:
        search = Search(mech, quantity, parameters, wrenches, budget_for(problem.tree, budget))
        choice = search.run()
        source, candidates, history = "search", search.spent, search.history
    outputs = equations(problem.tree, quantity, choice)
    text = choice.say(problem.tree)
    system = optimize_system(problem.assemble(quantity, outputs, f"{SOURCES['auto']}; {json.dumps(choice.as_dict())}"), preset)
    check_against_newton_euler(mech, quantity, parameters, wrenches, system)
    return Smallest(system, choice, cost(system.expressions()), candidates, source, history, text)


def budget_for(tree: Tree, budget: int | None) -> int:
    if budget is not None:
        return budget
    return BUDGET if len(tree.links) <= LARGE else max(4, BUDGET * LARGE // len(tree.links))


# -- the search


class Search:
    """Coordinate descent: one option after the other is tried in all its values, and the best is kept, until nothing gains."""

    def __init__(
        self, mech: Mechanism, quantity: str, parameters: str = "setup", wrenches: tuple[str, ...] = (), budget: int = BUDGET
    ) -> None:
        self.mech, self.quantity, self.parameters, self.wrenches = mech, quantity, parameters, wrenches
        self.left = budget
        self.spent = 0
        self.raw = 0
        self.seen: dict[Choice, tuple[int, ...] | None] = {}
        self.history: list[tuple[str, int]] = []

    def run(self, start: Choice | None = None) -> Choice:
        best, rank = self._first() if start is None else (start, self.judge(start))
        gained = True
        while gained and self.left > 0:
            gained = False
            for options in self.options():
                for candidate in options(best):
                    if self.left <= 0:
                        return best
                    found = self.judge(candidate, rank)
                    if found is not None and (rank is None or found < rank):
                        best, rank, gained = candidate, found, True
                        self.history.append((json.dumps(candidate.as_dict()), found[0]))
        return best

    def _first(self) -> tuple[Choice, tuple[int, ...] | None]:
        """The best of a few plain formulations."""
        starts = [Choice(grouping="base"), Choice(grouping="base", frames="group_body", mass_frames="group"), Choice()]
        if self.parameters == "runtime":
            starts = [Choice(reference="com"), Choice(), Choice(frames="group_body", mass_frames="group")]
        if self.quantity == "forward":
            starts += [c.replace(solver="local") for c in starts[:2]]
        best, rank = starts[0], None
        for candidate in starts:
            if self.left <= 0:
                break
            found = self.judge(candidate)
            if found is not None and (rank is None or found < rank):
                best, rank = candidate, found
                self.history.append((json.dumps(candidate.as_dict()), found[0]))
        return best, rank

    def judge(self, choice: Choice, best: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
        """Rank of the program of a Choice; None if it makes none, or is far from `best` before it is rewritten."""
        if choice in self.seen:
            return self.seen[choice]
        problem = Problem(self.mech, self.parameters, self.wrenches)
        try:
            outputs = equations(problem.tree, self.quantity, choice)
        except SymbodyError:
            self.seen[choice] = None
            return None
        nodes = as_nodes([problem.tree.graph.zero, *(x for a in outputs.values() for x in a.flat)])[1:]
        raw = cost(nodes).total
        if best is not None and raw > self.raw + SLACK + self.raw // 50:
            self.seen[choice] = None
            return None
        self.left -= 1
        self.spent += 1
        after, _ = optimize(nodes, "standard")
        found = cost(after)
        rank = (found.total, found.trig + found.other, found.setup)
        if best is None or rank < best:
            self.raw = raw
        self.seen[choice] = rank
        return rank

    # -- what may be chosen, most rewarding first; each is a function from the present Choice to its neighbours

    def options(self) -> list[Callable[[Choice], Iterator[Choice]]]:
        tree = Problem(self.mech, self.parameters, self.wrenches).tree
        out: list[Callable[[Choice], Iterator[Choice]]] = [self._frames]
        if self.quantity == "forward":
            out.append(_values("solver", ("ldlt", "local", "textbook")))
        if self.parameters == "runtime":
            return [*out, _values("reference", ("com", "origin"))]
        out.append(_values("unit", ("", *(str(x) for x in unit_lengths(tree)))))
        out.append(self._keep_all)
        for link in reversed(tree.links):
            if link.kind == "R" and link.parent >= 0:
                out.append(self._clear(link.index))
        for index, steps in slide_steps(tree).items():
            out.append(_entries("slide", index, (None, *range(len(steps)))))
        for link in reversed(tree.links):
            if link.kind == "R":
                out.append(_entries("keep", link.index, (LAMINA, FIRST, SECOND)))
        if self.quantity != "inverse":
            out.append(_values("moments", ("tensor", "spread")))
        return out

    def _frames(self, now: Choice) -> Iterator[Choice]:
        if self.quantity != "forward" or now.solver == "ldlt":
            yield from (now.replace(frames=f) for f in FRAMES)
        if self.quantity != "inverse":
            yield from (now.replace(mass_frames=f) for f in FRAMES[:2])
            yield from (now.replace(frames=f, mass_frames=FRAMES[1]) for f in FRAMES[1:])

    def _keep_all(self, now: Choice) -> Iterator[Choice]:
        tree = Problem(self.mech, self.parameters, self.wrenches).tree
        for value in (None, FIRST, SECOND):
            entries = ((k.index, value) for k in tree.links if k.kind == "R")
            yield now.replace(keep=tuple(entries) if value else ())

    def _clear(self, index: int) -> Callable[[Choice], Iterator[Choice]]:
        def neighbours(now: Choice) -> Iterator[Choice]:
            tree = placed(Problem(self.mech, self.parameters, self.wrenches).tree, now)
            targets = clear_targets(tree, tree.links[index])
            present = dict(now.clear).get(index, (None, None, None))
            for which in (2, 0, 1):
                for target in (None, *targets[which]):
                    entry = tuple(target if k == which else present[k] for k in range(3))
                    yield now.with_entry("clear", index, None if entry == (None, None, None) else entry)

        return neighbours


def _values(name: str, values: tuple[Any, ...]) -> Callable[[Choice], Iterator[Choice]]:
    def neighbours(now: Choice) -> Iterator[Choice]:
        for v in values:
            yield now.replace(**{name: v})

    return neighbours


def _entries(name: str, link: int, values: tuple[Any, ...]) -> Callable[[Choice], Iterator[Choice]]:
    def neighbours(now: Choice) -> Iterator[Choice]:
        for v in values:
            yield now.with_entry(name, link, v)

    return neighbours


# -- trust


def check_against_newton_euler(
    mech: Mechanism, quantity: str, parameters: str, wrenches: tuple[str, ...], system: System, states: int = 2
) -> float:
    """Largest relative difference to plain Newton-Euler at random states; a SolveError if it is not rounding."""
    plain = Problem(mech, parameters, wrenches)
    tau = equations(plain.tree, "inverse", Choice())["tau"]
    worst = 0.0
    for seed in range(states):
        values = random_values([*_nodes(plain.tree, tau), *plain.tree.tau], plain.tree, seed)
        mine = {(s.data.name, s.data.scope): v for s, v in values.items()}
        ours = {s: mine.get((s.data.name, s.data.scope), 0.5) for s in free_symbols(system.expressions())}
        found = [float(x) for x in evaluate(system.expressions(), ours)]
        worst = max(worst, _difference(plain.tree, tau, values, quantity, found))
    if not worst <= AGREE:
        raise SolveError(
            f"the program {system.name} differs from Newton-Euler by {worst:.1e} (allowed {AGREE:.0e}) at random states. A parameter "
            "that it divides by may be too small; use formalism='base', and please report the model."
        )
    return worst


def random_values(roots: list[Node], tree: Tree, seed: int) -> dict[Node, float]:
    """Values for all symbols: defaults, or numbers from the name and the seed; quaternions have unit length."""
    out: dict[Node, float] = {}
    for s in {*free_symbols(roots), *tree.q, *tree.qd, *tree.qdd}:
        digest = hashlib.sha256(f"{seed} {s.data.name}".encode()).digest()
        draw = int.from_bytes(digest[:4], "big") / 2**32
        default = s.data.default
        out[s] = default if default is not None else (0.5 + draw if s.data.role == "parameter" else 2 * draw - 1)
    for link in tree.links:
        if link.kind in "BF":
            size = float(np.sqrt(sum(out[s] ** 2 for s in link.q[-4:])))
            out.update({s: out[s] / size for s in link.q[-4:]})
    return out


def _nodes(tree: Tree, array: Any) -> list[Node]:
    return as_nodes([tree.graph.zero, *array])[1:]


def _difference(tree: Tree, tau: Any, values: dict[Node, float], quantity: str, found: list[float]) -> float:
    """How far a program's outputs are from Newton-Euler: efforts are compared, since M may be badly conditioned."""
    n = len(tree.qd)

    def efforts(qdd: Any) -> np.ndarray:
        at = {**values, **dict(zip(tree.qdd, qdd))}
        return np.array([float(x) for x in evaluate(_nodes(tree, tau), at)])

    qdd = np.array([values[s] for s in tree.qdd])
    if quantity == "inverse":
        want, got = efforts(qdd), np.array(found[:n])
    elif quantity == "semi_explicit":
        mass, c = np.array(found[: n * n]).reshape(n, n), np.array(found[n * n : n * n + n])
        want, got = efforts(qdd), mass @ qdd + c
    else:
        from symbody.formalisms.explicit import driven_velocities

        free = [i for i in range(n) if i not in set(driven_velocities(tree))]
        want = np.array([values[s] for s in tree.tau])[free]
        got = efforts(found[:n])[free]
    return float(np.max(np.abs(got - want), initial=0.0) / max(1.0, float(np.max(np.abs(want), initial=0.0))))


# -- choices that were found before


def pattern(tree: Tree, quantity: str) -> str:
    """A key of a Tree's structure: kinds, axes, and which parameters are zero, one, numbers or symbols; not their values."""
    text: list[str] = [quantity, "runtime" if tree.runtime else "setup", _sketch(tree.gravity)]
    for link in tree.links:
        inertia = link.inertia
        text.append(
            f"{link.parent} {link.kind}{link.axis} {_sketch(link.rotation)} {_sketch(link.offset)} {_sketch([inertia.mass])} "
            f"{_sketch(inertia.moment)} {_sketch(inertia.tensor)} {_sketch([link.pitch, link.reflected])} "
            f"{[[(i, _mark(c)) for i, c in column] for column in link.columns]} {link.index in tree.wrenches}"
        )
    return f"{tree.mechanism.name}/{quantity}/{hashlib.sha256(chr(10).join(text).encode()).hexdigest()[:16]}"


def _sketch(values: Any) -> str:
    return "-" if values is None else "".join(_mark(x) for x in np.asarray(values, dtype=object).flat)


def _mark(x: Any) -> str:
    if is_zero(x):
        return "0"
    if not isinstance(x, Node) or not free_symbols([x]):
        value = float(evaluate(x, {})) if isinstance(x, Node) else float(x)
        return "1" if value == 1 else "m" if value == -1 else "n"
    return "s"


@cache
def tuned_choices() -> dict[str, Any]:
    """Key of `pattern` -> Choice as a dict."""
    if not TUNED.is_file():
        return {}
    data: dict[str, Any] = json.loads(TUNED.read_text(encoding="utf-8"))
    return {key: row["choice"] for key, row in data.items()}
