"""The books of a Network: definitions, who uses what, the exact cost, and a journal by which trials are taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symbody.symbolic.expr.node import Node
from symbody.symbolic.rewrite.cost import power_chain

DEAD, LEAF, SETUP, SUM, PRODUCT, INVERSE, CALL = range(7)
ROOT = 0  # the CALL whose arguments are the outputs

_chain_lengths: dict[tuple[int, ...], int] = {}


class Ledger:
    """Vertices of a Network (see there). `total` is mul + add + div, `adds` its add, `trig` counts sin and cos."""

    __slots__ = (
        "_last_state",
        "_ordered",
        "_ordered_state",
        "_tables",
        "adds",
        "body",
        "call_weight",
        "graph",
        "journal",
        "kind",
        "like",
        "loose",
        "outputs",
        "parents",
        "powers",
        "refs",
        "setup_cache",
        "state",
        "total",
        "trig",
    )

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
        self.adds = 0
        self.trig = 0
        self.call_weight = 0  # operations that a new sine or cosine must save
        self.loose: list[int] = []  # vertices that have lost a parent
        self.journal: list[tuple[int, int, Any, Node | None, int]] = []  # vertex, what it was before, state before
        self.setup_cache: dict[Any, int] = {}
        self.state = self._last_state = 0  # a number of its own for every state of all definitions
        self._ordered: list[int] = []  # the answer of `order`,
        self._ordered_state = -1  # and the state in which it was asked
        self.outputs: list[tuple[int, int]] = []  # place in the body of ROOT, and sign, of every output
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

    def _put(self, v: int, kind: int, body: Any) -> None:
        self.journal.append((v, self.kind[v], self.body[v], self.like[v], self.state))
        self.state = self._last_state = self._last_state + 1
        self._swap(v, kind, body, None)

    def _put_new(self, kind: int, key: Any, body: Any, like: Node | None) -> int:
        """A new vertex with this definition, which no other vertex has."""
        v = self._new_vertex()
        self.journal.append((v, DEAD, (), None, self.state))
        self.state = self._last_state = self._last_state + 1
        self.kind[v], self.body[v], self.like[v] = kind, body, like
        self._tables[kind][key] = -v if kind == SUM and body[0] < 0 else v
        self._link(v, kind, body)
        return v

    def _put_root(self, refs: Sequence[int]) -> None:
        """The outputs. ROOT holds each vertex once, where it occurs last: most outputs of a large system are equal."""
        last = {abs(r): i for i, r in enumerate(refs)}
        body = tuple(sorted(last, key=last.__getitem__))
        place = {v: i for i, v in enumerate(body)}
        self.outputs = [(place[abs(r)], 1 if r > 0 else -1) for r in refs]
        self.kind[ROOT], self.body[ROOT] = CALL, body
        self._link(ROOT, CALL, body)

    def _swap_root(self, body: tuple[int, ...]) -> None:
        """Other outputs: only what differs is linked anew, since there may be thousands."""
        changed = [(old, new) for old, new in zip(self.body[ROOT], body, strict=True) if old != new]
        self.body[ROOT] = body
        self._unlink(ROOT, CALL, [old for old, _ in changed])
        self._link(ROOT, CALL, [new for _, new in changed])

    def _swap(self, v: int, kind: int, body: Any, like: Node | None) -> None:
        if v == ROOT:
            self._swap_root(body)
            return
        old_kind = self.kind[v]
        if old_kind >= SUM:
            old_body, table = self.body[v], self._tables[old_kind]
            key = old_body if old_kind == PRODUCT else vertex_key(old_kind, old_body, self.like[v])
            found = table.get(key)
            if found == v or found == -v:
                del table[key]
            self._unlink(v, old_kind, old_body)
        self.kind[v], self.body[v], self.like[v] = kind, body, like
        if kind >= SUM:
            key = body if kind == PRODUCT else vertex_key(kind, body, like)
            self._tables[kind].setdefault(key, -v if kind == SUM and body[0] < 0 else v)
            self._link(v, kind, body)

    def _link(self, v: int, kind: int, body: Any) -> None:
        parents, refs, kinds = self.parents, self.refs, self.kind
        for r in body:
            c = r if r > 0 else -r
            if kinds[c] == INVERSE:
                self._link_inverse(v, c)
            else:
                p = parents[c]
                p[v] = p[v] + 1 if v in p else 1
                refs[c] += 1
        if kind == SUM:
            self.total += len(body) - 1
            self.adds += len(body) - 1
        elif kind == PRODUCT:
            self.total += self._product_cost(body, 1)
        elif kind == INVERSE:
            self.total += self._inverse_cost(v)
        elif self.like[v] is not None and self.like[v].op in ("sin", "cos"):  # type: ignore[union-attr]
            self.trig += 1

    def _unlink(self, v: int, kind: int, body: Any) -> None:
        parents, refs, kinds = self.parents, self.refs, self.kind
        if kind == PRODUCT:
            self.total -= self._product_cost(body, -1)
        elif kind == SUM:
            self.total -= len(body) - 1
            self.adds -= len(body) - 1
        elif kind == INVERSE:
            self.total -= self._inverse_cost(v)
        elif self.like[v] is not None and self.like[v].op in ("sin", "cos"):  # type: ignore[union-attr]
            self.trig -= 1
        for r in body:
            c = r if r > 0 else -r
            k = kinds[c]
            if k == INVERSE:
                self._unlink_inverse(v, c)
                continue
            p = parents[c]
            if p[v] == 1:
                del p[v]
            else:
                p[v] -= 1
            refs[c] = left = refs[c] - 1
            if not left and k >= SUM:
                self.loose.append(c)

    def _link_inverse(self, v: int, c: int) -> None:
        """v uses the reciprocal c once more."""
        before = self._inverse_cost(c)
        p = self.parents[c]
        p[v] = p.get(v, 0) + 1
        self.refs[c] += 1
        self.total += self._inverse_cost(c) - before

    def _unlink_inverse(self, v: int, c: int) -> None:
        before = self._inverse_cost(c)
        p = self.parents[c]
        p[v] -= 1
        if not p[v]:
            del p[v]
        self.refs[c] -= 1
        self.total += self._inverse_cost(c) - before
        if not self.refs[c]:
            self.loose.append(c)

    def _inverse_cost(self, v: int) -> int:
        """A reciprocal that is one factor of one product is that product's division."""
        if self.refs[v] == 1:
            for p in self.parents[v]:
                return 0 if self.kind[p] == PRODUCT else 1
        return 1

    def _product_cost(self, body: tuple[int, ...], step: int) -> int:
        """Multiplications of a product; a power counts as far as no other product has it. Counts them in (1) or out."""
        cost = len(set(body)) - 1
        if cost + 1 != len(body):
            for f in dict.fromkeys(body):
                times = body.count(f)
                if times > 1:
                    cost += self._power_cost(f, times, step)
        kinds = self.kind
        if kinds[body[0]] == INVERSE and all(kinds[f] == INVERSE for f in body):
            cost += 1  # the numerator 1
        return cost

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
            v, kind, body, like, self.state = journal.pop()
            self._swap(v, kind, body, like)

    def changed(self, mark: int) -> list[int]:
        """Live vertices that were given another definition since `mark`, in the order of their first change."""
        kinds = self.kind
        seen = dict.fromkeys([entry[0] for entry in self.journal[mark:]])
        return [v for v in seen if kinds[v] >= SUM]

    def clean(self) -> None:
        """Remove vertices that nobody uses."""
        loose, kind, refs = self.loose, self.kind, self.refs
        while loose:
            v = loose.pop()
            if not refs[v] and kind[v] >= SUM and v != ROOT:
                self._put(v, DEAD, ())

    # -- looking

    def order(self) -> list[int]:
        """Live vertices that compute something, operands first. Callers only read the list: it is kept for the next."""
        if self._ordered_state == self.state:
            return self._ordered
        body, kind = self.body, self.kind
        opened = bytearray(len(kind))  # 1: its operands are on the stack above it, 2: done
        out: list[int] = []
        stack = [ROOT]
        while stack:
            v = stack[-1]
            if opened[v]:
                stack.pop()
                if opened[v] == 1:
                    opened[v] = 2
                    out.append(v)
                continue
            opened[v] = 1
            for r in body[v]:
                c = r if r > 0 else -r
                if not opened[c] and kind[c] >= SUM:
                    stack.append(c)
        out.pop()  # ROOT
        self._ordered, self._ordered_state = out, self.state
        return out

    def find_sum(self, body: tuple[int, ...]) -> int:
        """Reference of the sum with this normal body, 0 if there is none."""
        found = self._tables[SUM].get(vertex_key(SUM, body, None), 0)
        return found if body[0] > 0 else -found

    def find_product(self, body: tuple[int, ...]) -> int:
        return self._tables[PRODUCT].get(body, 0)

    def find_call(self, name: str, args: tuple[int, ...]) -> int:
        """The vertex of a function without data, 0 if there is none."""
        return self._tables[CALL].get((name, None, args), 0)

    def factors(self, v: int) -> tuple[int, ...]:
        """Factors of a product; of anything else the vertex itself."""
        return self.body[v] if self.kind[v] == PRODUCT else (v,)


def vertex_key(kind: int, body: Any, like: Node | None) -> Any:
    """By which a vertex is found: a sum up to its sign."""
    if kind == SUM:
        return body if body[0] > 0 else tuple([-r for r in body])
    return body if like is None else (like.op, like.data, body)


def _chain(held: dict[int, int], without: int = 0) -> int:
    key = tuple(sorted([e for e in held if e != without]))
    length = _chain_lengths.get(key)
    if length is None:
        length = _chain_lengths[key] = len(power_chain(key))
    return length
