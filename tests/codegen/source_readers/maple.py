"""Reads and runs programs in the language of Maple, as far as numbers, Vectors and procedures go.

After the Programming Guide: reserved words, statements end by ; or :, comments begin with #, `not` binds weaker than
relations and stronger than `and`, ^ is not associative, locals of a procedure are declared.
"""

import re
from pathlib import Path

import numpy as np

from codegen.source_readers.machine import Scope, Vector, run

WORDS = (
    "and assuming break by catch description do done elif else end error export fi finally for from global if implies "
    "in intersect local minus mod module next not od option options or proc quit read return save stop subset then to "
    "try union use uses while xor"
)
RESERVED = frozenset(WORDS.split(" "))
TOKEN = re.compile(
    r'\s+|#[^\n]*|(?P<number>(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)|(?P<text>"[^"]*")|(?P<word>[A-Za-z_]\w*)'
    r"|(?P<sign>:=|<=|>=|<>|[-+*/^=<>()\[\],;:])"
)


def tokens(text):
    place, found = 0, []
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise SyntaxError(f"not Maple: {text[place : place + 40]!r}")
        if match.lastgroup:
            found.append(match[0])
        place = match.end()
    return [*found, ""]


class Reader:
    def __init__(self, text):
        self.words, self.k = tokens(text), 0

    @property
    def now(self):
        return self.words[self.k]

    def take(self, *expected):
        word = self.now
        if expected and word not in expected:
            raise SyntaxError(f"expected {expected}, found {' '.join(self.words[self.k - 5 : self.k + 5])!r}")
        self.k += 1
        return word

    def name(self):
        word = self.take()
        if word in RESERVED or not re.fullmatch(r"[A-Za-z_]\w*", word):
            raise SyntaxError(f"{word!r} is no name")
        return word

    def block(self, *ends):
        found = []
        while self.now not in ends:
            if self.now in (";", ":"):
                self.take()
                continue
            found.append(self.statement())
            if self.now not in ends:
                self.take(";", ":")
        return found

    def statement(self):
        word = self.now
        if word == "if":
            return self.choice()
        if word in ("for", "while"):
            return self.loop()
        if word == "break":
            self.take()
            return ("break",)
        if word == "return":
            self.take()
            return ("return", None if self.now in (";", ":") else self.expression())
        if word == "error":
            self.take()
            given = [self.expression()]
            while self.now == ",":
                self.take()
                given.append(self.expression())
            return ("do", ("call", ("name", "error"), given))
        if word == "read":
            self.take()
            return ("do", ("call", ("name", "read"), [self.expression()]))
        left = self.expression()
        if self.now != ":=":
            return ("do", left)
        self.take()
        if left[0] not in ("name", "item"):
            raise SyntaxError(f"{left} cannot be assigned to")
        return ("set", left, self.expression())

    def choice(self):
        self.take("if")
        cases = []
        while True:
            condition = self.expression()
            self.take("then")
            cases.append((condition, self.block("elif", "else", "end")))
            if self.take() == "elif":
                continue
            if self.words[self.k - 1] == "else":
                cases.append((None, self.block("end")))
                self.take("end")
            self.take("if")
            return ("when", cases)

    def loop(self):
        name, first, by, last, condition = "", ("number", 1), ("number", 1), None, None
        while self.now != "do":
            word = self.take("for", "from", "by", "to", "while")
            if word == "for":
                name = self.name()
            elif word == "from":
                first = self.expression()
            elif word == "by":
                by = self.expression()
            elif word == "to":
                last = self.expression()
            else:
                condition = self.expression()
        self.take("do")
        body = self.block("end")
        self.take("end")
        self.take("do")
        return ("while", condition, body) if condition else ("each", name, first, by, last, body)

    def expression(self, level=0):
        levels = (("or",), ("and",), ("not",), ("=", "<>", "<", "<=", ">", ">="), ("+", "-"), ("*", "/"), ("^",))
        if level == len(levels):
            return self.atom()
        signs = levels[level]
        if signs == ("not",):
            if self.now == "not":
                self.take()
                return ("op", "not", [self.expression(level)])
            return self.expression(level + 1)
        if "+" in signs and self.now in ("-", "+"):
            sign, inner = self.take(), self.expression(level + 1)
            left = ("op", "neg", [inner]) if sign == "-" else inner
        else:
            left = self.expression(level + 1)
        while self.now in signs:
            sign = self.take()
            left = ("op", sign, [left, self.expression(level + 1)])
            if sign == "^" and self.now == "^":
                raise SyntaxError("^ is not associative")
        return left

    def atom(self):
        word = self.now
        if re.match(r"[\d.]", word):
            self.take()
            e = ("number", np.float64(word) if re.search(r"[.eE]", word) else int(word))
        elif word.startswith('"'):
            self.take()
            e = ("text", word[1:-1])
        elif word == "(":
            self.take()
            e = self.expression()
            self.take(")")
        elif word == "[":
            self.take()
            e = ("list", self.listed("]"))
        elif word == "proc":
            e = self.procedure()
        else:
            e = ("name", self.name())
        while self.now in ("(", "["):
            if self.take() == "(":
                e = ("call", e, self.listed(")"))
            else:
                e = ("item", e, self.expression())
                self.take("]")
        return e

    def listed(self, end):
        found = []
        while self.now != end:
            found.append(self.expression())
            if self.now != end:
                self.take(",")
        self.take(end)
        return found

    def procedure(self):
        self.take("proc")
        self.take("(")
        names = []
        while self.now != ")":
            names.append(self.name())
            if self.now != ")":
                self.take(",")
        self.take(")")
        declared = {"local": [], "global": []}
        while self.now in declared:
            kind = self.take()
            declared[kind].append(self.name())
            while self.now == ",":
                self.take()
                declared[kind].append(self.name())
            self.take(";")
        body = self.block("end")
        self.take("end")
        self.take("proc")
        if len(set(names + declared["local"])) != len(names + declared["local"]):
            raise SyntaxError(f"a name is declared twice: {names}, {declared['local']}")
        for target in _written(body):
            if target not in declared["local"] + declared["global"]:
                raise SyntaxError(f"{target} is assigned and not declared")
        return ("function", names, body, declared["global"])


def _written(body):
    for s in body:
        if s[0] == "set" and s[1][0] == "name":
            yield s[1][1]
        elif s[0] == "when":
            for _, block in s[1]:
                yield from _written(block)
        elif s[0] in ("each", "while"):
            if s[0] == "each":
                yield s[1]
            yield from _written(s[-1])


def run_maple(path):
    """Runs a file; what it prints."""
    printed = []
    arcs = {"arc" + n: getattr(np, "arc" + n) for n in ("sin", "cos", "sinh", "cosh", "tanh")}
    plain = {n: getattr(np, n) for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "sqrt", "floor", "ceil")}
    scope = Scope()

    def fail(text, *values):
        raise ValueError(text.replace("%1", str(values[0])))

    scope.update(
        plain | arcs | {
            "ln": np.log, "abs": np.abs, "min": min, "max": max,
            "arctan": lambda a, b=None: np.arctan(a) if b is None else np.arctan2(a, b),
            "Vector": lambda n: Vector([0] * n), "table": dict, "NULL": None, "infinity": np.inf,
            "undefined": np.nan, "Float": np.float64, "type": lambda x, kind: bool(np.isnan(x)),
            "printf": lambda form, *v: printed.append(form.replace("\\n", "\n") % v), "error": fail,
            "read": lambda name: run(Reader((path.parent / name).read_text()).block(""), scope),
        }
    )  # fmt: skip
    run(Reader(Path(path).read_text()).block(""), scope)
    return "".join(printed)
