"""The default search: candidates are ranked by the operations of their equations as written, few are rewritten.

Rewriting a program takes ten times as long as writing its equations, and within one solver and one kind of frames what
it saves hardly depends on the rest of the Choice. So all candidates are written into one Graph and counted as they are;
the best few are rewritten by "standard", and the best of those in full by the caller.

Work is counted in operations, never in seconds: the result is the same on any machine and under any load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from symbody.basics.errors import SymbodyError
from symbody.mechanics.formalisms.formulation import Choice, equations, permitted, placed
from symbody.mechanics.formalisms.length_units import slide_steps, unit_lengths
from symbody.mechanics.formalisms.link_poses import poses
from symbody.mechanics.formalisms.regrouping import FIRST, LAMINA, SECOND, clear_targets
from symbody.mechanics.verbs.problem import Problem, problem_of
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.rewrite.cost import cost
from symbody.symbolic.rewrite.presets import optimize

Rank = tuple[int, ...]  # operations, calls of functions, setup: cheaper compares less

WORK = 60_000  # operations of all candidates that are written
REWRITTEN = 4  # operations of writing that one operation of rewriting by "standard" stands for, about
FINALISTS = 3  # candidates that are rewritten by "standard",
MOST = 12  # or so many while work is left,
MEDIUM = 2500  # for programs of at most so many operations; of a larger one only the best as written
SMALL, SEVERAL = 300, 3  # up to this size several are handed on
NEAR = 50  # a finalist has at most one operation more in this many than the best, as written


class QuickSearch:
    """One option after the other is tried, most rewarding first, and kept where it gains; see the module.

    counted: Choice -> operations as written, None if it is not permitted; left: work that may still be done
    """

    def __init__(
        self,
        mech: Mechanism,
        quantity: str,
        parameters: str = "setup",
        wrenches: tuple[str, ...] = (),
        work: int | None = None,
    ) -> None:
        self.mech, self.quantity, self.parameters, self.wrenches = mech, quantity, parameters, wrenches
        self.problem = problem_of(mech, parameters, wrenches)
        self.left = WORK if work is None else work
        self.counted: dict[Choice, Rank | None] = {}
        self.history: list[tuple[Choice, int]] = []

    @property
    def spent(self) -> int:
        """Candidates that were counted."""
        return sum(rank is not None for rank in self.counted.values())

    def run(self) -> list[Choice]:
        """The choices whose programs are the smallest by "standard" among those that are the smallest as written.

        Best first: one, or several for a small program, where rewriting in full is cheap and less predictable.
        """
        with quiet_collector():
            starts = list(self._starts())
            best = self._best(starts, None)
            size = (self.count(best) or (0,))[0]
            finalists = FINALISTS if size <= MEDIUM else 1
            self.left -= (finalists * REWRITTEN if finalists > 1 else 2) * size  # set aside for rewriting
            if self.parameters != "runtime":
                best = self._best(self._units(best), best)
                best = self._best(self._keeps(best), best)
                best = self._one_by_one(best)
            if self.quantity != "inverse":
                best = self._best([best.replace(moments="spread")], best)
            near = self._finalists(best, starts, finalists)
            if len(near) > 1:
                near.sort(key=self._standard)
            return near[: SEVERAL if size <= SMALL else 1]

    # -- judging

    def count(self, choice: Choice) -> Rank | None:
        """Operations of the equations of a Choice as written."""
        if choice in self.counted:
            return self.counted[choice]
        tree = self.problem.tree
        self.counted[choice] = None
        if not permitted(tree, choice):
            return None
        try:
            found = cost(self._nodes(self.problem, choice))
        except SymbodyError:
            return None
        self.left -= found.total
        self.counted[choice] = rank = (found.total, found.trig + found.other, found.setup)
        return rank

    def _nodes(self, problem: Problem, choice: Choice) -> list[Node]:
        outputs = equations(problem.tree, self.quantity, choice)
        return as_nodes([problem.tree.graph.zero, *(x for a in outputs.values() for x in a.flat)])[1:]

    def _best(self, candidates: Iterable[Choice], best: Choice | None) -> Choice:
        rank = None if best is None else self.count(best)
        for candidate in candidates:
            if best is not None and self.left <= 0:
                break
            found = self.count(candidate)
            if best is None or (found is not None and (rank is None or found < rank)):
                best, rank = candidate, found
                if found is not None:
                    self.history.append((candidate, found[0]))
        assert best is not None
        return best

    def _finalists(self, best: Choice, starts: list[Choice], number: int) -> list[Choice]:
        """The best as written, one of each rank, which often are one program; as work allows also starts and others."""
        first: dict[Rank, Choice] = {}
        for choice, rank in self.counted.items():
            if rank is not None:
                first.setdefault(rank, choice)
        ranks = sorted(first)
        if not ranks or number == 1:
            return [best]
        limit = ranks[0][0] + ranks[0][0] // NEAR
        out = [first[r] for r in ranks[:number] if r[0] <= limit]
        for choice in (*starts, *(first[r] for r in ranks)):
            rank = self.counted.get(choice)
            if self.left > 0 and rank is not None and choice not in out and len(out) < MOST:
                self.left -= REWRITTEN * rank[0]
                out.append(choice)
        return out

    def _standard(self, choice: Choice) -> Rank:
        # a Graph of its own: what was built before would change the order of terms, and with it the count
        problem = problem_of(self.mech, self.parameters, self.wrenches)
        found = optimize(self._nodes(problem, choice), "standard", rounds=1)[1].after
        return (found.total, found.trig + found.other, found.setup)

    # -- candidates, most rewarding first

    def _starts(self) -> Iterator[Choice]:
        tree = self.problem.tree
        plain = Choice(reference="com") if self.parameters == "runtime" else Choice(grouping="base")
        yield plain
        parallel = any(pose.shared for pose in poses(tree, "group"))
        if parallel:
            yield plain.replace(frames="group", mass_frames="group" if self.quantity != "inverse" else "sequential")
        if self.quantity == "forward":
            yield plain.replace(solver="local")
            if parallel:
                yield plain.replace(solver="local", mass_frames="group")
        if parallel and self.quantity != "inverse":
            yield plain.replace(mass_frames="group")

    def _units(self, now: Choice) -> Iterator[Choice]:
        for length in unit_lengths(self.problem.tree):
            yield now.replace(unit=str(length))

    def _keeps(self, now: Choice) -> Iterator[Choice]:
        links = [k.index for k in self.problem.tree.links if k.motion.is_turn]
        for value in (FIRST, SECOND):
            yield now.replace(keep=tuple((index, value) for index in links))

    def _one_by_one(self, best: Choice) -> Choice:
        """What each joint may clear of its parent, where its origin stands, and what becomes of its inertia."""
        links = [k for k in reversed(self.problem.tree.links) if k.motion.is_turn]
        for link in links:
            for which in (0, 1, 2):
                if self.left <= 0:
                    return best
                best = self._best(self._clears(best, link.index, which), best)
        for index, steps in slide_steps(self.problem.tree).items():
            best = self._best([best.with_entry("slide", index, n) for n in range(len(steps))], best)
        for link in links:
            best = self._best([best.with_entry("keep", link.index, v) for v in (LAMINA, FIRST, SECOND)], best)
        return best

    def _clears(self, now: Choice, index: int, which: int) -> Iterator[Choice]:
        tree = placed(self.problem.tree, now)
        present = dict(now.clear).get(index, (None, None, None))
        for target in clear_targets(tree, tree.links[index])[which]:
            entry = tuple(target if k == which else present[k] for k in range(3))
            yield now.with_entry("clear", index, entry)
