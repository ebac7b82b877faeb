"""sb.equations: the equations of motion of a small mechanism as textbooks print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError
from symbody.codegen.interop.sympy_bridge import to_sympy
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.composite import mass_matrix
from symbody.mechanics.formalisms.coriolis import coriolis_matrix, gravity_efforts
from symbody.mechanics.formalisms.formulation import Choice
from symbody.mechanics.formalisms.formulation import equations as formulated
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.closed_problem import closed_problem
from symbody.mechanics.verbs.problem import Problem, problem_of
from symbody.mechanics.verbs.system_of_tree import has_loops, make_system, time_input
from symbody.mechanics.verbs.textbook.collected import CollectedTerm, Collector, NamedSum, Sum
from symbody.mechanics.verbs.textbook.terms import Terms, TooLong, least_length, terms_of
from symbody.mechanics.verbs.textbook.written import LATEX, TEXT, Script, node_of, write
from symbody.model.record.coordinates import coordinate_labels
from symbody.model.record.mechanism import Mechanism
from symbody.model.spatial.inertia import no_inertia
from symbody.symbolic.expr.arrays import Array, is_zero, zeros
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.latex_form import latex_name
from symbody.symbolic.expr.node import CONST, SYMBOL, Node
from symbody.symbolic.expr.pickling import Packed
from symbody.symbolic.expr.walk import free_symbols, quiet_collector
from symbody.symbolic.system.system import System

if TYPE_CHECKING:
    import sympy

LONGEST = 12_000  # characters of text that are still read: two pages or three
OFTEN, WORTH = 3, 16  # uses, and characters, from which on a sum of parameters has a name
WIDTH = 108  # characters of a line
AGREE = 1e-11  # of the largest entry: what is written against what it was written from
GROUP_LETTERS = ("a", "b", "p", "k")
STATES = 3  # random states at which that is compared

MEANINGS = {
    "M": "mass matrix, symmetric",
    "C": "Coriolis and centrifugal matrix; Mdot - 2 C is skew",
    "g": "efforts of weight",
    "d": "laws of joints and force elements",
    "h": "conditions of the loops, h = 0",
    "J": "Jacobian of h by the velocities",
}


@dataclass(frozen=True, eq=False)
class Equations(Packed):
    """M qdd + C qd + g + d = tau + J^T lam, h = 0, each entry collected and ready to be written.

    inputs     of force elements: what is given from outside, and their states
    entries    quantity -> array of collected sums: M (nv, nv), C (nv, nv), g (nv,); d (nv,), h (m,) and J (m, nv)
               where there are any
    groups     sums of parameters that have a name
    gravity    what the symbol of gravity stands for, m/s^2; None where the model has symbols of its own, or none
    coordinates  what q1, q2, ... are, with units
    print(equations) writes them; `latex()`, `sympy()` and `system()` give other forms of the same entries.
    """

    mechanism: Mechanism
    tree: Tree
    inputs: Mapping[str, Array]
    entries: Mapping[str, Array]
    groups: tuple[NamedSum, ...]
    gravity: tuple[str, float] | None
    coordinates: tuple[str, ...]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} {'x'.join(map(str, a.shape))}" for n, a in self.entries.items())
        return f"Equations of {self.mechanism.name}: {sizes}. print() writes them."

    def text(self) -> str:
        """Plain text, lines of at most about 108 characters; numbers are rounded to 6 digits."""
        lines = [f"{self.mechanism.name}: {self._law(TEXT)}", f"  {', '.join(self.coordinates)}"]
        if self.gravity is not None:
            lines.append(f"  {self.gravity[0]} = {self.gravity[1]:.6g} m/s^2")
        if self.mechanism.nq != self.mechanism.nv:
            lines.append("  rates of quaternions are N(q) qd")
        if self.groups:
            lines += ["", *(_wrapped(x.name, x.value) for x in self.groups)]
        for name, array in self.entries.items():
            rows = self._rows(name, array)
            lines += ["", *(_wrapped(left, value) for left, value in rows)]
            if any(not x.products for x in array.flat):
                lines.append(f"other entries of {name} are zero" if rows else f"{name} = 0")
        return "\n".join(lines)

    def latex(self) -> str:
        """An aligned environment, without $ signs; long sums are broken between terms."""
        rows = [rf"& {self._law(LATEX)}"]
        for group in self.groups:
            rows += _broken(latex_name(group.name), group.value)
        for name, array in self.entries.items():
            written = self._rows(name, array, latex=True)
            for left, value in written:
                rows += _broken(left, value)
            if not written:
                rows.append(rf"{latex_name(name)} & = 0")
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    def nodes(self) -> dict[str, Array]:
        """The entries as expressions in the symbols of `tree`, nested as they are written."""
        out = {}
        for name, array in self.entries.items():
            out[name] = np.empty(array.shape, dtype=object)
            for i, value in enumerate(array.flat):
                out[name].flat[i] = node_of(value, self.tree.graph)
        return out

    def sympy(self) -> dict[str, sympy.Matrix]:
        """The entries as SymPy matrices; symbols are named as in the text."""
        return {name: to_sympy(array) for name, array in self.nodes().items()}

    def system(self) -> System:
        """(q, qd) -> the entries as a System, as any other: to compile, to emit, to compare."""
        outputs, tree = self.nodes(), self.tree
        occurring = free_symbols([x for a in outputs.values() for x in a.flat])
        more = {n: np.ravel(a) for n, a in self.inputs.items() if set(occurring) & set(np.ravel(a))}
        inputs: dict[str, Any] = {"q": tree.q, "qd": tree.qd, **time_input(outputs.values()), **more}
        return make_system(tree, "textbook", inputs, outputs, {"t": "s"}, {n: MEANINGS[n] for n in outputs})

    def _law(self, script: Script) -> str:
        plain = script is TEXT
        has = self.entries.keys()
        left = "M(q) qdd + C(q, qd) qd + g(q)" if plain else r"M(q)\,\ddot{q} + C(q, \dot{q})\,\dot{q} + g(q)"
        if "d" in has:
            left += " + d(q, qd)" if plain else r" + d(q, \dot{q})"
        right = "tau" if plain else r"\tau"
        if "J" in has:
            right += " + J(q)^T lam,  h(q) = 0" if plain else r" + J(q)^{T}\,\lambda, \quad h(q) = 0"
        return f"{left} = {right}"

    def _rows(self, name: str, array: Array, latex: bool = False) -> list[tuple[str, Sum]]:
        """(left side, value) of the entries that are not zero; of M the upper triangle."""
        out: list[tuple[str, Sum]] = []
        for index in np.ndindex(*array.shape):
            value: Any = array[index]
            if not value.products or (name == "M" and index[0] > index[1]):
                continue
            left = _entry(name, index, latex)
            if name == "M" and index[0] != index[1] and not latex:
                left += f" = {_entry(name, index[::-1], latex)}"
            out.append((left, value))
        return out


@declared
def equations(mech: Mechanism, loops: bool = True, longest: int = LONGEST) -> Equations:
    """M, C, g (and d, h, J) as a textbook prints them: collected, with sums of angles and named groups of parameters.

    print() writes them as text, `latex()`, `sympy()` and `system()` give the same entries in other forms. Loops are
    opened and stand as h(q) = 0 with J; loops=False leaves them out. C is that of `coriolis`. A gravity in numbers is
    written by a symbol. What is written is compared with what it comes from before it is returned.

    longest: characters of text up to which equations are written: those of planar mechanisms of a few bodies and of
    spatial ones of two or three joints are shorter than 12 000. More are refused: nobody reads them.
    """
    derived = derived_of(mech)
    return derived.get("equations", (bool(loops), longest), lambda: _made(mech, loops, longest))


def _made(mech: Mechanism, loops: bool, longest: int) -> Equations:
    problem: Problem = problem_of(mech).read_only()
    found_loops: Constraints | None = None
    if loops and has_loops(mech):
        closed = closed_problem(mech).read_only()
        problem, found_loops = closed, closed.constraints
    tree, gravity = _with_symbol(problem.tree)
    with quiet_collector():
        arrays = _sources(tree, found_loops)
        try:
            found = {n: terms_of(as_nodes([tree.graph.zero, *a.flat])[1:]) for n, a in arrays.items()}
        except TooLong:
            raise _refused(mech, "their terms are too many to be expanded") from None
    if least_length(_printed(found)) > longest:
        raise _refused(mech, f"as a textbook would print them, they have more than {longest} characters")
    collector, groups = _collected(found)
    entries = {}
    for name, array in arrays.items():
        entries[name] = np.empty(array.shape, dtype=object)
        for i, terms in enumerate(found[name]):
            entries[name].flat[i] = collector.collect(terms)
    labels = [f"q{k + 1} {label}" for k, label in enumerate(coordinate_labels(mech))]
    made = Equations(mech, tree, problem.inputs, entries, groups, gravity, tuple(labels))
    size = len(made.text())
    if size > longest:
        raise _refused(mech, f"as a textbook would print them, they have {size} characters, more than {longest}")
    _compare(made, arrays)
    return made


def _refused(mech: Mechanism, why: str) -> ModelError:
    return ModelError(
        f"the equations of {mech.name} are too long to be read: {why}. Use sb.semi_explicit(mech) and the like for "
        "programs, sb.write_report for their named parts, or a model with numbers in place of parameters."
    )


def _sources(tree: Tree, found: Constraints | None) -> dict[str, Array]:
    """Each quantity in the symbols of the Tree."""
    plain = replace(tree, wrenches={}, efforts=None)
    out: dict[str, Array] = {"M": mass_matrix(plain), "C": coriolis_matrix(plain), "g": gravity_efforts(plain)}
    # what is left of c where nothing has mass: laws of joints and force elements
    light = [replace(k, inertia=no_inertia(), spread=None, bodies=(), reflected=0) for k in tree.links]
    laws = formulated(replace(tree, links=light, gravity=zeros(3)), "semi_explicit", Choice())["c"]
    if any(not is_zero(x) for x in laws):
        out["d"] = laws
    if found is not None:
        out |= {"h": found.h, "J": found.J}
    return out


def _with_symbol(tree: Tree) -> tuple[Tree, tuple[str, float] | None]:
    """Gravity in numbers as a symbol times a direction."""
    numbers = [x.data if isinstance(x, Node) and x.op is CONST else x for x in tree.gravity]
    if any(isinstance(x, Node) for x in numbers):
        return tree, None
    size = float(np.sqrt(sum(float(x) ** 2 for x in numbers)))
    if size == 0:
        return tree, None
    taken = set(tree.mechanism.parameters)
    name = next(n for n in ("g", "g0", "gravity_") if n not in taken)
    symbol = tree.graph.symbol(name, "parameter", unit="m/s^2", default=size)
    along = zeros(3)
    for k, x in enumerate(numbers):
        share = float(x) / size
        along[k] = 0 if share == 0 else (int(share) if share in (1.0, -1.0) else share) * symbol
    return replace(tree, gravity=along), (name, size)


def _collected(found: Mapping[str, list[Terms]]) -> tuple[Collector, tuple[NamedSum, ...]]:
    """A Collector that knows names of sums of parameters that occur often, and those names."""
    trial = Collector()
    for terms in _printed(found):
        trial.collect(terms)
    often = [key for key, uses in trial.seen.items() if uses >= OFTEN]
    collector, groups = Collector(), []
    for key in often:
        value = Collector()._inner(list(key))
        if isinstance(value, Sum) and len(write(value)) >= WORTH:
            groups.append((key, value))
    taken = {x.data.name for rows in found.values() for t in rows for m, _ in t for x, _ in m if x.op is SYMBOL}
    letter = next(x for x in (*GROUP_LETTERS, "group_") if not any(re.fullmatch(rf"{x}[0-9]+", t) for t in taken))
    named: dict[tuple[CollectedTerm, ...], NamedSum] = {}
    for k, (key, value) in enumerate(groups):
        named[key] = NamedSum(f"{letter}{k + 1}", value)
    collector.named = named
    return collector, tuple(named.values())


def _printed(found: Mapping[str, list[Terms]]) -> Iterator[Terms]:
    """All entries but those of M below its diagonal."""
    for name, rows in found.items():
        yield from (x for i, x in enumerate(rows) if name != "M" or i // _side(rows) <= i % _side(rows))


def _side(rows: list[Terms]) -> int:
    return round(len(rows) ** 0.5)


def _compare(made: Equations, arrays: Mapping[str, Array]) -> None:
    """What is written must have the values of what it was written from, at random states."""
    rng = np.random.default_rng(0)
    written, tree = made.nodes(), made.tree
    for _ in range(STATES):
        for name, array in arrays.items():
            first = as_nodes([tree.graph.zero, *array.flat])[1:]
            second = list(written[name].flat)
            at = {s: _value(s, rng) for s in sorted(free_symbols([*first, *second]), key=lambda s: s.id)}
            a, b = (np.array(evaluate(x, at), dtype=float) for x in (first, second))
            with np.errstate(invalid="ignore"):
                off = np.nanmax(np.abs(a - b), initial=0.0)
                size = np.nanmax(np.abs(a), initial=0.0)
            if off > AGREE * max(size, 1e-300):
                raise ModelError(
                    f"{name} of {made.mechanism.name} as a textbook form differs from its program by {off:.1e}; it is "
                    "not given. Use sb.semi_explicit, and tell the authors of symbody."
                )


def _value(symbol: Node, rng: np.random.Generator) -> float:
    default = symbol.data.default
    return float(default * rng.uniform(0.8, 1.2)) if default else float(rng.uniform(0.2, 1.5))


# -- lines


def _entry(name: str, index: tuple[int, ...], latex: bool) -> str:
    places = [str(k + 1) for k in index]
    joined = "".join(places) if all(len(p) == 1 for p in places) else ",".join(places)
    return (
        f"{latex_name(name)}_{{{joined}}}" if latex else f"{name}{joined}" if "," not in joined else f"{name}[{joined}]"
    )


def _lines(value: Sum, script: Script, width: int) -> list[str]:
    """A sum in lines, each of whole terms."""
    out: list[Sum] = []
    for product in value.products:
        if out and len(write(Sum((*out[-1].products, product)))) <= width:
            out[-1] = Sum((*out[-1].products, product))
        else:
            out.append(Sum((product,)))
    texts = [write(x, script) for x in out]
    return [t if k == 0 else f"- {t[1:]}" if t.startswith("-") else f"+ {t}" for k, t in enumerate(texts)]


def _wrapped(left: str, value: Sum) -> str:
    head = f"{left} = "
    first, *more = _lines(value, TEXT, WIDTH - len(head))
    return "\n".join([head + first, *(" " * len(head) + line for line in more)])


def _broken(left: str, value: Sum) -> list[str]:
    first, *more = _lines(value, LATEX, WIDTH - 20)
    return [f"{left} & = {first}", *(rf"& \quad {line}" for line in more)]
