"""The smallest program for a quantity: a Choice on file or a search, rewriting in full, and a check by numbers.

How long is searched: see `budget.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import chain

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.formulation import Choice, equations, permitted
from symbody.mechanics.formalisms.order_n import check_order_n
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.verbs.problem import SOURCES, problem_of
from symbody.mechanics.verbs.smallest.budget import Progress, ProgressCallback, check_budget, is_kept
from symbody.mechanics.verbs.smallest.check_program import Comparison, digits_lost, first_exact, with_digits
from symbody.mechanics.verbs.smallest.coordinate_descent import Search
from symbody.mechanics.verbs.smallest.quick import QuickSearch
from symbody.mechanics.verbs.smallest.stored import STORED, StoredChoice, keep, stored
from symbody.mechanics.verbs.smallest.tuned import pattern, tuned_choices
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.rewrite.cost import Cost, cost
from symbody.symbolic.system.system import System

LONG = 400  # candidates
LARGE = 12  # Links beyond which they become fewer in proportion
FINALISTS, LONG_FINALISTS = 3, 12  # Choices whose programs are rewritten in full
HUGE = 100  # Links beyond which nothing is searched, unless a budget is given


@dataclass
class Smallest:
    """The program found: the System, the Choice it came from, what it costs, and how it was found.

    error   its backward error beside plain Newton-Euler (`check_program.py`); lost: the decimal digits that this costs
    notes   sentences on smaller programs that were not taken because they are less exact
    """

    system: System
    choice: Choice
    cost: Cost
    candidates: int = 0
    source: str = "search"
    history: list[tuple[Choice, int]] = field(default_factory=list)
    text: str = ""
    error: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def lost(self) -> float:
        """Decimal digits lost against Newton-Euler."""
        return digits_lost(self.error)

    def say(self) -> str:
        """A few lines for people."""
        head = f"{self.system.name}: {self.cost} ({self.source}, {self.candidates} candidates)"
        return "\n".join([head, self.text, f"digits lost against Newton-Euler: {self.lost:.1f}", *self.notes])


def smallest(
    mech: Mechanism,
    quantity: str,
    parameters: str = "setup",
    wrenches: tuple[str, ...] = (),
    budget: str | int = "quick",
    preset: str | None = None,
    tuned: bool = True,
    finalists: int | None = None,
    progress: ProgressCallback | None = None,
) -> Smallest:
    """The cheapest program for "inverse", "semi_explicit" or "forward" that the budget finds; see `budget.py`.

    preset      of rewriting the finalists, "full" if not given; the quick search has a preset of its own, "quick"
    tuned       whether a Choice that ships for this model is used: by the quick search in its place, by a longer one
                as a start
    finalists   number of best candidates of a longer search that are rewritten by the preset
    progress    called with a `Progress` after each candidate of a longer search
    """
    check_budget(budget)
    with quiet_collector():
        tree = problem_of(mech, parameters, wrenches).tree
        key = pattern(tree, quantity)
        known = _permitted(tree, tuned_choices().get(key, {}).get("choice")) if tuned else None
        source, tried, history = "search", 0, []
        if budget == "stored":
            found = stored(key, mech.name, quantity)
            choice = _permitted(tree, found.choice)
            if choice is None:
                raise ModelError(
                    f"the stored search for {quantity} dynamics of {mech.name} was made with other values of its "
                    "parameters: it divides by one that is small or zero now. Search again with budget='long'."
                )
            choices, source, tried = [choice], "stored", found.candidates
        elif budget == "quick" and known is not None:
            choices, source = [known], "tuned"
        elif budget == "quick" and len(tree.links) > HUGE:
            choices, preset, source = [], "standard", "size"
        elif budget == "quick":
            quick = QuickSearch(mech, quantity, parameters, wrenches)
            choices, preset = quick.run(), preset or "quick"
            tried, history = quick.spent, quick.history
        else:
            search = Search(mech, quantity, parameters, wrenches, candidates_for(tree, budget), progress)
            starts = [] if known is None else [known]
            if budget == "long":
                starts += QuickSearch(mech, quantity, parameters, wrenches).run()
            search.run(starts)
            choices = search.finalists(finalists or (LONG_FINALISTS if budget == "long" else FINALISTS))
            tried, history = search.spent, search.history
        rows = []
        for k, c in enumerate(choices):
            rows.append(_made(mech, quantity, parameters, wrenches, c, preset or "full", source))
            if progress is not None:
                progress(Progress(k + 1, len(choices), min(m.cost.total for m in rows), "rewriting in full"))
        # behind the smallest: one that divides by nothing, then Newton-Euler itself, rewritten and as it was written
        last = [(plain_choice(tree, quantity), preset or "full"), (Choice(), preset or "full"), (Choice(), "none")]
        plain = Comparison(mech, quantity, parameters, wrenches)
        best, error, notes = first_exact(
            chain(
                sorted(rows, key=lambda m: m.cost.rank),
                (_made(mech, quantity, parameters, wrenches, c, p) for c, p in last),
            ),
            lambda m: plain.error(m.system),
            lambda m: m.cost.total,
            mech.name,
        )
    best.source, best.candidates, best.history = source, tried, history
    best.error, best.notes = error, notes
    best.system = with_digits(best.system, best.error, best.notes)
    if is_kept(budget):
        keep(key, StoredChoice(best.choice.as_dict(), best.cost.total, tried))
    return best


def candidates_for(tree: Tree, budget: str | int) -> int:
    """Candidates of a search that was asked for."""
    if isinstance(budget, int):
        return budget
    return LONG if len(tree.links) <= LARGE else max(20, LONG * LARGE // len(tree.links))


def _permitted(tree: Tree, choice: dict[str, object] | None) -> Choice | None:
    """A Choice that was kept for a model of this structure, if it divides by nothing that may vanish."""
    if choice is None:
        return None
    made = Choice.from_dict(choice)
    return made if permitted(tree, made) else None


def plain_choice(tree: Tree, quantity: str) -> Choice:
    """A good Choice without a search, which divides by no parameter."""
    solver = "ldlt"
    if quantity == "forward" and len(tree.links) > HUGE:
        try:
            check_order_n(tree)
            solver = "local"
        except ModelError:
            pass  # joints move together: by the mass matrix
    return Choice(solver=solver, reference="com") if tree.runtime else Choice(grouping="base", solver=solver)


def program(mech: Mechanism, quantity: str, choice: Choice, preset: str = "full") -> System:
    """The System of a Choice that is known, rewritten by the preset: nothing is searched."""
    return _made(mech, quantity, "setup", (), choice, preset).system


def _made(
    mech: Mechanism,
    quantity: str,
    parameters: str,
    wrenches: tuple[str, ...],
    choice: Choice,
    preset: str,
    source: str = "search",
) -> Smallest:
    """The System of a Choice."""
    problem = problem_of(mech, parameters, wrenches)
    outputs = equations(problem.tree, quantity, choice)
    how = STORED if source == "stored" else SOURCES["auto"]
    system = optimize_system(problem.assemble(quantity, outputs, f"{how}: {json.dumps(choice.as_dict())}"), preset)
    return Smallest(system, choice, cost(system.expressions()), text=choice.say(problem.tree))
