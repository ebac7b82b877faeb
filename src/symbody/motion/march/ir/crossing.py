"""Where guards cross zero inside of a step, natively: `motion/methods/locate.py` in the same order of operations.

The ends of the step stand in the scratch rows x0 and x1, their times in HN and HP of the single lane.
"""

from __future__ import annotations

import sys

from symbody.motion.march.ir.one_lane import Lane
from symbody.motion.march.ir.routine import Routine

EPS = sys.float_info.epsilon
SHARE, ROUNDINGS = 1e-13, 4.0  # width of brackets: of the step, and roundings of t
SLOPE = 0.2  # of the ITP method, over the length of the interval


def crossing(width: int) -> list[Routine]:
    """All functions of this file."""
    return [_path(width), _bracket(width), _locate(width), _passed(width)]


def ends(r: Lane) -> tuple[str, str]:
    """Times of the step."""
    return r.load(r.pointer("HN"), "0"), r.load(r.pointer("HP"), "0")


def bracket_width(r: Lane, t0: str, t1: str) -> str:
    length = r.f("fmul", r.literal(SHARE), r.absolute(r.f("fsub", t1, t0)))
    largest = r.larger(r.absolute(t0), r.absolute(t1))
    return r.f("fadd", length, r.f("fmul", r.literal(ROUNDINGS * EPS), largest))


def crosses(r: Lane, before: str, after: str, k: str) -> str:
    """i1: whether guard k changes sign in a direction that counts."""
    b, a = r.load(before, k), r.load(after, k)
    was, now = r.sign(b), r.sign(a)
    now = r.select(r.compare("uno", a, a), a, now)
    changes = r.both(r.compare("one", was, r.literal(0.0)), r.compare("une", now, was))
    wanted = r.as_number(r.load(r.pointer("directions"), k, "i64"))
    way = r.f("fsub", r.literal(0.0), was)
    counts = r.either(r.compare("oeq", wanted, r.literal(0.0)), r.compare("oeq", wanted, way))
    return r.both(changes, counts)


def _path(width: int) -> Routine:
    """The state at %s: the step done again up to there."""
    r = Lane("path", width, "double %s, ptr %out")
    t0, t1 = ends(r)
    early, late = r.compare("ole", "%s", t0), r.compare("oge", "%s", t1)
    outside = r.either(early, late)
    with r.when(outside), r.loop(r.word("nx")) as e:
        r.store(r.select(early, r.load(r.state("x0"), e), r.load(r.state("x1"), e)), "%out", e)
    with r.unless(outside):
        r.invoke("void", "retry", f"ptr {r.state('x0')}", f"double {t0}", "double %s", "ptr %out")
    return r.done()


def _bracket(width: int) -> Routine:
    """End of an interval no longer than %width in which guard %i changes sign, from (%a0, %b0] with values %fa0, %fb0.

    Oliveira and Takahashi 2020 (ITP): superlinear, never slower than one evaluation more than bisection.
    """
    r = Lane("bracket", width, "i64 %i, double %a0, double %fa0, double %b0, double %fb0, double %width", "double")
    half, zero = r.literal(0.5), r.literal(0.0)
    a, fa, b, fb = (r.variable("double", v) for v in ("%a0", "%fa0", "%b0", "%fb0"))
    length = r.absolute(r.f("fsub", "%b0", "%a0"))
    settled = r.either(r.compare("oeq", "%fb0", zero), r.compare("ole", length, "%width"))
    with r.unless(settled):
        # limit = ceil(log2(length / width)) + 1; scale = 2^(limit - k)
        ratio = r.f("fdiv", length, "%width")
        power, limit = r.variable("double", r.literal(1.0)), r.variable("i64", "1")
        with r.forever() as out:
            r.leave(r.compare("oge", power.get(), ratio), out)
            power.set(r.f("fmul", power.get(), r.literal(2.0)))
            limit.set(r.add(limit.get(), "1"))
        scale = r.variable("double", r.f("fmul", power.get(), r.literal(2.0)))
        slope = r.f("fdiv", r.literal(SLOPE), length)
        left = r.variable("i64", r.mul(limit.get(), "2"))
        with r.forever() as done:
            r.leave(r.compare("eq", left.get(), "0"), done)
            left.set(r.sub(left.get(), "1"))
            low, high, flow, fhigh = a.get(), b.get(), fa.get(), fb.get()
            span = r.f("fsub", high, low)
            wide = r.absolute(span)
            r.leave(r.either(r.compare("ole", wide, "%width"), r.compare("oeq", fhigh, zero)), done)
            middle = r.f("fmul", half, r.f("fadd", low, high))
            secant = r.f(
                "fdiv", r.f("fsub", r.f("fmul", fhigh, low), r.f("fmul", flow, high)), r.f("fsub", fhigh, flow)
            )
            shift = r.f("fmul", r.f("fmul", slope, r.f("fmul", span, span)), r.sign(span))
            off = r.f("fsub", middle, secant)
            toward = r.sign(off)
            close = r.compare("ole", r.absolute(shift), r.absolute(off))
            nearer = r.select(close, r.f("fadd", secant, r.f("fmul", toward, shift)), middle)
            radius = r.f("fsub", r.f("fmul", r.f("fmul", half, "%width"), scale.get()), r.f("fmul", half, wide))
            radius = r.larger(radius, zero)
            inside = r.compare("ole", r.absolute(r.f("fsub", nearer, middle)), radius)
            c = r.select(inside, nearer, r.f("fsub", middle, r.f("fmul", toward, radius)))
            c = r.select(r.either(r.compare("oeq", c, low), r.compare("oeq", c, high)), middle, c)
            r.leave(r.either(r.compare("oeq", c, low), r.compare("oeq", c, high)), done)
            r.invoke("void", "path", f"double {c}", f"ptr {r.state('trial')}")
            at = (f"ptr {r.state('trial')}", f"double {c}", f"ptr {r.guard('trial')}")
            r.invoke("void", "guards_at", *at)
            value = r.load(r.guard("trial"), "%i")
            other = r.either(
                r.compare("une", value, value),
                r.either(r.compare("oeq", value, zero), r.compare("une", r.sign(value), r.sign(flow))),
            )
            a.set(r.select(other, low, c))
            fa.set(r.select(other, flow, value))
            b.set(r.select(other, c, high))
            fb.set(r.select(other, value, fhigh))
            scale.set(r.f("fmul", scale.get(), half))
    return r.done(f"double {b.get()}")


def _bracketed(r: Lane, k: str, before: str, t: str, value: str, near: str) -> str:
    t0, _ = ends(r)
    first = (f"i64 {k}", f"double {t0}", f"double {before}")
    return r.invoke("double", "bracket", *first, f"double {t}", f"double {value}", f"double {near}")


def _locate(width: int) -> Routine:
    """The first crossing of a guard that acts: its time; the state there in `event`, which guards in `happens`."""
    r = Lane("locate", width, "", "double")
    ne = r.word("ne")
    t0, t1 = ends(r)
    before, after, g, flags, state = (
        r.guard("before"), r.guard("after"), r.guard("end"), r.guard("happens"), r.state("event"),
    )  # fmt: skip
    acting, way = r.pointer("acting"), r.of_member("crossed", r.word("ng"))
    for x, t, out in ((r.state("x0"), t0, before), (r.state("x1"), t1, after)):
        r.invoke("void", "guards_at", f"ptr {x}", f"double {t}", f"ptr {out}")
    found = r.variable("double", t0)
    at_start = r.variable("i1", "false")
    with r.loop(ne) as k:
        how = r.as_number(r.load(way, k, "i64"))
        moves = r.both(r.is_set(acting, k), r.compare("one", how, r.literal(0.0)))
        # the step before ended a rounding of t short of the crossing
        there = r.both(moves, r.compare("oge", r.f("fmul", r.load(before, k), how), r.literal(0.0)))
        r.store(r.as_word(there), flags, k, "i64")
        at_start.set(r.either(at_start.get(), there))
    with r.when(at_start.get()):
        r.copy(r.state("x0"), state)
    with r.unless(at_start.get()):
        near = bracket_width(r, t0, t1)
        found.set(t1)
        r.copy(after, g, ne)
        with r.loop(ne) as k:
            first = r.both(r.is_set(acting, k), crosses(r, before, after, k))
            with r.when(r.both(first, crosses(r, before, g, k))):
                found.set(_bracketed(r, k, r.load(before, k), found.get(), r.load(g, k), near))
                _look(r, found.get(), state, g)
        later = r.smaller(r.f("fadd", found.get(), r.f("fmul", r.literal(2.0), near)), t1)
        _look(r, later, r.state("trial"), r.guard("trial"))
        now, then = (r.variable("i64", "0") for _ in range(2))
        with r.loop(ne) as k:
            acts = r.is_set(acting, k)
            for count, values in ((now, g), (then, r.guard("trial"))):
                count.set(r.add(count.get(), r.as_word(r.both(acts, crosses(r, before, values, k)))))
        with r.when(r.compare("sgt", then.get(), now.get())):
            found.set(later)
            r.copy(r.guard("trial"), g, ne)
        r.invoke("void", "path", f"double {found.get()}", f"ptr {state}")
        with r.loop(ne) as k:
            crossed = r.both(r.is_set(acting, k), crosses(r, before, g, k))
            r.store(r.as_word(crossed), flags, k, "i64")
    return r.done(f"double {found.get()}")


def _look(r: Lane, t: str, state: str, guards: str) -> None:
    """State and guards at t."""
    r.invoke("void", "path", f"double {t}", f"ptr {state}")
    r.invoke("void", "guards_at", f"ptr {state}", f"double {t}", f"ptr {guards}")


def _passed(width: int) -> Routine:
    """Note the crossings of guards that only record, in the step up to %end."""
    r = Lane("passed", width, "double %end")
    ne, zero = r.word("ne"), r.literal(0.0)
    t0, t1 = ends(r)
    before, after, beyond, found, one = (r.guard(n) for n in ("p_before", "p_after", "p_beyond", "p_found", "one"))
    acting, way, state = r.pointer("acting"), r.of_member("crossed", r.word("ng")), r.state("passing")

    def how(k: str) -> str:
        return r.as_number(r.load(way, k, "i64"))

    def times(values: str, k: str) -> str:
        return r.f("fmul", r.load(values, k), how(k))

    def moves(k: str) -> str:
        return r.both(r.negate(r.is_set(acting, k)), r.compare("one", how(k), zero))

    some = r.variable("i1", "false")
    with r.loop(ne) as k:
        some.set(r.either(some.get(), moves(k)))
    with r.when(some.get()):
        r.invoke("void", "guards_at", f"ptr {r.state('x0')}", f"double {t0}", f"ptr {before}")
        _look(r, "%end", state, after)
        any_ = r.variable("i1", "false")
        near = bracket_width(r, t0, t1)
        with r.loop(ne) as k:
            there = r.both(moves(k), r.compare("oge", times(before, k), zero))
            r.store(r.as_word(there), one, k, "i64")
            any_.set(r.either(any_.get(), there))
        with r.when(any_.get()):
            r.invoke("void", "record", f"double {t0}", f"ptr {r.state('x0')}")
        last = r.literal(float("inf"))
        with r.loop(ne) as k:
            inside = r.both(r.compare("olt", times(before, k), zero), r.compare("oge", times(after, k), zero))
            r.store(last, found, k)
            with r.when(r.both(moves(k), inside)):
                t = _bracketed(r, k, r.load(before, k), "%end", r.load(after, k), near)
                r.store(t, found, k)
        with r.forever() as out:  # in order of time
            first, chosen = r.variable("double", last), r.variable("i64", "-1")
            with r.loop(ne) as k, r.when(r.compare("olt", r.load(found, k), first.get())):
                first.set(r.load(found, k))
                chosen.set(k)
            r.leave(r.compare("slt", chosen.get(), "0"), out)
            r.store(last, found, chosen.get())
            r.fill(one, "0", ne, "i64")
            r.store("1", one, chosen.get(), "i64")
            r.invoke("void", "path", f"double {first.get()}", f"ptr {state}")
            r.invoke("void", "record", f"double {first.get()}", f"ptr {state}")
        later = r.smaller(r.f("fadd", "%end", r.f("fmul", r.literal(2.0), near)), t1)
        with r.when(r.compare("ogt", later, "%end")):  # where an event acts, those within its bracket happen with it
            _look(r, later, state, beyond)
            any_.set("false")
            with r.loop(ne) as k:
                not_yet = r.both(r.compare("olt", times(before, k), zero), r.compare("olt", times(after, k), zero))
                same = r.both(moves(k), r.both(not_yet, r.compare("oge", times(beyond, k), zero)))
                r.store(r.as_word(same), one, k, "i64")
                any_.set(r.either(any_.get(), same))
            with r.when(any_.get()):
                r.invoke("void", "record", "double %end", f"ptr {state}")
    return r.done()
