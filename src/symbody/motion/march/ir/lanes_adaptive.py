"""Native loop of adaptive steps for lanes with events and clocks: each has its own time, step and stretch."""

from __future__ import annotations

from functools import cache

from symbody.motion.march.ir.adaptive import Adaptive
from symbody.motion.march.ir.clock import keep_held
from symbody.motion.march.ir.compiled_march import module_text
from symbody.motion.march.ir.dense import interpolated, record
from symbody.motion.march.ir.lanes_fixed import LaneRoutine, common_parts, next_stop, put_step, reached, sample_row
from symbody.motion.march.ir.one_lane import Lane, restored, single_lane
from symbody.motion.march.ir.routine import Routine
from symbody.motion.march.job import FAILED, GUARD, INSIDE, PAUSED, REACHED, WORDS, helpers
from symbody.motion.march.method_tables import RungeKutta
from symbody.motion.march.step_control import SMALLEST_MEMORY


@cache
def lanes_adaptive_module(method: RungeKutta, width: int) -> str:
    """IR with the function `march`."""
    r = Routine("march", WORDS, width)
    AdaptiveLanes(r, method).write()
    r.do("ret void")
    parts = [*helpers(width), *single_lane(method, 0.0, width), *common_parts(width)]
    own = [_arrive(width), _located(width), _occurred(width), _sampled(width)]
    return module_text([r, interpolated(method, width), *parts, *own])


def _arrive(width: int) -> Routine:
    """The lane begins a stretch at its present time in state %x; %g: its guards, %u: signals. i64: how it goes on."""
    r = Lane("arrive", width, "ptr %x, ptr %g, ptr %u", "i64")
    r.invoke("void", "refresh", "ptr %x", "ptr %u")
    r.invoke("void", "begin", "ptr %x")
    now = r.load(r.of_member("now"), "0")
    status = r.variable("i64", str(REACHED))
    with r.unless(reached(r, now)):
        status.set(str(PAUSED))
        r.store(next_stop(r), r.of_member("stop_time"), "0")
        r.invoke("void", "look", "ptr %x", f"double {now}", "ptr %g")
    return r.done(f"i64 {status.get()}")


def _located(width: int) -> Routine:
    """The time of the first event that acts in a step; those before it that record are noted."""
    r = Lane("located", width, "double %t0, double %t1, ptr %x0, ptr %x1", "double")
    put_step(r)
    found = r.invoke("double", "locate")
    r.invoke("void", "passed", f"double {found}")
    return r.done(f"double {found}")


def _occurred(width: int) -> Routine:
    """What follows from the event at %t: %x is the state then. i64: how the lane goes on."""
    r = Lane("occurred", width, "double %t, ptr %x", "i64")
    status = r.invoke("i64", "happen", "double %t")
    r.store("%t", r.of_member("now"), "0")
    r.copy(r.state("event"), "%x")
    return r.done(f"i64 {status}")


def _sampled(width: int) -> Routine:
    """Samples from number %first on, by the continuous extension: corrected, and with the held signals beside."""
    r = Lane("sampled", width, "i64 %first")
    with r.loop(r.load(r.of_member("n_samples"), "0", "i64"), "%first") as n:
        r.invoke("void", "projected_at", f"ptr {sample_row(r, n)}", f"double {r.load(r.pointer('times'), n)}")
        keep_held(r, n)
    return r.done()


class AdaptiveLanes(LaneRoutine, Adaptive):
    """Writes the routine; `Adaptive` has the parts of a step."""

    def __init__(self, r: Routine, method: RungeKutta) -> None:
        Adaptive.__init__(self, r, method)

    def stop_at(self, lane: str) -> str:
        return self.of_member("stop_time", lane)

    def write(self) -> None:
        r = self.r
        with self.blocks():
            self.rest_others()
            with r.loop(self.count) as lane:
                self._recall(lane)
            with r.loop(self.count) as lane, r.when(self.running(lane)):
                self._arrive(lane)
            with r.forever() as out:
                self._renew()
                self.step(out)

    def end(self, lane: str, status: str, revert: str = "false") -> None:
        self.r.store(self.lane("T", lane), self.r.pointer("now"), self.member(lane))
        super().end(lane, status, revert)

    def _recall(self, lane: str) -> None:
        """Step size and memory of the controller, as the lane left them."""
        r = self.r
        h = r.select(self.running(lane), self.of_member("h", lane), r.literal(0.0))
        for name in ("H", "HN"):
            r.store(h, r.pointer(name), lane)
        memory = r.at(r.pointer("memory"), r.mul(self.member(lane), "2"))
        r.store(r.load(memory, "0"), r.pointer("old"), lane)
        r.store(r.load(memory, "1", "i64"), r.pointer("cut"), lane, "i64")
        for name in ("why", "renew", "accepted"):
            r.store("0", r.pointer(name), lane, "i64")

    def _arrive(self, lane: str) -> None:
        r = self.r
        self.choose_member(lane)
        rows = [f"ptr {self.row(*n)}" for n in (("X", lane, "nx"), ("G0", lane, "ng"), ("U", lane, "nu"))]
        status = self.ask("i64", "arrive", lane, *rows)
        r.store("1", r.pointer("renew"), lane, "i64")
        with r.when(r.compare("ne", status, str(PAUSED))):
            self.end(lane, status)

    def _renew(self) -> None:
        """Rates at X, and first steps, of the lanes that begin a stretch."""
        r = self.r
        wanted = r.variable("i1", "false")
        with r.loop(self.count) as lane:
            wanted.set(r.either(wanted.get(), r.both(self.running(lane), self.is_set("renew", lane))))
        with r.when(wanted.get()):
            with self.flat() as i:
                r.vstore(r.vload(self.buffer(0), i), r.pointer("R2"), i)
            with r.loop(self.count) as lane:
                r.store("0", r.pointer("fail"), lane, "i64")
            self._at_end(INSIDE)
            self.rates(0)
            restored(self, "R2", "renew")
            with r.loop(self.count) as lane:
                fresh = r.both(self.running(lane), self.is_set("renew", lane))
                with r.when(r.both(fresh, self.is_set("fail", lane))):
                    self.end(lane, str(FAILED), "true")
            self._first_steps()
            with r.loop(self.count) as lane:
                r.store("0", r.pointer("renew"), lane, "i64")

    # -- the accepted step

    def _accept(self) -> None:
        r = self.r
        with r.when(r.compare("ne", r.word("ng"), "0")):
            self.at_time(1.0)
            self.guards()
        with r.loop(self.count) as lane, r.when(self.is_set("accepted", lane)):
            self._step_of(lane)

    def _step_of(self, lane: str) -> None:
        """Events of the accepted step of a lane, its samples, and the next stretch."""
        r = self.r
        bits = r.variable("i64", "0")
        with r.when(r.compare("ne", r.word("ng"), "0")):
            bits.set(self.ask("i64", "crossings", lane, *(f"ptr {self.row(n, lane, 'ng')}" for n in ("G0", "G1"))))
        t0 = self.lane("T", lane)
        t1 = r.select(self.is_set("last", lane), self.stop_at(lane), r.f("fadd", t0, self.lane("H", lane)))
        x0, x1 = (f"ptr {self.row(n, lane, 'nx')}" for n in ("X", "XN"))
        step = (f"double {t0}", f"double {t1}", x0, x1)
        self.choose_member(lane)
        with r.unless(r.flag("reuse")):  # the rates at X are made anew
            self.count_up("evaluations", lane)
        first = self.of_member("n_samples", lane, "i64")
        acts = r.compare("ne", r.op(f"and i64 {bits.get()}, 1"), "0")
        with r.when(acts):
            found = self.ask("double", "located", lane, *step)
            record(self, lane, t1, found)
            self.ask("void", "sampled", lane, f"i64 {first}")
            self.moved(lane, found)
            status = self.ask("i64", "occurred", lane, f"double {found}", x0)
            r.store(r.literal(0.0), r.pointer("HN"), lane)
            self._forget(lane)
            full = r.both(r.compare("eq", status, str(PAUSED)), self.crowded(lane))
            with r.when(r.either(full, r.compare("ne", status, str(PAUSED)))):
                self.end(lane, status)
            with r.when(self.running(lane)):
                self._arrive(lane)
        with r.unless(acts):
            with r.when(r.compare("ne", r.op(f"and i64 {bits.get()}, 2"), "0")):
                self.ask("void", "noted", lane, *step)
            record(self, lane, t1)
            self.ask("void", "sampled", lane, f"i64 {first}")
            self.moved(lane, t1)
            self._go_on(lane, bits.get())

    def _go_on(self, lane: str, bits: str) -> None:
        r = self.r
        r.store(self.lane("T", lane), r.pointer("now"), self.member(lane))
        self.reuse(lane)
        with r.unless(r.flag("reuse")):
            r.store("1", r.pointer("renew"), lane, "i64")
        with r.when(r.compare("ne", r.op(f"and i64 {bits}, 4"), "0")):
            self.end(lane, str(GUARD))
        with r.when(r.both(self.running(lane), self.is_set("last", lane))):
            self._forget(lane)
            self._arrive(lane)
        with r.when(r.both(self.running(lane), r.both(r.compare("ne", bits, "0"), self.crowded(lane)))):
            self.end(lane, str(PAUSED))

    def _forget(self, lane: str) -> None:
        """A new stretch: what the controller remembers of the last step means nothing."""
        r = self.r
        r.store(r.literal(SMALLEST_MEMORY), r.pointer("old"), lane)
        for name in ("cut", "why"):
            r.store("0", r.pointer(name), lane, "i64")
