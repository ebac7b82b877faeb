"""Texts of the functions in the languages of source targets, beside C: columns `texts` and `helpers` of their rows.

"{0}", "{1}", ... are arguments, "{p}" the prefix of the emitted module, "{m}" the module of array functions. A helper
is a function {p}_<name> that is written only where it is called; its braces are doubled. Numbers are written "0.0" and
"1.0": a target of another precision adapts them. All give what the interpreter gives, for NaN and infinities too.
"""

from __future__ import annotations

# functions that every language has: name -> name among array functions, where it is another one
_PLAIN = {
    "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "abs": "abs", "sqrt": "sqrt",
}  # fmt: skip
_MAPLE = {"log": "ln", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
          "atanh": "arctanh"}  # fmt: skip

# where Julia throws and others give NaN: what its argument is made of
_JULIA = {
    "sin": "isinf(a)", "cos": "isinf(a)", "tan": "isinf(a)", "log": "a < 0.0", "sqrt": "a < 0.0",
    "asin": "abs(a) > 1.0", "acos": "abs(a) > 1.0", "acosh": "a < 1.0", "atanh": "abs(a) > 1.0",
}  # fmt: skip


def _plain(name: str, array: str) -> dict[str, str]:
    return {
        "fortran": f"{name}({{0}})",
        "array": f"{{m}}.{array}({{0}})",
        "matlab": f"{name}({{0}})",
        "rust": f"{'fabs' if name == 'abs' else name}({{0}})",
        "javascript": f"Math.{name}({{0}})",
        "maple": f"{_MAPLE.get(name, name)}({{0}})",
        "julia": f"{'{p}_' if name in _JULIA else ''}{name}({{0}})",
    }


def _helped(name: str, arity: int, *but: str) -> dict[str, str]:
    """Languages in which a helper function is called."""
    given = ", ".join(f"{{{k}}}" for k in range(arity))
    languages = ("fortran", "array", "matlab", "rust", "javascript", "maple", "julia")
    return {language: f"{{p}}_{name}({given})" for language in languages if language not in but}


def _comparison(name: str, sign: str, fortran: str, matlab: str = "", script: str = "", maple: str = "") -> None:
    TEXTS[name] = {
        "fortran": f"{{p}}_{name}({{0}}, {{1}})",
        "array": f"(1.0*({{0}} {sign} {{1}}))",
        "matlab": f"double({{0}} {matlab or sign} {{1}})",
        "rust": f"f64::from({{0}} {sign} {{1}})",
        "javascript": f"Number({{0}} {script or sign} {{1}})",
        "maple": f"{{p}}_{name}({{0}}, {{1}})",
        "julia": f"Float64({{0}} {sign} {{1}})",
    }
    HELPERS[name] = {
        "fortran": _fortran(name, "a, b", f"r = 0.0\nif ({fortran}) r = 1.0"),
        "maple": _maple(name, "a, b", f"a {maple or sign} b", "1.0", "0.0"),
    }


def _fortran(name: str, arguments: str, lines: str, more: str = "") -> str:
    """Statements that set r, of numbers a, b, c; a target puts them into the form of its functions."""
    return "\n".join(["{p}_" + name + "|" + arguments + "|" + more, lines])


def _maple(name: str, arguments: str, *choice: str) -> str:
    """A value; or a condition, what holds where it does, and what else."""
    if len(choice) == 1:
        return f"{{p}}_{name} := proc({arguments}) return {choice[0]}; end proc:\n"
    condition, yes, no = choice
    lines = [f"  if {condition} then", f"    return {yes};", "  end if;", f"  return {no};", "end proc:", ""]
    return f"{{p}}_{name} := proc({arguments})\n" + "\n".join(lines)


def _julia(name: str, arguments: str, expression: str) -> str:
    return f"{{p}}_{name}({arguments}) = {expression}\n"


def _array(name: str, arguments: str, *lines: str) -> str:
    return f"def {{p}}_{name}({arguments}):\n" + "".join(f"    {line}\n" for line in lines)


def _matlab(name: str, arguments: str, *lines: str) -> str:
    return f"function r = {{p}}_{name}({arguments})\n" + "".join(f"  {line}\n" for line in lines) + "end\n"


def _rust(name: str, arguments: str, *lines: str) -> str:
    given = ", ".join(f"{a}: f64" for a in arguments.split(", "))
    return f"fn {{p}}_{name}({given}) -> f64 {{{{\n" + "".join(f"    {line}\n" for line in lines) + "}}\n"


def _script(name: str, arguments: str, *lines: str) -> str:
    return f"function {{p}}_{name}({arguments}) {{{{\n" + "".join(f"  {line}\n" for line in lines) + "}}\n"


TEXTS: dict[str, dict[str, str]] = {name: _plain(name, array) for name, array in _PLAIN.items()}
HELPERS: dict[str, dict[str, str]] = {}

# in Fortran numbers are not compared by .eq. and .ne., which compilers warn of
_comparison("lt", "<", "a .lt. b")
_comparison("le", "<=", "a .le. b")
_comparison("eq", "==", "a .le. b .and. a .ge. b", script="===", maple="=")
_comparison("ne", "!=", ".not. (a .le. b .and. a .ge. b)", matlab="~=", script="!==", maple="<>")

TEXTS["and"] = {
    **_helped("and", 2),
    "array": "((1.0*({0} != 0.0))*({1} != 0.0))",
    "matlab": "double({0} ~= 0 && {1} ~= 0)",
    "rust": "f64::from({0} != 0.0 && {1} != 0.0)",
    "javascript": "Number({0} !== 0 && {1} !== 0)",
    "julia": "Float64({0} != 0.0 && {1} != 0.0)",
}
TEXTS["or"] = {
    **_helped("or", 2),
    "array": "(1.0*((1.0*({0} != 0.0) + ({1} != 0.0)) > 0.0))",
    "matlab": "double({0} ~= 0 || {1} ~= 0)",
    "rust": "f64::from({0} != 0.0 || {1} != 0.0)",
    "javascript": "Number({0} !== 0 || {1} !== 0)",
    "julia": "Float64({0} != 0.0 || {1} != 0.0)",
}
TEXTS["not"] = {
    **_helped("not", 1),
    "array": "(1.0*({0} == 0.0))",
    "matlab": "double({0} == 0)",
    "rust": "f64::from({0} == 0.0)",
    "javascript": "Number({0} === 0)",
    "julia": "Float64({0} == 0.0)",
}
TEXTS["select"] = {
    **_helped("select", 3),
    "array": "{m}.where({0} != 0.0, {1}, {2})",
    "rust": "if {0} != 0.0 {{ {1} }} else {{ {2} }}",
    "javascript": "({0} !== 0 ? {1} : {2})",
    "julia": "ifelse({0} != 0.0, {1}, {2})",
}
HELPERS["and"] = {
    "fortran": _fortran("and", "a, b", "r = 0.0\nif (.not. (abs(a) .le. 0.0 .or. abs(b) .le. 0.0)) r = 1.0"),
    "maple": _maple("and", "a, b", "a <> 0.0 and b <> 0.0", "1.0", "0.0"),
}
HELPERS["or"] = {
    "fortran": _fortran("or", "a, b", "r = 0.0\nif (.not. (abs(a) .le. 0.0 .and. abs(b) .le. 0.0)) r = 1.0"),
    "maple": _maple("or", "a, b", "a <> 0.0 or b <> 0.0", "1.0", "0.0"),
}
HELPERS["not"] = {
    "fortran": _fortran("not", "a", "r = 0.0\nif (abs(a) .le. 0.0) r = 1.0"),
    "maple": _maple("not", "a", "a = 0.0", "1.0", "0.0"),
}
HELPERS["select"] = {
    "fortran": _fortran("select", "a, b, c", "r = c\nif (.not. (abs(a) .le. 0.0)) r = b"),
    "matlab": _matlab("select", "c, a, b", "r = b;", "if c ~= 0", "  r = a;", "end"),
    "maple": _maple("select", "c, a, b", "c <> 0.0", "a", "b"),
}

for _name, _sign, _dot in (("min", "<", ".lt."), ("max", ">", ".gt.")):
    TEXTS[_name] = _helped(_name, 2)
    HELPERS[_name] = {
        "fortran": _fortran(_name, "a, b", f"r = b\nif (a {_dot} b .or. .not. (a .le. a)) r = a"),
        "array": _array(_name, "a, b", f"return {{m}}.where((1.0*(a {_sign} b) + (a != a)) > 0.0, a, b)"),
        "matlab": _matlab(_name, "a, b", "r = b;", f"if a {_sign} b || a ~= a", "  r = a;", "end"),
        "rust": _rust(_name, "a, b", f"if a {_sign} b || a.is_nan() {{{{ a }}}} else {{{{ b }}}}"),
        "javascript": _script(_name, "a, b", f"return a {_sign} b || a !== a ? a : b;"),
        "maple": _maple(_name, "a, b", f"a {_sign} b or type(a, undefined)", "a", "b"),
        "julia": _julia(_name, "a, b", f"ifelse(a {_sign} b || isnan(a), a, b)"),
    }

TEXTS["sign"] = _helped("sign", 1)
HELPERS["sign"] = {
    "fortran": _fortran("sign", "a", "r = a\nif (a .gt. 0.0) r = 1.0\nif (a .lt. 0.0) r = -1.0"),
    "array": _array("sign", "a", "return {m}.where(a > 0.0, 1.0, {m}.where(a < 0.0, -1.0, a))"),
    "matlab": _matlab("sign", "a", "r = a;", "if a > 0", "  r = 1;", "elseif a < 0", "  r = -1;", "end"),
    "rust": _rust(
        "sign", "a",
        "if a > 0.0 {{", "    1.0", "}} else if a < 0.0 {{", "    -1.0", "}} else {{", "    a", "}}",
    ),
    "javascript": _script("sign", "a", "return a > 0 ? 1 : (a < 0 ? -1 : a);"),
    "maple": _maple("sign", "a", "a <> 0.0 and not type(a, undefined)", "a/abs(a)", "a"),
    "julia": _julia("sign", "a", "ifelse(a > 0.0, 1.0, ifelse(a < 0.0, -1.0, a))"),
}  # fmt: skip

TEXTS["floor"] = {**_plain("floor", "floor"), "fortran": "{p}_floor({0})", "maple": "floor({0})"}
HELPERS["floor"] = {"fortran": _fortran("floor", "a", "r = aint(a)\nif (r .gt. a) r = r - 1.0")}
TEXTS["ceil"] = {**_plain("ceil", "ceil"), "fortran": "{p}_ceil({0})", "maple": "ceil({0})"}
HELPERS["ceil"] = {"fortran": _fortran("ceil", "a", "r = aint(a)\nif (r .lt. a) r = r + 1.0")}

TEXTS["atan2"] = {
    "fortran": "atan2({0}, {1})", "array": "{m}.arctan2({0}, {1})", "matlab": "atan2({0}, {1})",
    "rust": "atan2({0}, {1})", "javascript": "Math.atan2({0}, {1})", "maple": "arctan({0}, {1})",
    "julia": "atan({0}, {1})",
}  # fmt: skip
TEXTS["pow"] = {
    "fortran": "{0}**{1}", "array": "{0}**{1}", "matlab": "{0}^{1}", "rust": "pow({0}, {1})",
    "javascript": "Math.pow({0}, {1})", "maple": "{0}^{1}",
    "julia": "{p}_pow({0}, {1})",
}  # fmt: skip
TEXTS["hypot"] = {
    "fortran": "hypot({0}, {1})", "array": "{m}.hypot({0}, {1})", "matlab": "hypot({0}, {1})",
    "rust": "hypot({0}, {1})", "javascript": "Math.hypot({0}, {1})", "maple": "{p}_hypot({0}, {1})",
    "julia": "hypot({0}, {1})",
}  # fmt: skip
# Julia refuses a negative base where the exponent is not whole
HELPERS["pow"] = {"julia": _julia("pow", "a, b", "ifelse(a < 0.0 && b != trunc(b), ifelse(a == -Inf, Inf, NaN), a)^b")}
HELPERS["hypot"] = {"maple": _maple("hypot", "a, b", "sqrt(a*a + b*b)")}

TEXTS["mod"] = _helped("mod", 2)
HELPERS["mod"] = {
    "fortran": _fortran(
        "mod", "a, b",
        "r = mod(a, b)\nif (abs(r) .le. 0.0) then\n   r = sign(0.0, b)\n"
        "else if ((r .lt. 0.0) .neqv. (b .lt. 0.0)) then\n   r = r + b\nend if",
    ),
    "array": _array(
        "mod", "a, b",
        "r = {m}.fmod(a, b)",
        "r = {m}.where(1.0*(r < 0.0) != 1.0*(b < 0.0), {m}.where(r != 0.0, r + b, r), r)",
        "return {m}.where(r == 0.0, {m}.where(b < 0.0, -0.0, 0.0), r)",
    ),
    "matlab": _matlab(
        "mod", "a, b",
        "r = rem(a, b);", "if isinf(b) && ~isinf(a)", "  r = a;", "end", "if r == 0", "  r = 0;",
        "elseif (r < 0) ~= (b < 0)", "  r = r + b;", "end",
    ),
    "rust": _rust(
        "mod", "a, b",
        "let r = a % b;", "if r == 0.0 {{", "    if b < 0.0 {{ -0.0 }} else {{ 0.0 }}",
        "}} else if (r < 0.0) != (b < 0.0) {{", "    r + b", "}} else {{", "    r", "}}",
    ),
    "javascript": _script(
        "mod", "a, b",
        "const r = a % b;", "if (r === 0) {{", "  return b < 0 ? -0 : 0;", "}}",
        "return (r < 0) !== (b < 0) ? r + b : r;",
    ),
    "maple": _maple("mod", "a, b", "a - b*floor(a/b)"),
    "julia": "function {p}_mod(a, b)\n    r = rem(a, b)\n    if r == 0.0\n        return copysign(0.0, b)\n    end\n"
    "    return ifelse((r < 0.0) != (b < 0.0), r + b, r)\nend\n",
}  # fmt: skip

for _name, _condition in _JULIA.items():
    HELPERS.setdefault(_name, {})["julia"] = _julia(_name, "a", f"{_name}(ifelse({_condition}, NaN, a))")
