"""Function: all that is known of one function of expressions, in one row. `symbolic/expr/ops.py` lists the rows.

Whoever builds, differentiates, folds, evaluates, prints, counts, proves or compiles a function reads its row, so that a
new function is one more row. A row holds data and small callables; what it says of targets (C text, LLVM instructions)
is text, or a callable that is given its writer, so that nothing heavy is imported here.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from symbody.basics.errors import DefinitionError, ExpressionError, NameLookupError, nearest

if TYPE_CHECKING:
    from symbody.symbolic.expr.node import Node

# binding strength of what stands in a text, weakest first; those of Python
ANY, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(10)

# words of the language of expressions that are no functions
WORDS = frozenset({"piecewise", "pi", "inf", "nan", "True", "False"})


@dataclass(frozen=True, slots=True)
class Notation:
    """How a call is written: text, and arguments as (index, strength that they need to stand without parentheses)."""

    strength: int
    pieces: tuple[str | tuple[int, int], ...]


class Instructions(Protocol):
    """Where a row's `llvm` writes LLVM instructions: for one state or a vector of states alike."""

    double: str  # the type of values
    boolean: str  # the type of conditions

    def line(self, text: str) -> str:
        """An instruction; the name of its result."""

    def number(self, value: float) -> str:
        """A constant."""

    def intrinsic(self, name: str, *values: str) -> str:
        """A call of llvm.<name>."""

    def libm_call(self, name: str, *values: str) -> str:
        """A call of a function of the C library; the row names it in `libm`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Function:
    """One row. What is not given does not hold, or is refused by name where it is asked for.

    Construction
        parity        "odd": f(-x) = -f(x); "even": f(-x) = f(x); of one argument
        commutative   f(a, b) = f(b, a)
        truth         the value is 1 or 0, nothing else
        conditions    so many leading arguments count as conditions: zero or not
        steps         so many leading arguments decide where the value jumps: quotients in them stay divisions
        exact_at      exact number -> exact value, so that no float enters an exact expression
        rule          (*nodes) -> node or None: what is built in its place, seen from the direct arguments alone. A rule
                      that always answers makes the function a short name of a formula
        as_power      its rule makes a power node; only Programs have it as an operation (sqrt)
        operation     the arithmetic operation of Programs that a call becomes (quotient: div)

    Derivative
        partials      (node, *arguments) -> one node or number an argument; at a corner that of one side
        tangent       (node, arguments, tangents) -> tangent, for choices: the branch not taken may be infinite

    Numbers
        arrays        of NumPy arrays, real or complex; complex ones choose branches by real parts (complex step)
        floats        the C library's function of Python floats; None: `arrays` serves these too
        fold          of numbers while an expression is built; None: `floats`
        rational      `fold` of exact numbers is exact
        decimal       of Decimals, for proofs; None: rounded to floats
        curve         (x) -> value, first, second derivative in NumPy: the certificate's own form, of one argument
        domain        (low, high) for each argument, inside which it is defined and smooth: contracts sample there
        bound         |f| <= bound everywhere, and f comes near it

    Text
        text, latex   a Notation; for LaTeX also a name that stands before parentheses. Else name(arguments)

    Targets
        c             a C expression: "{0}", "{1}", ... are arguments, "{p}" the prefix of the emitted file
        c_helper      a static function {p}_<name> that `c` calls; braces of C are doubled
        libm          function of the C library that native code calls
        texts         the same in other languages: "fortran", "array" (NumPy, JAX, CasADi, ...; "{m}" is the module),
                      "matlab", "rust", "javascript", "julia", "maple"; LaTeX takes the column `latex`
        helpers       functions {p}_<name> that `texts` call, by language; braces are doubled
        llvm          an LLVM intrinsic, or what writes the instructions: (instructions, *values) -> value; "" calls
                      `libm`. Of a truth: the predicate of fcmp, or the operation on conditions

    Bridges
        sympy, casadi name of the same function there, or (module, *values) -> value

    Cost
        trig          counts as trigonometric; other functions count as `other`
        weight        rough size in instructions
    """

    name: str
    arity: int
    about: str
    arrays: Callable[..., Any]

    parity: str = ""
    commutative: bool = False
    truth: bool = False
    conditions: int = 0
    steps: int = 0
    exact_at: Mapping[int, int] = field(default_factory=dict)
    rule: Callable[..., Node | None] | None = None
    as_power: bool = False
    operation: str = ""

    partials: Callable[..., tuple[Any, ...]] | None = None
    tangent: Callable[..., Node] | None = None

    floats: Callable[..., float] | None = None
    fold: Callable[..., Any] | None = None
    rational: bool = False
    decimal: Callable[..., Any] | None = None
    curve: Callable[[Any], tuple[Any, Any, Any]] | None = None
    domain: tuple[tuple[float, float], ...] = ()
    bound: int | None = None

    text: Notation | None = None
    latex: str | Notation = ""

    c: str = ""
    c_helper: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    libm: str = ""
    llvm: str | Callable[..., str] = ""

    sympy: str | Callable[..., Any] = ""
    casadi: str | Callable[..., Any] = ""

    trig: bool = False
    weight: int = 1

    run: Callable[..., Any] = field(init=False, repr=False, compare=False)  # at run time: floats or arrays

    def __post_init__(self) -> None:
        object.__setattr__(self, "run", self.arrays if self.floats is None else either(self.floats, self.arrays))
        if self.fold is None:
            object.__setattr__(self, "fold", self.floats)

    def text_in(self, language: str) -> str:
        """The text of a call in a language; "" if the row has none."""
        return self.c if language == "c" else self.texts.get(language, "")

    def helper_in(self, language: str) -> str:
        """The definition of what the text calls; "" if it needs none."""
        return self.c_helper if language == "c" else self.helpers.get(language, "")

    def __repr__(self) -> str:
        return f"Function {self.name} of {self.arity}: {self.about}"


def either(on_floats: Callable[..., float], on_arrays: Callable[..., Any]) -> Callable[..., Any]:
    """A function that uses `on_floats` on Python floats and `on_arrays` on the rest and where the former refuses.

    Floats use the C library through `math`, so that a compiled C target agrees bit for bit; whatever `math` refuses
    (log of zero, overflow) and all arrays go through NumPy, which gives inf and nan.
    """

    def function(*args: Any) -> Any:
        for x in args:
            if type(x) is not float:
                return on_arrays(*args)
        try:
            return on_floats(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            return float(on_arrays(*args))

    return function


# name -> row. Those of `symbolic/expr/ops.py` come first and stay; authors' rows follow.
FUNCTIONS: dict[str, Function] = {}
_built_in: set[str] = set()


def row_of(op: str) -> Function:
    """The row of a function that an expression calls."""
    row = FUNCTIONS.get(op)
    if row is None:
        raise ExpressionError(
            f"the function {op!r} is not known here. If it was added, add its row again: symbody.extend.add_function."
        )
    return row


def is_truth(op: str) -> bool:
    """Whether an operation of nodes gives 1 or 0, nothing else."""
    row = FUNCTIONS.get(op)
    return row is not None and row.truth


def list_built_in(rows: list[Function]) -> None:
    """Enter the rows of symbody itself."""
    FUNCTIONS.update((row.name, row) for row in rows)
    _built_in.update(row.name for row in rows)


def added_functions() -> list[Function]:
    """Rows that authors have added, in the order of adding."""
    return [row for name, row in FUNCTIONS.items() if name not in _built_in]


def add_row(row: Function) -> None:
    """Enter an author's row; DefinitionError says what is wrong with it."""
    _check(row)
    FUNCTIONS[row.name] = row


def remove_row(name: str) -> None:
    """Take an author's row away. Expressions that call the function cannot be used, unless it is added again."""
    if name in _built_in:
        raise DefinitionError(f"function {name!r} is symbody's own and cannot be removed.")
    if name not in FUNCTIONS:
        known = [row.name for row in added_functions()]
        raise NameLookupError(f"there is no added function {name!r}. {nearest(name, known)}")
    del FUNCTIONS[name]


def _check(row: Function) -> None:
    name = row.name
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name) or name in WORDS:
        raise DefinitionError(f"{name!r} cannot name a function; expected a word of letters, digits and _.")
    if name in FUNCTIONS:
        whose = "symbody's own" if name in _built_in else "added before"
        raise DefinitionError(
            f"there is a function {name!r} already, {whose}. Choose another name, or remove it first."
        )
    if name in NODES or name in PROGRAM:
        raise DefinitionError(f"{name!r} names an operation of expressions or Programs. Choose another name.")
    if row.arity < 1:
        raise DefinitionError(f"function {name!r} has arity {row.arity}; expected at least 1 argument.")
    if row.parity not in ("", "odd", "even") or (row.parity and row.arity != 1):
        raise DefinitionError(
            f"function {name!r} has parity {row.parity!r}; expected 'odd' or 'even', of one argument."
        )
    if row.commutative and row.arity != 2:
        raise DefinitionError(f"function {name!r} is said to be commutative with {row.arity} arguments; expected 2.")
    if not 0 <= row.conditions <= row.arity:
        raise DefinitionError(f"function {name!r} has {row.conditions} conditions among {row.arity} arguments.")
    if row.truth or row.as_power or row.operation or row.steps:
        raise DefinitionError(
            f"function {name!r}: truth, as_power, operation and steps are for symbody's own rows; "
            "use select, or a rule."
        )
    if row.domain and len(row.domain) != row.arity:
        raise DefinitionError(f"function {name!r} has {len(row.domain)} domains; expected one for each argument.")
    if row.c_helper and "{p}_" + name not in row.c_helper:
        raise DefinitionError(f"the C helper of {name!r} does not define {{p}}_{name}; expected a static function.")


# operations with another meaning: those of nodes, and those that only Programs have
NODES = frozenset(
    {"const", "symbol", "scale", "add", "mul", "power", "table", "extern", "result", "alias", "solve", "at"}
)
PROGRAM = frozenset({"input", "parameter", "unknown", "sub", "div", "neg", "fma"})
