"""Native loop of adaptive steps: each lane has its own time, step size and end.

Error norm, controller and starting step are those of Hairer, Norsett, Wanner I, section II.4 (PI controller: II.4 and
Gustafsson 1991), with the rms norm of error / (atol + rtol max(|x|, |x_new|)).
"""

from __future__ import annotations

from functools import cache

from symbody.motion.march.ir.block import StateBlock
from symbody.motion.march.ir.compiled_march import module_text
from symbody.motion.march.ir.dense import any_wanted, interpolated, record
from symbody.motion.march.ir.routine import Routine
from symbody.motion.march.job import (
    FAILED,
    GUARD,
    INSIDE,
    NOT_FINITE,
    PAUSED,
    REACHED,
    TOO_MANY,
    TOO_SMALL,
    WORDS,
    helpers,
)
from symbody.motion.march.method_tables import RungeKutta
from symbody.motion.march.step_control import BACK, GROW, ROUNDING, SAFETY, SHRINK, SMALLEST_MEMORY, exponents


@cache
def adaptive_module(method: RungeKutta, width: int) -> str:
    """IR with the function `march`."""
    r = Routine("march", WORDS, width)
    Adaptive(r, method).write()
    r.do("ret void")
    return module_text([r, *helpers(width), interpolated(method, width)])


class Adaptive(StateBlock):
    """Writes the routine; its methods are the parts of a step in the order in which they run."""

    def __init__(self, r: Routine, method: RungeKutta) -> None:
        super().__init__(r)
        self.method = method
        # whether the error estimate does without the rates at the new state: these are then spared in rejected steps
        self.late = all(row[-1] == 0.0 for row in method.error)

    def write(self) -> None:
        r = self.r
        with self.blocks():
            self._begin()
            with r.forever() as out:
                self.step(out)

    def step(self, out: str) -> None:
        """One step of all lanes, tried and judged; `out` is left for where none is alive."""
        r, method = self.r, self.method
        self._choose_steps()
        r.leave(r.compare("eq", self.alive.get(), "0"), out)
        self.spread_step()
        for stage in range(1, method.stages):
            self.update("X", method.a[stage], "Y")
            self.at_time(method.c[stage])
            self.rates(stage)
        self.update("X", method.b, "XN")
        if not self.late:
            self._evaluate_end()
        self._errors()
        with r.when(self._judge()):
            if self.late:
                self._evaluate_end()
            with r.when(r.compare("ne", r.word("project"), "0")):
                self._project()
            with r.when(any_wanted(self)):
                for j, row in enumerate(method.extra_a):
                    self.update("X", row, "Y")
                    self.at_time(method.extra_c[j])
                    self.rates(method.stages + 1 + j)
            self._accept()
        with r.loop(self.count) as lane:
            r.store(self.lane("HN", lane), r.pointer("H"), lane)

    # -- lanes

    def stop_at(self, lane: str) -> str:
        """Where the interval of a lane ends."""
        return self.r.number("t_stop")

    def longest(self, lane: str) -> str:
        """The longest step of a lane."""
        return self.r.load(self.r.pointer("longest"), self.r.add(self.first, lane))

    def lane(self, name: str, lane: str, kind: str = "double") -> str:
        return self.r.load(self.r.pointer(name), lane, kind)

    def is_set(self, name: str, lane: str) -> str:
        return self.r.compare("ne", self.lane(name, lane, "i64"), "0")

    def running(self, lane: str) -> str:
        return self.r.compare("eq", self.lane("done", lane, "i64"), "0")

    def count_up(self, name: str, lane: str, by: int = 1) -> None:
        r = self.r
        member = r.add(self.first, lane)
        r.store(r.add(r.load(r.pointer(name), member, "i64"), str(by)), r.pointer(name), member, "i64")

    def end(self, lane: str, status: str, revert: str = "false") -> None:
        """Results and memory of a lane to its member. revert: nothing was accepted after X."""
        r = self.r
        member = r.add(self.first, lane)
        t = self.lane("T", lane)
        self.finish(lane, status, (t, r.select(revert, t, self.lane("TB", lane))), "false")
        if revert != "false":
            nx = r.word("nx")
            row, out = r.at(r.pointer("X"), r.mul(lane, nx)), r.at(r.pointer("x_before"), r.mul(member, nx))
            with r.loop(nx) as e:
                r.store(r.load(row, e), out, e)
        r.store(self.lane("HN", lane), r.pointer("h"), member)
        memory = r.at(r.pointer("memory"), r.mul(member, "2"))
        r.store(self.lane("old", lane), memory, "0")
        r.store(self.lane("cut", lane, "i64"), memory, "1", "i64")
        for name in ("HN", "H"):
            r.store(r.literal(0.0), r.pointer(name), lane)

    def end_failed(self) -> None:
        """Lanes whose rates at X cannot be computed."""
        r = self.r
        with r.loop(self.count) as lane, r.when(r.both(self.running(lane), self.is_set("fail", lane))):
            self.end(lane, str(FAILED), "true")

    # -- the start

    def _begin(self) -> None:
        r = self.r
        with r.loop(self.count) as lane:
            member = r.add(self.first, lane)
            for name, source in (("T", "t"), ("TB", "t"), ("TS", "t"), ("H", "h"), ("HN", "h")):
                r.store(r.load(r.pointer(source), member), r.pointer(name), lane)
            memory = r.at(r.pointer("memory"), r.mul(member, "2"))
            r.store(r.load(memory, "0"), r.pointer("old"), lane)
            r.store(r.load(memory, "1", "i64"), r.pointer("cut"), lane, "i64")
            r.store("0", r.pointer("why"), lane, "i64")
            with r.when(r.compare("ne", r.load(r.pointer("status"), member, "i64"), str(PAUSED))):
                r.store("1", r.pointer("done"), lane, "i64")
                r.store(r.literal(0.0), r.pointer("H"), lane)
                r.store(r.literal(0.0), r.pointer("HN"), lane)
                self.alive.set(r.sub(self.alive.get(), "1"))
            with r.when(self.running(lane)):
                left = r.f("fsub", self.stop_at(lane), self.lane("T", lane))
                with r.when(r.compare("ole", r.f("fmul", left, r.number("sign")), r.literal(0.0))):
                    self.end(lane, str(REACHED), "true")
        with r.when(r.compare("ne", r.word("nu"), "0")):
            self.signals(INSIDE)
        with r.when(r.compare("ne", self.alive.get(), "0")):
            with r.when(r.compare("ne", r.word("ng"), "0")):
                self.guards()
                with r.loop(r.mul(self.count, r.word("ng"))) as g:
                    r.store(r.load(r.pointer("G1"), g), r.pointer("G0"), g)
            self.rates(0)
            self.end_failed()
            self._first_steps()

    def _norm(self, rows: list[str], lane: str) -> list[str]:
        """rms over the components of a lane of buffers divided by atol + rtol |x|."""
        r = self.r
        nx = r.word("nx")
        start = r.mul(lane, nx)
        sums = [r.variable("double", r.literal(0.0)) for _ in rows]
        with r.loop(nx) as e:
            i = r.add(start, e)
            size = r.call("double", "fabs", r.load(r.pointer("X"), i))
            scale = r.f("fadd", r.load(r.pointer("tolerance"), i), r.f("fmul", r.number("rtol"), size))
            for total, base in zip(sums, rows):
                ratio = r.f("fdiv", r.load(base, i), scale)
                total.set(r.f("fadd", total.get(), r.f("fmul", ratio, ratio)))
        n = r.op(f"sitofp i64 {nx} to double")
        return [r.call("double", "sqrt", r.f("fdiv", total.get(), n)) for total in sums]

    def _first_steps(self) -> None:
        """Starting steps for the lanes that have none: an explicit Euler step shows how fast the rates change."""
        r = self.r
        needed = r.variable("i1", "false")
        with r.loop(self.count) as lane:
            wants = r.both(self.running(lane), r.compare("oeq", self.lane("H", lane), r.literal(0.0)))
            r.store(r.op(f"zext i1 {wants} to i64"), r.pointer("accepted"), lane, "i64")
            needed.set(r.either(needed.get(), wants))
        with r.when(needed.get()):
            with r.loop(self.count) as lane, r.when(self.is_set("accepted", lane)):
                d0, d1 = self._norm([r.pointer("X"), self.buffer(0)], lane)
                small = r.either(r.compare("olt", d0, r.literal(1e-5)), r.compare("olt", d1, r.literal(1e-5)))
                h = r.select(small, r.literal(1e-6), r.f("fmul", r.literal(0.01), r.f("fdiv", d0, d1)))
                h = self._limited(h, lane)
                r.store(r.f("fmul", h, r.number("sign")), r.pointer("H"), lane)
                r.store(d1, r.pointer("HP"), lane)
                self.count_up("evaluations", lane, 2)
            self.spread_step()
            self.update("X", (1.0,), "Y")
            self.at_time(1.0)
            self.rates(1)
            with self.flat() as i:
                change = r.f("fsub", r.vload(self.buffer(1), i), r.vload(self.buffer(0), i), r.vector)
                r.vstore(change, r.pointer("R1"), i)
            with r.loop(self.count) as lane, r.when(self.is_set("accepted", lane)):
                self._first_step(lane)
            with r.loop(self.count) as lane:
                # a failure at the trial point does not matter: the first step is judged anyway
                r.store("0", r.pointer("fail"), lane, "i64")

    def _first_step(self, lane: str) -> None:
        r = self.r
        tried = r.f("fmul", self.lane("H", lane), r.number("sign"))
        d1 = self.lane("HP", lane)
        (change,) = self._norm([r.pointer("R1")], lane)
        d2 = r.f("fdiv", change, tried)
        largest = r.select(r.compare("ogt", d1, d2), d1, d2)
        power = self._pow(r.f("fdiv", r.literal(0.01), largest), 1.0 / self.method.error_order)
        thousandth = r.f("fmul", tried, r.literal(1e-3))
        least = r.select(r.compare("ogt", thousandth, r.literal(1e-6)), thousandth, r.literal(1e-6))
        h = r.select(r.compare("ole", largest, r.literal(1e-15)), least, power)
        many = r.f("fmul", r.literal(100.0), tried)
        h = r.select(r.compare("olt", h, many), h, many)  # also where h is NaN
        h = self._limited(h, lane)
        for name in ("H", "HN"):
            r.store(r.f("fmul", h, r.number("sign")), r.pointer(name), lane)

    def _limited(self, h: str, lane: str) -> str:
        """At most max_step and what is left of the interval (h without sign)."""
        r = self.r
        left = r.f("fmul", r.f("fsub", self.stop_at(lane), self.lane("T", lane)), r.number("sign"))
        h = r.select(r.compare("olt", h, self.longest(lane)), h, self.longest(lane))
        return r.select(r.compare("olt", h, left), h, left)

    def _pow(self, x: str, exponent: float) -> str:
        r = self.r
        return r.op(f"call double {r.pointer('pow')}(double {x}, double {r.literal(exponent)})")

    # -- one step

    def _choose_steps(self) -> None:
        """Cut h at the end of the interval; lanes that cannot go on end here."""
        r = self.r
        with r.loop(self.count) as lane:
            r.store("0", r.pointer("fail"), lane, "i64")
            r.store("0", r.pointer("accepted"), lane, "i64")
            r.store("0", r.pointer("last"), lane, "i64")
            with r.when(self.running(lane)):
                self._choose_step(lane)

    def _choose_step(self, lane: str) -> None:
        r = self.r
        member = r.add(self.first, lane)
        tries = r.add(*(r.load(r.pointer(n), member, "i64") for n in ("steps", "rejected")))
        sign, t, h = r.number("sign"), self.lane("T", lane), self.lane("H", lane)
        size = r.f("fmul", h, sign)
        size = r.select(r.compare("olt", size, self.longest(lane)), size, self.longest(lane))
        h = r.f("fmul", size, sign)
        r.store(h, r.pointer("HP"), lane)
        beyond = r.f("fsub", r.f("fadd", t, r.f("fmul", r.literal(1.01), h)), self.stop_at(lane))
        last = r.compare("ogt", r.f("fmul", beyond, sign), r.literal(0.0))
        h = r.select(last, r.f("fsub", self.stop_at(lane), t), h)
        r.store(h, r.pointer("H"), lane)
        r.store(r.op(f"zext i1 {last} to i64"), r.pointer("last"), lane, "i64")
        floor = r.f("fmul", r.call("double", "fabs", t), r.literal(ROUNDING))
        tiny = r.compare("ole", r.f("fmul", r.literal(0.1), r.f("fmul", h, sign)), floor)
        # a last step may be as short as it likes, unless it was cut before
        tiny = r.both(tiny, r.either(r.negate(last), r.compare("ne", self.lane("cut", lane, "i64"), "0")))
        tiny = r.either(tiny, r.compare("olt", r.f("fmul", h, sign), r.literal(1e-300)))
        many = r.compare("sge", tries, r.word("max_steps"))
        why = self.lane("why", lane, "i64")
        small = r.select(r.compare("eq", why, "0"), str(TOO_SMALL), why, "i64")
        status = r.select(tiny, small, r.select(many, str(TOO_MANY), "0", "i64"), "i64")
        with r.when(r.compare("ne", status, "0")):
            began = r.compare("oeq", t, self.lane("TB", lane))
            with r.when(began):
                self.end(lane, status, "true")
            with r.unless(began):
                self.end(lane, status)

    def _evaluate_end(self) -> None:
        """Rates at the new state; they are the first ones of the next step."""
        self.at_time(1.0)
        self.rates(self.method.stages)

    def _errors(self) -> None:
        """Squares of the scaled error estimates into R1 (and R2)."""
        r, v = self.r, self.r.vector
        buffers = [self.buffer(j) for j in range(self.method.stages + 1)]
        r.used.add(f"declare {v} @llvm.fabs.{r.lanes.suffix}({v})")
        rtol = r.op(f"insertelement {v} poison, double {r.number('rtol')}, i64 0") if r.width > 1 else r.number("rtol")
        if r.width > 1:
            rtol = r.op(f"shufflevector {v} {rtol}, {v} poison, <{r.width} x i32> zeroinitializer")
        with self.flat() as i:
            x, new = (
                r.op(f"call {v} @llvm.fabs.{r.lanes.suffix}({v} {r.vload(r.pointer(n), i)})") for n in ("X", "XN")
            )
            larger = r.op(f"fcmp ogt {v} {x}, {new}")
            boolean = r.lanes.boolean
            largest = r.op(f"select {boolean} {larger}, {v} {x}, {v} {new}")
            scale = r.f("fadd", r.vload(r.pointer("tolerance"), i), r.f("fmul", rtol, largest, v), v)
            h = r.vload(r.pointer("HX"), i)
            for row, name in zip(self.method.error, ("R1", "R2")):
                total = r.combination(row, buffers, i)
                assert total is not None
                ratio = r.f("fdiv", r.f("fmul", h, total, v), scale, v)
                r.vstore(r.f("fmul", ratio, ratio, v), r.pointer(name), i)

    def _error(self, lane: str) -> str:
        r = self.r
        nx = r.word("nx")
        start = r.mul(lane, nx)
        names = ("R1", "R2")[: len(self.method.error)]
        sums = [r.variable("double", r.literal(0.0)) for _ in names]
        with r.loop(nx) as e:
            for total, name in zip(sums, names):
                total.set(r.f("fadd", total.get(), r.load(r.pointer(name), r.add(start, e))))
        n = r.op(f"sitofp i64 {nx} to double")
        if len(sums) == 1:
            return r.call("double", "sqrt", r.f("fdiv", sums[0].get(), n))
        # dop853.f: err = err5^2 / sqrt(err5^2 + 0.01 err3^2), in the rms norm
        five, three = (s.get() for s in sums)
        both = r.f("fadd", five, r.f("fmul", r.literal(0.01), three))
        both = r.select(r.compare("ole", both, r.literal(0.0)), r.literal(1.0), both)
        return r.f("fdiv", five, r.call("double", "sqrt", r.f("fmul", both, n)))

    def _judge(self) -> str:
        """i1: whether some lane accepts its step. Sets `accepted`, the next h and the memories."""
        r = self.r
        some = r.variable("i1", "false")
        with r.loop(self.count) as lane, r.when(self.running(lane)):
            self.count_up("evaluations", lane, self.method.stages - self.late)
            error = self._error(lane)
            failed = self.is_set("fail", lane)
            finite = r.compare("olt", error, r.literal(float("inf")))
            good = r.both(r.both(finite, r.negate(failed)), r.compare("ole", error, r.literal(1.0)))
            with r.when(good):
                self._accepted_step(lane, error)
                some.set("true")
            with r.unless(good):
                judged = r.both(finite, r.negate(failed))
                self._rejected_step(lane, error, judged, failed)
        return some.get()

    def _accepted_step(self, lane: str, error: str) -> None:
        r = self.r
        first, second = exponents(self.method)
        factor = r.f("fdiv", self._pow(error, first), self._pow(self.lane("old", lane), second))
        factor = r.f("fdiv", factor, r.literal(SAFETY))
        factor = r.select(r.compare("olt", factor, r.literal(1 / GROW)), r.literal(1 / GROW), factor)
        factor = r.select(r.compare("ogt", factor, r.literal(1 / SHRINK)), r.literal(1 / SHRINK), factor)
        h, sign = self.lane("H", lane), r.number("sign")
        new = r.f("fmul", r.f("fdiv", h, factor), sign)
        size = r.f("fmul", h, sign)
        # no growth right after a rejection
        held = r.both(r.compare("ne", self.lane("cut", lane, "i64"), "0"), r.compare("ogt", new, size))
        new = r.select(held, size, new)
        # a step that was cut to reach the end says little: keep the plan if it was longer
        plan = r.f("fmul", self.lane("HP", lane), sign)
        longer = r.both(self.is_set("last", lane), r.compare("ogt", plan, new))
        new = r.select(longer, plan, new)
        r.store(r.f("fmul", new, sign), r.pointer("HN"), lane)
        memory = r.select(r.compare("ogt", error, r.literal(SMALLEST_MEMORY)), error, r.literal(SMALLEST_MEMORY))
        r.store(memory, r.pointer("old"), lane)
        for name, value in (("accepted", "1"), ("cut", "0"), ("why", "0")):
            r.store(value, r.pointer(name), lane, "i64")

    def _rejected_step(self, lane: str, error: str, judged: str, failed: str) -> None:
        r = self.r
        factor = r.f("fdiv", self._pow(error, exponents(self.method)[0]), r.literal(SAFETY))
        factor = r.select(r.compare("olt", factor, r.literal(1 / SHRINK)), factor, r.literal(1 / SHRINK))
        factor = r.select(judged, factor, r.literal(1 / BACK))
        why = r.select(failed, str(FAILED), str(NOT_FINITE), "i64")
        r.store(r.select(judged, "0", why, "i64"), r.pointer("why"), lane, "i64")
        r.store(r.f("fdiv", self.lane("H", lane), factor), r.pointer("HN"), lane)
        r.store("1", r.pointer("cut"), lane, "i64")
        self.count_up("rejected", lane)

    # -- the accepted step

    def _accept(self) -> None:
        r = self.r
        with r.loop(self.count) as lane, r.when(self.is_set("accepted", lane)):
            self._move(lane)
        with r.when(r.compare("ne", r.word("ng"), "0")):
            self._watch()
        with r.when(r.compare("eq", r.word("reuse"), "0")):
            self._fresh()
        with r.loop(self.count) as lane, r.when(r.both(self.is_set("accepted", lane), self.running(lane))):
            member = r.add(self.first, lane)
            with r.when(self.is_set("last", lane)):
                self.end(lane, str(REACHED))
            full = r.compare("sge", r.load(r.pointer("n_samples"), member, "i64"), r.word("room"))
            full = r.both(full, r.compare("eq", r.word("dense"), "0"))
            with r.when(r.both(full, r.negate(self.is_set("last", lane)))):
                self.end(lane, str(PAUSED))

    def _project(self) -> None:
        r = self.r
        self.at_time(1.0)
        self.projected()
        with r.loop(self.count) as lane:
            lost = r.both(self.is_set("accepted", lane), self.is_set("fail", lane))
            with r.when(lost):
                r.store("0", r.pointer("accepted"), lane, "i64")
                r.store("0", r.pointer("last"), lane, "i64")
                r.store("1", r.pointer("cut"), lane, "i64")
                r.store(str(FAILED), r.pointer("why"), lane, "i64")
                r.store(r.f("fmul", self.lane("H", lane), r.literal(BACK)), r.pointer("HN"), lane)
                self.count_up("rejected", lane)

    def _move(self, lane: str) -> None:
        """Samples inside the step, then X = XN."""
        r = self.r
        t = self.lane("T", lane)
        new = r.select(self.is_set("last", lane), self.stop_at(lane), r.f("fadd", t, self.lane("H", lane)))
        record(self, lane, new)
        self.moved(lane, new)
        self.reuse(lane)

    def reuse(self, lane: str) -> None:
        """The last rates of a step are the first ones of the next, where nothing was changed at its end."""
        r = self.r
        with r.when(r.flag("reuse")):
            start = r.mul(lane, r.word("nx"))
            first, last = (r.at(self.buffer(j), start) for j in (0, self.method.stages))
            with r.loop(r.word("nx")) as e:
                r.store(r.load(last, e), first, e)

    def moved(self, lane: str, new: str) -> None:
        """X = XN at time `new`, XB the start of the step."""
        r = self.r
        start = r.mul(lane, r.word("nx"))
        row = {name: r.at(r.pointer(name), start) for name in ("X", "XB", "XN")}
        with r.loop(r.word("nx")) as e:
            r.store(r.load(row["X"], e), row["XB"], e)
            r.store(r.load(row["XN"], e), row["X"], e)
        r.store(self.lane("T", lane), r.pointer("TB"), lane)
        r.store(new, r.pointer("T"), lane)
        self.count_up("steps", lane)
        if self.late:
            self.count_up("evaluations", lane)

    def _at_end(self, side: float) -> None:
        """Time and signals at T."""
        r = self.r
        with r.when(r.flag("timed")):
            with r.loop(self.count) as lane:
                r.store(self.lane("T", lane), r.pointer("TS"), lane)
            with r.when(r.flag("varying")):
                self.signals(side)

    def _watch(self) -> None:
        r = self.r
        self._at_end(-INSIDE)
        self.guards()

        def crossings(lane: str) -> str:
            return self.crossings(lane, lambda: (self.lane("T", lane), self.lane("TB", lane)))

        with r.loop(self.count) as lane, r.when(self.is_set("accepted", lane)), r.when(crossings(lane)):
            self.end(lane, str(GUARD))

    def _fresh(self) -> None:
        """Rates at X, where those at the end of the step do not serve: after a projection or at a jump of signals."""
        r = self.r
        with r.loop(self.count) as lane:
            r.store("0", r.pointer("fail"), lane, "i64")
        self._at_end(INSIDE)
        self.rates(0)
        with r.loop(self.count) as lane, r.when(self.is_set("accepted", lane)):
            self.count_up("evaluations", lane)
        self.end_failed()
