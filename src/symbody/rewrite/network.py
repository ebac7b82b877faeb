"""Network: the form in which rewriting works. Sums and products are lists that change in place, with exact cost at hand.

A vertex has a number; a reference is that number with a sign, so that a value and its negative are one vertex.

    LEAF      a symbol                                    body = Node
    SETUP     any value of parameters and constants       body = Node, never with a sign; free at every call
    SUM       body = signed references, at most one SETUP among them
    PRODUCT   body = numbers of the factors, at most one SETUP, which stands first; a power repeats its base
    INVERSE   body = (number,)
    CALL      any other operation                         body = signed references, `like` = the Node it came from

Every change goes through `_put` and is written to a journal, so that a trial can be measured by `total` and taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from symbody.expr.arithmetic import collect, multiply_all, negate, power
from symbody.expr.functions import EVEN, ODD
from symbody.expr.node import ADD, CONST, MUL, POW, SCALE, SYMBOL, Node, Number
from symbody.expr.walk import quiet_collector, rebuild, topological
from symbody.rewrite.cost import power_chain

DEAD, LEAF, SETUP, SUM, PRODUCT, INVERSE, CALL = range(7)
ROOT = 0  # the CALL whose arguments are the outputs
LONGEST_POWER = 8  # x^9 and above stay one operation

_chain_lengths: dict[tuple[int, ...], int] = {}


class Network:
    """Outputs and all below them, see the head of this file. `total` is mul + add + div, `trig` the number of sin and cos."""

    __slots__ = (
        "_tables", "body", "graph", "journal", "kind", "like", "loose", "parents", "powers", "refs", "setup_cache",
        "total", "trig",
    )  # fmt: skip

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.kind: list[int] = []
        self.body: list[Any] = []
        self.like: list[Node | None] = []
        self.parents: list[dict[int, int]] = []  # parent -> how often it holds this vertex
        self.refs: list[int] = []  # the sum of these
        self._tables: tuple[dict[Any, int], ...] = tuple({} for _ in range(7))  # per kind: body -> reference
        self.powers: dict[int, dict[int, int]] = {}  # base -> exponent -> products that hold this power
        self.total = 0
        self.trig = 0
        self.loose: list[int] = []  # vertices that have lost a parent
        self.journal: list[tuple[int, int, Any, Node | None]] = []  # vertex, and what it was before
        self.setup_cache: dict[Any, int] = {}
        self._new_vertex()  # ROOT

    # -- the one primitive: a vertex gets another definition

    def _new_vertex(self) -> int:
        v = len(self.kind)
        self.kind.append(DEAD)
        self.body.append(())
        self.like.append(None)
        self.parents.append({})
        self.refs.append(0)
        return v

    def _put(self, v: int, kind: int, body: Any, like: Node | None = None) -> None:
        self.journal.append((v, self.kind[v], self.body[v], self.like[v]))
        self._swap(v, kind, body, like)

    def _swap(self, v: int, kind: int, body: Any, like: Node | None) -> None:
        old_kind, old_body = self.kind[v], self.body[v]
        table = self._tables
        if old_kind >= SUM:
            key = self._key(old_kind, old_body, self.like[v])
            if abs(table[old_kind].get(key, -1)) == v:
                del table[old_kind][key]
            self._unlink(v, old_kind, old_body)
        self.kind[v], self.body[v], self.like[v] = kind, body, like
        if kind >= SUM:
            key = self._key(kind, body, like)
            table[kind].setdefault(key, -v if kind == SUM and body[0] < 0 else v)
            self._link(v, kind, body)

    def _key(self, kind: int, body: Any, like: Node | None) -> Any:
        if kind == SUM:
            return body if body[0] > 0 else tuple([-r for r in body])
        if kind == CALL:
            return body if like is None else (like.op, like.data, body)
        return body

    def _link(self, v: int, kind: int, body: Any) -> None:
        parents, refs, kinds = self.parents, self.refs, self.kind
        for r in body:
            c = r if r >= 0 else -r
            if kinds[c] == INVERSE:
                before = self._inverse_cost(c)
                parents[c][v] = parents[c].get(v, 0) + 1
                refs[c] += 1
                self.total += self._inverse_cost(c) - before
            else:
                p = parents[c]
                p[v] = p.get(v, 0) + 1
                refs[c] += 1
        if kind == SUM:
            self.total += len(body) - 1
        elif kind == PRODUCT:
            self.total += self._product_cost(body, 1)
        elif kind == INVERSE:
            self.total += self._inverse_cost(v)
        elif self.like[v] is not None and self.like[v].op in ("sin", "cos"):  # type: ignore[union-attr]
            self.trig += 1

    def _unlink(self, v: int, kind: int, body: Any) -> None:
        parents, refs, kinds = self.parents, self.refs, self.kind
        if kind == SUM:
            self.total -= len(body) - 1
        elif kind == PRODUCT:
            self.total -= self._product_cost(body, -1)
        elif kind == INVERSE:
            self.total -= self._inverse_cost(v)
        elif self.like[v] is not None and self.like[v].op in ("sin", "cos"):  # type: ignore[union-attr]
            self.trig -= 1
        for r in body:
            c = r if r >= 0 else -r
            before = self._inverse_cost(c) if kinds[c] == INVERSE else 0
            p = parents[c]
            if p[v] == 1:
                del p[v]
            else:
                p[v] -= 1
            refs[c] -= 1
            if kinds[c] == INVERSE:
                self.total += self._inverse_cost(c) - before
            if not refs[c]:
                self.loose.append(c)

    def _inverse_cost(self, v: int) -> int:
        """A reciprocal that is one factor of one product is that product's division."""
        if self.refs[v] == 1:
            for p in self.parents[v]:
                return 0 if self.kind[p] == PRODUCT else 1
        return 1

    def _product_cost(self, body: tuple[int, ...], step: int) -> int:
        """Multiplications of a product, those of its powers as far as no other product has them. Counts it in or out."""
        size = len(body)
        last, run, distinct, saved = body[0], 1, 1, 0
        for f in body[1:]:
            if f == last:
                run += 1
                continue
            if run > 1:
                saved += self._power_cost(last, run, step)
            last, run = f, 1
            distinct += 1
        if run > 1:
            saved += self._power_cost(last, run, step)
        if size > 1 and all(self.kind[f] == INVERSE for f in body):
            distinct += 1
        return distinct - 1 + saved

    def _power_cost(self, x: int, e: int, step: int) -> int:
        """How much longer the chain of x is with x^e than without; `step` counts the power in (1) or out (-1)."""
        held = self.powers.get(x)
        if held is None:
            held = self.powers[x] = {}
        count = held.get(e, 0)
        if step > 0:
            held[e] = count + 1
            if count:
                return 0
            return _chain(held) - _chain(held, e)
        if count > 1:
            held[e] = count - 1
            return 0
        full = _chain(held)
        del held[e]
        return full - _chain(held)

    # -- undoing

    def mark(self) -> int:
        """A place in the journal to come back to."""
        return len(self.journal)

    def undo(self, mark: int) -> None:
        """Take back all changes since `mark`."""
        journal = self.journal
        while len(journal) > mark:
            v, kind, body, like = journal.pop()
            self._swap(v, kind, body, like)
        self.loose.clear()

    def changed(self, mark: int) -> list[int]:
        """Vertices that were given another definition since `mark` and are alive, in the order of their first change."""
        seen = dict.fromkeys(entry[0] for entry in self.journal[mark:])
        return [v for v in seen if self.kind[v] >= SUM]

    def clean(self) -> None:
        """Remove vertices that nobody uses."""
        loose, kind, refs = self.loose, self.kind, self.refs
        while loose:
            v = loose.pop()
            if not refs[v] and kind[v] >= SUM and v != ROOT:
                self._put(v, DEAD, ())

    # -- making vertices

    def setup(self, node: Node) -> int:
        """Reference of a value of parameters and constants."""
        ref = self.setup_cache.get(node)
        if ref is not None:
            return ref
        sign = 1
        base = node
        if node.op is SCALE and node.data < 0:
            sign, base = -1, negate(node)
        elif node.op is CONST and node.data.__class__ is not bool and node.data < 0:
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

    def _make(self, kind: int, body: Any, like: Node | None = None) -> int:
        """Reference of the vertex with this (normal) body."""
        found = self._tables[kind].get(self._key(kind, body, like))
        if found is not None:
            return -found if kind == SUM and body[0] < 0 else found
        v = self._new_vertex()
        self._put(v, kind, body, like)
        self.loose.append(v)
        return v

    def sum_of(self, refs: Iterable[int]) -> int:
        """Reference of a sum: equal terms counted, setup terms made one."""
        body = self.normal_sum(refs)
        return body[0] if len(body) == 1 else self._make(SUM, body)

    def product_of(self, factors: Iterable[int]) -> int:
        """Reference of a product of references: setup factors made one, powers opened, signs outside."""
        sign, body = self.normal_product(factors)
        return sign * (body[0] if len(body) == 1 else self._make(PRODUCT, body))

    def inverse_of(self, ref: int) -> int:
        v = abs(ref)
        if self.kind[v] == INVERSE:
            inner = self.body[v][0]
        elif self.kind[v] == SETUP:
            inner = self.setup(power(self.body[v], -1))
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
        if len(args) == 1 and args[0] < 0 and (like.op in ODD or like.op in EVEN):
            sign = -1 if like.op in ODD else 1
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
            return node.data  # type: ignore[no-any-return]
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
            if common != 1 and all(self.coefficient(abs(r)) == common for r in out):
                inner = self.sum_of([(1 if r > 0 else -1) * self.without_coefficient(abs(r)) for r in out])
                return (self.product_of((self.setup(self.graph.number(common)), inner)),)
        out.sort(key=abs)
        return tuple(out)

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

    # -- changing vertices

    def redefine_sum(self, v: int, refs: Iterable[int], sign: int = 1) -> None:
        """Give the vertex v the value of the sum of refs (times sign)."""
        body = self.normal_sum(refs if sign > 0 else [-r for r in refs])
        if len(body) == 1:
            self.replace(v, body[0])
            return
        found = self._tables[SUM].get(self._key(SUM, body, None))
        if found is not None and abs(found) != v:
            self.replace(v, found if body[0] > 0 else -found)
        elif body != self.body[v] or self.kind[v] != SUM:
            self._put(v, SUM, body)

    def redefine_product(self, v: int, factors: Iterable[int]) -> None:
        """Give the vertex v the value of the product of references."""
        sign, body = self.normal_product(factors)
        found = body[0] if len(body) == 1 else self._tables[PRODUCT].get(body)
        if found is not None and found != v:
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
            found = self._tables[SUM].get(self._key(SUM, new, None))
            if found is not None and abs(found) != p:
                return found if new[0] > 0 else -found
            self._put(p, SUM, new)
            return 0
        if kind == PRODUCT:
            sign, new = self.normal_product([ref if f == v else f for f in body])
            found = new[0] if len(new) == 1 else self._tables[PRODUCT].get(new)
            if found is None and sign < 0:
                found = self._make(PRODUCT, new)
            if found is not None and found != p:
                return sign * found
            self._put(p, PRODUCT, new)
            return 0
        if kind == INVERSE:
            return self.inverse_of(ref)
        args = tuple([(ref if r > 0 else -ref) if abs(r) == v else r for r in body])
        like = self.like[p]
        if like is None:
            self._put(p, CALL, args)
            return 0
        return self.call_of(like, args)

    # -- looking

    def order(self) -> list[int]:
        """Live vertices that compute something, operands first."""
        body, kind = self.body, self.kind
        seen = bytearray(len(kind))
        out: list[int] = []
        stack = [ROOT]
        while stack:
            v = stack[-1]
            if seen[v]:
                stack.pop()
                continue
            waiting = False
            for r in body[v]:
                c = r if r > 0 else -r
                if not seen[c]:
                    if kind[c] < SUM:
                        seen[c] = 1
                    else:
                        stack.append(c)
                        waiting = True
            if not waiting:
                stack.pop()
                seen[v] = 1
                if v != ROOT:
                    out.append(v)
        return out

    def is_setup(self, v: int) -> bool:
        return self.kind[v] == SETUP

    def factors(self, v: int) -> tuple[int, ...]:
        """Factors of a product; of anything else the vertex itself."""
        return self.body[v] if self.kind[v] == PRODUCT else (v,)  # type: ignore[no-any-return]


def _chain(held: dict[int, int], without: int = 0) -> int:
    key = tuple(sorted([e for e in held if e != without]))
    length = _chain_lengths.get(key)
    if length is None:
        length = _chain_lengths[key] = len(power_chain(key))
    return length


def load(roots: Sequence[Node]) -> Network:
    """The Network of expressions."""
    graph = roots[0].graph
    net = Network(graph)
    ref: dict[Node, int] = {}
    order = topological(roots, lambda n: not n.flags)
    for node in order:
        op, args = node.op, node.args
        if op is SYMBOL:
            ref[node] = net.leaf(node)
            continue
        for a in args:
            if a not in ref:
                ref[a] = net.setup(a)
        if op is ADD:
            made = net.sum_of([ref[a] for a in args])
        elif op is MUL:
            made = net.product_of([ref[a] for a in args])
        elif op is SCALE:
            made = -ref[args[0]] if node.data == -1 else net.product_of((net.setup(graph.number(node.data)), ref[args[0]]))
        elif op is POW and node.data.__class__ is int and abs(node.data) <= LONGEST_POWER:
            made = net.product_of([ref[args[0]]] * abs(node.data))
            if node.data < 0:
                made = net.inverse_of(made)
        else:
            made = net.call_of(node, tuple([ref[a] for a in args]))
        ref[node] = made
    for r in roots:
        if r not in ref:
            ref[r] = net.setup(r)
    net._put(ROOT, CALL, tuple([ref[r] for r in roots]))
    net.clean()
    net.journal.clear()
    return net


def store(net: Network) -> list[Node]:
    """The expressions of a Network, in the order of the roots it was loaded from."""
    graph = net.graph
    node: dict[int, Node] = {}
    kind, body = net.kind, net.body

    def value(r: int) -> Node:
        v = r if r > 0 else -r
        found = node.get(v)
        if found is None:
            found = node[v] = body[v]
        return found if r > 0 else negate(found)

    with quiet_collector():
        for v in net.order():
            k = kind[v]
            if k == SUM:
                node[v] = collect([(1 if r > 0 else -1, value(abs(r))) for r in body[v]], graph)
            elif k == PRODUCT:
                node[v] = multiply_all([value(f) for f in body[v]], graph)
            elif k == INVERSE:
                node[v] = power(value(body[v][0]), -1)
            else:
                node[v] = rebuild(net.like[v], tuple([value(r) for r in body[v]]))  # type: ignore[arg-type]
        return [value(r) for r in body[ROOT]]
