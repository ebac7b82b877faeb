"""Language: the syntax in which statements are printed, in one row. Each source target has one, beside its frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symbody.codegen.printer.remarks import one_line

if TYPE_CHECKING:
    from symbody.codegen.printer.module_layout import Argument, EmittedModule
    from symbody.codegen.printer.statements import StatementWriter
    from symbody.symbolic.expr.external import Piecewise
    from symbody.symbolic.expr.function_row import Function as FunctionRow
    from symbody.symbolic.lower.program import Number


FEW_ANGLES = 3


@dataclass(eq=False)
class FunctionText:
    """A function on its way to text: its arguments, its lines, and the names of what it declares."""

    name: str
    arguments: list[Argument]
    lines: list[str]
    reals: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    arrays: list[tuple[str, int]] = field(default_factory=list)  # of numbers, with their sizes
    block: str = ""  # the solve block that it is a part of
    sentence: str = ""


@dataclass(frozen=True, kw_only=True)
class Language:
    """How a language writes what a Program consists of. Places in texts are those of `str.format`.

    functions     column of the rows of functions with their texts: "c", "fortran", ...
    taken         words that no identifier may be; a pattern of names that the printer makes itself
    one_case      capital and small letters are the same in identifiers
    literal       a number as text, negative ones in parentheses
    element       (array, place from 0) -> its element
    define        a value that stays; variable: one that changes; assign: what was declared before; early: a declaration
                  without a value ("" where none is needed)
    remark        a comment of one line
    unused, idle  say that a value or an argument is not used ("" where nothing complains)
    fused         a*b + c rounded once; "" where the language has none
    prefix        before the names of helper functions
    call          a statement that calls a part
    loop, end_loop, stop    a loop until `stop`: {k} its counter, {n} its number, {limit} the most passes
    when, end_when          a condition around statements
    both, negate, finite    on conditions and numbers
    array, extern           arrays of arguments of external functions; `extern` alone where these take numbers directly
    table         (number of the table, itself, text of the place, prefix) -> a call
    product, quotient, group    two factors, a division (a fraction holds its parts together), parentheses
    writer        what writes solve blocks and calls, where these are no loops and statements
    template      (row of a function) -> its text, how tightly it and its arguments hold together; for notations
    angles        lines that take sines and cosines of several angles together, into arrays sn and cs: {n} their number,
                  {p} the prefix, {list} the angles; "@" begins a line for each: {k}, {angle}
    few_angles    so many angles are needed for that
    indent        one level
    width         the longest expression that is written in one piece
    reals         the kind of numbers: precision in digits of a literal follows from it
    """

    functions: str
    taken: frozenset[str]
    one_case: bool = False
    literal: Callable[[Number], str]
    element: Callable[[str, int], str] = "{}[{}]".format
    define: str
    variable: str
    assign: str
    early: str = ""
    remark: str
    unused: str = ""
    idle: str = ""
    fused: str = ""
    prefix: str = "{0}_"
    call: str = "{0}({1});"
    loop: tuple[str, ...] = ()
    end_loop: tuple[str, ...] = ("}}",)
    stop: str = "break;"
    when: str = "if ({0}) {{"
    end_when: str = "}"
    both: str = " && "
    either: str = " || "
    compare: str = "{0} {1} {2}"  # two integers by <, > or ==
    negate: str = "!{0}"
    finite: str = "isfinite({0})"
    small: str = "{p}small({0}, {1}, {2}, {3})"  # step, unknown, its bound, tolerance
    below: str = "{p}below({0}, {1})"
    above: str = "{p}above({0}, {1})"
    nan: str = "NAN"
    array: str = ""
    extern: str
    given: str = ""  # an array of arguments filled in one line: {0} its name, {1} its size, {2} its elements
    table: Callable[[int, Piecewise, str, str], str]
    linked: bool = False  # external functions are found by the linker, not handed over
    spare: bool = False  # arguments of size 0 are left out
    product: str = "{0}*{1}"
    quotient: str = "{0}/{1}"
    fractions: bool = False  # both parts of a quotient are held together by it
    group: str = "({0})"
    angles: tuple[str, ...] = ()
    few_angles: int = FEW_ANGLES
    writer: type[StatementWriter] | None = None
    template: Callable[[FunctionRow], tuple[str, int, tuple[int, ...]]] | None = None
    indent: str = "    "
    width: int = 88
    tolerance: float = 0.0  # the least tolerance of solve blocks: what the numbers of the language can reach
    adapt: Callable[[str], str] = str  # of texts of functions: to another precision
    fallback: Callable[[str], str] | None = None  # text of a function whose row has none for this language
    frame: Callable[[FunctionText, EmittedModule], str]  # a part as a function of the file, not seen from outside

    def said(self, text: str) -> str:
        """A comment of one line, whatever the text holds."""
        return self.remark.format(one_line(text))


# how tightly a piece of text holds together: a sum, a changed sign, a product, a power, one word or call
LOOSE, SUM, SIGN, PRODUCT, POWER, ATOM = range(6)


def strength_of(template: str) -> int:
    """How tightly the text of a function holds together: loose where a blank stands outside of all parentheses."""
    depth = 0
    for c in template:
        depth += (c in "([") - (c in ")]")
        if depth == 0 and (c in " ?:" or (c in "+-*/" and template[0] != c)):
            return LOOSE
    return ATOM


def needs_of(template: str, arity: int) -> tuple[int, ...]:
    """How tightly each argument must hold together in its place: not at all between parentheses and commas."""
    needs = [ATOM] * arity
    for k in range(arity):
        found = re.findall(rf"(.)\{{{k}\}}(.)", f" {template} ")
        if found and all(before in "(, " and after in ",)" for before, after in found):
            inside = re.findall(rf"[(,] ?\{{{k}\}}[,)]", template)
            if len(inside) == len(found):
                needs[k] = LOOSE
    return tuple(needs)


def identifier(text: str) -> str:
    """`text` as an identifier: M[2,3] becomes M_2_3."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")
    return name if name and not name[0].isdigit() else f"v_{name}".rstrip("_")


# names that the printer makes: t12, w3, k4, in5, out5, far6_0
PATTERN = re.compile(r"(t|w|k|in|out|block|status)\d+|far\d+_\d+")


class Names:
    """Hands out identifiers of a language, each once; `renamed` maps what could not keep its own."""

    def __init__(
        self,
        taken: Sequence[str] | frozenset[str] = (),
        prefix: str | None = None,
        words: frozenset[str] = frozenset(),
        one_case: bool = False,
    ) -> None:
        self._one_case, self._words, self._prefix = one_case, words, prefix
        self._used = {self._key(name) for name in taken}
        self.renamed: dict[str, str] = {}

    def _key(self, name: str) -> str:
        return name.lower() if self._one_case else name

    def unique(self, text: str) -> str:
        base = identifier(text)
        if self._of_functions(base):  # with a number behind it, it would still be
            base = f"{'a' if str(self._prefix)[0] in 'vV' else 'v'}_{base}"
        name = base
        count = 1
        while self._refused(name):
            count += 1
            name = f"{base}_{count}"
        self._used.add(self._key(name))
        if name != text:
            self.renamed[text] = name
        return name

    def _refused(self, name: str) -> bool:
        key = self._key(name)
        return key in self._used or key in self._words or PATTERN.fullmatch(key) is not None

    def _of_functions(self, name: str) -> bool:
        """Whether it begins with the prefix, which belongs to functions, and in capitals to macros."""
        return self._prefix is not None and f"{name}_".lower().startswith(f"{self._prefix}_".lower())
