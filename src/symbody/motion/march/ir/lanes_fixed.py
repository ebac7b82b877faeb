"""Native loop of fixed steps for lanes with events and clocks: each lane has its own place on the grid of steps.

After an event a lane reaches the grid by a shorter step, and goes on from there, while its neighbours do the same at
other times; they leave the loop at the end of the stretch, where they fail, or where Python is to be asked.
"""

from __future__ import annotations

from functools import cache

from symbody.codegen.llvm.chunk_text import DERIVED
from symbody.motion.march.ir.clock import clock, keep_held
from symbody.motion.march.ir.compiled_march import module_text
from symbody.motion.march.ir.crossing import EPS, crossing
from symbody.motion.march.ir.event_effects import event_routines
from symbody.motion.march.ir.one_lane import Lane, LaneBlock, single_lane
from symbody.motion.march.ir.routine import Routine, RoutineVariable
from symbody.motion.march.job import FAILED, GUARD, INSIDE, NOT_FINITE, PAUSED, REACHED, WORDS, helpers
from symbody.motion.march.method_tables import Method, Splitting

NEAR = 1e-9  # of a step: instants closer than this are the same


@cache
def lanes_fixed_module(method: Method | None, width: int, node: float = 0.0) -> str:
    """IR with the function `march`. None: the rates are a map to the state after one step."""
    r = Routine("march", WORDS, width)
    FixedLanes(r, isinstance(method, Splitting)).write()
    r.do("ret void")
    parts = [*helpers(width), *single_lane(method, node, width), *common_parts(width)]
    return module_text([r, *parts, _index(width), _piece(width), _arrive(width), _samples(width), _event(width)])


def common_parts(width: int) -> list[Routine]:
    """Functions that lanes of fixed and of adaptive steps have."""
    own = [_look(width), _crossings(width), _noted(width), _begin(width)]
    return [*crossing(width), *event_routines(width), *clock(width), *own]


# -- functions of the single lane


def _look(width: int) -> Routine:
    """All guards at a state, those that are asked about too."""
    r = Lane("look", width, "ptr %x, double %t, ptr %out")
    with r.when(r.compare("ne", r.word("ng"), "0")):
        r.invoke("void", "place", "ptr %x", "double %t")
        r.evaluate("guards")
        r.copy(r.pointer("G1"), "%out", r.word("ng"))
    return r.done()


def _noted(width: int) -> Routine:
    """Events that only record, in a whole step."""
    r = Lane("noted", width, "double %t0, double %t1, ptr %x0, ptr %x1")
    put_step(r)
    r.invoke("void", "passed", "double %t1")
    return r.done()


def _crossings(width: int) -> Routine:
    """Which guards changed sign from %g0 to %g1, which then become %g0: i64, 1 one that acts, 2 one that records, 4 one
    that is asked about."""
    r = Lane("crossings", width, "ptr %g0, ptr %g1", "i64")
    zero, found = r.literal(0.0), r.variable("i64", "0")
    with r.loop(r.word("ng")) as g:
        before, after = r.load("%g0", g), r.load("%g1", g)
        wanted = r.load(r.pointer("directions"), g, "i64")
        up = r.both(r.compare("olt", before, zero), r.compare("oge", after, zero))
        down = r.both(r.compare("ogt", before, zero), r.compare("ole", after, zero))
        up = r.both(up, r.compare("sge", wanted, "0"))
        down = r.both(down, r.compare("sle", wanted, "0"))
        r.store(
            r.select(up, "1", r.select(down, "-1", "0", "i64"), "i64"), r.of_member("crossed", r.word("ng")), g, "i64"
        )
        r.store(after, "%g0", g)
        with r.when(r.either(up, down)):
            event = r.compare("slt", g, r.word("ne"))
            acts = r.is_set(r.pointer("acting"), g)
            kind = r.select(event, r.select(acts, "1", "2", "i64"), "4", "i64")
            found.set(r.op(f"or i64 {found.get()}, {kind}"))
    return r.done(f"i64 {found.get()}")


def _begin(width: int) -> Routine:
    """The start of a run: events that it brings about at once; guards on the side to which they move."""
    r = Lane("begin", width, "ptr %x")
    with r.when(r.compare("eq", r.load(r.of_member("begun"), "0", "i64"), "0")):
        r.store("1", r.of_member("begun"), "0", "i64")
        with r.when(r.compare("ne", r.word("ne"), "0")):
            now, x = r.load(r.of_member("now"), "0"), r.state("event")
            r.copy("%x", x)
            r.invoke("void", "carried", "ptr null", f"double {now}")
            r.invoke("void", "settled", f"ptr {x}", f"double {now}")
            r.copy(x, "%x")
        r.copy("%x", r.of_member("x_begin", r.word("nx")))
        r.copy(r.of_member("held", r.word("nu")), r.of_member("held_begin", r.word("nu")), r.word("nu"))
    return r.done()


def _index(width: int) -> Routine:
    """The last step instant that is not after %t, as a number; minus 1/2 where %t is not that instant itself."""
    r = Lane("index", width, "double %t", "double")
    step = r.number("grid_step")
    place = r.f("fdiv", r.f("fsub", "%t", r.number("grid_start")), step)
    whole = r.call("double", "rint", place)
    slack = r.f("fdiv", r.f("fmul", r.literal(8 * EPS), r.absolute("%t")), step)
    near = r.compare("ole", r.absolute(r.f("fsub", place, whole)), r.larger(r.literal(NEAR), slack))
    below = r.f("fsub", r.call("double", "floor", place), r.literal(0.5))
    return r.done(f"double {r.select(near, whole, below)}")


def _piece(width: int) -> Routine:
    """The next equal steps towards %stop: to the next step instant, whole steps, or what is left."""
    r = Lane("piece", width, "double %stop")
    start, step, now = r.number("grid_start"), r.number("grid_step"), r.load(r.of_member("now"), "0")

    def index(t: str) -> tuple[str, str]:
        found = r.invoke("double", "index", f"double {t}")
        exact = r.compare("oeq", r.call("double", "floor", found), found)
        return r.select(exact, found, r.f("fadd", found, r.literal(0.5))), exact

    def instant(k: str) -> str:
        return r.f("fadd", start, r.f("fmul", k, step))

    def put(begin: str, h: str, steps: str, end: str) -> None:
        for name, value in (("piece_begin", begin), ("piece_h", h), ("piece_end", end)):
            r.store(value, r.of_member(name), "0")
        r.store(steps, r.of_member("piece_steps"), "0", "i64")

    r.store("0", r.of_member("piece_step"), "0", "i64")
    (k, exact), (last, fits) = index(now), index("%stop")
    next_ = r.f("fadd", k, r.literal(1.0))
    with r.unless(exact):
        short = r.compare("olt", last, next_)
        end = r.select(short, "%stop", instant(next_))
        put(now, r.f("fsub", end, now), "1", end)
    with r.when(exact):
        whole = r.compare("ogt", last, k)
        with r.when(whole):
            end = r.select(fits, "%stop", instant(last))
            put(instant(k), step, r.op(f"fptosi double {r.f('fsub', last, k)} to i64"), end)
        with r.unless(whole):
            begin = instant(last)
            put(begin, r.f("fsub", "%stop", begin), "1", "%stop")
    return r.done()


def next_stop(r: Lane) -> str:
    """The instant up to which the lane goes without a change of what is held."""
    j = r.load(r.of_member("next_stop"), "0", "i64")
    stop = r.variable("double", r.number("t_stop"))
    with r.when(r.compare("slt", j, r.word("n_stops"))):
        stop.set(r.smaller(r.load(r.pointer("stops"), j), stop.get()))
    return stop.get()


def reached(r: Lane, now: str) -> str:
    """i1: whether the lane is at the end of the stretch but for roundings."""
    left = r.f("fsub", r.number("t_stop"), now)
    size = r.larger(r.absolute(r.number("t_stop")), r.absolute(now))
    return r.negate(r.compare("ogt", left, r.f("fmul", r.literal(4 * EPS), size)))


def _arrive(width: int) -> Routine:
    """The lane begins a stretch at its present time in state %x; %g: its guards, %u: signals. i64: how it goes on."""
    r = Lane("arrive", width, "ptr %x, ptr %g, ptr %u", "i64")
    r.invoke("void", "refresh", "ptr %x", "ptr %u")
    r.invoke("void", "begin", "ptr %x")
    status = r.variable("i64", str(REACHED))
    with r.unless(reached(r, r.load(r.of_member("now"), "0"))):
        status.set(str(PAUSED))
        r.invoke("void", "piece", f"double {next_stop(r)}")
        begin = r.load(r.of_member("piece_begin"), "0")
        r.invoke("void", "look", "ptr %x", f"double {begin}", "ptr %g")
    return r.done(f"i64 {status.get()}")


def _samples(width: int) -> Routine:
    """Samples of the step from %x0 to %x1 of the lane's piece: at step instants, else by Hermite's cubic."""
    r = Lane("samples", width, "ptr %x0, ptr %x1")
    begin, h = (r.load(r.of_member(n), "0") for n in ("piece_begin", "piece_h"))
    index = r.load(r.of_member("piece_step"), "0", "i64")
    low = r.as_number(index)
    high = r.f("fadd", low, r.literal(1.0))
    number = r.of_member("n_samples")
    with r.forever() as out:
        n = r.load(number, "0", "i64")
        r.leave(r.compare("sge", n, r.word("n_times")), out)
        s = r.load(r.pointer("times"), n)
        place = r.f("fdiv", r.f("fsub", s, begin), h)
        whole = r.call("double", "rint", place)
        slack = r.f("fdiv", r.f("fmul", r.literal(8 * EPS), r.absolute(s)), h)
        on = r.compare("ole", r.absolute(r.f("fsub", place, whole)), r.larger(r.literal(NEAR), slack))
        r.leave(r.both(on, r.compare("ogt", whole, high)), out)
        r.leave(r.both(r.negate(on), r.compare("ogt", place, high)), out)
        target = sample_row(r, n)
        with r.when(on):
            last = r.compare("oeq", whole, high)
            with r.loop(r.word("nx")) as e:
                r.store(r.select(last, r.load("%x1", e), r.load("%x0", e)), target, e)
        with r.unless(on):
            _hermite(r, target, (begin, h, low, high), place)
        keep_held(r, n)
        r.store(r.add(n, "1"), number, "0", "i64")
    return r.done()


def sample_row(r: Lane, n: str) -> str:
    row = r.add(r.mul("%member", r.word("n_times")), n)
    return r.at(r.pointer("samples"), r.mul(row, r.word("nx")))


def _hermite(r: Lane, target: str, piece: tuple[str, str, str, str], place: str) -> None:
    begin, h, low, high = piece
    one, two, three = (r.literal(v) for v in (1.0, 2.0, 3.0))
    f0, f1 = r.state("k1"), r.state("k2")
    for x, at, out in (("%x0", low, f0), ("%x1", high, f1)):
        r.invoke("void", "rates_at", f"ptr {x}", f"double {r.f('fadd', begin, r.f('fmul', at, h))}", f"ptr {out}")
    s = r.f("fsub", place, low)
    left = r.f("fsub", one, s)
    a = r.f("fmul", r.f("fadd", one, r.f("fmul", two, s)), r.f("fmul", left, left))
    b = r.f("fmul", r.f("fmul", s, s), r.f("fsub", three, r.f("fmul", two, s)))
    c = r.f("fmul", r.f("fmul", h, s), left)
    with r.loop(r.word("nx")) as e:
        slopes = r.f("fsub", r.f("fmul", left, r.load(f0, e)), r.f("fmul", s, r.load(f1, e)))
        ends_ = r.f("fadd", r.f("fmul", a, r.load("%x0", e)), r.f("fmul", b, r.load("%x1", e)))
        r.store(r.f("fadd", ends_, r.f("fmul", c, slopes)), target, e)
    t = r.f("fadd", begin, r.f("fmul", place, h))
    r.invoke("void", "projected_at", f"ptr {target}", f"double {t}")


def _event(width: int) -> Routine:
    """The first event that acts in the step from %x0 at %t0 to %x1 at %t1, the samples before it, and what follows from
    it: %x1 is the state then. i64: how the lane goes on."""
    r = Lane("event", width, "double %t0, double %t1, ptr %x0, ptr %x1", "i64")
    put_step(r)
    found = r.invoke("double", "locate")
    r.invoke("void", "passed", f"double {found}")
    begin, h = (r.load(r.of_member(n), "0") for n in ("piece_begin", "piece_h"))
    low = r.f("fadd", r.as_number(r.load(r.of_member("piece_step"), "0", "i64")), r.literal(NEAR))
    number = r.of_member("n_samples")
    with r.forever() as out:
        n = r.load(number, "0", "i64")
        r.leave(r.compare("sge", n, r.word("n_times")), out)
        s = r.load(r.pointer("times"), n)
        r.leave(r.compare("ogt", s, found), out)
        early = r.compare("ole", r.f("fdiv", r.f("fsub", s, begin), h), low)
        target = sample_row(r, n)
        with r.when(early):
            r.copy("%x0", target)
        with r.unless(early):
            r.invoke("void", "retry", "ptr %x0", "double %t0", f"double {s}", f"ptr {target}")
        keep_held(r, n)
        r.store(r.add(n, "1"), number, "0", "i64")
    status = r.invoke("i64", "happen", f"double {found}")
    r.store(found, r.of_member("now"), "0")
    r.copy(r.state("event"), "%x1")
    return r.done(f"i64 {status}")


def put_step(r: Lane) -> None:
    """Tell the functions of `crossing` which step is meant: %t0, %x0, %t1, %x1."""
    for name, t, x in (("HN", "%t0", "%x0"), ("HP", "%t1", "%x1")):
        r.store(t, r.pointer(name), "0")
        r.copy(x, r.state("x0" if name == "HN" else "x1"))


# -- the loop over lanes


class LaneRoutine(LaneBlock):
    """What lanes of fixed and of adaptive steps share.

    chosen: the member whose parameters the Kernels of the single lane point to
    """

    chosen: RoutineVariable

    @property
    def single(self) -> str:
        return f"ptr {self.r.pointer('single')}"

    def member(self, lane: str) -> str:
        return self.r.add(self.first, lane)

    def of_member(self, name: str, lane: str, kind: str = "double") -> str:
        return self.r.load(self.r.pointer(name), self.member(lane), kind)

    def row(self, name: str, lane: str, size: str) -> str:
        return self.r.at(self.r.pointer(name), self.r.mul(lane, self.r.word(size)))

    def ask(self, result: str, name: str, lane: str, *arguments: str) -> str:
        """A function of the single lane for one of the lanes."""
        text = f"call {result} @{name}({', '.join((self.single, f'i64 {self.member(lane)}', *arguments))})"
        if result == "void":
            self.r.do(text)
            return ""
        return self.r.op(text)

    def choose_member(self, lane: str) -> None:
        """Point the Kernels of the single lane to the parameters of a lane's member."""
        r = self.r
        member = self.member(lane)
        with r.when(r.compare("ne", self.chosen.get(), member)):
            self.chosen.set(member)
            with r.loop(r.word("n_single")) as c:
                context = r.load(r.pointer("single_contexts"), c, "ptr")
                own = r.at(r.pointer("single_derived"), r.mul(c, "2"))
                base, stride = r.load(own, "0", "ptr"), r.load(own, "1", "i64")
                r.store(r.at(base, r.mul(stride, member)), context, str(DERIVED), "ptr")

    def running(self, lane: str) -> str:
        return self.r.compare("eq", self.r.load(self.r.pointer("done"), lane, "i64"), "0")

    def crowded(self, lane: str) -> str:
        """i1: whether the marks of one more step may not find room."""
        r = self.r
        needed = r.add(r.mul(r.word("ne"), "4"), "2")
        return r.compare("sgt", r.add(self.of_member("n_marks", lane, "i64"), needed), r.word("mark_room"))

    def count_step(self, lane: str) -> None:
        r = self.r
        steps, member = r.pointer("steps"), self.member(lane)
        r.store(r.add(r.load(steps, member, "i64"), "1"), steps, member, "i64")

    def rest_others(self) -> None:
        """Members that have ended before take no part."""
        r = self.r
        self.chosen = r.variable("i64", "-1")
        with r.loop(self.count) as lane:
            for name in ("T", "TB", "TS"):
                r.store(self.of_member("now", lane), r.pointer(name), lane)
            r.store(r.literal(0.0), r.pointer("H"), lane)
            r.store("1", r.pointer("FR"), lane, "i64")
            with r.when(r.compare("ne", self.of_member("status", lane, "i64"), str(PAUSED))):
                r.store("1", r.pointer("done"), lane, "i64")
                self.alive.set(r.sub(self.alive.get(), "1"))
        with r.when(r.compare("ne", r.word("nu"), "0")):
            self.signals(INSIDE)


class FixedLanes(LaneRoutine):
    """Writes the routine."""

    def __init__(self, r: Routine, splitting: bool) -> None:
        super().__init__(r)
        self.splitting = splitting

    def write(self) -> None:
        r = self.r
        with self.blocks():
            self.rest_others()
            with r.loop(self.count) as lane, r.when(self.running(lane)):
                self._enter(lane)
            with r.forever() as out:
                r.leave(r.compare("eq", self.alive.get(), "0"), out)
                with r.loop(self.count) as lane, r.when(self.running(lane)):
                    r.store(self._time(lane, self.of_member("piece_step", lane, "i64")), r.pointer("T"), lane)
                    r.store(self.of_member("piece_h", lane), r.pointer("H"), lane)
                    if self.splitting:
                        self._count_fresh(lane)
                failed = r.op(f"call i1 @step(ptr %job, i64 {self.first}, i64 {self.count})")
                with r.when(failed):
                    self._stop_bad()
                with r.when(r.compare("ne", r.word("ng"), "0")):
                    self.at_time(1.0)
                    self.guards()
                    with r.when(self.bad.get()):
                        self.bad.set("false")
                        self._stop_bad()
                with r.loop(self.count) as lane, r.when(self.running(lane)):
                    self._advance(lane)

    def _time(self, lane: str, steps: str) -> str:
        r = self.r
        whole = r.op(f"sitofp i64 {steps} to double")
        return r.f("fadd", self.of_member("piece_begin", lane), r.f("fmul", whole, self.of_member("piece_h", lane)))

    def _count_fresh(self, lane: str) -> None:
        r = self.r
        place, member = r.pointer("freshes"), self.member(lane)
        fresh = r.load(r.pointer("FR"), lane, "i64")
        r.store(r.add(r.load(place, member, "i64"), fresh), place, member, "i64")

    def _enter(self, lane: str) -> None:
        """A lane starts a stretch, or goes on inside of a piece after a pause."""
        r = self.r
        again = r.compare("ne", self.of_member("inside", lane, "i64"), "0")
        with r.when(again):
            self.choose_member(lane)
            t = self._time(lane, self.of_member("piece_step", lane, "i64"))
            x, g = self.row("X", lane, "nx"), self.row("G0", lane, "ng")
            self.ask("void", "look", lane, f"ptr {x}", f"double {t}", f"ptr {g}")
            if self.splitting:  # rates of the step before serve the next
                with r.when(r.flag("reuse")):
                    r.store("0", r.pointer("FR"), lane, "i64")
                kept = r.at(r.pointer("forces"), r.mul(self.member(lane), r.word("nx")))
                row = r.at(self.buffer(0), r.mul(lane, r.word("nx")))
                with r.loop(r.word("nx")) as e:
                    r.store(r.load(kept, e), row, e)
        with r.unless(again):
            self._arrive(lane)

    def _arrive(self, lane: str) -> None:
        r = self.r
        self.choose_member(lane)
        rows = [f"ptr {self.row(*n)}" for n in (("X", lane, "nx"), ("G0", lane, "ng"), ("U", lane, "nu"))]
        status = self.ask("i64", "arrive", lane, *rows)
        r.store("1", r.pointer("FR"), lane, "i64")
        with r.when(r.compare("ne", status, str(PAUSED))):
            self._end(lane, status, self.of_member("now", lane))

    def _end(self, lane: str, status: str, t: str, revert: str = "false") -> None:
        r = self.r
        r.store("0", r.pointer("inside"), self.member(lane), "i64")
        before = r.load(r.pointer("T"), lane)
        self.finish(lane, status, (t, r.select(revert, t, before)), revert)
        r.store(r.literal(0.0), r.pointer("H"), lane)

    def _stop_bad(self) -> None:
        """End the lanes whose step failed; X goes back to the start of the step."""
        r = self.r
        nx = r.word("nx")
        with r.loop(self.count) as lane:
            broken = r.variable("i64", "0")
            row = self.row("X", lane, "nx")
            with r.loop(nx) as e:
                zero = r.f("fmul", r.literal(0.0), r.load(row, e))
                with r.when(r.compare("uno", zero, zero)):
                    broken.set(str(NOT_FINITE))
            with r.when(r.compare("ne", r.load(r.pointer("fail"), lane, "i64"), "0")):
                broken.set(str(FAILED))
            r.store("0", r.pointer("fail"), lane, "i64")
            with r.when(r.both(self.running(lane), r.compare("ne", broken.get(), "0"))):
                t = r.load(r.pointer("T"), lane)
                r.store(t, r.pointer("now"), self.member(lane))
                self._end(lane, broken.get(), t, "true")

    def _advance(self, lane: str) -> None:
        """The step of a lane is done: events, samples, the next piece."""
        r = self.r
        member = self.member(lane)
        step = self.of_member("piece_step", lane, "i64")
        now = r.add(step, "1")
        t0, t1 = r.load(r.pointer("T"), lane), self._time(lane, now)
        x0, x1 = (f"ptr {self.row(n, lane, 'nx')}" for n in ("XB", "X"))
        ends_ = (f"double {t0}", f"double {t1}", x0, x1)
        bits = r.variable("i64", "0")
        with r.when(r.compare("ne", r.word("ng"), "0")):
            bits.set(self.ask("i64", "crossings", lane, *(f"ptr {self.row(n, lane, 'ng')}" for n in ("G0", "G1"))))
        self.count_step(lane)
        acts = r.compare("ne", r.op(f"and i64 {bits.get()}, 1"), "0")
        with r.when(r.compare("ne", bits.get(), "0")):
            self.choose_member(lane)
        with r.when(acts):
            status = self.ask("i64", "event", lane, *ends_)
            full = r.both(r.compare("eq", status, str(PAUSED)), self.crowded(lane))
            with r.when(r.either(full, r.compare("ne", status, str(PAUSED)))):
                self._end(lane, status, self.of_member("now", lane))
            with r.when(self.running(lane)):
                self._arrive(lane)
        with r.unless(acts):
            with r.when(r.compare("ne", r.op(f"and i64 {bits.get()}, 2"), "0")):
                self.ask("void", "noted", lane, *ends_)
            n = self.of_member("n_samples", lane, "i64")
            with (
                r.when(r.compare("slt", n, r.word("n_times"))),
                r.when(
                    r.compare("olt", r.load(r.pointer("times"), n), r.f("fadd", t1, self.of_member("piece_h", lane)))
                ),
            ):
                self.choose_member(lane)
                self.ask("void", "samples", lane, x0, x1)
            r.store(now, r.pointer("piece_step"), member, "i64")
            self._after_step(lane, now, t1, bits.get())

    def _after_step(self, lane: str, now: str, t1: str, bits: str) -> None:
        r = self.r
        member = self.member(lane)
        last = r.compare("eq", now, self.of_member("piece_steps", lane, "i64"))
        t = r.select(last, self.of_member("piece_end", lane), t1)
        r.store(t, r.pointer("now"), member)
        asked = r.compare("ne", r.op(f"and i64 {bits}, 4"), "0")
        with r.when(asked):
            self._end(lane, str(GUARD), t)
        full = r.both(r.compare("ne", bits, "0"), self.crowded(lane))
        with r.when(r.both(full, self.running(lane))):
            if self.splitting:
                kept = r.at(r.pointer("forces"), r.mul(member, r.word("nx")))
                row = r.at(self.buffer(0), r.mul(lane, r.word("nx")))
                with r.loop(r.word("nx")) as e:
                    r.store(r.load(row, e), kept, e)
            self._end(lane, str(PAUSED), t)
            r.store(r.select(last, "0", "1", "i64"), r.pointer("inside"), member, "i64")
        with r.when(r.both(last, self.running(lane))):
            self._arrive(lane)
