"""StateBlock: the IR that methods share: blocks of states, flat updates, calls of Kernels, guards, ends of lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from symbody.codegen.llvm.chunk_text import DERIVED, DERIVED_STRIDE
from symbody.motion.march.ir.routine import Routine, RoutineVariable
from symbody.motion.march.job import INSIDE


class StateBlock:
    """What the routines of all methods do with a block of states; writes into one Routine."""

    def __init__(self, r: Routine) -> None:
        self.r = r
        self.first = self.count = self.n = self.padded = self.rows = ""
        self.bad: RoutineVariable
        self.alive: RoutineVariable

    @contextmanager
    def blocks(self) -> Iterator[None]:
        """One block of members after another; at the end the contexts move on to the parameters of the next."""
        r = self.r
        self.bad = r.variable("i1", "false")
        self.alive = r.variable("i64", "0")
        with r.loop("%end", "%begin", r.word("block")) as first:
            self.first = first
            self.count = r.least(r.sub("%end", first), r.word("block"))
            self.n = r.mul(self.count, r.word("nx"))
            self.padded = r.op(f"and i64 {r.add(self.n, str(r.width - 1))}, {-r.width}")
            self.rows = r.select(r.flag("rows_shared"), "1", self.count, "i64")
            self.alive.set(self.count)
            self.bad.set("false")
            self._read_states()
            yield
            with r.loop(r.word("n_contexts")) as c:
                context = r.load(r.pointer("contexts"), c, "ptr")
                step = r.mul(r.load(context, str(DERIVED_STRIDE), "i64"), r.word("block"))
                moved = r.at(r.load(context, str(DERIVED), "ptr"), step)
                r.store(moved, context, str(DERIVED), "ptr")

    def _read_states(self) -> None:
        r = self.r
        start = r.at(r.pointer("x"), r.mul(self.first, r.word("nx")))
        for name in ("X", "XB"):
            with r.loop(self.n) as i:
                r.store(r.load(start, i), r.pointer(name), i)
            with r.loop(self.padded, self.n) as i:
                r.store(r.literal(0.0), r.pointer(name), i)
        with r.loop(self.count) as lane:
            for name in ("done", "fail"):
                r.store("0", r.pointer(name), lane, "i64")
            r.store("-1", r.pointer("place"), lane, "i64")

    def buffer(self, index: int) -> str:
        """The rates of stage `index`."""
        r = self.r
        return r.pointer("K") if index == 0 else r.at(r.pointer("K"), r.mul(r.word("pad"), str(index)))

    # -- flat loops

    @contextmanager
    def flat(self) -> Iterator[str]:
        with self.r.loop(self.padded, "0", self.r.width) as i:
            yield i

    def copy(self, source: str, target: str) -> None:
        r = self.r
        with self.flat() as i:
            r.vstore(r.vload(r.pointer(source), i), r.pointer(target), i)

    def update(self, base: str, coefficients: tuple[float, ...], target: str) -> None:
        """target = base + h * (sum of coefficients * rates)."""
        r = self.r
        with self.flat() as i:
            r.vstore(self.updated(base, coefficients, i), r.pointer(target), i)

    def updated(self, base: str, coefficients: tuple[float, ...], i: str) -> str:
        r = self.r
        x = r.vload(r.pointer(base), i)
        total = r.combination(coefficients, [self.buffer(j) for j in range(len(coefficients))], i)
        if total is None:
            return x
        return r.f("fadd", x, r.f("fmul", r.vload(r.pointer("HX"), i), total, r.vector), r.vector)

    def spread_step(self) -> None:
        """HX from H: the same h for all components of a lane."""
        r = self.r
        nx = r.word("nx")
        with r.loop(self.count) as lane:
            h = r.load(r.pointer("H"), lane)
            start = r.at(r.pointer("HX"), r.mul(lane, nx))
            with r.loop(nx) as e:
                r.store(h, start, e)
        with r.loop(self.padded, self.n) as i:
            r.store(r.literal(0.0), r.pointer("HX"), i)

    # -- time, signals, Kernels

    def at_time(self, c: float) -> None:
        """Time and signals at t + c h; a jump at the start of the step has happened, one at its end has not."""
        r = self.r
        with r.when(r.flag("timed")):
            with r.loop(self.rows) as lane:
                t = r.load(r.pointer("T"), lane)
                if c:
                    h = r.load(r.pointer("H"), lane)
                    t = r.f("fadd", t, h if c == 1.0 else r.f("fmul", r.literal(c), h))
                r.store(t, r.pointer("TS"), lane)
            with r.when(r.flag("varying")):
                self.signals(INSIDE if c == 0.0 else -INSIDE)

    def signals(self, side: float) -> None:
        r = self.r
        r.do(f"call void @signals(ptr %job, i64 {self.rows}, i64 {self.first}, double {r.literal(side)})")

    def call(self, kind: str, context: str) -> None:
        """Run a compiled function on the block; lanes whose solve blocks failed are noted in `fail` and `bad`."""
        r = self.r
        function = r.op(f"inttoptr i64 {r.word(kind)} to ptr")
        r.do(f"call void {function}(ptr {context}, i64 0, i64 {self.count})")
        blocks = r.word(f"{kind}_blocks")
        with r.when(r.compare("ne", blocks, "0")):
            status = r.pointer(f"{kind}_status")
            failed = r.op(f"call i1 @failed(ptr {status}, i64 {blocks}, i64 {self.count}, ptr {r.pointer('fail')})")
            self.bad.set(r.either(self.bad.get(), failed))

    def rates(self, stage: int) -> None:
        self.call("rates", self.r.load(self.r.pointer("contexts"), str(stage), "ptr"))

    def drift(self, index: int) -> None:
        self.call("drift", self.r.load(self.r.pointer("drift_contexts"), str(index), "ptr"))

    def guards(self) -> None:
        """Guards at X into G1."""
        self.call("guards", self.r.pointer("guards_context"))

    def projected(self) -> None:
        """XN = projection of XN. It may correct some of the states only: the others pass through XP."""
        self.copy("XN", "XP")
        self.call("project", self.r.pointer("project_context"))
        self.copy("XP", "XN")

    # -- the end of a step

    def commit(self, new: Callable[[str], str]) -> None:
        """The new state, projected where wanted, becomes X, the old one XB; numbers that are not finite set `bad`.

        new: the vector of the new state at an index of the flat loop.
        """
        r = self.r
        with r.when(r.compare("ne", r.word("project"), "0")):
            with self.flat() as i:
                r.vstore(new(i), r.pointer("XN"), i)
            self.at_time(1.0)
            self.projected()
            self._take(lambda i: r.vload(r.pointer("XN"), i))
        with r.when(r.compare("eq", r.word("project"), "0")):
            self._take(new)

    def _take(self, new: Callable[[str], str]) -> None:
        r = self.r
        zero = r.lanes.number(0.0)
        total = r.variable(r.vector, zero)
        with self.flat() as i:
            value = new(i)
            r.vstore(r.vload(r.pointer("X"), i), r.pointer("XB"), i)
            r.vstore(value, r.pointer("X"), i)
            # 0*x is 0 where x is finite, else NaN
            total.set(r.f("fadd", total.get(), r.f("fmul", zero, value, r.vector), r.vector))
        wrong = r.op(f"fcmp uno {r.vector} {total.get()}, {zero}")
        if r.width > 1:
            bits = r.op(f"bitcast <{r.width} x i1> {wrong} to i{r.width}")
            wrong = r.op(f"icmp ne i{r.width} {bits}, 0")
        self.bad.set(r.either(self.bad.get(), wrong))

    # -- ends

    def finish(self, lane: str, status: str, times: tuple[str, str], revert: str) -> None:
        """Store the results of a lane and let it rest. times: (t_end, t_before). revert (i1): the last step is void."""
        r = self.r
        member = r.add(self.first, lane)
        nx = r.word("nx")
        here, there = r.mul(lane, nx), r.mul(member, nx)
        r.store(status, r.pointer("status"), member, "i64")
        for name, value in zip(("t_end", "t_before"), times):
            r.store(value, r.pointer(name), member)
        row = {name: r.at(r.pointer(name), here) for name in ("X", "XB", "HX")}
        ends = {name: r.at(r.pointer(name), there) for name in ("x_end", "x_before")}
        with r.loop(nx) as e:
            before = r.load(row["XB"], e)
            last = r.select(revert, before, r.load(row["X"], e))
            r.store(last, ends["x_end"], e)
            r.store(before, ends["x_before"], e)
            r.store(last, row["X"], e)
            r.store(r.literal(0.0), row["HX"], e)
        r.store("1", r.pointer("done"), lane, "i64")
        self.alive.set(r.sub(self.alive.get(), "1"))

    def crossings(self, lane: str, times: Callable[[], tuple[str, str]]) -> str:
        """i1: whether a guard of the lane ends it: it changed its sign in an accepted step, and is not passive.

        Notes which did, and keeps the new values. Where only passive ones did, the step is put into the log, and the
        lane goes on. Zero before does not count, zero after does: a step that starts on an event does not find it
        again. times: (t_end, t_before).
        """
        r = self.r
        ng = r.word("ng")
        found, noted = (r.variable("i1", "false") for _ in range(2))
        row, out = r.mul(lane, ng), r.mul(r.add(self.first, lane), ng)
        zero = r.literal(0.0)
        with r.loop(ng) as g:
            place = r.add(row, g)
            before, after = r.load(r.pointer("G0"), place), r.load(r.pointer("G1"), place)
            wanted = r.load(r.pointer("directions"), g, "i64")
            up = r.both(r.compare("olt", before, zero), r.compare("oge", after, zero))
            down = r.both(r.compare("ogt", before, zero), r.compare("ole", after, zero))
            up = r.both(up, r.compare("sge", wanted, "0"))
            down = r.both(down, r.compare("sle", wanted, "0"))
            how = r.select(up, "1", r.select(down, "-1", "0", "i64"), "i64")
            r.store(how, r.pointer("crossed"), r.add(out, g), "i64")
            r.store(after, r.pointer("G0"), place)
            either, passive = r.either(up, down), r.compare("ne", r.load(r.pointer("passive"), g, "i64"), "0")
            noted.set(r.either(noted.get(), r.both(either, passive)))
            found.set(r.either(found.get(), r.both(either, r.negate(passive))))
        with r.when(r.both(noted.get(), r.negate(found.get()))):
            self._log(lane, times(), out)
        return found.get()

    def _log(self, lane: str, times: tuple[str, str], crossed: str) -> None:
        """The step from XB to X as the next row of the lane's log; see `LogStep`."""
        r = self.r
        member, nx, ng = r.add(self.first, lane), r.word("nx"), r.word("ng")
        count = r.load(r.pointer("n_log"), member, "i64")
        width = r.add(r.add(r.mul(nx, "2"), ng), "2")
        row = r.at(r.pointer("log"), r.mul(r.add(r.mul(member, r.word("log_room")), count), width))
        for place, value in zip(("1", "0"), times):
            r.store(value, row, place)
        states, here = r.at(row, "2"), r.mul(lane, nx)
        before, after = (r.at(r.pointer(name), here) for name in ("XB", "X"))
        with r.loop(nx) as e:
            r.store(r.load(before, e), states, e)
            r.store(r.load(after, e), states, r.add(nx, e))
        signs = r.at(states, r.mul(nx, "2"))
        with r.loop(ng) as g:
            r.store(r.load(r.pointer("crossed"), r.add(crossed, g), "i64"), signs, g, "i64")
        r.store(r.add(count, "1"), r.pointer("n_log"), member, "i64")
