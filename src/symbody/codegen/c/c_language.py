"""C99 as a language of the printer: words, literals, helpers and forms, in double or single precision."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from symbody.basics.errors import DefinitionError
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import Argument, EmittedModule
from symbody.symbolic.expr.external import External, Piecewise

# identifiers that values may not take: keywords of C and C++, and what math.h declares
TAKEN = frozenset((
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
    "try", "catch", "throw", "and", "or", "not", "xor", "explicit", "export", "mutable", "typeid", "constexpr",
    "nullptr", "noexcept", "decltype", "wchar_t", "concept", "requires", "co_await", "co_return", "co_yield",
    "NULL", "HUGE_VAL", "errno", "I", "unix", "linux", "M_E", "M_PI", "M_LN2", "M_LN10", "M_LOG2E", "M_LOG10E",
    "M_PI_2", "M_PI_4", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_SQRT2", "M_SQRT1_2", "DOMAIN", "SING",
    "OVERFLOW", "UNDERFLOW", "an", "sn", "cs", "rint",
))  # fmt: skip

LIBM = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "erf", "erfc",
    "exp", "fabs", "floor", "fma", "fmod", "hypot", "log", "pow", "rint", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip

# x = m pi/2 + r with |r| <= pi/4: pi/2 in pieces of 33 bits, whose products with m are exact (Cody and Waite, Software
# Manual for the Elementary Functions, 1980, ch. 8), then the polynomials of fdlibm. gcc makes vectors of it for
# AVX-512, and with -fno-trapping-math for AVX2.
SINCOS = {
    "sincos": """static void {0}_sincos(int n, const double *restrict x, double *restrict s, double *restrict c)
{{
    int far = 0;
    for (int k = 0; k < n; ++k)
        far |= {0}_turn(x[k], s + k, c + k);
    for (int k = 0; far && k < n; ++k)
        if (!(fabs(x[k]) < 1e5)) {{
            s[k] = sin(x[k]);
            c[k] = cos(x[k]);
        }}
}}
""",
    "turn": """/* sine and cosine of x = m*pi/2 + r; 1 where x is too large for this */
static inline int {0}_turn(double x, double *s, double *c)
{{
    const int far = !(fabs(x) < 1e5);
    const double m = rint(0.6366197723675814*x);
    const double r = x - m*1.5707963267341256 - m*6.077100506303966e-11 - m*2.0222662487959506e-21, z = r*r, y = z*z;
    const double p = -0.16666666666666632 + z*0.00833333333332249
        + y*(-0.0001984126982985795 + z*2.7557313707070068e-06 + y*(-2.5050760253406863e-08 + z*1.58969099521155e-10));
    const double q = 0.0416666666666666 - z*0.001388888888887411
        + y*(2.480158728947673e-05 - z*2.7557314351390663e-07 + y*(2.087572321298175e-09 - z*1.1359647557788195e-11));
    const double sr = r + r*z*p, cr = 1.0 - 0.5*z + y*q;
    const int j = (int)(far ? 0.0 : m);
    const double u = j & 1 ? cr : sr, v = j & 1 ? sr : cr;
    *s = j & 2 ? -u : u;
    *c = (j + 1) & 2 ? -v : v;
    return far;
}}
""",
}
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


def literal(number: Any) -> str:
    """A number as the double that is nearest to it, exactly; negative ones in parentheses."""
    return _special(float(number)) or _signed(repr(float(number)))


def single_literal(number: Any) -> str:
    """A number as the float that is nearest to it."""
    import numpy as np

    value = float(np.float32(number))
    text = str(np.float32(value))
    return _special(value) or _signed(text + ("" if "." in text or "e" in text else ".0") + "f")


def _special(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    return "" if math.isfinite(value) else "INFINITY" if value > 0 else "(-INFINITY)"


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def comment(text: str) -> str:
    """A block comment; what would end it early is broken up."""
    safe = text.replace("*/", "* /").replace("/*", "/ *").rstrip()
    lines = [line.rstrip() for line in safe.splitlines()] or [""]
    return "/* " + "\n * ".join(lines).replace(" * \n", " *\n") + "\n */\n" if len(lines) > 1 else f"/* {lines[0]} */\n"


_WORDS = re.compile(rf"\b({'|'.join(LIBM)})\(")
_NUMBERS = re.compile(r"(?<![\w.])(\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])")


def to_single(text: str) -> str:
    """C text for doubles as text for floats: types, literals and functions of the library."""
    text = re.sub(r"\bdouble\b", "float", text)
    return _NUMBERS.sub(r"\1f", _WORDS.sub(r"\1f(", text))


def table_call(index: int, table: Piecewise, x: str, prefix: str) -> str:
    return f"{prefix}table({prefix}x{index}, {prefix}c{index}, {len(table.x) - 1}, {len(table.c)}, {x})"


def table_arrays(index: int, table: Piecewise, prefix: str, language: Language, kind: str) -> str:
    """Break points and coefficients (row k holds those of power k) as constant arrays."""
    return "".join(
        f"static const {kind} {prefix}{letter}{index}[{len(numbers)}] = {{\n"
        f"{columns(map(language.literal, numbers))}}};\n"
        for letter, numbers in (("x", table.x), ("c", [c for row in table.c for c in row]))
    )


def columns(texts: Iterable[str], indent: str = "    ", end: str = ",\n", number: int = 6) -> str:
    """Numbers in lines of a few; between commas a sign needs no parentheses."""
    items = [text.strip("()") for text in texts]
    return "".join(indent + ", ".join(items[k : k + number]) + end for k in range(0, len(items), number))


def external_definition(external: External, name: str) -> str:
    """A static function with the C text of an external as its body."""
    assert external.c_body is not None
    lines = "".join(f"    {line}\n" if line else "\n" for line in external.c_body.strip().splitlines())
    return f"static void {name}(const double *in, double *out)\n{{\n    (void)in;\n    (void)out;\n{lines}}}\n"


def kind_of(argument: Argument, real: str, name: str) -> str:
    """The C type that a pointer argument points to."""
    if argument.role == "externals":
        return f"const {name}_externals"
    kind = "int" if argument.role == "status" else real
    return kind if argument.written else f"const {kind}"


def c_frame(real: str, restrict: str = "restrict ") -> Callable[[FunctionText, EmittedModule], str]:
    """A part as a static function."""

    def frame(function: FunctionText, module: EmittedModule) -> str:
        kinds = [(kind_of(a, real, module.name), a.name) for a in function.arguments]
        declared = ", ".join(f"{kind} *{restrict}{name}" for kind, name in kinds) or "void"
        text = f"static void {function.name}({declared})\n{{\n" + "\n".join(function.lines) + "\n}\n"
        if function.block:  # a part of a loop: its operations are counted with the iteration
            text = f"{comment(f'solve {function.block}')}{text}{comment(f'end of solve {function.block}')}"
        return text

    return frame


C = Language(
    functions="c",
    taken=TAKEN,
    literal=literal,
    define="const double {0} = {1};",
    variable="double {0} = {1};",
    assign="{0} = {1};",
    early="double {0};",
    remark="/* {0} */",
    unused="(void){0};",
    idle="(void){0};",
    fused="fma({0}, {1}, {2})",
    loop=("for (int {k} = 1;; ++{k}) {{",),
    negate="!{0}",
    finite="isfinite({0})",
    array="double {0}[{1}];",
    given="const double {0}[{1}] = {{{2}}};",
    extern="{0}({1}, {2});",
    table=table_call,
    angles=("const double an[{n}] = {{{list}}};", "double sn[{n}], cs[{n}];", "{p}sincos({n}, an, sn, cs);"),
    frame=c_frame("double"),
)
SINGLE = replace(
    C,
    literal=single_literal,
    define="const float {0} = {1};",
    variable="float {0} = {1};",
    early="float {0};",
    fused="fmaf({0}, {1}, {2})",
    array="double {0}[{1}];",
    tolerance=4e-6,
    angles=(),
    adapt=to_single,
    frame=c_frame("float"),
)
REALS = {"double": "double", "single": "float"}


def c_language(precision: str, own_trig: bool = True) -> Language:
    """own_trig: sines and cosines of several angles by the text's own function, not by those of the library."""
    check_precision(precision)
    found = C if precision == "double" else SINGLE
    return found if own_trig else replace(found, angles=())


def check_precision(precision: str, able: Iterable[str] = ("double", "single"), target: str = "") -> None:
    """Refuse what a target does not write, before any work."""
    if precision not in (known := list(able)):
        whose = f"target {target!r} writes " if target else "expected "
        raise DefinitionError(f"precision is {precision!r}; {whose}{' or '.join(known)}.")
