"""Coordinate descent over the discrete choices of a program, each candidate judged by its count after rewriting.

This is the search that is asked for by budget="long" or a number; the default one is in `quick.py`. The budget counts
candidates, so that a search is reproducible.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from symbody.basics.errors import SymbodyError
from symbody.mechanics.formalisms.formulation import Choice, equations, permitted, placed
from symbody.mechanics.formalisms.length_units import slide_steps, unit_lengths
from symbody.mechanics.formalisms.link_poses import FRAMES
from symbody.mechanics.formalisms.regrouping import FIRST, LAMINA, SECOND, clear_targets
from symbody.mechanics.verbs.problem import problem_of
from symbody.mechanics.verbs.smallest.budget import Progress, ProgressCallback
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.rewrite.cost import cost
from symbody.symbolic.rewrite.presets import optimize

Rank = tuple[int, ...]  # operations, calls of functions, setup: cheaper compares less
Neighbours = Callable[[Choice], Iterator[Choice]]

SLACK = 12  # operations by which a raw program may exceed the best one's and still be worth rewriting


class Search:
    """One option after the other is tried in all its values and the best is kept, until nothing gains.

    spent: candidates judged in full; seen: Choice -> rank, None if it was dropped; history: gains, in order.
    """

    def __init__(
        self,
        mech: Mechanism,
        quantity: str,
        parameters: str = "setup",
        wrenches: tuple[str, ...] = (),
        budget: int = 60,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.mech, self.quantity, self.parameters, self.wrenches = mech, quantity, parameters, wrenches
        self.left = self.budget = budget
        self.progress = progress
        self.best: int | None = None
        self.spent = 0
        self.raw = 0
        self.seen: dict[Choice, Rank | None] = {}
        self.history: list[tuple[Choice, int]] = []
        self.random = random.Random(0)

    def run(self, known: Sequence[Choice] = ()) -> Choice:
        """Descent from plain formulations, then again from random steps off the best, while the budget lasts.

        known: further choices to start with
        """
        best, rank = self._descend(*self._first(known))
        options = self.options()
        while self.left > 0 and options and rank is not None:
            start = best
            for _ in range(self.random.randint(1, 3)):
                neighbours = list(self.random.choice(options)(start))
                start = self.random.choice(neighbours) if neighbours else start
            before = self.left
            candidate, found = self._descend(start, self.judge(start))
            if found is not None and found < rank:
                best, rank = candidate, found
            if self.left == before:
                self.left -= 1  # nothing new was tried: a round costs at least one
        return best

    def finalists(self, n: int) -> list[Choice]:
        """The n best choices, best first; of those with equal rank, which often make the same program, one."""
        first: dict[Rank, Choice] = {}
        for choice, rank in self.seen.items():
            if rank is not None:
                first.setdefault(rank, choice)
        return [first[rank] for rank in sorted(first)[:n]]

    def _descend(self, best: Choice, rank: Rank | None) -> tuple[Choice, Rank | None]:
        gained = True
        while gained and self.left > 0:
            gained = False
            for options in self.options():
                for candidate in options(best):
                    if self.left <= 0:
                        return best, rank
                    found = self.judge(candidate, rank)
                    if found is not None and (rank is None or found < rank):
                        best, rank, gained = candidate, found, True
                        self.history.append((candidate, found[0]))
        return best, rank

    def _first(self, known: Sequence[Choice] = ()) -> tuple[Choice, Rank | None]:
        """The best of a few plain formulations."""
        plain = Choice(reference="com") if self.parameters == "runtime" else Choice(grouping="base")
        grouped = plain.replace(frames="group_body")
        if self.quantity != "inverse":
            grouped = grouped.replace(mass_frames="group")
        starts = [*known, plain, grouped, Choice()]
        if self.quantity == "forward":
            starts += [c.replace(solver="local", frames="sequential") for c in (plain, grouped)]
        best, rank = starts[0], None
        for candidate in starts:
            if self.left <= 0:
                break
            found = self.judge(candidate)
            if found is not None and (rank is None or found < rank):
                best, rank = candidate, found
                self.history.append((candidate, found[0]))
        return best, rank

    def judge(self, choice: Choice, best: Rank | None = None) -> Rank | None:
        """Rank of the program of a Choice; None if it is not permitted, or far from `best` before it is rewritten."""
        if choice in self.seen:
            return self.seen[choice]
        problem = problem_of(self.mech, self.parameters, self.wrenches)
        self.seen[choice] = None
        if not permitted(problem.tree, choice):
            return None
        # a Graph of its own: what was built before would change the order of terms, and with it the count
        problem = problem_of(self.mech, self.parameters, self.wrenches)
        try:
            outputs = equations(problem.tree, self.quantity, choice)
        except SymbodyError:
            return None
        nodes = as_nodes([problem.tree.graph.zero, *(x for a in outputs.values() for x in a.flat)])[1:]
        raw = cost(nodes).total
        if best is not None and raw > self.raw + SLACK + self.raw // 50:
            return None
        self.left -= 1
        self.spent += 1
        after, _ = optimize(nodes, "standard")
        found = cost(after)
        rank = (found.total, found.trig + found.other, found.setup)
        if best is None or rank < best:
            self.raw = raw
        self.seen[choice] = rank
        self.best = rank[0] if self.best is None else min(self.best, rank[0])
        if self.progress is not None:
            self.progress(Progress(self.spent, self.budget, self.best, "candidates"))
        return rank

    # -- what may be chosen, most rewarding first; each is a function from the present Choice to its neighbours

    def options(self) -> list[Neighbours]:
        tree = problem_of(self.mech, self.parameters, self.wrenches).tree
        out: list[Neighbours] = [self._frames]
        if self.quantity == "forward":
            out.append(_values("solver", ("ldlt", "local", "textbook")))
        if self.parameters == "runtime":
            return [*out, _values("reference", ("com", "origin"))]
        out.append(_values("unit", ("", *(str(x) for x in unit_lengths(tree)))))
        out.append(self._keep_all)
        for link in reversed(tree.links):
            if link.motion.is_turn and link.parent >= 0:
                out += [self._clear(link.index, which) for which in (2, 0, 1)]
        for index, steps in slide_steps(tree).items():
            out.append(_entries("slide", index, (None, *range(len(steps)))))
        for link in reversed(tree.links):
            if link.motion.is_turn:
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
        tree = problem_of(self.mech, self.parameters, self.wrenches).tree
        for value in (None, FIRST, SECOND):
            entries = ((k.index, value) for k in tree.links if k.motion.is_turn)
            yield now.replace(keep=tuple(entries) if value else ())

    def _clear(self, index: int, which: int) -> Neighbours:
        """What m, s or t (which = 0, 1, 2) of a joint may clear of its parent."""

        def neighbours(now: Choice) -> Iterator[Choice]:
            tree = placed(problem_of(self.mech, self.parameters, self.wrenches).tree, now)
            present = dict(now.clear).get(index, (None, None, None))
            for target in (None, *clear_targets(tree, tree.links[index])[which]):
                entry = tuple(target if k == which else present[k] for k in range(3))
                yield now.with_entry("clear", index, None if entry == (None, None, None) else entry)

        return neighbours


def _values(name: str, values: tuple[Any, ...]) -> Neighbours:
    def neighbours(now: Choice) -> Iterator[Choice]:
        for v in values:
            yield now.replace(**{name: v})

    return neighbours


def _entries(name: str, link: int, values: tuple[Any, ...]) -> Neighbours:
    def neighbours(now: Choice) -> Iterator[Choice]:
        for v in values:
            yield now.with_entry(name, link, v)

    return neighbours
