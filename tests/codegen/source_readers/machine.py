"""A machine for small programs of numbers, arrays and functions, whose tree a reader made of some language.

Expressions  ("number", x) ("text", s) ("name", n) ("item", e, i) ("member", e, n) ("call", e, [e]) ("list", [e])
             ("record", [(n, e)])
             ("function", [n], [statement] or expression) and ("op", word, [e])
Statements   ("set", target, e) ("when", [(condition, [statement])]) ("each", n, from, by, to, [statement])
             ("while", condition, [statement]) ("break",) ("return", e or None) ("do", e)
"""

import operator

import numpy as np

OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": lambda a, b: np.float64(a) / b,
    "^": lambda a, b: np.float64(a) ** b, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "<>": operator.ne, "neg": operator.neg, "not": operator.not_,
}  # fmt: skip


class Vector:
    """Counted from 1, in place, of fixed size."""

    def __init__(self, values):
        self.values = list(values)

    def _at(self, k):
        if k != int(k) or not 1 <= k <= len(self.values):
            raise IndexError(f"place {k} of {len(self.values)}")
        return int(k) - 1

    def __getitem__(self, k):
        return self.values[self._at(k)]

    def __setitem__(self, k, value):
        self.values[self._at(k)] = value


class Break(Exception):
    pass


class Return(Exception):
    def __init__(self, value):
        self.value = value


class Scope(dict):
    """Names of a function, those outside of it readable; `shared` may be written from inside, too."""

    def __init__(self, outer=None, shared=()):
        super().__init__()
        self.outer, self.shared = outer, set(shared)

    def find(self, name):
        scope = self
        while scope is not None:
            if name in scope:
                return scope[name]
            scope = scope.outer
        raise NameError(f"{name} has no value here")

    def put(self, name, value):
        scope = self.outer if name in self.shared else self
        scope[name] = value


def evaluate(e, scope):
    kind = e[0]
    if kind in ("number", "text"):
        return e[1]
    if kind == "name":
        return scope.find(e[1])
    if kind == "item":
        return evaluate(e[1], scope)[evaluate(e[2], scope)]
    if kind == "member":
        return evaluate(e[1], scope)[e[2]]
    if kind == "record":
        return {n: evaluate(x, scope) for n, x in e[1]}
    if kind == "list":
        return Vector(evaluate(x, scope) for x in e[1])
    if kind == "function":
        return function(e, scope)
    if kind == "call":
        return evaluate(e[1], scope)(*(evaluate(x, scope) for x in e[2]))
    if e[1] in ("and", "or"):
        first = evaluate(e[2][0], scope)
        return evaluate(e[2][1], scope) if first == (e[1] == "and") else first
    return OPERATORS[e[1]](*(evaluate(x, scope) for x in e[2]))


def function(e, outer):
    names, body, shared = e[1], e[2], e[3] if len(e) > 3 else ()

    def call(*given):
        if len(given) != len(names):
            raise TypeError(f"{len(given)} arguments; expected {names}")
        scope = Scope(outer, shared)
        scope.update(zip(names, given))
        if isinstance(body, tuple):
            return evaluate(body, scope)
        try:
            run(body, scope)
        except Return as result:
            return result.value
        return None

    return call


def run(statements, scope):
    with np.errstate(all="ignore"):
        for s in statements:
            _statement(s, scope)


def _statement(s, scope):
    kind = s[0]
    if kind == "set":
        value = evaluate(s[2], scope)
        if s[1][0] == "name":
            scope.put(s[1][1], value)
        else:
            evaluate(s[1][1], scope)[evaluate(s[1][2], scope)] = value
    elif kind == "when":
        for condition, block in s[1]:
            if condition is None or evaluate(condition, scope):
                run(block, scope)
                break
    elif kind in ("each", "while"):
        try:
            if kind == "each":
                first, by, last = (evaluate(x, scope) for x in s[2:5])
                for k in range(int(first), int(last) + (1 if by > 0 else -1), int(by)):
                    scope.put(s[1], k)
                    run(s[5], scope)
            else:
                while evaluate(s[1], scope):
                    run(s[2], scope)
        except Break:
            pass
    elif kind == "break":
        raise Break
    elif kind == "return":
        raise Return(None if s[1] is None else evaluate(s[1], scope))
    else:
        evaluate(s[1], scope)
