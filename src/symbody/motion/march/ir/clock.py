"""Clocks of a lane, natively: sampled Systems that are asked at their ticks, and tables whose values are held."""

from __future__ import annotations

from symbody.motion.march.ir.one_lane import Lane
from symbody.motion.march.ir.routine import Routine

# 64-bit words of a clock: compiled function, context, solve blocks and their outcomes; then (number, targets, sources)
# of the held signals and of the memory that it writes, from where in `tick_out`
CLOCK = ("function", "context", "blocks", "status", "n_held", "held_to", "held_from", "n_kept", "kept_to", "kept_from")


def clock(width: int) -> list[Routine]:
    """All functions of this file."""
    return [_tick(width), _refresh(width)]


def _tick(width: int) -> Routine:
    """What clock %c puts out at %t in the state %x is held from now on; what stands as a rate is its next memory."""
    r = Lane("tick", width, "i64 %c, ptr %x, double %t")
    words = r.at(r.pointer("clocks"), r.mul("%c", str(len(CLOCK))))

    def word(name: str, kind: str = "i64") -> str:
        return r.load(words, str(CLOCK.index(name)), kind)

    memory, out = r.of_member("clock_memory", r.word("n_memory")), r.pointer("tick_out")
    r.copy("%x", r.pointer("X"))  # it reads no signals
    r.store("%t", r.pointer("TS"), "0")
    r.copy(memory, r.pointer("memory_row"), r.word("n_memory"))
    r.evaluate_at(word("function", "ptr"), word("context", "ptr"), word("blocks"), word("status", "ptr"))
    for kind, target in (("held", r.of_member("held", r.word("nu"))), ("kept", memory)):
        to, source = word(f"{kind}_to", "ptr"), word(f"{kind}_from", "ptr")
        with r.loop(word(f"n_{kind}")) as i:
            r.store(r.load(out, r.load(source, i, "i64")), target, r.load(to, i, "i64"))
    return r.done()


def _refresh(width: int) -> Routine:
    """All that is due at the member's present time, in the state %x; held signals also go to the row %u."""
    r = Lane("refresh", width, "ptr %x, ptr %u")
    now, nu = r.load(r.of_member("now"), "0"), r.word("nu")
    next_ = r.of_member("next_stop")
    due = r.variable("i1", "false")
    with r.forever() as out:
        j = r.load(next_, "0", "i64")
        r.leave(r.compare("sge", j, r.word("n_stops")), out)
        reach = r.f("fadd", now, r.load(r.pointer("stop_slack"), j))
        r.leave(r.compare("ogt", r.load(r.pointer("stops"), j), reach), out)
        due.set("true")
        c = r.load(r.pointer("stop_clock"), j, "i64")
        with r.when(r.compare("sge", c, "0")):
            r.invoke("void", "tick", f"i64 {c}", "ptr %x", f"double {now}")
        with r.when(r.compare("slt", c, "0")):
            row = r.mul(r.sub("-1", c), nu)
            values, mask = (r.at(r.pointer(n), row) for n in ("stop_values", "stop_mask"))
            held = r.of_member("held", nu)
            with r.loop(nu) as i, r.when(r.compare("one", r.load(mask, i), r.literal(0.0))):
                r.store(r.load(values, i), held, i)
        r.store(r.add(j, "1"), next_, "0", "i64")
    with r.when(due.get()):
        overlay, held = r.pointer("overlay"), r.of_member("held", nu)
        with r.loop(r.word("n_overlay")) as i:
            column = r.load(overlay, i, "i64")
            r.store(r.load(held, column), "%u", column)
        # a sample at the very instant has the value from then on
        n = r.load(r.of_member("n_samples"), "0", "i64")
        with r.when(r.compare("sgt", n, "0")):
            last = r.sub(n, "1")
            with r.when(r.compare("oge", r.load(r.pointer("times"), last), now)):
                keep_held(r, last)
    return r.done()


def keep_held(r: Lane, sample: str) -> None:
    """The held signals beside a sample."""
    number = r.word("n_overlay")
    row = r.mul(r.add(r.mul("%member", r.word("n_times")), sample), number)
    target, held = r.at(r.pointer("u_samples"), row), r.of_member("held", r.word("nu"))
    with r.loop(number) as i:
        r.store(r.load(held, r.load(r.pointer("overlay"), i, "i64")), target, i)
