"""Fortran as a language of the printer: what fixed and free form have in common."""

from __future__ import annotations

import math
import re
from typing import Any

from symbody.codegen.printer.language import Language
from symbody.codegen.printer.module_layout import EmittedModule
from symbody.codegen.printer.stored_values import stub_terms
from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.expr.function_row import FUNCTIONS

TAKEN = frozenset((
    "abs", "acos", "acosh", "aint", "allocate", "and", "anint", "asin", "asinh", "associate", "atan", "atan2", "atanh",
    "block", "call", "case", "ceil", "ceiling", "character", "class", "close", "common", "complex", "contains",
    "continue", "cos", "cosh", "cycle", "data", "deallocate", "dble", "dimension", "do", "double", "else", "elseif",
    "end", "enddo", "endif", "entry", "eq", "equivalence", "eqv", "exit", "exp", "external", "false", "floor", "forall",
    "format", "function", "ge", "goto", "gt", "hypot", "if", "implicit", "import", "in", "include", "inquire", "int",
    "integer", "intent", "interface", "intrinsic", "kind", "le", "len", "log", "logical", "lt", "max", "merge", "min",
    "mod", "module", "modulo", "ne", "neqv", "nint", "none", "not", "nullify", "only", "open", "or", "out", "parameter",
    "pause", "pointer", "precision", "print", "private", "procedure", "program", "public", "pure", "r", "read", "real",
    "result", "return", "save", "select", "sign", "sin", "sinh", "size", "sngl", "sqrt", "stop", "subroutine", "sum",
    "tan", "tanh", "target", "then", "to", "true", "type", "use", "where", "while", "wp", "write", "xor",
))  # fmt: skip

# r is the result; numbers are of the module's kind
HELPERS = {
    "far": ("guess", "r = 1.0e6*(1.0 + abs(guess))"),
    "next": ("x, step", "r = x + step"),
    "inf": ("", "r = huge(r)\nr = r*2.0"),
    "nan": ("", "r = 0.0\nr = r/r"),
}


def numbers(suffix: str) -> Any:
    """Adapt the numbers of texts: 1.0 becomes 1.0d0, 1.0e0 or 1.0_wp."""
    pattern = re.compile(r"(?<![\w.])(\d+\.\d*)(?:[eE]([+-]?\d+))?(?![\w])")

    def written(match: re.Match[str]) -> str:
        if suffix == "_wp":
            return f"{match[1]}{'e' + match[2] if match[2] else ''}_wp"
        return f"{match[1]}{suffix}{match[2] or '0'}"

    return lambda text: pattern.sub(written, text)


def literal_with(suffix: str, single: bool) -> Any:
    def literal(number: Any) -> str:
        import numpy as np

        value = float(np.float32(number)) if single else float(number)
        if not math.isfinite(value):  # no literals: the frame puts calls of helpers here
            return "@nan@" if math.isnan(value) else "@inf@" if value > 0 else "(-@inf@)"
        text = str(np.float32(value)) if single else repr(value)
        mantissa, _, exponent = text.partition("e")
        mantissa += "" if "." in mantissa else ".0"
        if suffix == "_wp":
            text = f"{mantissa}{'e' + str(int(exponent)) if exponent else ''}_wp"
        else:
            text = f"{mantissa}{suffix}{int(exponent) if exponent else 0}"
        return f"({text})" if text.startswith("-") else text

    return literal


def marked(text: str, prefix: str) -> str:
    """Calls of helpers for the numbers that have no literals."""
    return text.replace("@nan@", f"{prefix}nan()").replace("@inf@", f"{prefix}inf()")


def element(array: str, k: int) -> str:
    return f"{array}({k + 1})"


def table_call(index: int, table: Piecewise, x: str, prefix: str) -> str:
    return f"{prefix}table{index}({x})"


def helper_functions(module: EmittedModule, bodies: str) -> list[tuple[str, str, list[str]]]:
    """(name, arguments, statements) of the helpers that the bodies call, in the numbers of the module."""
    p, adapt = module.prefix, module.language.adapt
    low = bodies.lower()
    found = []
    for row in FUNCTIONS.values():
        text = row.helper_in("fortran")
        if text and f"{p}{row.name}(".lower() in low:
            head, *lines = text.format(p=p.removesuffix("_")).splitlines()
            name, arguments, _ = head.split("|")
            found.append((name, arguments, [adapt(line) for line in lines]))
    for helper, (arguments, line) in HELPERS.items():
        if f"{p}{helper}(".lower() in low:
            found.append((f"{p}{helper}", arguments, [adapt(part) for part in line.splitlines()]))
    return found


def table_statements(table: Piecewise) -> list[str]:
    """Statements that set r to the table at `at`, of arrays x and c."""
    pieces, terms = len(table.x) - 1, len(table.c)
    return [
        "i = 1",
        *([f"do 20 k = 2, {pieces}", "   if (.not. (at .lt. x(k))) i = k", "20@continue"] if pieces > 1 else ["k = 1"]),
        "s = at - x(i)",
        f"r = c({(terms - 1) * pieces} + i)",
        *([f"do 30 k = {terms - 2}, 0, -1", f"   r = r*s + c(k*{pieces} + i)", "30@continue"] if terms > 1 else []),
    ]


def called(module: EmittedModule, lines: list[str]) -> list[str]:
    """Helper functions that some lines call."""
    p = re.escape(module.prefix)
    words = dict.fromkeys(re.findall(rf"\b({p}\w+)\(", "\n".join(lines), re.IGNORECASE))
    plain = [w for w in words if not re.fullmatch(rf"{p}no_number", w)]
    public = {part.name for part in module.every} | {f.name for part in module.every for f in part.functions}
    return [w for w in plain if w not in public]


def stub_lines(external: External, language: Language) -> list[str]:
    """The body of a stub that stands for an external function in tests: arrays `in`, `out` are x, y."""
    lines = []
    for k in range(external.results):
        start, factors = stub_terms(external, k)
        lines.append(language.assign.format(language.element("y", k), language.literal(start)))
        for j, factor in enumerate(factors):
            y = language.element("y", k)
            lines.append(language.assign.format(y, f"{y} + {language.element('x', j)}*{language.literal(factor)}"))
    return lines
