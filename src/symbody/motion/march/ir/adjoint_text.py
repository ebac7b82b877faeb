"""Native loops backwards in time: the adjoint of the steps of a run, differentiated exactly as they were taken.

Of a Runge-Kutta step x_new = x + h sum_i b_i k_i, k_i = f(Y_i), Y_i = x + h sum_j a_ij k_j, lam the adjoint of x_new:

    w_i   = h (b_i lam + sum_{j>i} a_ji y_j)   adjoint of k_i, last stage first
    y_i   = f_x(Y_i)^T w_i                     adjoints of parameters and signals grow by f_p^T w_i, f_u^T w_i
    lam   = lam + sum_i y_i

The states at the starts of the steps are given; stages are computed again.
"""

from __future__ import annotations

from functools import cache

from symbody.motion.march.ir.block import StateBlock
from symbody.motion.march.ir.compiled_march import module_text
from symbody.motion.march.ir.fixed import set_time
from symbody.motion.march.ir.routine import Routine
from symbody.motion.march.job import FAILED, INSIDE, REACHED, WORDS, helpers
from symbody.motion.march.method_tables import RungeKutta


@cache
def adjoint_module(method: RungeKutta | None, width: int, projects: bool, node: float = 0.0) -> str:
    """IR with the function `march`. None: the map of a step, whose pullback is asked; its signals are those at
    t + node*h. projects: whether the state is projected after each step."""
    r = Routine("march", WORDS, width)
    write_adjoint(StateBlock(r), method, projects, node)
    r.do("ret void")
    return module_text([r, _scatter(width), *helpers(width)])


def write_adjoint(k: StateBlock, method: RungeKutta | None, projects: bool, node: float) -> None:
    r = k.r
    with k.blocks():
        _start(k)
        left = r.variable("i64", r.word("n_steps"))
        with r.forever() as out:
            now = left.get()
            r.leave(r.compare("sle", now, "0"), out)
            i = r.sub(now, "1")
            left.set(i)
            with r.when(r.flag("seeded")):
                _add_seeds(k, now)
            _read_state(k, i)
            set_time(k, i)
            if method is None:
                _map(k, projects, node)
            else:
                _runge_kutta(k, method, projects)
        _finish(k)


def _start(k: StateBlock) -> None:
    r = k.r
    with r.loop(k.count) as lane:
        r.store(r.load(r.pointer("h"), r.add(k.first, lane)), r.pointer("H"), lane)
    k.spread_step()
    set_time(k, "0")
    with r.when(r.compare("ne", r.word("nu"), "0")):
        with r.loop(k.rows) as lane:
            r.store(r.load(r.pointer("T"), lane), r.pointer("TS"), lane)
        k.signals(INSIDE)
    source = r.at(r.pointer("lam"), r.mul(k.first, r.word("nx")))
    with r.loop(k.n) as e:
        r.store(r.load(source, e), r.pointer("LAM"), e)
    with r.loop(k.padded, k.n) as e:
        r.store(r.literal(0.0), r.pointer("LAM"), e)
    for name, size in (("MU", "nm"), ("MV", "nv")):
        with r.loop(_whole(k, size), "0", r.width) as e:
            r.vstore(r.lanes.number(0.0), r.pointer(name), e)


def _whole(k: StateBlock, size: str) -> str:
    """Numbers of all lanes of the block, whole vectors."""
    r = k.r
    return r.op(f"and i64 {r.add(r.mul(k.count, r.word(size)), str(r.width - 1))}, {-r.width}")


def _add_seeds(k: StateBlock, index: str) -> None:
    """What the objective adds to the adjoint at this instant."""
    r = k.r
    nx = r.word("nx")
    with r.loop(k.count) as lane:
        row = r.mul(r.add(r.mul(r.add(k.first, lane), r.word("n_rows")), index), nx)
        source, target = r.at(r.pointer("seeds"), row), r.at(r.pointer("LAM"), r.mul(lane, nx))
        with r.loop(nx) as e:
            r.store(r.f("fadd", r.load(target, e), r.load(source, e)), target, e)


def _read_state(k: StateBlock, index: str) -> None:
    r = k.r
    nx = r.word("nx")
    with r.loop(k.count) as lane:
        row = r.mul(r.add(r.mul(r.add(k.first, lane), r.word("n_rows")), index), nx)
        source, target = r.at(r.pointer("states"), row), r.at(r.pointer("X"), r.mul(lane, nx))
        with r.loop(nx) as e:
            r.store(r.load(source, e), target, e)


def _stage(k: StateBlock, name: str, stage: int) -> str:
    """The part of a buffer that belongs to a stage."""
    r = k.r
    return r.at(r.pointer(name), r.mul(r.word("pad"), str(stage)))


def _runge_kutta(k: StateBlock, method: RungeKutta, projects: bool) -> None:
    r, s = k.r, method.stages
    for stage in range(s):
        target = _stage(k, "YS", stage)
        with k.flat() as i:
            r.vstore(k.updated("X", method.a[stage], i), target, i)
        if stage < s - 1 or projects:  # the last rates are not needed but for the new state
            k.at_time(method.c[stage])
            k.rates(stage)
    if projects:
        k.update("X", method.b, "XN")
        _pull_projection(k, 2 * s + 1)
    for stage in reversed(range(s)):
        later = [method.a[j][stage] for j in range(stage + 1, s)]
        parts = [_stage(k, "PB", j) for j in range(stage + 1, s)]
        with k.flat() as i:
            total = r.combination([method.b[stage], *later], [r.pointer("LAM"), *parts], i)
            w = r.lanes.number(0.0) if total is None else r.f("fmul", r.vload(r.pointer("HX"), i), total, r.vector)
            r.vstore(w, r.pointer("W"), i)
        k.at_time(method.c[stage])
        _pull(k, s + stage)
    with k.flat() as i:
        bases = [r.pointer("LAM"), *(_stage(k, "PB", j) for j in range(s))]
        total = r.combination([1.0] * (s + 1), bases, i)
        assert total is not None
        r.vstore(total, r.pointer("LAM"), i)


def _map(k: StateBlock, projects: bool, node: float) -> None:
    r = k.r
    k.at_time(node)
    with r.loop(k.rows) as lane:  # the map itself is told the time at the start
        r.store(r.load(r.pointer("T"), lane), r.pointer("TS"), lane)
    if projects:
        k.rates(0)
        _pull_projection(k, 3)
        k.at_time(node)
        with r.loop(k.rows) as lane:
            r.store(r.load(r.pointer("T"), lane), r.pointer("TS"), lane)
    k.copy("LAM", "W")
    _pull(k, 1, node)
    k.copy("PB", "LAM")


def _pull(k: StateBlock, context: int, node: float | None = None) -> None:
    """The pullback of the rates, or of the step, with the weights W; adjoints of what does not change are added.

    node: of a map, the fraction of the step at which it reads signals, though it is told the time of its start
    """
    r = k.r
    k.call("pull", r.load(r.pointer("contexts"), str(context), "ptr"))
    _gather(k, "MU", "nm")
    with r.when(r.flag("inputs_wanted")):
        if node is not None:
            k.at_time(node)
        _scattered(k)


def _scattered(k: StateBlock) -> None:
    r = k.r
    shared = r.op(f"zext i1 {r.flag('rows_shared')} to i64")
    r.do(f"call void @scatter(ptr %job, i64 {k.count}, i64 {k.first}, i64 {shared})")


def _pull_projection(k: StateBlock, context: int) -> None:
    """LAM before the projection from LAM after it; the state before stands in XN."""
    r = k.r
    k.at_time(1.0)
    k.copy("LAM", "W")
    k.call("pulled", r.load(r.pointer("contexts"), str(context), "ptr"))
    _gather(k, "MV", "nv")
    k.copy("PB", "LAM")


def _gather(k: StateBlock, target: str, size: str) -> None:
    r = k.r
    with r.loop(_whole(k, size), "0", r.width) as e:
        total = r.f("fadd", r.vload(r.pointer(target), e), r.vload(r.pointer("GM"), e), r.vector)
        r.vstore(total, r.pointer(target), e)


def _scatter(width: int) -> Routine:
    """Adjoints GU of signals at the times TS, shared out among the knots between which they were interpolated."""
    r = Routine("scatter", WORDS, width, "ptr noalias %job, i64 %count, i64 %first, i64 %shared")
    nu, knots = r.word("nu"), r.word("n_knots")
    last = r.sub(knots, "1")
    with r.loop("%count") as lane:
        own = r.select(r.compare("ne", "%shared", "0"), "0", lane, "i64")
        found = r.load(r.pointer("place"), own, "i64")
        negative = r.compare("slt", found, "0")
        low = r.select(negative, "0", r.least(found, last), "i64")
        next_ = r.select(negative, "0", r.least(r.add(found, "1"), last), "i64")
        flat = r.either(r.flag("hold"), r.compare("eq", low, next_))
        since = r.f("fsub", r.load(r.pointer("TS"), own), r.load(r.pointer("knots"), low))
        length = r.f("fsub", r.load(r.pointer("knots"), next_), r.load(r.pointer("knots"), low))
        weight = r.select(flat, r.literal(0.0), r.f("fdiv", since, length))
        member = r.at(r.pointer("ubar"), r.mul(r.mul(r.add("%first", lane), knots), nu))
        a, b = (r.at(member, r.mul(k, nu)) for k in (low, next_))
        source = r.at(r.pointer("GU"), r.mul(lane, nu))
        with r.loop(nu) as e:
            whole = r.load(source, e)
            part = r.f("fmul", weight, whole)
            r.store(r.f("fadd", r.load(a, e), r.f("fsub", whole, part)), a, e)
            r.store(r.f("fadd", r.load(b, e), part), b, e)
    r.do("ret void")
    return r


def _finish(k: StateBlock) -> None:
    r = k.r
    target = r.at(r.pointer("lam"), r.mul(k.first, r.word("nx")))
    with r.loop(k.n) as e:
        r.store(r.load(r.pointer("LAM"), e), target, e)
    for name, array, size in (("MU", "mu", "nm"), ("MV", "mv", "nv")):
        count = r.mul(k.count, r.word(size))
        start = r.at(r.pointer(array), r.mul(k.first, r.word(size)))
        with r.loop(count) as e:
            r.store(r.f("fadd", r.load(start, e), r.load(r.pointer(name), e)), start, e)
    with r.loop(k.count) as lane:
        failed = r.compare("ne", r.load(r.pointer("fail"), lane, "i64"), "0")
        status = r.select(failed, str(FAILED), str(REACHED), "i64")
        r.store(status, r.pointer("status"), r.add(k.first, lane), "i64")
