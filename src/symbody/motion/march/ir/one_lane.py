"""One lane by itself: guards, rates, resets and trial steps of a single member, for what happens inside of a step.

The functions take the job of a Workspace with one lane, and the member of the run that it stands for. States are
pointers to nx numbers, guards to ng; scratch rows have names here, so that it is plain which function uses which.
"""

from __future__ import annotations

import math

from symbody.motion.march.ir.block import StateBlock
from symbody.motion.march.ir.routine import Routine
from symbody.motion.march.ir.splitting import write_splitting
from symbody.motion.march.job import WORDS
from symbody.motion.march.method_tables import Method, RungeKutta, Splitting

# rows of nx numbers: ends of the step, event, trial, rates and shifted states of differences, ...
STATES = (
    "x0", "x1", "event", "trial", "rate", "shifted", "moved", "k1", "k2", "k3", "k4", "side", "passing", "was", "carry",
)  # fmt: skip
# rows of ng numbers or flags
GUARDS = (
    "before", "after", "end", "trial", "plus", "minus", "values", "rates", "near", "happens", "against", "p_before",
    "p_after", "p_beyond", "p_found", "one", "later", "left", "noise", "old",
)  # fmt: skip


class Lane(Routine):
    """A function of the single lane."""

    attributes = 1

    def __init__(self, name: str, width: int, head: str = "", result: str = "void") -> None:
        super().__init__(name, WORDS, width, "ptr noalias %job, i64 %member" + (f", {head}" if head else ""), result)

    def state(self, name: str) -> str:
        """Scratch for a state."""
        return self.at(self.pointer("sx"), self.mul(self.word("nx"), str(STATES.index(name))))

    def guard(self, name: str) -> str:
        """Scratch for guards."""
        return self.at(self.pointer("sg"), self.mul(self.word("ng"), str(GUARDS.index(name))))

    def of_member(self, name: str, size: str | None = None) -> str:
        """Pointer to the member's place in an array of all members, of `size` numbers each (None: one)."""
        return self.at(self.pointer(name), "%member" if size is None else self.mul("%member", size))

    def invoke(self, result: str, name: str, *arguments: str) -> str:
        """Another function of the single lane; arguments with their types."""
        text = f"call {result} @{name}({', '.join(('ptr %job', 'i64 %member', *arguments))})"
        if result == "void":
            self.do(text)
            return ""
        return self.op(text)

    def copy(self, source: str, target: str, size: str | None = None, kind: str = "double") -> None:
        with self.loop(self.word("nx") if size is None else size) as e:
            self.store(self.load(source, e, kind), target, e, kind)

    def fill(self, target: str, value: str, size: str, kind: str = "double") -> None:
        with self.loop(size) as e:
            self.store(value, target, e, kind)

    def absolute(self, x: str) -> str:
        return self.call("double", "fabs", x)

    def larger(self, a: str, b: str) -> str:
        return self.select(self.compare("ogt", a, b), a, b)

    def smaller(self, a: str, b: str) -> str:
        return self.select(self.compare("olt", a, b), a, b)

    def sign(self, x: str) -> str:
        zero = self.literal(0.0)
        below = self.select(self.compare("olt", x, zero), self.literal(-1.0), zero)
        return self.select(self.compare("ogt", x, zero), self.literal(1.0), below)

    def as_number(self, whole: str) -> str:
        return self.op(f"sitofp i64 {whole} to double")

    def as_word(self, flag: str) -> str:
        return self.op(f"zext i1 {flag} to i64")

    def is_set(self, base: str, index: str) -> str:
        """i1: whether a 64-bit flag is not 0."""
        return self.compare("ne", self.load(base, index, "i64"), "0")

    def evaluate(self, kind: str) -> str:
        """Call a compiled function of the single lane; i1: whether one of its solve blocks failed."""
        function = self.op(f"inttoptr i64 {self.word(kind)} to ptr")
        return self.evaluate_at(
            function, self.pointer(f"{kind}_context"), self.word(f"{kind}_blocks"), f"{kind}_status"
        )

    def evaluate_at(self, function: str, context: str, blocks: str, status: str) -> str:
        self.do(f"call void {function}(ptr {context}, i64 0, i64 1)")
        failed = self.variable("i1", "false")
        place = status if status.startswith("%") else self.pointer(status)
        with self.loop(blocks) as b:
            failed.set(self.either(failed.get(), self.compare("olt", self.load(place, b), self.literal(0.0))))
        return failed.get()

    def done(self, value: str = "") -> Lane:
        self.do(f"ret {value}" if value else "ret void")
        return self


class LaneBlock(StateBlock):
    """A block of lanes whose held signals lie over those of the tables."""

    def within(self, first: str, count: str) -> LaneBlock:
        """Stand for lanes from outside of the function."""
        r = self.r
        self.first, self.count, self.rows = first, count, count
        self.n = r.mul(count, r.word("nx"))
        self.padded = r.op(f"and i64 {r.add(self.n, str(r.width - 1))}, {-r.width}")
        self.bad = r.variable("i1", "false")
        return self

    def signals(self, side: float) -> None:
        super().signals(side)
        overlaid(self.r, self.rows, self.first)


def overlaid(r: Routine, rows: str, first: str) -> None:
    """Held signals of some lanes over U."""
    r.do(f"call void @overlay(ptr %job, i64 {rows}, i64 {first})")


def single_lane(method: Method | None, node: float, width: int) -> list[Routine]:
    """All functions of this file."""
    return [
        _overlay(width), _place(width), _guards_at(width), _rates_at(width), _after_at(width), _projected_at(width),
        _step(method, node, width), _retry(width),
    ]  # fmt: skip


def _overlay(width: int) -> Routine:
    r = Routine("overlay", WORDS, width, "ptr noalias %job, i64 %rows, i64 %first")
    nu = r.word("nu")
    with r.loop("%rows") as lane:
        held, target = (
            r.at(r.pointer(name), r.mul(row, nu)) for name, row in (("held", r.add("%first", lane)), ("U", lane))
        )
        with r.loop(r.word("n_overlay")) as i:
            column = r.load(r.pointer("overlay"), i, "i64")
            r.store(r.load(held, column), target, column)
    r.do("ret void")
    return r


def _place(width: int) -> Routine:
    """A state and the signals at a time, as inputs of all Kernels."""
    r = Lane("place", width, "ptr %x, double %t")
    r.copy("%x", r.pointer("X"))
    for name in ("T", "TS"):
        r.store("%t", r.pointer(name), "0")
    r.store(r.literal(0.0), r.pointer("H"), "0")
    with r.when(r.compare("ne", r.word("nu"), "0")):
        r.do(f"call void @signals(ptr %job, i64 1, i64 %member, double {r.literal(0.0)})")
        overlaid(r, "1", "%member")
    return r.done()


def _output_routine(r: Lane, kind: str, source: str, size: str) -> Routine:
    """The rest of a function that writes an output to %out, or NaN where it fails."""
    r.invoke("void", "place", "ptr %x", "double %t")
    failed = r.evaluate(kind)
    with r.loop(size) as e:
        r.store(r.select(failed, r.literal(math.nan), r.load(r.pointer(source), e)), "%out", e)
    return r.done()


def _guards_at(width: int) -> Routine:
    r = Lane("guards_at", width, "ptr %x, double %t, ptr %out")
    return _output_routine(r, "guards", "G1", r.word("ne"))


def _rates_at(width: int) -> Routine:
    r = Lane("rates_at", width, "ptr %x, double %t, ptr %out")
    return _output_routine(r, "field", "KF", r.word("nx"))


def _after_at(width: int) -> Routine:
    """Row %row of the states after events, in AF."""
    r = Lane("after_at", width, "ptr %x, double %t, i64 %row, ptr %out")
    r.invoke("void", "place", "ptr %x", "double %t")
    failed = r.evaluate("after")
    row = r.at(r.pointer("AF"), r.mul("%row", r.word("nx")))
    with r.loop(r.word("nx")) as e:
        r.store(r.select(failed, r.literal(math.nan), r.load(row, e)), "%out", e)
    return r.done()


def _projected_at(width: int) -> Routine:
    """%x corrected at %t, in place."""
    r = Lane("projected_at", width, "ptr %x, double %t")
    with r.when(r.compare("ne", r.word("project"), "0")):
        r.invoke("void", "place", "ptr %x", "double %t")
        for name in ("XN", "XP"):
            r.copy("%x", r.pointer(name))
        failed = r.evaluate("project")
        with r.loop(r.word("nx")) as e:
            r.store(r.select(failed, r.literal(math.nan), r.load(r.pointer("XP"), e)), "%x", e)
    return r.done()


def _step(method: Method | None, node: float, width: int) -> Routine:
    """One step of lanes from X at T over H; X is the new state, XB the old one. i1: whether some lane failed."""
    r = Routine("step", WORDS, width, "ptr noalias %job, i64 %first, i64 %count", "i1")
    k = LaneBlock(r).within("%first", "%count")
    k.spread_step()
    if method is None:
        k.at_time(node)
        with r.loop(k.rows) as lane:  # the map itself is told the time at the start
            r.store(r.load(r.pointer("T"), lane), r.pointer("TS"), lane)
        k.rates(0)
        k.commit(lambda i: r.vload(r.pointer("XN"), i))
    elif isinstance(method, Splitting):
        _renewed(k)
        write_splitting(k, method, r.variable("i1", "false"))
        known = r.select(r.flag("reuse"), "0", "1", "i64") if method.substeps else "1"
        with r.loop(k.count) as lane:
            r.store(known, r.pointer("FR"), lane, "i64")
    else:
        runge_kutta(k, method)
    r.do(f"ret i1 {k.bad.get()}")
    return r


def runge_kutta(k: StateBlock, method: RungeKutta) -> None:
    """One step from X of fixed length."""
    for stage in range(method.stages):
        if stage:
            k.update("X", method.a[stage], "Y")
        k.at_time(method.c[stage])
        k.rates(stage)
    k.commit(lambda i: k.updated("X", method.b, i))


def _renewed(k: StateBlock) -> None:
    """Rates at X of the lanes that do not know them from the step before (FR is not 0)."""
    r = k.r
    wanted = r.variable("i1", "false")
    with r.loop(k.count) as lane:
        wanted.set(r.either(wanted.get(), r.compare("ne", r.load(r.pointer("FR"), lane, "i64"), "0")))
    with r.when(wanted.get()):
        with k.flat() as i:
            r.vstore(r.vload(k.buffer(0), i), r.pointer("R1"), i)
        k.at_time(0.0)
        k.rates(0)
        restored(k, "R1", "FR")


def restored(k: StateBlock, saved: str, renewed: str) -> None:
    """K of lanes that were not to be renewed, back from a buffer."""
    r = k.r
    nx = r.word("nx")
    with r.loop(k.count) as lane, r.when(r.compare("eq", r.load(r.pointer(renewed), lane, "i64"), "0")):
        start = r.mul(lane, nx)
        old, row = r.at(r.pointer(saved), start), r.at(k.buffer(0), start)
        with r.loop(nx) as e:
            r.store(r.load(old, e), row, e)


def _retry(width: int) -> Routine:
    """The state at %s after one step from %x at %t; %x where the step fails."""
    r = Lane("retry", width, "ptr %x, double %t, double %s, ptr %out")
    r.invoke("void", "place", "ptr %x", "double %t")
    r.store(r.f("fsub", "%s", "%t"), r.pointer("H"), "0")
    r.store("0", r.pointer("fail"), "0", "i64")
    r.store("1", r.pointer("FR"), "0", "i64")
    failed = r.op("call i1 @step(ptr %job, i64 %member, i64 1)")
    with r.loop(r.word("nx")) as e:
        r.store(r.select(failed, r.load("%x", e), r.load(r.pointer("X"), e)), "%out", e)
    return r.done()
