"""System -> Program: nodes become numbered binary operations, as docs/decisions/0004 fixes it.

Signs never cost an operation: every node is lowered to (sign, value), sums subtract, and a `neg` appears only where a
negative value leaves (an output, an argument of a function).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from symbody.symbolic.expr.coefficients import as_float
from symbody.symbolic.expr.node import (
    ADD,
    ALIAS,
    AT,
    BOUND,
    CONST,
    EXTERN,
    MUL,
    POW,
    RESULT,
    SCALE,
    SOLVE,
    STEP,
    SYMBOL,
    TABLE,
    Node,
    Number,
)
from symbody.symbolic.expr.walk import quiet_collector, topological
from symbody.symbolic.lower.program import OutputPort, Program, SolveBlock
from symbody.symbolic.rewrite.cost import power_chain
from symbody.symbolic.system.ports import Port
from symbody.symbolic.system.system import System

Signed = tuple[int, int]  # (+1 or -1, value number)


def lower(system: System) -> Program:
    """The Program of a System as it is: no rewriting beyond the choice of operations."""
    with quiet_collector():
        return _Lowering(system).program()


class _LoweringScope:
    """Where the unknowns of implicit blocks have values; nodes that depend on them are remembered per scope."""

    def __init__(self, parent: _LoweringScope | None, solve: Node | None) -> None:
        self.parent = parent
        self.solve = solve
        self.memo: dict[Node, Signed] = {}


class _Lowering:
    def __init__(self, system: System) -> None:
        self.system = system
        self.ops: list[str] = []
        self.args: list[tuple[Any, ...]] = []
        self.rates: list[int] = []
        self.regions: list[int] = []  # block that a value belongs to, -1 outside
        self.lists: dict[int, list[int]] = {-1: []}
        self.parents: dict[int, int] = {-1: -1}
        self.open: dict[int, bool] = {-1: True}
        self.made: dict[tuple[Any, ...], int] = {}
        self.blocks: dict[int, SolveBlock] = {}
        self.tables: dict[Any, int] = {}
        self.externals: dict[Any, int] = {}
        self.names: dict[int, str] = {}
        self.root = _LoweringScope(None, None)
        self.closed: dict[tuple[Node, int], _LoweringScope] = {}

    def program(self) -> Program:
        system = self.system
        inputs = self._ports(system.inputs, "input")
        parameters = self._ports(system.parameters, "parameter")
        roots = [node for array in system.outputs.values() for node in array.flat]
        self._survey(roots)
        self.walk(roots, self.root)
        outputs = []
        for name, array in system.outputs.items():
            values = tuple(self._plain(self._find(node, self.root)) for node in array.flat)
            outputs.append(OutputPort(name, array.shape, values, system.units.get(name, "")))
        lists: dict[str, list[int]] = {"setup": [], "step": [], "call": []}
        for v in self.lists[-1]:
            rate = self.rates[v] & 3
            lists["setup" if rate == 0 else "step" if rate == STEP else "call"].append(v)
        return Program(
            name=system.name,
            inputs=inputs,
            parameters=parameters,
            outputs=tuple(outputs),
            ops=self.ops,
            args=self.args,
            **lists,
            blocks=tuple(self.blocks[k] for k in range(len(self.blocks))),
            tables=tuple(self.tables),
            externals=tuple(self.externals),
            names=self.names,
        )

    def _ports(self, arrays: dict[str, Any], op: str) -> tuple[Port, ...]:
        ports, start = [], 0
        for name, array in arrays.items():
            nodes = list(array.flat)
            default = self.system.default(name) if op == "parameter" else None
            role = nodes[0].data.role if nodes else op
            unit = self.system.units.get(name, nodes[0].data.unit if nodes else "")
            nonzero = op == "parameter" and bool(nodes) and all(n.data.nonzero for n in nodes)
            ports.append(Port(name, array.shape, start, role, unit, default, nonzero))
            for k, node in enumerate(nodes):
                v = self._value(op, (start + k,), node.flags & 3, -1)
                self.root.memo[node] = (1, v)
                self.names[v] = node.data.name
            start += len(nodes)
        return tuple(ports)

    def _survey(self, roots: list[Node]) -> None:
        """Use counts, and the powers that each base is raised to."""
        self.uses: dict[Node, int] = {}
        powers: dict[Node, set[int]] = {}
        for node in topological(roots):
            for a in node.args:
                self.uses[a] = self.uses.get(a, 0) + 1
            if node.op is POW:
                whole = _whole_part(node.data)
                if whole is not None and whole >= 2:
                    powers.setdefault(node.args[0], set()).add(whole)
        for root in roots:
            self.uses[root] = self.uses.get(root, 0) + 1
        self._survey_coefficients()
        self.chains = {x: power_chain(sorted(es)) for x, es in powers.items()}
        self.chain_values: dict[int, dict[int, int]] = {}

    def _survey_coefficients(self) -> None:
        """`owned`: products that occur only under one size of coefficient; `scaled`: (size, x) -> the node of it."""
        self.factor: dict[Node, Number | None] = {}
        self.scaled: dict[tuple[Number, Node], Node] = {}
        owners: dict[Node, int] = {}
        for node in self.uses:
            if node.op is SCALE and node.data != -1:
                x, size = node.args[0], abs(node.data)
                self.scaled.setdefault((size, x), node)
                if x.op is MUL and x.flags:
                    owners[x] = owners.get(x, 0) + 1
                    self.factor[x] = size if self.factor.get(x, size) == size else None
        for x, n in owners.items():
            if self.uses[x] != n:
                self.factor[x] = None

    # -- values

    def _value(self, op: str, args: tuple[Any, ...], rate: int, region: int) -> int:
        v = len(self.ops)
        self.ops.append(op)
        self.args.append(args)
        self.rates.append(rate)
        self.regions.append(region)
        return v

    def _emit(self, op: str, *args: Any) -> int:
        """A value whose operands are all values, made once, in the innermost block that its operands belong to."""
        key = (op, args)
        v = self.made.get(key)
        if v is not None:
            return v
        return self._place(op, args, args)

    def _place(self, op: str, args: tuple[Any, ...], operands: Iterable[int]) -> int:
        rate, region = 0, -1
        for a in operands:
            rate |= self.rates[a]
            if self.regions[a] >= 0:
                region = self._inner(region, self.regions[a])
        v = self._value(op, args, rate, region)
        self.made[op, args] = v
        self.lists[region].append(v)
        return v

    def _inner(self, a: int, b: int) -> int:
        """The deeper of two blocks, closed ones counting as the block around them."""
        while not self.open[b]:
            b = self.parents[b]
        # open blocks are nested in one another, and a later number is deeper
        return max(a, b)

    def const(self, number: Number) -> int:
        if number.__class__ is not float and math.isinf(as_float(number)):
            number = as_float(number)  # beyond all doubles
        key = ("const", number.__class__, repr(number))
        v = self.made.get(key)
        if v is None:
            v = self.made[key] = self._value("const", (number,), 0, -1)
        return v

    def _plain(self, signed: Signed) -> int:
        sign, v = signed
        if sign > 0:
            return v
        if self.ops[v] == "const":
            return self.const(-self.args[v][0])
        return self._emit("neg", v)

    # -- nodes

    def _find(self, node: Node, scope: _LoweringScope) -> Signed:
        if not node.flags & BOUND:
            return self.root.memo[node]
        at: _LoweringScope | None = scope
        while at is not None:
            found = at.memo.get(node)
            if found is not None:
                return found
            at = at.parent
        raise KeyError(node)

    def _known(self, node: Node, scope: _LoweringScope) -> bool:
        if not node.flags & BOUND:
            return node in self.root.memo
        at: _LoweringScope | None = scope
        while at is not None:
            if node in at.memo:
                return True
            at = at.parent
        return False

    def walk(self, roots: Iterable[Node], scope: _LoweringScope) -> None:
        """Lower everything below the roots, depth first, operands before their use."""
        memo = self.root.memo
        stack: list[Node] = []
        for root in roots:
            stack.append(root)
            while stack:
                node = stack[-1]
                bound = node.flags & BOUND
                if node in memo if not bound else self._known(node, scope):
                    stack.pop()
                    continue
                waiting = False
                for child in reversed(self._operands(node)):
                    if not (child in memo if not child.flags & BOUND else self._known(child, scope)):
                        stack.append(child)
                        waiting = True
                if not waiting:
                    stack.pop()
                    signed = self._lower_node(node, scope)
                    (scope.memo if bound else memo)[node] = signed

    def _operands(self, node: Node) -> tuple[Node, ...]:
        op = node.op
        if op is AT:
            return node.args[:1]
        if op is SOLVE:
            n = len(node.data.unknowns)
            return node.args[n : 2 * n]  # the guess; the body is lowered in a scope of its own
        if op is MUL:
            # a divisor is lowered by its base: the reciprocal itself is not wanted
            return tuple(f.args[0] if self._is_divisor(f) else f for f in node.args)
        if op is SCALE and self.factor.get(node.args[0]) is not None:
            if self._joins_setup(node):
                return self._operands(node.args[0])
            partner = self._scaled_factor(node)
            if partner is not None:
                rest = tuple(f for f in node.args[0].args if f is not partner.args[0])
                return (partner, *(f.args[0] if self._is_divisor(f) else f for f in rest))
        return node.args

    def _is_divisor(self, factor: Node) -> bool:
        if factor.op is not POW or factor.data >= 0 or self.uses[factor] != 1:
            return False
        # a number that is still a power has no finite reciprocal
        return factor.flags != 0 or factor.args[0].op is CONST

    def _joins_setup(self, node: Node) -> bool:
        """scale(c, p*x) with a setup factor p: the coefficient is multiplied into p, once."""
        x = node.args[0]
        return self.factor.get(x) is not None and any(f.flags == 0 for f in x.args)

    def _scaled_factor(self, node: Node) -> Node | None:
        """scale(c, x*y) where scale(c, x) is computed anyway: the product is taken over that."""
        size = abs(node.data)
        for f in node.args[0].args:
            partner = self.scaled.get((size, f))
            if partner is not None and not self._is_divisor(f):
                return partner
        return None

    def _lower_node(self, node: Node, scope: _LoweringScope) -> Signed:
        op = node.op
        if op is ADD:
            return self._sum(node, scope)
        if op is MUL:
            return self._product(node, scope, 1)
        if op is SCALE:
            return self._scale(node, scope)
        if op is POW:
            return 1, self._power(node.args[0], node.data, scope)
        if op is CONST:
            value = int(node.data) if node.data.__class__ is bool else node.data
            return (-1, self.const(-value)) if value < 0 else (1, self.const(value))
        if op is ALIAS:
            signed = self._find(node.args[0], scope)
            if self.ops[signed[1]] not in ("input", "parameter", "const") and signed[0] > 0:
                self.names.setdefault(signed[1], node.data.name)
            return signed
        if op is SYMBOL:
            raise KeyError(f"symbol {node.data.name!r} is not an argument")  # System refuses free symbols earlier
        if op is TABLE:
            index = self.tables.setdefault(node.data, len(self.tables))
            x = self._plain(self._find(node.args[0], scope))
            key = ("table", (index, x))
            return 1, self.made[key] if key in self.made else self._place("table", (index, x), (x,))
        if op is EXTERN:
            index = self.externals.setdefault(node.data, len(self.externals))
            xs = tuple(self._plain(self._find(a, scope)) for a in node.args)
            return 1, self._place("extern", (index, *xs), xs)
        if op is RESULT:
            call = self._find(node.args[0], scope)[1]
            key = ("result", (call, node.data))
            return 1, self.made[key] if key in self.made else self._place("result", (call, node.data), (call,))
        if op is SOLVE:
            return self._solve(node, scope)
        if op is AT:
            return self._at(node, scope)
        return 1, self._emit(op, *[self._plain(self._find(a, scope)) for a in node.args])

    def _scale(self, node: Node, scope: _LoweringScope) -> Signed:
        c = node.data
        sign = 1 if c > 0 or c != c else -1
        size = abs(c)
        if size == 1:
            s, v = self._find(node.args[0], scope)
            return sign * s, v
        if self.factor.get(node.args[0]) is not None:
            if self._joins_setup(node):
                s, v = self._product(node.args[0], scope, size)
                return sign * s, v
            partner = self._scaled_factor(node)
            if partner is not None:
                s, v = self._product(node.args[0], scope, 1, partner)
                return sign * s, v
        s, v = self._find(node.args[0], scope)
        return sign * s, self._emit("mul", self.const(size), v)

    def _sum(self, node: Node, scope: _LoweringScope) -> Signed:
        groups = self._by_rate([self._find(t, scope) for t in node.args])
        total: Signed | None = None
        for group in groups:
            part = self._chain_sum(group)
            total = part if total is None else self._chain_sum([total, part])
        assert total is not None
        return total

    def _by_rate(self, terms: list[Signed]) -> list[list[Signed]]:
        """Terms of one rate together, slow rates first: what changes less often is summed once."""
        rates, regions = self.rates, self.regions
        kinds = [rates[v] if regions[v] < 0 else 8 + regions[v] for _, v in terms]
        first = kinds[0]
        if all(k == first for k in kinds):
            return [terms]
        groups: dict[int, list[Signed]] = {}
        for kind, term in zip(kinds, terms, strict=True):
            groups.setdefault(kind, []).append(term)
        return [groups[k] for k in sorted(groups)]

    def _chain_sum(self, terms: list[Signed]) -> Signed:
        # start with a positive term so that no sign is left over
        start = next((i for i, (s, _) in enumerate(terms) if s > 0), None)
        flip = start is None
        if flip:
            start = 0
        assert start is not None
        total = terms[start][1]
        for i, (s, v) in enumerate(terms):
            if i != start:
                total = self._emit("add" if (s > 0) != flip else "sub", total, v)
        return (-1 if flip else 1), total

    def _product(self, node: Node, scope: _LoweringScope, coefficient: Number, partner: Node | None = None) -> Signed:
        """The product of the factors and a positive coefficient that joins the setup factors.

        `partner`, a node scale(c, f) of a factor f, stands for f and brings the coefficient |c|.
        """
        tops: list[Signed] = []
        bottoms: list[Signed] = []
        for f in node.args:
            if partner is not None and f is partner.args[0]:
                s, v = self._find(partner, scope)
                tops.append((s if partner.data > 0 else -s, v))
            elif self._is_divisor(f):
                bottoms.append((1, self._power(f.args[0], -f.data, scope)))
            else:
                tops.append(self._find(f, scope))
        sign = 1
        for s, _ in tops:
            sign *= s
        if coefficient != 1:
            tops.insert(0, (1, self.const(coefficient)))
        top = self._chain_product(tops)
        bottom = self._chain_product(bottoms)
        if bottom is None:
            assert top is not None
            return sign, top
        return sign, self._emit("div", self.const(1) if top is None else top, bottom)

    def _chain_product(self, factors: list[Signed]) -> int | None:
        total: int | None = None
        for group in self._by_rate(factors) if factors else []:
            part = group[0][1]
            for _, v in group[1:]:
                part = self._emit("mul", part, v)
            total = part if total is None else self._emit("mul", total, part)
        return total

    def _power(self, base: Node, exponent: Number, scope: _LoweringScope) -> int:
        """base ** exponent as a value (never with a sign: a negative base keeps its sign inside)."""
        if exponent.__class__ is not float and exponent < 0:
            return self._emit("div", self.const(1), self._power(base, -exponent, scope))
        signed = self._find(base, scope)
        whole = _whole_part(exponent)
        if whole is None:
            return self._emit("pow", self._plain(signed), self.const(exponent))
        half = exponent != whole
        x = signed[1] if whole % 2 == 0 and not half else self._plain(signed)
        value = self._whole_power(base, x, whole) if whole else None
        if not half:
            assert value is not None
            return value
        root = self._emit("sqrt", self._plain(signed))
        return root if value is None else self._emit("mul", value, root)

    def _whole_power(self, base: Node, x: int, exponent: int) -> int:
        have = self.chain_values.setdefault(x, {1: x})
        if exponent in have:
            return have[exponent]
        for e, a, b in self.chains.get(base, ()):
            if e not in have:
                have[e] = self._emit("mul", have[a], have[b])
            if e == exponent:
                break
        if exponent not in have:  # a power that the survey did not see on this base, such as a bare x^1
            have[exponent] = self._emit("mul", self._whole_power(base, x, exponent - 1), x)
        return have[exponent]

    # -- implicit blocks

    def _solve(self, node: Node, scope: _LoweringScope) -> Signed:
        info, n = node.data, len(node.data.unknowns)
        if not node.flags & BOUND:
            scope = self.root
        residual, guess, step = node.args[:n], node.args[n : 2 * n], node.args[2 * n : 3 * n]
        watched = node.args[3 * n :]
        start = tuple(self._plain(self._find(g, scope)) for g in guess)
        block = len(self.lists) - 1
        self.lists[block] = []
        self.open[block] = True
        self.parents[block] = self._block_of(scope)
        inner = _LoweringScope(scope, node)
        rate = (node.flags & 3) | STEP
        around: _LoweringScope | None = scope
        while around is not None and around.solve is not None:
            rate |= self.rates[around.memo[around.solve.data.unknowns[0]][1]]
            around = around.parent
        unknowns = tuple(self._value("unknown", (block, k), rate, block) for k in range(n))
        for symbol, v in zip(info.unknowns, unknowns, strict=True):
            inner.memo[symbol] = (1, v)
        self.walk([*residual, *step, *watched], inner)
        residuals = tuple(self._plain(self._find(r, inner)) for r in residual)
        steps = tuple(self._plain(self._find(s, inner)) for s in step)
        # of what is watched the size counts alone
        values = tuple(self._find(x, inner)[1] for x in watched[::2])
        limits = tuple(self._plain(self._find(x, inner)) for x in watched[1::2])
        self.blocks[block] = SolveBlock(
            info.name, unknowns, start, tuple(self.lists[block]), residuals, steps, info.tolerance, info.max_iterations,
            info.remedy, info.checks, values, limits, info.span,
        )  # fmt: skip
        self.open[block] = False
        # the block stands inside the innermost open block that anything it reads belongs to
        region = -1
        for v in [*start, *values, *limits, *self._read_inside(block)]:
            if self.regions[v] >= 0:
                region = self._inner(region, self.regions[v])
        self.parents[block] = region
        v = self._value("solve", (block,), rate, region)
        self.lists[region].append(v)
        self.closed[node, id(scope)] = inner
        inner.memo[node] = (1, v)
        return 1, v

    def _block_of(self, scope: _LoweringScope) -> int:
        while scope.solve is not None:
            unknown = scope.memo[scope.solve.data.unknowns[0]][1]
            block = self.regions[unknown]
            if self.open[block]:
                return block
            scope = scope.parent or self.root
        return -1

    def _read_inside(self, block: int) -> Iterable[int]:
        from symbody.symbolic.lower.program import operands

        for v in self.blocks[block].body:
            if self.ops[v] == "solve":
                yield from self._read_inside(self.args[v][0])
                inner = self.blocks[self.args[v][0]]
                yield from (*inner.guess, *inner.watched, *inner.limits)
            else:
                yield from operands(self.ops[v], self.args[v])

    def _at(self, node: Node, scope: _LoweringScope) -> Signed:
        solve, body = node.args
        if not solve.data.unknowns:
            self.walk([body], scope)
            return self._find(body, scope)
        inner = self._closed_scope(solve, scope)
        self.walk([body], inner)
        return self._find(body, inner)

    def _closed_scope(self, solve: Node, scope: _LoweringScope) -> _LoweringScope:
        at: _LoweringScope | None = scope
        while at is not None:
            found = self.closed.get((solve, id(at)))
            if found is not None:
                return found
            at = at.parent
        raise KeyError(solve)


def _whole_part(exponent: Number) -> int | None:
    """n of x^n and of x^(n + 1/2), for positive and negative exponents; None for any other exponent."""
    size = abs(exponent)
    if size.__class__ is int:
        return size
    if size.__class__ is Fraction and size.denominator == 2:
        return size.numerator // 2
    return None
