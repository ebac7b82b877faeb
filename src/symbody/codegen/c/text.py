"""Pieces of C99 text: identifiers, literals, one expression a value, and the helper functions that they call."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from symbody.errors import CompileError
from symbody.expr.external import External, Piecewise
from symbody.expr.function_row import FUNCTIONS

# identifiers that values may not take: keywords, what math.h declares, and our own patterns (t12, w3, k4, in5, out5)
_TAKEN = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "_Bool",
    "_Complex", "_Imaginary", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil",
    "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax",
    "fmin", "fmod", "frexp", "hypot", "ilogb", "ldexp", "lgamma", "llrint", "llround", "log", "log10", "log1p",
    "log2", "logb", "lrint", "lround", "modf", "nan", "nearbyint", "nextafter", "nexttoward", "pow", "remainder",
    "remquo", "rint", "round", "scalbln", "scalbn", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc", "j0",
    "j1", "jn", "y0", "y1", "yn", "gamma", "signgam", "isfinite", "isinf", "isnan", "isnormal", "signbit",
    "fpclassify", "NAN", "INFINITY", "main", "bool", "true", "false", "asm", "class", "delete", "new", "this",
    "template", "typename", "namespace", "public", "private", "protected", "virtual", "operator", "friend", "using",
    "try", "catch", "throw", "and", "or", "not", "xor",
    "NULL", "HUGE_VAL", "errno", "I", "unix", "linux", "M_E", "M_PI", "M_LN2", "M_LN10", "M_LOG2E", "M_LOG10E",
    "M_PI_2", "M_PI_4", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_SQRT2", "M_SQRT1_2", "DOMAIN", "SING",
    "OVERFLOW", "UNDERFLOW",
))  # fmt: skip
_PATTERN = re.compile(r"(t|w|k|in|out|far)\d+")

HELPERS = {
    "table": """static double {0}_table(const double *x, const double *c, int pieces, int terms, double at)
{{
    /* the piece i with x[i] <= at < x[i+1]; the first and the last extend outward */
    int low = 0, high = pieces + 1, i;
    double t, value;
    while (low < high) {{
        const int middle = (low + high) / 2;
        if (at < x[middle])
            high = middle;
        else
            low = middle + 1;
    }}
    i = low - 1 < 0 ? 0 : (low - 1 > pieces - 1 ? pieces - 1 : low - 1);
    t = at - x[i];
    value = c[(terms - 1) * pieces + i];
    for (int k = terms - 2; k >= 0; --k) {{
        value = value * t;
        value = value + c[k * pieces + i];
    }}
    return value;
}}
""",
    "far": """static double {0}_far(double guess)
{{
    return 1e6 * (1.0 + fabs(guess));
}}
""",
    "small": """static int {0}_small(double step, double x, double far, double tolerance)
{{
    const double size = fabs(x);
    return fabs(step) <= tolerance * (1.0 + (size < far ? size : far));
}}
""",
    "next": """static double {0}_next(double x, double step)
{{
    return x + step;
}}
""",
    "below": """static int {0}_below(double value, double limit) /* NaN is neither */
{{
    return fabs(value) <= limit;
}}
""",
    "above": """static int {0}_above(double value, double limit)
{{
    return fabs(value) > limit;
}}
""",
    "no_number": """static void {0}_no_number(double *values, int size)
{{
    for (int k = 0; k < size; ++k)
        values[k] = NAN;
}}
""",
}


def identifier(text: str) -> str:
    """`text` as an identifier of C: M[2,3] becomes M_2_3."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")
    return name if name and not name[0].isdigit() else f"v_{name}".rstrip("_")


class Names:
    """Hands out identifiers, each once."""

    def __init__(self, taken: Iterable[str] = (), prefix: str | None = None) -> None:
        self._used = set(taken)
        self._prefix = prefix

    def unique(self, text: str) -> str:
        base = name = identifier(text)
        count = 1
        while self._refused(name):
            count += 1
            name = f"{base}_{count}"
        self._used.add(name)
        return name

    def _refused(self, name: str) -> bool:
        if name in self._used or name in _TAKEN or _PATTERN.fullmatch(name):
            return True
        # the prefix belongs to functions, and in capitals to macros
        return self._prefix is not None and f"{name}_".lower().startswith(f"{self._prefix}_".lower())


def literal(number: Any) -> str:
    """A number as the double that is nearest to it, exactly; negative ones in parentheses."""
    value = float(number)
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def expression(op: str, args: tuple[Any, ...], name: Callable[[int], str], prefix: str) -> str:
    """The right side for one value with binary operators only where the counter counts; `name(v)` writes operands."""
    if op in ("add", "sub", "mul", "div"):
        a, b = name(args[0]), name(args[1])
        return {"add": f"{a} + {b}", "sub": f"{a} - {b}", "mul": f"{a}*{b}", "div": f"{a}/{b}"}[op]
    if op == "neg":
        return f"-{name(args[0])}"
    if op == "fma":
        a, b, c = (name(v) for v in args[:3])
        return f"fma({'' if args[3] > 0 else '-'}{a}, {b}, {'' if args[4] > 0 else '-'}{c})"
    row = FUNCTIONS.get(op)
    if row is not None and row.c:
        return row.c.format(*(name(v) for v in args), p=prefix)
    raise CompileError(f'the function {op!r} has no C text. Give its row c=..., for example c="{op}({{0}})".')


def function_helpers(prefix: str) -> Iterator[tuple[str, str]]:
    """(name, definition) of the static functions that functions of expressions call, those of more arguments first."""
    for row in sorted(FUNCTIONS.values(), key=lambda row: -row.arity):
        if row.c_helper:
            yield f"{prefix}_{row.name}", row.c_helper.format(p=prefix)


def table_call(index: int, table: Piecewise, x: str, prefix: str) -> str:
    arrays = f"{prefix}_x{index}, {prefix}_c{index}"
    return f"{prefix}_table({arrays}, {len(table.x) - 1}, {len(table.c)}, {x})"


def table_arrays(index: int, table: Piecewise, prefix: str) -> str:
    """Break points and coefficients (row k holds those of power k) as constant arrays."""
    return "".join(
        f"static const double {prefix}_{letter}{index}[{len(numbers)}] = {{\n{_columns(map(literal, numbers))}}};\n"
        for letter, numbers in (("x", table.x), ("c", [c for row in table.c for c in row]))
    )


def _columns(texts: Iterable[str]) -> str:
    items = list(texts)
    return "".join("    " + ", ".join(items[k : k + 6]) + ",\n" for k in range(0, len(items), 6))


def external_definition(external: External, name: str) -> str:
    """A static function with the C text of an external as its body."""
    assert external.c_body is not None
    lines = "".join(f"    {line}\n" if line else "\n" for line in external.c_body.strip().splitlines())
    return f"static void {name}(const double *in, double *out)\n{{\n    (void)in;\n    (void)out;\n{lines}}}\n"


def comment(text: str) -> str:
    """A block comment; what would end it early is broken up."""
    safe = text.replace("*/", "* /").replace("/*", "/ *").rstrip()
    lines = [line.rstrip() for line in safe.splitlines()] or [""]
    return "/* " + "\n * ".join(lines).replace(" * \n", " *\n") + "\n */\n" if len(lines) > 1 else f"/* {lines[0]} */\n"
