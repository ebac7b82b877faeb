"""Native loops of fixed steps: Runge-Kutta methods, splitting methods, and one-step maps."""

from __future__ import annotations

from functools import cache

from symbody.motion.march.ir.block import StateBlock
from symbody.motion.march.ir.compiled_march import module_text
from symbody.motion.march.ir.routine import Routine
from symbody.motion.march.ir.splitting import write_splitting
from symbody.motion.march.job import FAILED, GUARD, INSIDE, NOT_FINITE, REACHED, WORDS, helpers
from symbody.motion.march.method_tables import RungeKutta, Splitting


@cache
def fixed_module(method: RungeKutta | Splitting | None, width: int, node: float = 0.0) -> str:
    """IR with the function `march`. None: the rates are a map to the state after one step; its signals are those at
    t + node*h."""
    r = Routine("march", WORDS, width)
    write_fixed(StateBlock(r), method, node)
    r.do("ret void")
    return module_text([r, *helpers(width)])


def write_fixed(k: StateBlock, method: RungeKutta | Splitting | None, node: float) -> None:
    r = k.r
    fresh = r.variable("i1", "true")  # whether the forces at X are not known yet
    left = r.variable("i64", "0")
    with k.blocks():
        _start(k)
        fresh.set("true")
        left.set(r.word("every"))
        taken = r.variable("i64", "0")
        recorded = r.variable("i64", "0")
        with r.forever() as out:
            i = taken.get()
            r.leave(r.compare("sge", i, r.word("n_steps")), out)
            set_time(k, i)
            if method is None:
                _map(k, node)
            elif isinstance(method, Splitting):
                write_splitting(k, method, fresh)
            else:
                _runge_kutta(k, method)
            with r.when(k.bad.get()):
                _stop_bad(k, i)
            now = r.add(i, "1")
            with r.when(r.compare("ne", r.word("ng"), "0")):
                _guards(k, i, now)
            taken.set(now)
            r.leave(r.compare("eq", k.alive.get(), "0"), out)
            left.set(r.sub(left.get(), "1"))
            last = r.compare("eq", now, r.word("n_steps"))
            with r.when(r.either(last, r.compare("eq", left.get(), "0"))):
                _record(k, recorded.get())
                recorded.set(r.add(recorded.get(), "1"))
                left.set(r.word("every"))
        with r.loop(k.count) as lane, r.when(_running(k, lane)):
            steps = r.word("n_steps")
            member = r.add(k.first, lane)
            r.store(steps, r.pointer("steps"), member, "i64")
            r.store(r.word("room"), r.pointer("n_samples"), member, "i64")
            before = r.select(r.compare("eq", steps, "0"), "0", r.sub(steps, "1"), "i64")
            k.finish(lane, str(REACHED), (_time(k, lane, steps), _time(k, lane, before)), "false")


def _start(k: StateBlock) -> None:
    r = k.r
    with r.loop(k.count) as lane:
        r.store(r.load(r.pointer("h"), r.add(k.first, lane)), r.pointer("H"), lane)
    k.spread_step()
    set_time(k, "0")
    with r.when(r.compare("ne", r.word("nu"), "0")):
        # constant signals are filled in here once for all
        with r.loop(k.rows) as lane:
            r.store(r.load(r.pointer("T"), lane), r.pointer("TS"), lane)
        k.signals(INSIDE)
    with r.when(r.compare("ne", r.word("ng"), "0")):
        k.at_time(0.0)
        k.guards()
        with r.loop(r.mul(k.count, r.word("ng"))) as g:
            r.store(r.load(r.pointer("G1"), g), r.pointer("G0"), g)


def _running(k: StateBlock, lane: str) -> str:
    return k.r.compare("eq", k.r.load(k.r.pointer("done"), lane, "i64"), "0")


def _time(k: StateBlock, lane: str, steps: str) -> str:
    """t after so many steps: one product and one sum, so that rounding does not grow with the number of steps."""
    r = k.r
    member = r.add(k.first, lane)
    whole = r.op(f"sitofp i64 {steps} to double")
    return r.f("fadd", r.load(r.pointer("t"), member), r.f("fmul", whole, r.load(r.pointer("h"), member)))


def set_time(k: StateBlock, steps: str) -> None:
    """T after so many steps."""
    r = k.r
    with r.loop(k.rows) as lane:
        r.store(_time(k, lane, steps), r.pointer("T"), lane)


def _runge_kutta(k: StateBlock, method: RungeKutta) -> None:
    for stage in range(method.stages):
        if stage:
            k.update("X", method.a[stage], "Y")
        k.at_time(method.c[stage])
        k.rates(stage)
    k.commit(lambda i: k.updated("X", method.b, i))


def _map(k: StateBlock, node: float) -> None:
    k.at_time(node)
    # the map itself is told the time at the start
    r = k.r
    with r.loop(k.rows) as lane:
        r.store(r.load(r.pointer("T"), lane), r.pointer("TS"), lane)
    k.rates(0)
    k.commit(lambda i: r.vload(r.pointer("XN"), i))


def _stop_bad(k: StateBlock, i: str) -> None:
    """End the lanes whose step failed; X goes back to the start of the step."""
    r = k.r
    nx = r.word("nx")
    k.bad.set("false")
    with r.loop(k.count) as lane, r.when(_running(k, lane)):
        broken = r.variable("i64", "0")
        row = r.at(r.pointer("X"), r.mul(lane, nx))
        with r.loop(nx) as e:
            zero = r.f("fmul", r.literal(0.0), r.load(row, e))
            with r.when(r.compare("uno", zero, zero)):
                broken.set(str(NOT_FINITE))
        with r.when(r.compare("ne", r.load(r.pointer("fail"), lane, "i64"), "0")):
            broken.set(str(FAILED))
        with r.when(r.compare("ne", broken.get(), "0")):
            _stop(k, lane, broken.get(), i, i, "true")


def _stop(k: StateBlock, lane: str, status: str, steps: str, before: str, revert: str) -> None:
    r = k.r
    member = r.add(k.first, lane)
    r.store(steps, r.pointer("steps"), member, "i64")
    reached = r.op(f"sdiv i64 {steps}, {r.word('every')}")
    # a step that met a guard is not recorded: the caller looks for the event inside it
    if revert == "false":
        reached = r.op(f"sdiv i64 {before}, {r.word('every')}")
    r.store(reached, r.pointer("n_samples"), member, "i64")
    k.finish(lane, status, (_time(k, lane, steps), _time(k, lane, before)), revert)


def _guards(k: StateBlock, i: str, now: str) -> None:
    r = k.r

    def crossings(lane: str) -> str:
        return k.crossings(lane, lambda: (_time(k, lane, now), _time(k, lane, i)))

    k.at_time(1.0)
    k.guards()
    with r.loop(k.count) as lane, r.when(_running(k, lane)), r.when(crossings(lane)):
        _stop(k, lane, str(GUARD), now, i, "false")


def _record(k: StateBlock, index: str) -> None:
    r = k.r
    nx, room = r.word("nx"), r.word("room")
    with r.loop(k.count) as lane, r.when(_running(k, lane)):
        row = r.add(r.mul(r.add(k.first, lane), room), index)
        target = r.at(r.pointer("samples"), r.mul(row, nx))
        source = r.at(r.pointer("X"), r.mul(lane, nx))
        with r.loop(nx) as e:
            r.store(r.load(source, e), target, e)
