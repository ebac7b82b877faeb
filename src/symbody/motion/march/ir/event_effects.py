"""What events do to a state, natively: operations of `motion/events/crossings.py` and `events.py` in their order."""

from __future__ import annotations

from symbody.motion.march.ir.crossing import EPS
from symbody.motion.march.ir.one_lane import Lane
from symbody.motion.march.ir.routine import Routine
from symbody.motion.march.job import CARRIED, EVENTS, HAPPENED, JUMPED, PAUSED, RECORDED, STOPPED

FLAT, AHEAD = 1e-8, 1e-2  # rate of a guard, beside its terms, that counts as none; s to look ahead then
PASSES = 4
OVER = 1e-9  # of a guard's terms: beyond it a jump has carried it over zero
CROWD, INSTANT = 20, 1e-9  # so many events within this share of the run are taken for an accumulation
# what marks tell: nothing but the event itself; the run stops, at an occurrence; it rests and stops; it rests; reset
PLAIN, STOPS, LIMIT, RESTS_AND_STOPS, RESTS, RESET = range(6)


def event_routines(width: int) -> list[Routine]:
    """All functions of this file."""
    return [
        _mark(width), _guard_rates(width), _gradient(width), _placed(width), _guards_after(width), _settled(width),
        _confirmed(width), _record(width), _one(width), _carried(width), _apply_events(width),
    ]  # fmt: skip


def _mark(width: int) -> Routine:
    """One more row of what happened: kind, event, code, count, t, states before and after, held signals."""
    r = Lane("mark", width, "i64 %kind, i64 %event, i64 %code, double %t, ptr %before, ptr %after")
    count, nx, nu = r.load(r.of_member("n_marks"), "0", "i64"), r.word("nx"), r.word("nu")
    row = r.add(r.mul("%member", r.word("mark_room")), count)
    row = r.at(r.pointer("marks"), r.mul(row, r.word("mark_width")))
    for place, whole in enumerate(("%kind", "%event", "%code")):
        r.store(r.as_number(whole), row, str(place))
    times = r.variable("i64", "0")
    with r.when(r.compare("ne", "%kind", str(JUMPED))):
        times.set(r.load(r.of_member("counts", r.word("ne")), "%event", "i64"))
    r.store(r.as_number(times.get()), row, "3")
    r.store("%t", row, "4")
    r.copy("%before", r.at(row, "5"))
    r.copy("%after", r.at(row, r.add(nx, "5")))
    held, target = r.of_member("held", nu), r.at(row, r.add(r.mul(nx, "2"), "5"))
    with r.loop(r.word("n_overlay")) as i:
        r.store(r.load(held, r.load(r.pointer("overlay"), i, "i64")), target, i)
    r.store(r.add(count, "1"), r.of_member("n_marks"), "0", "i64")
    return r.done()


def _guard_rates(width: int) -> Routine:
    """Time derivatives of the guards along the motion, by a central difference on the tangent; zero where none is."""
    r = Lane("guard_rates", width, "ptr %x, double %t, ptr %out")
    nx, ne, one = r.word("nx"), r.word("ne"), r.literal(1.0)
    rate, shifted = r.state("rate"), r.state("shifted")
    r.invoke("void", "rates_at", "ptr %x", "double %t", f"ptr {rate}")
    speed, wrong = r.variable("double", r.literal(0.0)), r.variable("i1", "false")
    with r.loop(nx) as e:
        f = r.load(rate, e)
        nothing = r.f("fmul", r.literal(0.0), f)
        wrong.set(r.either(wrong.get(), r.compare("uno", nothing, nothing)))
        share = r.f("fdiv", r.absolute(f), r.larger(r.absolute(r.load("%x", e)), one))
        speed.set(r.larger(speed.get(), share))
    with r.when(wrong.get()):
        r.fill("%out", r.literal(0.0), ne)
    with r.unless(wrong.get()):
        dt = r.f("fdiv", r.literal(1e-6), r.larger(speed.get(), one))
        for way, out in (("fadd", r.guard("plus")), ("fsub", r.guard("minus"))):
            with r.loop(nx) as e:
                r.store(r.f(way, r.load("%x", e), r.f("fmul", dt, r.load(rate, e))), shifted, e)
            r.invoke("void", "guards_at", f"ptr {shifted}", f"double {r.f(way, '%t', dt)}", f"ptr {out}")
        _difference(r, "%out", r.f("fmul", r.literal(2.0), dt))
    return r.done()


def _difference(r: Lane, out: str, twice: str, stride: str = "1") -> None:
    """(plus - minus) / twice of all guards."""
    with r.loop(r.word("ne")) as k:
        change = r.f("fsub", r.load(r.guard("plus"), k), r.load(r.guard("minus"), k))
        r.store(r.f("fdiv", change, twice), out, k if stride == "1" else r.mul(k, stride))


def _gradient(width: int) -> Routine:
    """Slopes (ne, nx) of the guards by the states that move, by central differences."""
    r = Lane("gradient", width, "ptr %x, double %t")
    nx, shifted = r.word("nx"), r.state("shifted")
    r.fill(r.pointer("slopes"), r.literal(0.0), r.mul(r.word("ne"), nx))
    with r.loop(nx) as j, r.unless(r.is_set(r.pointer("frozen"), j)):
        value = r.load("%x", j)
        step = r.f("fmul", r.literal(1e-6), r.larger(r.literal(1.0), r.absolute(value)))
        r.copy("%x", shifted)
        for way, out in (("fadd", r.guard("plus")), ("fsub", r.guard("minus"))):
            r.store(r.f(way, value, step), shifted, j)
            r.invoke("void", "guards_at", f"ptr {shifted}", "double %t", f"ptr {out}")
        _difference(r, r.at(r.pointer("slopes"), j), r.f("fmul", r.literal(2.0), step), nx)
    return r.done()


def _weighted(r: Lane, k: str, x: str, least: float) -> str:
    """Sum of |slope| max(|x|, least) of guard k."""
    row = r.at(r.pointer("slopes"), r.mul(k, r.word("nx")))
    total = r.variable("double", r.literal(0.0))
    with r.loop(r.word("nx")) as e:
        size = r.absolute(r.load(x, e))
        if least:
            size = r.larger(size, r.literal(least))
        total.set(r.f("fadd", total.get(), r.f("fmul", r.absolute(r.load(row, e)), size)))
    return total.get()


def _placed(width: int) -> Routine:
    """%x moved along the slope of guard %i, as little as roundings allow, to where it has the sign %way."""
    r = Lane("placed", width, "ptr %x, double %t, i64 %i, double %way")
    nx = r.word("nx")
    slope, moved = r.at(r.pointer("slopes"), r.mul("%i", nx)), r.state("moved")
    square = r.variable("double", r.literal(0.0))
    with r.loop(nx) as e:
        s = r.load(slope, e)
        square.set(r.f("fadd", square.get(), r.f("fmul", s, s)))
    with r.when(r.compare("one", square.get(), r.literal(0.0))):  # else a guard of time alone
        r.invoke("void", "guards_at", "ptr %x", "double %t", f"ptr {r.guard('plus')}")
        g = r.load(r.guard("plus"), "%i")
        least = r.f("fmul", r.literal(4 * EPS), _weighted(r, "%i", "%x", 0.0))
        target = r.variable("double", r.f("fadd", least, r.literal(EPS * EPS)))
        left = r.variable("i64", "8")
        with r.forever() as done:
            r.leave(r.compare("eq", left.get(), "0"), done)
            left.set(r.sub(left.get(), "1"))
            by = r.f("fdiv", r.f("fsub", r.f("fmul", "%way", target.get()), g), square.get())
            with r.loop(nx) as e:
                r.store(r.f("fadd", r.load("%x", e), r.f("fmul", r.load(slope, e), by)), moved, e)
            r.invoke("void", "guards_at", f"ptr {moved}", "double %t", f"ptr {r.guard('plus')}")
            reached = r.compare("oeq", r.sign(r.load(r.guard("plus"), "%i")), "%way")
            with r.when(reached):
                r.copy(moved, "%x")
            r.leave(reached, done)
            target.set(r.f("fmul", target.get(), r.literal(4.0)))
    return r.done()


def _guards_after(width: int) -> Routine:
    """Guards a little later, by one step of Runge and Kutta."""
    r = Lane("later", width, "ptr %x, double %t, ptr %out")
    nx, one, shifted = r.word("nx"), r.literal(1.0), r.state("shifted")
    ks = [r.state(f"k{i}") for i in range(1, 5)]
    r.invoke("void", "rates_at", "ptr %x", "double %t", f"ptr {ks[0]}")
    speed = r.variable("double", r.literal(0.0))
    with r.loop(nx) as e:
        size = r.larger(r.absolute(r.load("%x", e)), one)
        speed.set(r.larger(speed.get(), r.f("fdiv", r.absolute(r.load(ks[0], e)), size)))
    h = r.f("fdiv", r.literal(AHEAD), r.larger(one, speed.get()))
    half = r.f("fdiv", h, r.literal(2.0))
    for i, length in enumerate((half, half, h)):
        with r.loop(nx) as e:
            r.store(r.f("fadd", r.load("%x", e), r.f("fmul", length, r.load(ks[i], e))), shifted, e)
        r.invoke("void", "rates_at", f"ptr {shifted}", f"double {r.f('fadd', '%t', length)}", f"ptr {ks[i + 1]}")
    sixth = r.f("fdiv", h, r.literal(6.0))
    with r.loop(nx) as e:
        k1, k2, k3, k4 = (r.load(k, e) for k in ks)
        two = r.literal(2.0)
        total = r.f("fadd", r.f("fadd", k1, r.f("fmul", two, k2)), r.f("fmul", two, k3))
        total = r.f("fadd", total, k4)
        r.store(r.f("fadd", r.load("%x", e), r.f("fmul", sixth, total)), shifted, e)
    r.invoke("void", "guards_at", f"ptr {shifted}", f"double {r.f('fadd', '%t', h)}", "ptr %out")
    return r.done()


def _settled(width: int) -> Routine:
    """%x with guards that are zero but for roundings on the side to which they move; `leaving` of those that record."""
    r = Lane("settled", width, "ptr %x, double %t")
    nx, ne, zero, one = r.word("nx"), r.word("ne"), r.literal(0.0), r.literal(1.0)
    g, rates, near, flat = r.guard("values"), r.guard("rates"), r.guard("near"), r.guard("against")
    acting, leaving = r.pointer("acting"), r.of_member("leaving", r.word("ng"))
    r.fill(leaving, "0", ne, "i64")
    r.invoke("void", "guards_at", "ptr %x", "double %t", f"ptr {g}")
    largest = r.variable("double", zero)
    with r.loop(nx) as e:
        largest.set(r.larger(largest.get(), r.absolute(r.load("%x", e))))
    low = r.f("fmul", r.literal(1e-6), r.f("fadd", one, largest.get()))
    close, finite = r.variable("i1", "false"), r.variable("i1", "true")
    with r.loop(ne) as k:
        value = r.load(g, k)
        nothing = r.f("fmul", zero, value)
        finite.set(r.both(finite.get(), r.compare("ord", nothing, nothing)))
        close.set(r.either(close.get(), r.negate(r.compare("ogt", r.absolute(value), low))))
    with r.when(r.both(close.get(), finite.get())):
        at = ("ptr %x", "double %t")
        r.invoke("void", "guard_rates", *at, f"ptr {rates}")
        r.invoke("void", "gradient", *at)
        r.invoke("void", "rates_at", *at, f"ptr {r.state('k1')}")
        some = r.variable("i1", "false")
        with r.loop(ne) as k:
            speed = r.absolute(r.load(rates, k))
            terms = r.f("fmul", speed, r.larger(one, r.absolute("%t")))
            noise = r.f("fmul", r.literal(1e-12), r.f("fadd", _weighted(r, k, "%x", 1.0), terms))
            here = r.compare("ole", r.absolute(r.load(g, k)), noise)
            r.store(r.as_word(here), near, k, "i64")
            slow = r.compare("ole", speed, r.f("fmul", r.literal(FLAT), _weighted(r, k, r.state("k1"), 0.0)))
            r.store(r.as_word(r.both(here, slow)), flat, k, "i64")
            some.set(r.either(some.get(), r.both(here, slow)))
        with r.when(some.get()):
            # a guard that a loop has held at zero until now leaves it slowly: only later is its way to be seen
            r.invoke("void", "later", *at, f"ptr {r.guard('later')}")
            with r.loop(ne) as k, r.when(r.is_set(flat, k)):
                r.store(r.f("fsub", r.load(r.guard("later"), k), r.load(g, k)), rates, k)
        _sides(r, g, rates, near)
        with r.loop(ne) as k:
            rate = r.load(rates, k)
            late = r.compare("olt", r.f("fmul", r.load(g, k), rate), zero)
            late = r.both(r.both(late, r.is_set(near, k)), r.negate(r.is_set(acting, k)))
            wanted = r.as_number(r.load(r.pointer("directions"), k, "i64"))
            counts = r.either(r.compare("oeq", wanted, zero), r.compare("oeq", wanted, r.sign(rate)))
            r.store(r.as_word(r.both(late, counts)), leaving, k, "i64")
    return r.done()


def _sides(r: Lane, g: str, rates: str, near: str) -> None:
    """Move %x until the guards near zero have the signs of their rates; what moves one may move another."""
    ne, acting, wrong = r.word("ne"), r.pointer("acting"), r.guard("old")
    passes = r.variable("i64", str(PASSES))
    with r.forever() as out:
        r.leave(r.compare("eq", passes.get(), "0"), out)
        passes.set(r.sub(passes.get(), "1"))
        some = r.variable("i1", "false")
        with r.loop(ne) as k:
            rate = r.load(rates, k)
            other = r.compare("une", r.sign(r.load(g, k)), r.sign(rate))
            off = r.both(r.both(other, r.compare("une", rate, r.literal(0.0))), r.is_set(near, k))
            off = r.both(off, r.is_set(acting, k))
            r.store(r.as_word(off), wrong, k, "i64")
            some.set(r.either(some.get(), off))
        r.leave(r.negate(some.get()), out)
        with r.loop(ne) as k, r.when(r.is_set(wrong, k)):
            r.invoke("void", "placed", "ptr %x", "double %t", f"i64 {k}", f"double {r.sign(r.load(rates, k))}")
        r.invoke("void", "guards_at", "ptr %x", "double %t", f"ptr {g}")


def _confirmed(width: int) -> Routine:
    """Clear the flags whose crossing the motion does not confirm; where rates jump, the side before decides."""
    r = Lane("confirmed", width, "ptr %flags, double %t, ptr %x")
    ne, zero = r.word("ne"), r.literal(0.0)
    g, rates, against, side = r.guard("values"), r.guard("rates"), r.guard("against"), r.state("side")
    at = ("ptr %x", "double %t")
    r.invoke("void", "guards_at", *at, f"ptr {g}")
    r.invoke("void", "guard_rates", *at, f"ptr {rates}")

    def direction(k: str) -> str:
        value = r.load(g, k)
        wanted = r.as_number(r.load(r.pointer("directions"), k, "i64"))
        return r.select(r.compare("une", value, zero), r.sign(value), wanted)

    some = r.variable("i1", "false")
    with r.loop(ne) as k:
        back = r.compare("olt", r.f("fmul", direction(k), r.load(rates, k)), zero)
        back = r.both(back, r.is_set("%flags", k))
        r.store(r.as_word(back), against, k, "i64")
        some.set(r.either(some.get(), back))
    with r.when(some.get()):
        r.invoke("void", "gradient", *at)
        with r.loop(ne) as k, r.when(r.is_set(against, k)):
            to = direction(k)
            r.copy("%x", side)
            r.invoke("void", "placed", f"ptr {side}", "double %t", f"i64 {k}", f"double {r.f('fsub', zero, to)}")
            r.invoke("void", "guard_rates", f"ptr {side}", "double %t", f"ptr {r.guard('old')}")
            meant = r.compare("ogt", r.f("fmul", to, r.load(r.guard("old"), k)), zero)
            with r.unless(meant):
                r.store("0", "%flags", k, "i64")
    return r.done()


def _record(width: int) -> Routine:
    """The guards of `one`, which only record, at %t in the state %x."""
    r = Lane("record", width, "double %t, ptr %x")
    one, leaving, counts = r.guard("one"), r.of_member("leaving", r.word("ng")), r.of_member("counts", r.word("ne"))
    r.invoke("void", "confirmed", f"ptr {one}", "double %t", "ptr %x")
    with r.loop(r.word("ne")) as k, r.when(r.is_set(one, k)):
        again = r.is_set(leaving, k)
        r.store("0", leaving, k, "i64")
        with r.unless(again):
            r.store(r.add(r.load(counts, k, "i64"), "1"), counts, k, "i64")
            _note(r, RECORDED, k, "0", "%t", "%x", "%x")
    return r.done()


def _note(r: Lane, kind: int, event: str, code: str, t: str, before: str, after: str) -> None:
    r.invoke(
        "void", "mark", f"i64 {kind}", f"i64 {event}", f"i64 {code}", f"double {t}", f"ptr {before}", f"ptr {after}"
    )


def _one(width: int) -> Routine:
    """Event %k happens to the state `event` at %t: i64, what happened + 8 if the run ends + 16 if the state is new."""
    r = Lane("one", width, "i64 %k, double %t", "i64")
    counts, x, ne = r.of_member("counts", r.word("ne")), r.state("event"), r.word("ne")
    count = r.add(r.load(counts, "%k", "i64"), "1")
    r.store(count, counts, "%k", "i64")
    ends = r.variable("i64", r.load(r.pointer("stopping"), "%k", "i64"))
    code = r.variable("i64", r.select(r.compare("ne", ends.get(), "0"), str(STOPS), str(PLAIN), "i64"))
    limit = r.load(r.pointer("limits"), "%k", "i64")
    with r.when(r.both(r.compare("sgt", limit, "0"), r.compare("sge", count, limit))):
        ends.set("1")
        code.set(str(LIMIT))
    fresh = r.load(r.pointer("resets"), "%k", "i64")
    with r.when(r.compare("ne", fresh, "0")):
        r.invoke("void", "after_at", f"ptr {x}", "double %t", "i64 %k", f"ptr {x}")
        rests = r.variable("i1", "false")
        slowest = r.load(r.pointer("slowest"), "%k")
        with r.when(r.compare("ogt", slowest, r.literal(0.0))):
            r.invoke("void", "guard_rates", f"ptr {x}", "double %t", f"ptr {r.guard('rates')}")
            rests.set(r.compare("olt", r.absolute(r.load(r.guard("rates"), "%k")), slowest))
        with r.when(rests.get()):
            known = r.is_set(r.pointer("rests"), "%k")
            code.set(r.select(known, str(RESTS), str(RESTS_AND_STOPS), "i64"))
            ends.set(r.select(known, ends.get(), "1", "i64"))
            with r.when(known):
                r.invoke("void", "after_at", f"ptr {x}", "double %t", f"i64 {r.add(ne, '%k')}", f"ptr {x}")
        with r.unless(rests.get()):
            code.set(r.select(r.compare("eq", code.get(), "0"), str(RESET), code.get(), "i64"))
    bits = r.add(r.mul(r.select(r.compare("ne", ends.get(), "0"), "1", "0", "i64"), "8"), r.mul(fresh, "16"))
    return r.done(f"i64 {r.add(code.get(), bits)}")


def _carried(width: int) -> Routine:
    """Events of force elements whose guards a jump from %before to `event`, or the start (null), carried over zero."""
    r = Lane("carried", width, "ptr %before, double %t")
    ne, zero, x = r.word("ne"), r.literal(0.0), r.state("event")
    g, left, one, noise, old = (r.guard(n) for n in ("values", "left", "one", "noise", "old"))
    known = r.variable("i1", r.op("icmp ne ptr %before, null"))
    with r.when(known.get()):
        r.copy("%before", r.state("carry"))
    r.copy(r.pointer("elements"), left, ne, "i64")
    at = (f"ptr {x}", "double %t")

    def direction(k: str) -> str:
        return r.as_number(r.load(r.pointer("directions"), k, "i64"))

    with r.forever() as out:
        some = r.variable("i1", "false")
        with r.loop(ne) as k:
            some.set(r.either(some.get(), r.is_set(left, k)))
        r.leave(r.negate(some.get()), out)
        with r.when(known.get()):
            r.invoke("void", "guards_at", f"ptr {r.state('carry')}", "double %t", f"ptr {old}")
        r.invoke("void", "guards_at", *at, f"ptr {g}")
        r.invoke("void", "gradient", *at)
        rests = r.variable("i1", "false")
        with r.loop(ne) as k:
            value, to = r.load(g, k), direction(k)
            least = r.f("fmul", r.literal(OVER), _weighted(r, k, x, 1.0))
            r.store(least, noise, k)
            over = r.compare("ogt", r.f("fmul", to, value), least)
            on = r.compare("ole", r.absolute(value), least)
            was = r.f("fmul", to, r.load(old, k))
            # one that was on zero before the jump is that of the event itself, or moves on by itself
            over = r.both(over, r.either(r.negate(known.get()), r.compare("ole", was, least)))
            below = r.compare("olt", was, r.f("fsub", zero, least))
            on = r.both(on, r.either(r.negate(known.get()), below))
            counts = r.both(r.is_set(left, k), r.compare("one", to, zero))
            state = r.select(over, "1", r.select(on, "2", "0", "i64"), "i64")
            state = r.select(counts, state, "0", "i64")
            r.store(state, one, k, "i64")
            rests.set(r.either(rests.get(), r.compare("eq", state, "2")))
        with r.when(rests.get()):
            r.invoke("void", "guard_rates", *at, f"ptr {r.guard('rates')}")
        some.set("false")
        with r.loop(ne) as k:
            state = r.load(one, k, "i64")
            moves = r.compare("ogt", r.f("fmul", direction(k), r.load(r.guard("rates"), k)), r.load(noise, k))
            yes = r.either(r.compare("eq", state, "1"), r.both(r.compare("eq", state, "2"), moves))
            r.store(r.as_word(yes), one, k, "i64")
            some.set(r.either(some.get(), yes))
        r.leave(r.negate(some.get()), out)
        r.copy(x, r.state("carry"))
        known.set("true")
        with r.loop(ne) as k, r.when(r.is_set(one, k)):
            r.store("0", left, k, "i64")
            r.invoke("i64", "one", f"i64 {k}", "double %t")
            _note(r, CARRIED, k, "0", "%t", x, x)
    return r.done()


def _apply_events(width: int) -> Routine:
    """The events of `happens` at %t in the state `event`, which is then the one after; i64: how the lane goes on."""
    r = Lane("happen", width, "double %t", "i64")
    ne, flags, x, was = r.word("ne"), r.guard("happens"), r.state("event"), r.state("was")
    number = r.load(r.of_member("n_instants"), "0", "i64")
    ring = r.of_member("instants", str(CROWD))
    place = r.op(f"srem i64 {number}, {CROWD}")
    r.store("%t", ring, place)
    r.store(r.add(number, "1"), r.of_member("n_instants"), "0", "i64")
    r.copy(x, was)
    r.invoke("void", "confirmed", f"ptr {flags}", "double %t", f"ptr {x}")
    stops, changed = (r.variable("i1", "false") for _ in range(2))
    with r.loop(ne) as k, r.when(r.is_set(flags, k)):
        bits = r.invoke("i64", "one", f"i64 {k}", "double %t")
        _note(r, HAPPENED, k, r.op(f"and i64 {bits}, 7"), "%t", was, x)
        stops.set(r.either(stops.get(), r.compare("ne", r.op(f"and i64 {bits}, 8"), "0")))
        changed.set(r.either(changed.get(), r.compare("ne", r.op(f"and i64 {bits}, 16"), "0")))
    # the oldest of the last CROWD instants is the one that the ring will lose next
    oldest = r.load(ring, r.op(f"srem i64 {r.add(number, '1')}, {CROWD}"))
    share = r.f("fmul", r.literal(INSTANT), r.larger(r.absolute("%t"), r.number("span")))
    many = r.both(r.compare("sge", r.add(number, "1"), str(CROWD)), r.compare("ole", r.f("fsub", "%t", oldest), share))
    acted = r.variable("i64", "0")
    with r.loop(ne) as k, r.when(r.is_set(r.pointer("acting"), k)):
        acted.set(r.add(acted.get(), r.load(r.of_member("counts", ne), k, "i64")))
    many = r.either(many, r.compare("sge", acted.get(), r.word("most_events")))
    status = r.select(stops.get(), str(STOPPED), r.select(many, str(EVENTS), str(PAUSED), "i64"), "i64")
    with r.when(changed.get()):
        r.invoke("void", "carried", f"ptr {was}", "double %t")
        _note(r, JUMPED, "0", "0", "%t", was, x)
    with r.when(r.compare("eq", status, str(PAUSED))):
        r.invoke("void", "settled", f"ptr {x}", "double %t")
    return r.done(f"i64 {status}")
