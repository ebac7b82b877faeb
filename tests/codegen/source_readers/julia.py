"""Reads and runs programs in Julia, as far as numbers, arrays and functions go.

After the manual: statements end with their line, blocks with `end`; from weak to tight bind -> , || , && , comparisons
(which chain), : , + -, * /, unary -, ^ ; a variable that is first assigned in a loop is local to each pass; functions
of real numbers throw DomainError outside of their domain.
"""

import re
from pathlib import Path

import numpy as np

from codegen.source_readers.machine import Scope, Vector, run

WORDS = (
    "baremodule begin break catch const continue do else elseif end export false finally for function global if import "
    "let local macro module quote return struct true try using while"
)
RESERVED = frozenset(WORDS.split(" "))
TOKEN = re.compile(
    r"(?P<line>\n)|[ \t]+|#[^\n]*|(?P<number>\d+\.\d*([eE][+-]?\d+)?|\d+([eE][+-]?\d+)?)|(?P<text>\"[^\"]*\")"
    r"|(?P<word>[A-Za-z_]\w*!?(?!=))|(?P<sign>->|::|==|!=|<=|>=|&&|\|\||[-+*/^=<>()\[\],:.!])"
)


class DomainError(ValueError):
    pass


def tokens(text):
    place, found, depth = 0, [], 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise SyntaxError(f"not Julia: {text[place : place + 40]!r}")
        word = match[0]
        depth += (word in "([") - (word in ")]") if len(word) == 1 else 0
        if match.lastgroup and not (word == "\n" and depth):
            found.append(word)
        place = match.end()
    return [*found, "\n", ""]


class Reader:
    def __init__(self, text):
        self.words, self.k = tokens(text), 0

    @property
    def now(self):
        return self.words[self.k]

    def take(self, *expected):
        word = self.now
        if expected and word not in expected:
            raise SyntaxError(f"expected {expected}, found {' '.join(self.words[self.k - 6 : self.k + 6])!r}")
        self.k += 1
        return word

    def name(self):
        word = self.take()
        if word in RESERVED or not re.fullmatch(r"[A-Za-z_]\w*!?", word):
            raise SyntaxError(f"{word!r} is no name")
        return word

    def block(self, *ends):
        found = []
        while self.now not in ends:
            if self.now == "\n":
                self.take()
                continue
            found += self.statement()
            if self.now not in ends:
                self.take("\n")
        return found

    def statement(self):
        word = self.now
        if word in ("using", "export"):
            while self.now != "\n":
                self.take()
            return []
        if word == "module":
            self.take()
            self.name()
            body = self.block("end")
            self.take("end")
            return body
        if word == "local":
            self.take()
            name = self.name()
            self.take("::")
            self.take("Float64")
            return [("local", name)]
        if word == "const":
            self.take()
            return self.statement()
        if word == "function":
            self.take()
            name = self.name()
            self.take("(")
            given = [self._named(e) for e in self.listed(")")]
            body = self.block("end")
            self.take("end")
            return [("set", ("name", name), ("function", given, _scoped(body, given)))]
        if word == "for":
            self.take()
            name = self.name()
            self.take("in")
            span = self.expression()
            if span[:2] != ("op", ":"):
                raise SyntaxError(f"a loop over {span}")
            first, *by, last = span[2]
            body = self.block("end")
            self.take("end")
            return [("each", name, first, by[0] if by else ("number", 1), last, body)]
        if word == "while":
            self.take()
            condition, body = self.expression(), self.block("end")
            self.take("end")
            return [("while", condition, body)]
        if word == "if":
            cases = []
            while self.take("if", "elseif", "else") != "else":
                cases.append((self.expression(), self.block("elseif", "else", "end")))
                if self.now == "end":
                    break
            else:
                cases.append((None, self.block("end")))
            self.take("end")
            return [("when", cases)]
        if word == "break":
            self.take()
            return [("break",)]
        if word == "return":
            self.take()
            return [("return", self.expression())]
        left = self.expression()
        if self.now != "=":
            return [("do", left)]
        self.take()
        right = self.expression()
        if left[0] == "call":  # f(a, b) = expression
            return [("set", left[1], ("function", [self._named(a) for a in left[2]], right))]
        if left[0] not in ("name", "item"):
            raise SyntaxError(f"{left} cannot be assigned to")
        return [("set", left, right)]

    def _named(self, e):
        if e[0] != "name":
            raise SyntaxError(f"{e} is no argument")
        return e[1]

    def expression(self, level=0):
        if level == 0:
            left = self.expression(1)
            if self.now != "->":
                return left
            self.take()
            names = left[1] if left[0] == "tuple" else [left]
            return ("function", [self._named(e) for e in names], self.expression())
        signs = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">="), (":",), ("+", "-"), ("*", "/"))
        words = {"||": "or", "&&": "and", "==": "=", "!=": "<>"}
        if level > len(signs):
            return self.signed()
        left, now = self.expression(level + 1), signs[level - 1]
        if now == (":",) and self.now == ":":
            found = [left]
            while self.now == ":":
                self.take()
                found.append(self.expression(level + 1))
            return ("op", ":", found)
        while self.now in now:
            sign = self.take()
            left = ("op", words.get(sign, sign), [left, self.expression(level + 1)])
            if "<" in now and self.now in now:
                raise SyntaxError("a chain of comparisons")
        return left

    def signed(self):
        if self.now in ("-", "!"):
            return ("op", "neg" if self.take() == "-" else "not", [self.signed()])
        base = self.atom()
        if self.now == "^":
            self.take()
            return ("op", "^", [base, self.signed()])
        return base

    def atom(self):
        word = self.now
        if re.match(r"\d", word):
            self.take()
            e = ("number", np.float64(word) if re.search(r"[.eE]", word) else int(word))
            if re.match(r"[A-Za-z_(]", self.now):
                raise SyntaxError(f"{word} beside {self.now} is a product without its sign")
        elif word.startswith('"'):
            self.take()
            parts = re.split(r"\$\(([^)]*)\)", word[1:-1])
            parts = [Reader(t).expression() if k % 2 else ("text", t) for k, t in enumerate(parts)]
            e = ("call", ("name", "string"), parts)
        elif word == "(":
            self.take()
            inner = self.listed(")")
            comma = self.words[self.k - 2] == ","
            if inner and all(e[0] == "field" for e in inner):
                e = ("record", [e[1:] for e in inner])
            else:
                e = ("tuple", inner) if len(inner) != 1 or comma or self.now == "->" else inner[0]
        elif word == "[":
            self.take()
            e = ("list", self.listed("]"))
        else:
            e = ("name", self.name())
        while self.now in ("(", "[", "."):
            sign = self.take()
            if sign == "(":
                e = ("call", e, self.listed(")"))
            elif sign == ".":
                e = ("member", e, self.name())
            else:
                inside = self.listed("]")
                e = ("list", inside) if e == ("name", "Float64") else ("item", e, inside[0])
        return e

    def listed(self, end):
        found = []
        while self.now != end:
            e = self.expression()
            if self.now == "=":
                self.take()
                e = ("field", self._named(e), self.expression())
            found.append(e)
            if self.now != end:
                self.take(",")
        self.take(end)
        return found


def _scoped(body, given):
    """Refuses a function that reads a variable after the loop in which it was first assigned; drops declarations."""
    _reads(body, set(given), set())
    return _without(body)


def _without(body):
    found = []
    for s in body:
        if s[0] == "when":
            s = ("when", [(c, _without(b)) for c, b in s[1]])
        elif s[0] in ("each", "while"):
            s = (*s[:-1], _without(s[-1]))
        if s[0] != "local":
            found.append(s)
    return found


def _reads(body, known, hidden):
    for s in body:
        if s[0] == "local":
            known.add(s[1])
        elif s[0] == "set":
            _names(s[2], known, hidden)
            if s[1][0] == "name":
                known.add(s[1][1])
                hidden.discard(s[1][1])
            else:
                _names(s[1], known, hidden)
        elif s[0] == "when":
            for condition, block in s[1]:
                if condition:
                    _names(condition, known, hidden)
                _reads(block, known, hidden)  # `if` has no scope of its own
        elif s[0] in ("each", "while"):
            inner = set(known) | ({s[1]} if s[0] == "each" else set())
            _reads(s[-1], inner, hidden)
            hidden |= inner - known
        elif s[0] in ("return", "do"):
            _names(s[1], known, hidden)


def _names(e, known, hidden):
    if e[0] == "name" and e[1] in hidden - known:
        raise SyntaxError(f"{e[1]} is local to the loop that made it")
    for part in e[1:]:
        for inner in part if isinstance(part, list) else [part]:
            if isinstance(inner, tuple) and e[0] != "function":
                _names(inner, known, hidden)


def _inside(name, low, high):
    f = getattr(np, name)

    def checked(x):
        if x < low or x > high or (np.isinf(x) and name in ("sin", "cos", "tan")):
            raise DomainError(f"{name}({x})")
        return f(np.float64(x))

    return checked


def _number(x):
    return np.float64(x)


def run_julia(path):
    """Runs a file; what it prints."""
    printed, scope, inf = [], Scope(), np.inf

    def fail(text):
        raise ValueError(text)

    bounds = {
        "sin": (-inf, inf), "cos": (-inf, inf), "tan": (-inf, inf), "sqrt": (0, inf), "log": (0, inf),
        "arcsin": (-1, 1), "arccos": (-1, 1), "arccosh": (1, inf), "arctanh": (-1, 1), "exp": (-inf, inf),
        "sinh": (-inf, inf), "cosh": (-inf, inf), "tanh": (-inf, inf), "arcsinh": (-inf, inf),
    }  # fmt: skip
    scope.update({n.replace("arc", "a"): _inside(n, *b) for n, b in bounds.items()})
    scope.update({
        "abs": np.abs, "min": np.minimum, "max": np.maximum, "hypot": np.hypot, "floor": np.floor, "ceil": np.ceil,
        "atan": lambda a, b=None: np.arctan(a) if b is None else np.arctan2(a, b), "rem": np.fmod,
        "trunc": np.trunc, "copysign": np.copysign, "div": lambda a, b: a // b, "ifelse": lambda c, a, b: a if c else b,
        "isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan, "Float64": _number, "Int": int, "NaN": np.nan,
        "Inf": inf, "nothing": None, "zeros": lambda *a: Vector([0 if a[0] is int else np.float64(0)] * a[-1]),
        "string": lambda *parts: "".join(map(str, parts)),
        "println": lambda text: printed.append(text + "\n"), "error": fail,
        "include": lambda name: run(Reader((path.parent / name).read_text()).block(""), scope),
    })  # fmt: skip
    run(Reader(Path(path).read_text()).block(""), scope)
    return "".join(printed)
