"""Programs for tests: written by hand, and random ones with every kind of operation.

A random Program is numerically tame, so that targets with other sines may be compared at 1e-9: magnitudes stay below
about 100, functions stay inside their domains, and what jumps (floor, sign, comparisons) sees only inputs, parameters
and constants. Its inputs are meant for [-2, 2], its parameters have defaults in [0.5, 2].
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.lower.program import OutputPort, Program, SolveBlock
from symbody.symbolic.system.ports import Port

LIMIT = 100.0
SMOOTH = (
    "sin", "cos", "sin", "cos", "tan", "sqrt", "exp", "log", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "atan2", "pow", "hypot",
)  # fmt: skip


def _cubic(a: Any, b: Any) -> tuple[Any, Any]:
    return a * a * b + a, b - a


CUBIC = External(
    "cubic", 2, 2, function=_cubic, c_body="out[0] = in[0] * in[0] * in[1] + in[0];\nout[1] = in[1] - in[0];"
)
HALF = External("half", 1, 1, function=lambda a: a * 0.5)
RAMP = Piecewise((-1.0, 0.0, 1.0, 2.0), ((0.0, 1.0, 2.0), (1.0, 1.5, 0.25), (0.0, -0.5, 1.0)))
STAIRS = Piecewise((-0.5, 0.25, 0.5), ((1.0, 2.0),))


@dataclass
class Builder:
    """Makes a Program value by value; the rate of a value follows from its operands."""

    name: str = "test"
    ops: list[str] = field(default_factory=list)
    args: list[tuple[Any, ...]] = field(default_factory=list)
    rate: list[int] = field(default_factory=list)
    runs: tuple[list[int], list[int], list[int]] = field(default_factory=lambda: ([], [], []))
    inputs: list[Port] = field(default_factory=list)
    parameters: list[Port] = field(default_factory=list)
    outputs: list[OutputPort] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)
    tables: list[Piecewise] = field(default_factory=list)
    externals: list[External] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    open: list[tuple[int, list[int], list[int], list[int]]] = field(default_factory=list)

    def input(self, name: str, shape: tuple[int, ...] = (), role: str = "state", unit: str = "") -> list[int]:
        start = sum(p.size for p in self.inputs)
        self.inputs.append(Port(name, shape, start, role, unit))
        rate = 2 if role == "input" else 1
        return [self._leaf("input", (start + k,), rate) for k in range(self.inputs[-1].size)]

    def parameter(self, name: str, shape: tuple[int, ...] = (), default: tuple[float, ...] | None = None) -> list[int]:
        start = sum(p.size for p in self.parameters)
        self.parameters.append(Port(name, shape, start, "parameter", "", default))
        return [self._leaf("parameter", (start + k,), 0) for k in range(self.parameters[-1].size)]

    def const(self, number: int | float | Fraction) -> int:
        return self._leaf("const", (number,), 0)

    def _leaf(self, op: str, args: tuple[Any, ...], rate: int) -> int:
        self.ops.append(op)
        self.args.append(args)
        self.rate.append(rate)
        return len(self.ops) - 1

    def make(self, op: str, *args: Any) -> int:
        operands = args[1:] if op in ("table", "extern") else args[:1] if op == "result" else args
        v = self._leaf(op, args, max((self.rate[a] for a in operands), default=0))
        self._place(v)
        return v

    def _place(self, v: int) -> None:
        (self.open[-1][3] if self.open else self.runs[self.rate[v]]).append(v)

    def call(self, external: External, *args: int) -> list[int]:
        if external not in self.externals:
            self.externals.append(external)
        call = self.make("extern", self.externals.index(external), *args)
        return [self.make("result", call, k) for k in range(external.results)]

    def table(self, table: Piecewise, x: int) -> int:
        if table not in self.tables:
            self.tables.append(table)
        return self.make("table", self.tables.index(table), x)

    def open_block(self, guess: list[int], rate: int) -> list[int]:
        """Starts a block; its body is what `make` makes until `close_block`. Gives the unknowns. Blocks may nest."""
        unknowns = [self._leaf("unknown", (len(self.blocks), k), rate) for k in range(len(guess))]
        self.open.append((len(self.blocks), guess, unknowns, []))
        self.blocks.append(None)
        return unknowns

    def close_block(self, name: str, residual: list[int], step: list[int], **options: Any) -> None:
        index, guess, unknowns, body = self.open.pop()
        rate = max(self.rate[v] for v in (*body, *guess, *unknowns))
        for v in (*body, *unknowns):
            self.rate[v] = rate
        self.blocks[index] = SolveBlock(
            name, tuple(unknowns), tuple(guess), tuple(body), tuple(residual), tuple(step), **options
        )
        self._place(self._leaf("solve", (index,), rate))

    def output(self, name: str, values: list[int], shape: tuple[int, ...] | None = None, unit: str = "") -> None:
        self.outputs.append(OutputPort(name, (len(values),) if shape is None else shape, tuple(values), unit))

    def program(self) -> Program:
        return Program(
            self.name,
            tuple(self.inputs),
            tuple(self.parameters),
            tuple(self.outputs),
            self.ops,
            self.args,
            *self.runs,
            blocks=tuple(self.blocks),
            tables=tuple(self.tables),
            externals=tuple(self.externals),
            names=self.names,
        )


def pendulum() -> Program:
    """Torque of a pendulum: tau = m l^2 qdd + m g l sin(q); m l^2 and m g l are setup, the sine is step."""
    b = Builder("pendulum")
    (q,), (qdd,) = b.input("q", (), "state", "rad"), b.input("qdd", (), "input", "rad/s^2")
    (m,), (length,), (g,) = b.parameter("m", (), (2.0,)), b.parameter("l", (), (0.5,)), b.parameter("g", (), (9.81,))
    ml = b.make("mul", m, length)
    inertia, weight = b.make("mul", ml, length), b.make("mul", ml, g)
    b.names[inertia] = "inertia[1,1]"
    torque = b.make("mul", weight, b.make("sin", q))
    b.output("tau", [b.make("add", b.make("mul", inertia, qdd), torque)], (), "N m")
    return b.program()


def square_root() -> Program:
    """x with x^2 = a by Newton from x = 1 + a^2, and the slope 2x of the residual: fails for a < 0."""
    b = Builder("square_root")
    (a,) = b.input("a")
    guess = b.make("add", b.const(1), b.make("mul", a, a))
    (x,) = b.open_block([guess], 1)
    residual = b.make("sub", b.make("mul", x, x), a)
    slope = b.make("add", x, x)
    step = b.make("neg", b.make("div", residual, slope))
    b.close_block("root", [residual], [step])
    b.output("x", [x], ())
    b.output("slope", [slope], ())
    b.output("echo", [a], ())
    return b.program()


def arcsine() -> Program:
    """x with sin(x) = 1/2 by Newton from x = a: near a quarter turn the first step leads to 1e16 rad."""
    b = Builder("arcsine")
    (a,) = b.input("a")
    (x,) = b.open_block([a], 1)
    residual = b.make("sub", b.make("sin", x), b.const(0.5))
    b.close_block("angle", [residual], [b.make("neg", b.make("div", residual, b.make("cos", x)))])
    b.output("x", [x], ())
    return b.program()


def nested_roots() -> Program:
    """y with y = sqrt(sqrt(a + y)) by an inner and an outer Newton iteration: fails for a < 0."""
    b = Builder("nested_roots")
    (a,) = b.input("a")
    (y,) = b.open_block([b.const(1)], 1)
    total = b.make("add", a, y)
    guess = b.make("add", b.const(1), b.make("abs", total))
    (x,) = b.open_block([guess], 1)
    b.close_block("inner", *_root_step(b, x, total))
    residual, step = _root_step(b, y, x)
    b.close_block("outer", residual, step)
    b.output("y", [y], ())
    b.output("x", [x], ())
    return b.program()


def setup_root() -> Program:
    """y = x sqrt(m), the root by Newton in the setup run: fails for m < 0."""
    b = Builder("setup_root")
    (x,), (m,) = b.input("x"), b.parameter("m", (), (4.0,))
    (root,) = b.open_block([b.make("add", b.const(1), b.make("abs", m))], 0)
    b.close_block("root", *_root_step(b, root, m))
    b.output("y", [b.make("mul", x, root)], ())
    return b.program()


def _root_step(b: Builder, x: int, a: int) -> tuple[list[int], list[int]]:
    """Residual and Newton step of x^2 = a (with x taken as the only unknown)."""
    residual = b.make("sub", b.make("mul", x, x), a)
    return [residual], [b.make("neg", b.make("div", residual, b.make("mul", b.const(2), x)))]


def random_program(
    seed: int,
    size: int = 80,
    *,
    blocks: int = 2,
    externals: bool = True,
    tables: bool = True,
    functions: bool = True,
    outputs: int = 3,
    name: str | None = None,
) -> Program:
    """About `size` values (more with blocks) of every kind that the switches allow; the same for the same arguments."""
    r = random.Random(seed)
    b = Builder(name or f"random_{seed}")
    numbers = [*b.input("q", (3,), "state", "rad"), *b.input("qd", (3,)), *b.input("t", (), "time", "s")]
    numbers += b.input("u", (2, 2), "input", "N")
    numbers += b.parameter("m", (2,), tuple(r.uniform(0.5, 2.0) for _ in range(2)))
    numbers += b.parameter("length", (), (r.uniform(0.5, 2.0),))
    numbers += [b.const(c) for c in (2, -1, Fraction(1, 3), 0.1, r.uniform(-1, 1))]
    maker = _Maker(r, b, functions, tables, externals)
    maker.bound.update((v, 2.0) for v in numbers)
    maker.leaves = list(numbers)
    every = max(size // (blocks + 1), 1)
    made = 0
    while len(b.ops) < size + len(numbers):
        maker.grow()
        if made < blocks and len(b.ops) - len(numbers) > every * (made + 1):
            maker.block(made)
            made += 1
    pool = maker.pool()
    for k in range(outputs):
        shape = r.choice([(), (2,), (3,), (2, 2)])
        values = [r.choice(pool[-len(pool) // 2 :]) for _ in range(int(np.prod(shape)))]
        b.output("xyzabcdef"[k] + "_out", values, shape)
    # no value is made for nothing: what nobody reads goes into one more output
    read = {a for v in range(len(b.ops)) for a in _reads(b, v)} | {v for p in b.outputs for v in p.values}
    read |= {v for block in b.blocks for v in (*block.guess, *block.step, *block.residual)}
    made_by_run = {v for run in b.runs for v in run}
    rest = [v for v in made_by_run if v not in read and b.ops[v] not in ("extern", "solve")]
    b.output("rest", sorted(rest))
    for v in r.sample(pool, min(5, len(pool))):
        b.names[v] = r.choice(["c1", "M[2,3]", "while", "t5", "omega'", "q"])
    return b.program()


def random_inputs(program: Program, seed: int = 0, loop: tuple[int, ...] = ()) -> list[np.ndarray]:
    """One array a port in [-2, 2], shape `loop + port.shape`."""
    r = np.random.default_rng(seed)
    return [r.uniform(-2.0, 2.0, loop + p.shape) for p in program.inputs]


def _reads(b: Builder, v: int) -> tuple[int, ...]:
    op, args = b.ops[v], b.args[v]
    if op in ("input", "parameter", "const", "unknown", "solve"):
        return ()
    return args[1:] if op in ("table", "extern") else args[:1] if op == "result" else args


@dataclass
class _Maker:
    """Grows a Program by operations chosen so that `bound[v]`, a limit of |v|, stays below LIMIT."""

    random: random.Random
    builder: Builder
    functions: bool
    tables: bool
    externals: bool
    bound: dict[int, float] = field(default_factory=dict)
    leaves: list[int] = field(default_factory=list)
    inner: list[int] = field(default_factory=list)

    def pool(self) -> list[int]:
        return list(self.bound)

    def pick(self) -> int:
        """A number to use: any one, with a preference for recent ones; inside a block often one of its own."""
        if self.inner and self.random.random() < 0.7:
            return self.random.choice(self.inner)
        pool = self.pool()
        return self.random.choice(pool[-20:] if self.random.random() < 0.7 else pool)

    def add(self, bound: float, op: str, *args: Any) -> int:
        v = self.builder.make(op, *args)
        self.bound[v] = bound
        if self.builder.open:
            self.inner.append(v)
        return v

    def grow(self) -> None:
        kinds = [self.arithmetic] * 12 + [self.jump]
        kinds += [self.smooth] * 4 if self.functions else []
        kinds += [self.from_table] if self.tables else []
        kinds += [self.from_external] if self.externals else []
        self.random.choice(kinds)()

    def arithmetic(self) -> None:
        a, b = self.pick(), self.pick()
        x, y = self.bound[a], self.bound[b]
        op = self.random.choice(["add", "sub", "mul", "mul", "neg", "min", "max", "abs", "div"])
        if op in ("add", "sub") and x + y < LIMIT:
            self.add(x + y, op, a, b)
        elif op == "mul" and x * y < LIMIT:
            self.add(x * y, op, a, b)
        elif op in ("min", "max"):
            self.add(max(x, y), op, a, b)
        elif op == "div" and y * y + 1 < LIMIT:
            away = self.add(y * y + 1, "add", self.builder.const(1), self.add(y * y, "mul", b, b))
            self.add(x, op, a, away)
        else:
            self.add(x, "abs" if op == "abs" else "neg", a)

    def smooth(self) -> None:
        a, b = self.pick(), self.pick()
        x, y = self.bound[a], self.bound[b]
        op = self.random.choice(SMOOTH)
        const = self.builder.const
        if op in ("sin", "cos", "tanh", "atan", "asinh"):
            self.add(6.0, op, a)
        elif op in ("tan", "exp", "sinh", "cosh", "asin", "acos", "atanh"):
            small = self.add(0.9, "mul", const(0.9), self.add(1.0, "tanh", a))
            self.add(3.0, op, small)
        elif op in ("sqrt", "log", "acosh", "pow"):
            above = self.add(x + 1.25, "add", const(Fraction(5, 4)), self.add(x, "abs", a))
            self.add(x + 1.25, op, above, *([const(self.random.choice([0.5, -2, 0.75]))] if op == "pow" else []))
        elif op == "atan2":
            self.add(3.2, op, a, self.add(y + 1.25, "add", const(1.25), self.add(y, "abs", b)))
        else:
            self.add(x + y, op, a, b)

    def jump(self) -> None:
        """What is not continuous, of leaves only, and a selection by it."""
        a, b = self.random.choice(self.leaves), self.random.choice(self.leaves)
        op = self.random.choice(["lt", "le", "eq", "ne", "and", "or", "not", "sign", "floor", "ceil", "mod"])
        if op == "mod":
            self.add(0.7, op, a, self.builder.const(self.random.choice([0.7, -0.7])))
        elif op in ("not", "sign", "floor", "ceil"):
            self.add(2.0, op, a)
        else:
            c = self.add(1.0, op, a, b)
            x, y = self.pick(), self.pick()
            self.add(max(self.bound[x], self.bound[y]), "select", c, x, y)

    def from_table(self) -> None:
        a = self.pick()
        if self.bound[a] <= 3.0:
            v = self.builder.table(RAMP, a)
        else:
            v = self.builder.table(STAIRS, self.random.choice(self.leaves))
        self.bound[v] = 40.0

    def from_external(self) -> None:
        a, b = self.pick(), self.pick()
        x, y = self.bound[a], self.bound[b]
        if x * x * y + x + y < LIMIT:
            self.bound.update((v, x * x * y + x + y) for v in self.builder.call(CUBIC, a, b))
        else:
            self.bound.update((v, x / 2) for v in self.builder.call(HALF, a))

    def block(self, index: int) -> None:
        """x = a/4 + 0.3 sin(y + b/4), y = b/4 + 0.2 cos(x) (or the first alone), with more values at the solution."""
        b, const = self.builder, self.builder.const
        count = self.random.choice([1, 2])
        fixed = [self.add(self.bound[v], "mul", const(0.25), v) for v in (self.pick(), self.pick())]
        rate = max(b.rate[v] for v in fixed)
        x, *more = b.open_block(list(fixed[:count]), rate)
        y = more[0] if more else x
        self.inner = [x, *more]
        self.bound.update((v, self.bound[fixed[0]] + self.bound[fixed[1]] + 1.0) for v in (x, *more))
        angle = self.add(30.0, "add", y, fixed[1])
        f1 = b.make("sub", b.make("sub", x, fixed[0]), b.make("mul", const(0.3), b.make("sin", angle)))
        d1 = b.make("mul", const(-0.3), b.make("cos", angle))
        if more:
            f2 = b.make("sub", b.make("sub", y, fixed[1]), b.make("mul", const(0.2), b.make("cos", x)))
            d2 = b.make("mul", const(0.2), b.make("sin", x))
            determinant = b.make("sub", const(1), b.make("mul", d1, d2))
            step = [
                b.make("div", b.make("sub", b.make("mul", d1, f2), f1), determinant),
                b.make("div", b.make("sub", b.make("mul", d2, f1), f2), determinant),
            ]
            residual = [f1, f2]
        else:
            step = [b.make("neg", b.make("div", f1, b.make("add", const(1), d1)))]
            residual = [f1]
        for _ in range(3):  # values at the solution that others read
            self.grow()
        self.inner = []
        b.close_block(f"loop{index}", residual, step)
