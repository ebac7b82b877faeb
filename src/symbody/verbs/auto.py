"""The smallest program for a quantity: a Choice on file or a search, rewriting in full, and a check by numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import chain

from symbody.errors import ModelError
from symbody.formalisms.choices import Choice, equations, permitted
from symbody.formalisms.order_n import check_order_n
from symbody.formalisms.tree import Tree
from symbody.lower.optimize import optimize_system
from symbody.model.mechanism import Mechanism
from symbody.rewrite.cost import Cost, cost
from symbody.system.system import System
from symbody.verbs.check import Comparison, digits_lost, first_exact, with_digits
from symbody.verbs.dynamics import SOURCES, problem_of
from symbody.verbs.search import BUDGET, Search
from symbody.verbs.tuned import pattern, tuned_choices

FINALISTS = 3  # Choices whose programs are rewritten in full
LARGE = 12  # Links beyond which the budget shrinks in proportion
HUGE = 100  # Links beyond which nothing is searched, unless a budget is given


@dataclass
class Smallest:
    """The program found: the System, the Choice it came from, what it costs, and how it was found.

    error   its backward error beside plain Newton-Euler, see `check.py`; lost: the decimal digits that this costs
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
    budget: int | None = None,
    preset: str = "full",
    tuned: bool = True,
    finalists: int = FINALISTS,
) -> Smallest:
    """The cheapest program for "inverse", "semi_explicit" or "forward" that the budget of candidates finds.

    preset      of rewriting the finalists; the candidates are judged after "standard"
    tuned       whether a Choice on file for this model is taken without a search
    finalists   number of best candidates that are rewritten by the preset
    """
    tree = problem_of(mech, parameters, wrenches).tree
    known = tuned_choices().get(pattern(tree, quantity)) if tuned else None
    search = Search(mech, quantity, parameters, wrenches, budget_for(tree, budget))
    source = "search"
    if known is not None and permitted(tree, Choice.from_dict(known["choice"])):
        choices, source = [Choice.from_dict(known["choice"])], "tuned"
    elif budget is None and len(tree.links) > HUGE:
        choices, preset, source = [], "standard", "size"
    else:
        search.run()
        choices = search.finalists(finalists)
    rows = [_made(mech, quantity, parameters, wrenches, c, preset) for c in choices]
    # behind the smallest: one that divides by nothing, then Newton-Euler itself, rewritten and as it was written
    last = [(plain_choice(tree, quantity), preset), (Choice(), preset), (Choice(), "none")]
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
    best.source, best.candidates, best.history = source, search.spent, search.history
    best.error, best.notes = error, notes
    best.system = with_digits(best.system, best.error, best.notes)
    return best


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
    mech: Mechanism, quantity: str, parameters: str, wrenches: tuple[str, ...], choice: Choice, preset: str
) -> Smallest:
    """The System of a Choice."""
    problem = problem_of(mech, parameters, wrenches)
    outputs = equations(problem.tree, quantity, choice)
    source = f"{SOURCES['auto']}: {json.dumps(choice.as_dict())}"
    system = optimize_system(problem.assemble(quantity, outputs, source), preset)
    return Smallest(system, choice, cost(system.expressions()), text=choice.say(problem.tree))


def budget_for(tree: Tree, budget: int | None) -> int:
    if budget is not None:
        return budget
    return BUDGET if len(tree.links) <= LARGE else max(4, BUDGET * LARGE // len(tree.links))
