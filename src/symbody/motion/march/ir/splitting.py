"""Native steps of splitting methods: positions drift with the velocities, everything else is kicked by its rates."""

from __future__ import annotations

from symbody.motion.march.ir.block import StateBlock
from symbody.motion.march.ir.routine import RoutineVariable
from symbody.motion.march.method_tables import EULER, RK4, RungeKutta, Splitting

# drifts of order 2: the midpoint rule
MIDPOINT = RungeKutta("midpoint", 2, a=((), (0.5,)), b=(0.0, 1.0), c=(0.0, 0.5))
DRIFTS = {1: EULER, 2: MIDPOINT, 4: RK4}


def write_splitting(k: StateBlock, method: Splitting, fresh: RoutineVariable) -> None:
    """One step from X, its result in XN, then commit. K holds the rates at X if not `fresh`."""
    r = k.r
    with r.when(fresh.get()):
        k.at_time(0.0)
        k.rates(0)
    if not method.substeps:
        kick(k, "X", 0, 1.0, "XN")
        drift(k, method.drift, 0.0, 1.0)
    else:
        k.copy("X", "XN")
        for start, w, end in method.spans():
            kick(k, "XN", 0, w / 2, "XN")
            drift(k, method.drift, start, w)
            kick(k, "XN", 0, w / 2, "Y")
            k.at_time(end)
            for n in range(method.evaluations):
                k.rates(1)
                kick(k, "XN", 1, w / 2, "XN" if n == method.evaluations - 1 else "Y")
            with k.flat() as i:
                r.vstore(r.vload(k.buffer(1), i), k.buffer(0), i)
        fresh.set(r.negate(r.flag("reuse")))
    k.commit(lambda i: r.vload(r.pointer("XN"), i))


def kick(k: StateBlock, base: str, rates: int, w: float, target: str) -> None:
    """target = base + w h * rates, for all components that are not positions (`kick` is 1 there, else 0)."""
    r = k.r
    with k.flat() as i:
        h = r.f("fmul", r.vload(r.pointer("HX"), i), r.vload(r.pointer("kick"), i), r.vector)
        if w != 1.0:
            h = r.f("fmul", r.lanes.number(w), h, r.vector)
        change = r.f("fmul", h, r.vload(k.buffer(rates), i), r.vector)
        r.vstore(r.f("fadd", r.vload(r.pointer(base), i), change, r.vector), r.pointer(target), i)


def drift(k: StateBlock, order: int, start: float, w: float) -> None:
    """Positions of XN over w h at constant velocities: exact where their rates are the velocities, else by a Kernel."""
    r = k.r
    with r.when(r.compare("ne", r.word("n_pairs"), "0")):
        _drift_along(k, w)
    with r.when(r.compare("eq", r.word("n_pairs"), "0")):
        _drift_by_kernel(k, DRIFTS[order], start, w)


def _drift_along(k: StateBlock, w: float) -> None:
    """q += w h v; pairs: (offset of positions, offset of velocities, size) within a row."""
    r = k.r
    with r.loop(k.count) as lane:
        row = r.at(r.pointer("XN"), r.mul(lane, r.word("nx")))
        h = r.load(r.pointer("H"), lane)
        h = h if w == 1.0 else r.f("fmul", r.literal(w), h)
        with r.loop(r.word("n_pairs")) as p:
            record = r.at(r.pointer("pairs"), r.mul(p, "3"))
            q = r.at(row, r.load(record, "0", "i64"))
            v = r.at(row, r.load(record, "1", "i64"))
            with r.loop(r.load(record, "2", "i64")) as e:
                r.store(r.f("fadd", r.load(q, e), r.f("fmul", h, r.load(v, e))), q, e)


def _drift_by_kernel(k: StateBlock, method: RungeKutta, start: float, w: float) -> None:
    """Stages at XN, then at XP, which differs from it in the positions alone."""
    r = k.r
    rates = [r.at(r.pointer("KD"), r.mul(r.word("pad"), str(j))) for j in range(method.stages)]

    def moved(coefficients: tuple[float, ...], i: str) -> str:
        h = r.f(
            "fmul", r.vload(r.pointer("HX"), i), r.f("fsub", one, r.vload(r.pointer("kick"), i), r.vector), r.vector
        )
        if w != 1.0:
            h = r.f("fmul", r.lanes.number(w), h, r.vector)
        total = r.combination(coefficients, rates, i)
        x = r.vload(r.pointer("XN"), i)
        return x if total is None else r.f("fadd", x, r.f("fmul", h, total, r.vector), r.vector)

    one = r.lanes.number(1.0)
    for stage in range(method.stages):
        if stage:
            with k.flat() as i:
                r.vstore(moved(method.a[stage], i), r.pointer("XP"), i)
        k.at_time(start + method.c[stage] * w)
        k.drift(stage)
    with k.flat() as i:
        r.vstore(moved(method.b, i), r.pointer("XN"), i)
