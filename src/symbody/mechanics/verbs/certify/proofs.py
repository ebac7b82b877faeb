"""What is proved of a Mechanism's equations, not sampled: every program equals plain Newton-Euler as a formula.

All programs for a quantity are compared modulo a prime (`proof.prove`) with Newton-Euler before any rewriting. Where a
program holds constants that were folded in floats, the same program is made again of the exact twin of the Mechanism
and proved there; what the rounded constants change in the outputs is measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from symbody.basics.errors import SymbodyError
from symbody.mechanics.formalisms.formulation import Choice
from symbody.mechanics.formalisms.length_units import unit_lengths
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.proof.exact import exact_twin, has_floats
from symbody.mechanics.proof.prove import DIFFERENT, NOT_PROVABLE, PROVED, Formulas, Proof, prove_equal
from symbody.mechanics.proof.relations import relations_of
from symbody.mechanics.proof.rounding import deviation
from symbody.mechanics.verbs.certify.certificate import Check
from symbody.mechanics.verbs.dynamics import FORMALISMS, forward_dynamics, inverse_dynamics, semi_explicit
from symbody.mechanics.verbs.problem import SOURCES
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import matmul, transpose
from symbody.symbolic.system.system import System

VERBS = {"inverse": inverse_dynamics, "semi_explicit": semi_explicit, "forward": forward_dynamics}
WORDS = {"inverse": "inverse dynamics", "semi_explicit": "M and c", "forward": "forward dynamics"}
PRESETS = ("none", "standard", "full")
ROUNDING = 1e-9  # of an output, by constants that were folded in floats: as forward dynamics is measured


@dataclass(frozen=True, eq=False)
class Made:
    """A System for a quantity of the opened tree, the formalism that made it, and the preset of its rewriting."""

    quantity: str
    formalism: str
    system: System
    preset: str = "standard"

    @property
    def text(self) -> str:
        return f"{WORDS[self.quantity]} by {self.formalism} ({self.preset}) equals newton_euler"


@dataclass(frozen=True)
class Statement:
    """What is said of a program, and how it is known.

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
        return f"{self.text}: {self.proof}{' with exact numbers' * self.exact}{rounded}"


def proofs(mechanism: Mechanism, made: Iterable[Made], seed: int = 0) -> list[Statement]:
    """Statements on Systems of the Mechanism's opened tree: each equals Newton-Euler that is not rewritten.

    Further, for the first M and c among them: M is symmetric and M qdd + c equals inverse dynamics; for the first
    forward dynamics: its accelerations need the efforts that it was given. References are made for each quantity.
    """
    prover = _Prover(mechanism, seed)
    out = []
    seen: set[str] = set()
    for m in made:
        out.append(prover.statement(m, m.text, "equal"))
        if m.quantity not in seen:
            seen.add(m.quantity)
            out += [prover.statement(m, text, kind) for text, kind in _IDENTITIES.get(m.quantity, ())]
    return out


def proved_checks(mechanism: Mechanism, made: Iterable[Made], refused: list[str], seed: int = 0) -> Iterator[Check]:
    """Checks of a certificate from `proofs`; what is not provable is told in `refused`, with the reason."""
    found = proofs(mechanism, made, seed)
    yield from _checks(found, refused)
    roundings = [s.rounding for s in found if s.rounding is not None]
    if roundings:
        yield Check("rounding of constants that were folded in floats", max(roundings), ROUNDING)


def closed_proof(
    mechanism: Mechanism, smallest: System, partition: Any, refused: list[str], seed: int = 0
) -> Iterator[Check]:
    """That a program for the forward dynamics of closed loops equals Newton-Euler that is not rewritten.

    Residuals and steps of implicit blocks are compared as formulas of their unknowns, and so is what reads these.
    """
    plain = forward_dynamics(mechanism, formalism="newton_euler", preset="none", partition=partition)
    proof = prove_equal(plain, smallest, relations_of(mechanism), seed)
    yield from _checks([Statement("closed loops: the smallest program equals newton_euler", proof)], refused)


def _checks(statements: Iterable[Statement], refused: list[str]) -> Iterator[Check]:
    for s in statements:
        if s.proof.verdict == NOT_PROVABLE:
            refused.append(f"not proved: {s.text}: {s.proof.reason}")
            continue
        exact = " (with exact numbers)" if s.exact else ""
        where = f": {s.proof.reason}" if s.proof.verdict == DIFFERENT else ""
        yield Check(f"{s.text}{exact}{where}", 0.0 if s.proof.verdict == PROVED else 1.0, 0.0, "proved")


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
    """Proofs on one Mechanism. References, of its own numbers and of exact ones, are made when first needed."""

    def __init__(self, mechanism: Mechanism, seed: int) -> None:
        self.mechanism, self.seed = mechanism, seed
        self.relations = relations_of(mechanism)
        self.floats = has_floats(mechanism)
        self.references: dict[tuple[bool, str], Formulas] = {}
        self.twin: Mechanism | None = None
        self.again: dict[Made, System] = {}  # programs of the twin

    def statement(self, made: Made, text: str, kind: str) -> Statement:
        start = time.perf_counter()
        first, second = self.sides(made.quantity, made.system, kind, self.mechanism, False)
        # numbers are compared once, with those of the exact program
        proof = prove_equal(first, second, self.relations, self.seed, measured=not self.floats)
        exact, rounding = False, None
        if proof.verdict == NOT_PROVABLE and self.floats:
            try:
                proof, rounding = self.with_exact_numbers(made, kind, second)
                exact = True
            except SymbodyError:  # the twin refuses what the Mechanism allows: numbers tell
                proof = prove_equal(first, second, self.relations, self.seed)
        if rounding is not None and rounding > ROUNDING:  # no rounding: say where
            proof, exact = prove_equal(first, second, self.relations, self.seed), False
        return Statement(text, proof, exact, rounding, time.perf_counter() - start)

    def with_exact_numbers(self, made: Made, kind: str, second: Formulas) -> tuple[Proof, float | None]:
        """(proof of the same statement over exact numbers, change of the outputs by constants that were rounded)."""
        if self.twin is None:
            self.twin = exact_twin(self.mechanism)
        if made not in self.again:
            self.again[made] = made_again(self.mechanism, self.twin, made)
        first, exact = self.sides(made.quantity, self.again[made], kind, self.twin, True)
        sizes = [a.size for a in second.system.outputs.values()]
        rounding = deviation(second.tape, exact.tape, sizes, self.relations, second.defaults)
        return prove_equal(first, exact, self.relations, self.seed), rounding

    def reference(self, quantity: str, mechanism: Mechanism, exact: bool) -> Formulas:
        if (exact, quantity) not in self.references:
            system = VERBS[quantity](mechanism, formalism="newton_euler", loops=False, preset="none")
            self.references[exact, quantity] = Formulas(system)
        return self.references[exact, quantity]

    def sides(
        self, quantity: str, system: System, kind: str, mechanism: Mechanism, exact: bool
    ) -> tuple[Formulas, Formulas]:
        """What is said to be equal."""
        if kind == "equal":
            return self.reference(quantity, mechanism, exact), Formulas(system)
        if kind == "symmetric":
            m = system.outputs["M"]
            return Formulas(_only(system, M=m)), Formulas(_only(system, M=transpose(m)))
        inverse = self.reference("inverse", mechanism, exact).system
        if kind == "efforts":
            qdd = inverse.inputs["qdd"]
            q = {n: a for n, a in inverse.inputs.items() if n in system.inputs or n == "qdd"}
            there = system.apply(**{n: a for n, a in q.items() if n in system.inputs})
            return Formulas(_only(inverse, tau=inverse.outputs["tau"])), Formulas(
                _only(inverse, tau=matmul(there["M"], qdd) + there["c"])
            )
        free = [i for i in range(mechanism.nv) if i not in set(driven_velocities(derived_of(mechanism).tree()))]
        given = {n: system.inputs[n] for n in inverse.inputs if n != "qdd"}
        back = inverse.apply(**given, qdd=system.outputs["qdd"])
        tau = back["tau"] if isinstance(back, dict) else back
        return Formulas(_only(system, tau=system.inputs["tau"][free])), Formulas(_only(system, tau=tau[free]))


_IDENTITIES = {
    "semi_explicit": (("M is symmetric", "symmetric"), ("M qdd + c equals inverse dynamics", "efforts")),
    "forward": (("forward dynamics inverts inverse dynamics", "inverted"),),
}


def _only(system: System, **outputs: object) -> System:
    """A System over the arguments of another one."""
    return system.replace(outputs=outputs, states={}, guards={}, resets={}, residuals={}, units={}, origins={})


def made_again(mechanism: Mechanism, twin: Mechanism, made: Made) -> System:
    """A program of the Mechanism made again of its twin, by the same choices."""
    if made.formalism != "auto":
        return VERBS[made.quantity](twin, formalism=made.formalism, loops=False, preset=made.preset)
    from symbody.mechanics.verbs.smallest.auto import program

    choice = choice_of(made.system)
    if choice.unit:  # a unit is named by its text, which is another one where it is a number
        units, twins = (unit_lengths(derived_of(m).tree()) for m in (mechanism, twin))
        choice = choice.replace(unit=next(str(b) for a, b in zip(units, twins) if str(a) == choice.unit))
    return program(twin, made.quantity, choice, made.preset)


def choice_of(system: System) -> Choice:
    """The Choice of a program that "auto" made: its origins tell it."""
    head = f"{SOURCES['auto']}: "
    text = next(o.partition(head)[2] for o in system.origins.values() if head in o)
    return Choice.from_dict(json.loads(text))
