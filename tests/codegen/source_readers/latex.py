r"""Reads a LaTeX document of equations and computes with it: displays are assignments in order, `quote` iterates.

Formulas are read as a person reads them: \, is a product, \frac a quotient, \left( \right) parentheses, \begin{cases}
a choice; a name is a letter or word, perhaps with a dot and an index.
"""

import re

import numpy as np

from codegen.source_readers.machine import Scope, evaluate

TOKEN = re.compile(
    r"\s+|(?P<number>\d+(\.\d+)?( \\cdot 10\^\{-?\d+\})?)|(?P<command>\\left\\[a-z]+|\\left.|\\right\\[a-z]+|\\right."
    r"|\\[A-Za-z]+|\\\\|\\,|\\.)|(?P<sign>[-+=<>^_{}&,()])|(?P<letter>[A-Za-z])"
)
FUNCTIONS = {
    r"\sin": np.sin, r"\cos": np.cos, r"\tan": np.tan, r"\arcsin": np.arcsin, r"\arccos": np.arccos,
    r"\arctan": np.arctan, r"\sinh": np.sinh, r"\cosh": np.cosh, r"\tanh": np.tanh, r"\ln": np.log, r"\min": np.minimum,
    r"\max": np.maximum, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "sign": np.sign,
    "atan2": np.arctan2, "hypot": np.hypot,
}  # fmt: skip
FENCES = {r"\left(": (r"\right)", lambda x: x), r"\left|": (r"\right|", abs),
          r"\left\lfloor": (r"\right\rfloor", np.floor), r"\left\lceil": (r"\right\rceil", np.ceil)}  # fmt: skip
RELATIONS = {"<": "<", ">": ">", r"\le": "<=", "=": "=", r"\ne": "<>"}


def call(f, *given):
    return ("call", ("number", f), list(given))


def truth(e):
    return call(np.float64, e)


class Formula:
    """One formula; `names` maps the name of a function in \\operatorname and its index to a Python function."""

    def __init__(self, text, functions):
        self.text, self.functions, self.k, self.words, self.places = text, functions, 0, [], []
        place = 0
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None:
                raise SyntaxError(f"not a formula: {text[place : place + 40]!r}")
            if match.lastgroup:
                self.words.append(match[0])
                self.places.append(place)
            place = match.end()
        self.words.append("")
        self.places.append(len(text))

    @property
    def now(self):
        return self.words[self.k]

    def take(self, *expected):
        word = self.now
        if expected and word not in expected:
            raise SyntaxError(f"expected {expected}: {self.text[self.places[self.k] :][:60]!r} in {self.text[:100]!r}")
        self.k += 1
        return word

    def whole(self):
        e = self.expression()
        self.take("")
        return e

    def expression(self):
        left = self.both()
        while self.now == r"\lor":
            self.take()
            left = truth(("op", "or", [nonzero(left), nonzero(self.both())]))
        return left

    def both(self):
        left = self.negated()
        while self.now == r"\land":
            self.take()
            left = truth(("op", "and", [nonzero(left), nonzero(self.negated())]))
        return left

    def negated(self):
        if self.now == r"\lnot":
            self.take()
            return truth(("op", "not", [nonzero(self.negated())]))
        left = self.sum()
        if self.now in RELATIONS:
            return truth(("op", RELATIONS[self.take()], [left, self.sum()]))
        return left

    def sum(self):
        if self.now == "-":
            self.take()
            left = ("op", "neg", [self.product()])
        else:
            left = self.product()
        while self.now in ("+", "-"):
            left = ("op", self.take(), [left, self.product()])
        return left

    def product(self):
        left = self.power()
        while self.now in (r"\,", r"\bmod"):
            sign = self.take()
            right = self.power()
            left = ("op", "*", [left, right]) if sign == r"\," else call(np.mod, left, right)
        return left

    def power(self):
        base = self.atom()
        if self.now == "^":
            self.take()
            exponent = self.braced()
            return call(np.exp, exponent) if base == ("name", "e") else ("op", "^", [base, exponent])
        return base

    def braced(self):
        self.take("{")
        e = self.expression()
        self.take("}")
        return e

    def raw(self):
        """What stands between braces, as text."""
        start, depth = self.places[self.k], 0
        while True:
            word = self.take()
            depth += (word == "{") - (word == "}")
            if not depth:
                return self.text[start + 1 : self.places[self.k - 1]]

    def listed(self):
        self.take(r"\left(")
        found = []
        while self.now != r"\right)":
            found.append(self.expression())
            if self.now != r"\right)":
                self.take(",")
        self.take(r"\right)")
        return found

    def atom(self):
        word = self.take()
        if word[:1].isdigit():
            return ("number", np.float64(word.replace(r" \cdot 10^{", "e").rstrip("}")))
        if word in FENCES:
            end, f = FENCES[word]
            e = self.expression()
            self.take(end)
            return e if end == r"\right)" else call(f, e)
        if word == r"\frac":
            return ("op", "/", [self.braced(), self.braced()])
        if word == r"\sqrt":
            return call(np.sqrt, self.braced())
        if word == r"\infty":
            return ("number", np.inf)
        if word == r"\begin":
            return self.cases()
        if word in FUNCTIONS:
            return call(FUNCTIONS[word], *self.listed())
        if word == r"\operatorname":
            name, index = self.raw(), ""
            if self.now == "_":
                self.take()
                index = self.raw()
            known = FUNCTIONS.get(name) or (lambda *given: self.functions[name, index](*given))
            return call(known, *self.listed())
        return self.name()

    def name(self):
        """The word before, and its index."""
        start, word = self.places[self.k - 1], self.words[self.k - 1]
        if not re.fullmatch(r"[A-Za-z]|\\[A-Za-z]+", word):
            raise SyntaxError(f"{word!r} is no name in {self.text[:100]!r}")
        if self.now == "{":
            self.raw()
        if self.now == "_":
            self.take()
            self.raw()
        end = self.places[self.k - 1] + len(self.words[self.k - 1])
        text = self.text[start:end]
        return ("number", np.nan) if text == r"\mathrm{nan}" else ("name", text)

    def cases(self):
        self.raw()
        pieces = []
        while True:
            value = self.expression()
            self.take("&")
            self.take(r"\text")
            otherwise = self.raw().strip() == "otherwise"
            pieces.append((None if otherwise else self.expression(), value))
            if self.take(r"\\", r"\end") == r"\end":
                self.raw()
                break
        e = pieces[-1][1]
        for condition, value in reversed(pieces[:-1]):
            e = call(lambda c, a, b: a if c != 0 else b, condition, value, e)
        return e


def nonzero(e):
    return ("op", "<>", [e, ("number", 0.0)])


class Document:
    """symbols: component -> symbol; defaults: symbol -> number; steps: what is done in order."""

    def __init__(self, text, externals=()):
        self.functions = dict(externals)
        self.symbols, self.defaults = {}, {}
        for symbol, component, default in re.findall(
            r"^\$(.*?)\$ & \\verb\|(.*?)\| & .* & (.*) \\\\$", text, re.MULTILINE
        ):
            self.symbols[component] = symbol
            if default:
                self.defaults[symbol] = evaluate(Formula(default.strip("$"), self.functions).whole(), Scope())
        for index, body in re.findall(r"\\operatorname\{table\}_\{(\d+)\}\\left\(x\\right\) &= (.*)", text):
            self.functions["table", index] = self._table(Formula(body, self.functions).whole())
        self.lines = re.split(r"\\section\*\{(?:Once for each set of parameters|At every call)\}\n", text)[1:]
        self.lines = "\n".join(self.lines).replace(r"\end{document}", "").strip().splitlines()

    def _table(self, e):
        def value(x):
            scope = Scope()
            scope["x"] = x
            return evaluate(e, scope)

        return value

    def compute(self, components):
        """{component: number} -> all symbols; parameters have their defaults."""
        scope = Scope()
        scope.update(self.defaults)
        scope.update({self.symbols[c]: np.float64(x) for c, x in components.items()})
        with np.errstate(all="ignore"):
            self._run(list(self.lines), scope)
        return scope

    def _run(self, lines, scope):
        while lines:
            line = lines.pop(0)
            if line.startswith(r"\begin{align*}"):
                self._display(lines, scope)
            elif line.startswith(r"\begin{quote}"):
                self._block(lines, scope)
            elif line and not line.startswith(("Where a block", "%")):
                raise SyntaxError(f"not understood: {line}")

    def _display(self, lines, scope):
        for left, _, right in self._equations(lines):
            scope[left] = evaluate(Formula(right, self.functions).whole(), scope)

    def _equations(self, lines):
        found = []
        while not (line := lines.pop(0)).startswith(r"\end{align*}"):
            left, sign, right = re.fullmatch(r"(.*?) (&=|&\\leftarrow) (.*)", line.removesuffix(r" \\")).groups()
            name = Formula(left, {})
            name.take()
            assert name.name()[1] == left, left
            found.append((left, sign, right))
        return found

    def _block(self, lines, scope):
        head = lines.pop(0)
        if "Newton" in head:
            self._sentence(lines, r"\begin{align*}")
            self._display(lines, scope)  # the guesses
            self._sentence(lines, "with, at each pass,")
            depth, body = 0, []
            while not (depth == 0 and lines[0].startswith("until ")):
                depth += lines[0].startswith(r"\begin{quote}") - lines[0].startswith(r"\end{quote}")
                body.append(lines.pop(0))
            stops = re.findall(r"\$(.*?)\$", lines.pop(0))
            stops = [Formula(s, self.functions).whole() for s in stops]
            self._sentence(lines, r"\begin{align*}")
            updates = [(x, Formula(e, self.functions).whole()) for x, _, e in self._equations(lines)]
            limit = int(re.fullmatch(r"in at most (\d+) passes\.", lines.pop(0))[1])
            for k in range(limit):
                self._run(list(body), scope)
                if all(evaluate(s, scope) for s in stops):
                    break
                assert k < limit - 1, f"{head} has no solution"
                scope.update([(x, evaluate(e, scope)) for x, e in updates])
        while not (line := lines.pop(0)).startswith(r"\end{quote}"):
            assert evaluate(Formula(re.fullmatch(r"Needed: \$(.*)\$\.", line)[1], self.functions).whole(), scope)

    def _sentence(self, lines, text):
        if lines.pop(0) != text:
            raise SyntaxError(f"expected {text}")
