"""Samples of adaptive runs: at wanted times by the continuous extension, or after every accepted step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symbody.motion.march.ir.routine import Routine
from symbody.motion.march.job import WORDS
from symbody.motion.march.method_tables import RungeKutta

if TYPE_CHECKING:
    from symbody.motion.march.ir.adaptive import Adaptive


def any_wanted(k: Adaptive) -> str:
    """i1: whether some lane has a wanted time strictly inside its accepted step."""
    r = k.r
    found = r.variable("i1", "false")
    with r.when(r.flag("dense")), r.loop(k.count) as lane, r.when(k.is_set("accepted", lane)):
        done = r.load(r.pointer("n_samples"), r.add(k.first, lane), "i64")
        with r.when(r.compare("slt", done, r.word("n_times"))):
            end = r.f("fadd", k.lane("T", lane), k.lane("H", lane))
            ahead = r.f("fmul", r.f("fsub", r.load(r.pointer("times"), done), end), r.number("sign"))
            inside = r.compare("olt", ahead, r.literal(0.0))
            found.set(r.either(found.get(), inside))
            if k.method.extra_a:
                with r.when(inside):
                    k.count_up("evaluations", lane, len(k.method.extra_a))
    return found.get()


def record(k: Adaptive, lane: str, new: str, until: str | None = None) -> None:
    """Samples of an accepted step that ends at time `new` in state XN; X still holds its start. until: or earlier."""
    r = k.r
    member = r.add(k.first, lane)
    nx = r.word("nx")
    start = r.mul(lane, nx)
    counter = r.pointer("n_samples")

    def target() -> str:
        row = r.add(r.mul(member, r.word("room")), r.load(counter, member, "i64"))
        return r.at(r.pointer("samples"), r.mul(row, nx))

    def copy_end() -> None:
        place, source = target(), r.at(r.pointer("XN"), start)
        with r.loop(nx) as e:
            r.store(r.load(source, e), place, e)

    with r.when(r.flag("dense")), r.forever() as out:
        index = r.load(counter, member, "i64")
        r.leave(r.compare("sge", index, r.word("n_times")), out)
        time = r.load(r.pointer("times"), index)
        ahead = r.f("fmul", r.f("fsub", time, new if until is None else until), r.number("sign"))
        r.leave(r.compare("ogt", ahead, r.literal(0.0)), out)
        exact = r.compare("oeq", time, new)
        with r.when(exact):
            copy_end()
        with r.unless(exact):
            h = k.lane("H", lane)
            theta = r.f("fdiv", r.f("fsub", time, k.lane("T", lane)), h)
            r.do(f"call void @interpolated(ptr %job, i64 {start}, double {theta}, double {h}, ptr {target()})")
        r.store(r.add(index, "1"), counter, member, "i64")
    with r.unless(r.flag("dense")):
        copy_end()
        index = r.load(counter, member, "i64")
        r.store(new, r.pointer("t_samples"), r.add(r.mul(member, r.word("room")), index))
        r.store(r.add(index, "1"), counter, member, "i64")


def interpolated(method: RungeKutta, width: int) -> Routine:
    """x(t + theta h) = x + h sum_i k_i P_i(theta) of the row that starts at %start, into %target."""
    head = "ptr noalias %job, i64 %start, double %theta, double %h, ptr %target"
    r = Routine("interpolated", WORDS, width, head)
    nx = r.word("nx")
    weights = []
    for row in method.dense:
        if any(row):
            weight = r.literal(row[-1])
            for p in reversed(row[:-1]):
                weight = r.f("fadd", r.f("fmul", weight, "%theta"), r.literal(p))
            weights.append(r.f("fmul", weight, "%theta"))
        else:
            weights.append("")
    rates = [r.at(r.pointer("K"), r.add(r.mul(r.word("pad"), str(j)), "%start")) for j in range(len(weights))]
    x = r.at(r.pointer("X"), "%start")
    with r.loop(nx) as e:
        total = r.literal(0.0)
        for weight, base in zip(weights, rates):
            if weight:
                total = r.f("fadd", total, r.f("fmul", weight, r.load(base, e)))
        r.store(r.f("fadd", r.load(x, e), r.f("fmul", "%h", total)), "%target", e)
    r.do("ret void")
    return r
