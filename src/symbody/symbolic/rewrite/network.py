"""Network: the form in which rewriting works. Sums and products are lists that change in place, with the cost at hand.

A vertex has a number; a reference is that number with a sign, so that a value and its negative are one vertex.

    LEAF      a symbol                                    body = Node
    SETUP     any value of parameters and constants       body = Node, never with a sign; free at every call
    SUM       body = signed references, at most one SETUP among them
    PRODUCT   body = numbers of the factors, at most one SETUP, which stands first; a power repeats its base
    INVERSE   body = (number,)
    CALL      any other operation                         body = signed references, `like` = the Node it came from

A Node carries numeric coefficients outside products and sums; so does a vertex, or the cost would not be the Node's.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from symbody.symbolic.expr.arithmetic import collect, multiply_all, rewritten_power
from symbody.symbolic.expr.coefficients import negate
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.node import CONST, SCALE, Node, Number
from symbody.symbolic.rewrite.ledger import CALL, DEAD, INVERSE, LEAF, PRODUCT, ROOT, SETUP, SUM, Ledger, vertex_key

__all__ = ["CALL", "DEAD", "INVERSE", "LEAF", "PRODUCT", "ROOT", "SETUP", "SUM", "Network"]


class Network(Ledger):
    """Outputs and all below them, as sums and products that can be rewritten one by one."""

    __slots__ = ()

    # -- making vertices

    def setup(self, node: Node) -> int:
        """Reference of a value of parameters and constants."""
        ref = self.setup_cache.get(node)
        if ref is not None:
            return ref
        sign = 1
        base = node
        if node.op in (SCALE, CONST) and node.data.__class__ is not bool and node.data < 0:
            sign, base = -1, negate(node)
        v = self._tables[SETUP].get(base)
        if v is None:
            v = self._new_vertex()
            self.kind[v], self.body[v] = SETUP, base
            self._tables[SETUP][base] = v
        self.setup_cache[node] = sign * v
        return sign * v

    def leaf(self, node: Node) -> int:
        v = self._tables[LEAF].get(node)
        if v is None:
            v = self._new_vertex()
            self.kind[v], self.body[v] = LEAF, node
            self._tables[LEAF][node] = v
        return v

    def _make(self, kind: int, body: tuple[int, ...], like: Node | None = None) -> int:
        """Reference of the vertex with this (normal) body."""
        key = body if kind == PRODUCT else vertex_key(kind, body, like)
        found = self._tables[kind].get(key)
        if found is not None:
            return -found if kind == SUM and body[0] < 0 else found
        v = self._put_new(kind, key, body, like)
        self.loose.append(v)
        return v

    def sum_of(self, refs: Iterable[int]) -> int:
        """Reference of a sum: equal terms counted, setup terms made one."""
        body = self.normal_sum(refs)
        return self._make(SUM, body) if len(body) > 1 else body[0]

    def product_of(self, factors: Iterable[int]) -> int:
        """Reference of a product of references: setup factors made one, powers opened, signs outside."""
        sign, body = self.normal_product(factors)
        made = self._make(PRODUCT, body) if len(body) > 1 else body[0]
        return made if sign > 0 else -made

    def inverse_of(self, ref: int) -> int:
        v = abs(ref)
        if self.kind[v] == INVERSE:
            inner = self.body[v][0]
        elif self.kind[v] == SETUP:
            inner = self.setup(rewritten_power(self.body[v], -1))
        else:
            c = self.coefficient(v)
            if c != 1 and c.__class__ is not float:
                number = self.setup(self.graph.number(Fraction(1) / c))
                inner = self.product_of((number, self.inverse_of(self.without_coefficient(v))))
            else:
                inner = self._make(INVERSE, (v,))
        return inner if ref > 0 else -inner

    def call_of(self, like: Node, args: tuple[int, ...]) -> int:
        """The operation of `like` over other arguments."""
        sign = 1
        if len(args) == 1 and args[0] < 0:
            row = FUNCTIONS.get(like.op)
            if row is not None and row.parity:
                sign = -1 if row.parity == "odd" else 1
                args = (-args[0],)
        return sign * self._make(CALL, args, like)

    def coefficient(self, v: int) -> Number:
        """The number that a Node would carry outside this value: 2 for 2 x and for (2 p) x."""
        if self.kind[v] == PRODUCT:
            v = self.body[v][0]
        if self.kind[v] != SETUP:
            return 1
        node = self.body[v]
        if node.op is SCALE:
            return node.data
        return node.data if node.op is CONST and node.data.__class__ is not bool else 1

    def without_coefficient(self, v: int) -> int:
        """The value divided by its coefficient."""
        if self.kind[v] == SETUP:
            node = self.body[v]
            return self.setup(node.args[0] if node.op is SCALE else self.graph.one)
        if self.kind[v] != PRODUCT or self.coefficient(v) == 1:
            return v
        first, *rest = self.body[v]
        return self.product_of([self.without_coefficient(first), *rest])

    def normal_sum(self, refs: Iterable[int]) -> tuple[int, ...]:
        """Sorted references without repetition; (reference,) if only one term remains."""
        kind = self.kind
        counts: dict[int, int] = {}
        fixed: list[int] = []
        plain = True
        for r in refs:
            v = r if r > 0 else -r
            if kind[v] == SETUP:
                fixed.append(r)
            elif v in counts:
                counts[v] += 1 if r > 0 else -1
                plain = False
            else:
                counts[v] = 1 if r > 0 else -1
        out: list[int] = []
        if fixed:
            if len(fixed) > 1:
                nodes = [(1 if r > 0 else -1, self.body[abs(r)]) for r in fixed]
                fixed = [self.setup(collect(nodes, self.graph))]
            value = self.body[abs(fixed[0])]
            if value.op is not CONST or value.data != 0:
                out.append(fixed[0])
        if plain:
            out.extend([v if c > 0 else -v for v, c in counts.items()])
        else:
            for v, c in counts.items():
                if c == 1 or c == -1:
                    out.append(v * c)
                elif c:
                    out.append(self.product_of((self.setup(self.graph.number(c)), v)))
        if not out:
            return (self.setup(self.graph.zero),)
        if len(out) > 1:
            # a common coefficient stands outside, as it does in a Node
            common = self.coefficient(abs(out[0]))
            if common != 1 and self._pays_outside(common, out):
                inner = self.sum_of([(1 if r > 0 else -1) * self.without_coefficient(abs(r)) for r in out])
                return (self.product_of((self.setup(self.graph.number(common)), inner)),)
        out.sort(key=abs)
        return tuple(out)

    def _pays_outside(self, common: Number, refs: list[int]) -> bool:
        """Whether all terms have this coefficient and taking it out pays: beside a parameter it is free."""
        if any(self.coefficient(abs(r)) != common for r in refs):
            return False
        return not all(self.kind[abs(r)] == PRODUCT and self._is_scaled(self.body[abs(r)][0]) for r in refs)

    def _is_scaled(self, v: int) -> bool:
        return self.kind[v] == SETUP and self.body[v].op is SCALE

    def normal_product(self, factors: Iterable[int]) -> tuple[int, tuple[int, ...]]:
        """(sign, sorted factors); the one setup factor stands first."""
        kind, bodies = self.kind, self.body
        sign = 1
        fixed: list[Node] = []
        out: list[int] = []
        inverses = False
        for r in factors:
            if r < 0:
                sign, r = -sign, -r
            k = kind[r]
            if k == SETUP:
                fixed.append(bodies[r])
            elif k == PRODUCT and bodies[r][0] == bodies[r][-1]:  # a power
                out.extend(bodies[r])
            elif k == PRODUCT and self.coefficient(r) != 1:  # a coefficient moves outside, as it does in a Node
                fixed.append(self.graph.number(self.coefficient(r)))
                r = self.without_coefficient(r)
                if r < 0:
                    sign, r = -sign, -r
                if kind[r] == PRODUCT and bodies[r][0] == bodies[r][-1]:
                    out.extend(bodies[r])
                else:
                    out.append(r)
                    inverses = inverses or kind[r] == INVERSE
            else:
                out.append(r)
                inverses = inverses or k == INVERSE
        if inverses:
            for v in [v for v in out if kind[v] == INVERSE]:
                if bodies[v][0] in out:  # x / x
                    out.remove(v)
                    out.remove(bodies[v][0])
        out.sort()
        if fixed:
            node = fixed[0] if len(fixed) == 1 else multiply_all(fixed, self.graph, open_products=True)
            ref = self.setup(node)
            if ref < 0:
                sign, ref = -sign, -ref
            value = bodies[ref]
            if value.op is CONST:
                if value.data == 0:
                    return 1, (ref,)
                if value.data == 1 and out and value.data.__class__ is not float:
                    return sign, tuple(out)
            out.insert(0, ref)
        elif not out:
            return sign, (self.setup(self.graph.one),)
        return sign, tuple(out)

    def existing_sum(self, refs: list[int]) -> int:
        """Reference of the sum of refs if it is there already, else 0. Makes no vertex that costs anything."""
        terms = [r for r in refs if self.kind[abs(r)] != SETUP]
        if len(terms) < 2 or len({abs(r) for r in terms}) < len(terms):
            return 0
        if len(terms) < len(refs):
            fixed = [(1 if r > 0 else -1, self.body[abs(r)]) for r in refs if self.kind[abs(r)] == SETUP]
            terms.append(self.setup(collect(fixed, self.graph)))
        terms.sort(key=abs)
        return self.find_sum(tuple(terms))

    # -- changing vertices

    def redefine_sum(self, v: int, refs: Iterable[int]) -> None:
        """Give the vertex v the value of the sum of refs."""
        body = self.normal_sum(refs)
        if len(body) == 1:
            self.replace(v, body[0])
            return
        found = self.find_sum(body)
        if found and abs(found) != v:
            self.replace(v, found)
        elif body != self.body[v] or self.kind[v] != SUM:
            self._put(v, SUM, body)

    def redefine_product(self, v: int, factors: Iterable[int]) -> None:
        """Give the vertex v the value of the product of references."""
        sign, body = self.normal_product(factors)
        found = body[0] if len(body) == 1 else self.find_product(body)
        if found and found != v:
            self.replace(v, sign * found)
        elif sign < 0:
            self.replace(v, -self._make(PRODUCT, body))
        elif body != self.body[v] or self.kind[v] != PRODUCT:
            self._put(v, PRODUCT, body)

    def replace(self, v: int, ref: int) -> None:
        """Put ref in the place of v everywhere; parents that become equal to another vertex are replaced in turn."""
        if ref == v:
            return
        todo = [(v, ref)]
        forward: dict[int, int] = {}
        while todo:
            v, ref = todo.pop()
            while abs(ref) in forward:
                ref = forward[abs(ref)] if ref > 0 else -forward[abs(ref)]
            if ref == v or v in forward:
                continue
            forward[v] = ref
            for p in list(self.parents[v]):
                if p in self.parents[v]:
                    result = self._with(p, v, ref)
                    if result:
                        todo.append((p, result))
        self.loose.append(v)

    def _with(self, p: int, v: int, ref: int) -> int:
        """Put ref in the place of v in the parent p, in place (0), or the reference that p now equals."""
        kind, body = self.kind[p], self.body[p]
        if kind == SUM:
            new = self.normal_sum([(ref if r > 0 else -ref) if abs(r) == v else r for r in body])
            if len(new) == 1:
                return new[0]
            found = self.find_sum(new)
            if found and abs(found) != p:
                return found
            self._put(p, SUM, new)
            return 0
        if kind == PRODUCT:
            sign, new = self.normal_product([ref if f == v else f for f in body])
            found = new[0] if len(new) == 1 else self.find_product(new)
            if not found and sign < 0:
                found = self._make(PRODUCT, new)
            if found and found != p:
                return sign * found
            self._put(p, PRODUCT, new)
            return 0
        if kind == INVERSE:
            return self.inverse_of(ref)
        args = tuple([ref if r == v else -ref if r == -v else r for r in body])
        if p == ROOT:
            self._put(ROOT, CALL, args)
            return 0
        like = self.like[p]
        assert like is not None
        return self.call_of(like, args)
