"""What is proved of a Mechanism's equations, not sampled: every program equals plain Newton-Euler as a formula.

All programs for a quantity are compared modulo a prime (`proof.prove`) with Newton-Euler before any rewriting. Where a
program holds constants that were folded in floats, the same program is made again of the exact twin of the Mechanism and
proved there; what the rounded constants change in the outputs is measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from symbody.errors import SymbodyError
from symbody.formalisms.choices import Choice
from symbody.formalisms.tree import build_tree
from symbody.formalisms.units import unit_lengths
from symbody.model.mechanism import Mechanism
from symbody.proof.exact import exact_twin, has_floats
from symbody.proof.prove import NOT_PROVABLE, Formulas, Proof, prove_equal
from symbody.proof.relations import relations_of
from symbody.proof.rounding import deviation
from symbody.system.system import System
from symbody.verbs.dynamics import FORMALISMS, SOURCES, forward_dynamics, inverse_dynamics, semi_explicit

VERBS = {"inverse": inverse_dynamics, "semi_explicit": semi_explicit, "forward": forward_dynamics}
WORDS = {"inverse": "inverse dynamics", "semi_explicit": "M and c", "forward": "forward dynamics"}
PRESETS = ("none", "standard", "full")


@dataclass(frozen=True)
class Made:
    """A System for a quantity, and how it was made. Named formalisms are rewritten by "standard" unless one says else."""

    quantity: str
    formalism: str
    system: System
    preset: str = "standard"

    @property
    def text(self) -> str:
        return f"{WORDS[self.quantity]} by {self.formalism} ({self.preset})"


@dataclass(frozen=True)
class Statement:
    """That a program equals plain Newton-Euler.

    proof      of the program itself or, where `exact` is set, of the program made of exact numbers
    rounding   largest change of an output by constants that were folded in floats, relative to the largest entry of
               that output; None: there are none, or no number was found
    """

    text: str
    proof: Proof
    exact: bool = False
    rounding: float | None = None
    seconds: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        rounded = f"; rounded constants change it by {self.rounding:.0e}" if self.rounding is not None else ""
        return f"{self.text} equals newton_euler: {self.proof}{' with exact numbers' * self.exact}{rounded}"


def proofs(mechanism: Mechanism, made: Iterable[Made], seed: int = 0) -> list[Statement]:
    """A Statement for each System of the Mechanism's opened tree.

    A reference, Newton-Euler without rewriting, is made for each quantity.
    """
    prover = _Prover(mechanism, seed)
    return [prover.statement(m) for m in made]


def all_programs(
    mechanism: Mechanism,
    formalisms: Sequence[str] = FORMALISMS,
    presets: Sequence[str] = PRESETS,
    quantities: Sequence[str] = tuple(VERBS),
) -> tuple[list[Made], list[str]]:
    """(programs of the opened tree by every formalism and preset, sentences on those that do not apply)."""
    made, refused = [], []
    for quantity in quantities:
        for formalism in formalisms:
            for preset in presets:
                try:
                    system = VERBS[quantity](mechanism, formalism=formalism, loops=False, preset=preset)
                except SymbodyError as error:
                    refused.append(f"{WORDS[quantity]} by {formalism}: {error}")
                    break
                made.append(Made(quantity, formalism, system, preset))
    return made, refused


class _Prover:
    """The references of one Mechanism, of its own numbers and of exact ones, made when they are first needed."""

    def __init__(self, mechanism: Mechanism, seed: int) -> None:
        self.mechanism, self.seed = mechanism, seed
        self.relations = relations_of(mechanism)
        self.plain: dict[str, Formulas] = {}
        self.exact: dict[str, Formulas] = {}
        self.twin: Mechanism | None = None

    def statement(self, made: Made) -> Statement:
        start = time.perf_counter()
        formulas = Formulas(made.system)
        proof = prove_equal(self.reference(made.quantity), formulas, self.relations, self.seed)
        exact, rounding = False, None
        if proof.verdict == NOT_PROVABLE and has_floats(self.mechanism):
            second, rounding = self.with_exact_numbers(made, formulas)
            if second is not None:
                exact, proof = True, second
        return Statement(made.text, proof, exact, rounding, time.perf_counter() - start)

    def reference(self, quantity: str) -> Formulas:
        if quantity not in self.plain:
            self.plain[quantity] = Formulas(_plain(self.mechanism, quantity))
        return self.plain[quantity]

    def with_exact_numbers(self, made: Made, formulas: Formulas) -> tuple[Proof | None, float | None]:
        """(proof of the same program over exact numbers, change of its outputs by constants that were rounded)."""
        if self.twin is None:
            self.twin = exact_twin(self.mechanism)
        if made.quantity not in self.exact:
            self.exact[made.quantity] = Formulas(_plain(self.twin, made.quantity))
        reference = self.exact[made.quantity]
        try:
            again = made_again(self.mechanism, self.twin, made)
        except SymbodyError:
            return None, None
        sizes = [a.size for a in made.system.outputs.values()]
        rounding = deviation(formulas.tape, reference.tape, sizes, self.relations, formulas.defaults)
        return prove_equal(reference, again, self.relations, self.seed), rounding


def _plain(mechanism: Mechanism, quantity: str) -> System:
    return VERBS[quantity](mechanism, formalism="newton_euler", loops=False, preset="none")


def made_again(mechanism: Mechanism, twin: Mechanism, made: Made) -> System:
    """A program of the Mechanism made again of its twin, by the same choices."""
    if made.formalism != "auto":
        return VERBS[made.quantity](twin, formalism=made.formalism, loops=False, preset=made.preset)
    from symbody.verbs.auto import program

    choice = choice_of(made.system)
    if choice.unit:  # a unit is named by its text, which is another one where it is a number
        units, twins = (unit_lengths(build_tree(m)) for m in (mechanism, twin))
        choice = choice.replace(unit=next(str(b) for a, b in zip(units, twins) if str(a) == choice.unit))
    return program(twin, made.quantity, choice, made.preset)


def choice_of(system: System) -> Choice:
    """The Choice of a program that "auto" made: its origins tell it."""
    head = f"{SOURCES['auto']}: "
    text = next(o.partition(head)[2] for o in system.origins.values() if head in o)
    return Choice.from_dict(json.loads(text))
