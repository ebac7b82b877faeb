"""Native loops of the variational equations: derivatives S of the state by many directions, along the steps as taken.

Of a Runge-Kutta step: dY_i = S + h sum_j a_ij dk_j, dk_i = f_x(Y_i) dY_i + f_m(Y_i), S_new = S + h sum_i b_i dk_i. The
rows of f_x and f_m that are not plain copies of a state come from one call of the pullback with a unit weight in each
lane, so their cost is shared by all directions; the products run over vectors of directions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from symbody.motion.march.ir.block import StateBlock
from symbody.motion.march.ir.compiled_march import module_text
from symbody.motion.march.ir.fixed import set_time
from symbody.motion.march.ir.routine import Routine
from symbody.motion.march.job import FAILED, INSIDE, REACHED, WORDS, helpers
from symbody.motion.march.method_tables import RungeKutta

UNROLLED = 4  # vectors of directions that are summed side by side


@cache
def variational_module(method: RungeKutta | None, width: int, projects: bool, node: float = 0.0) -> str:
    """IR with the function `march`, for one member; see `adjoint_module`."""
    r = Routine("march", WORDS, width)
    write_variational(StateBlock(r), method, projects, node)
    r.do("ret void")
    return module_text([r, *helpers(width)])


def write_variational(k: StateBlock, method: RungeKutta | None, projects: bool, node: float) -> None:
    r = k.r
    with k.blocks():
        _start(k)
        every = r.variable("i64", r.word("every"))
        recorded = r.variable("i64", "0")
        with r.loop(r.word("n_steps")) as i:
            set_time(k, i)
            if method is None:
                _map(k, projects, node)
            else:
                _runge_kutta(k, method, projects)
            every.set(r.sub(every.get(), "1"))
            last = r.compare("eq", r.add(i, "1"), r.word("n_steps"))
            with r.when(r.either(last, r.compare("eq", every.get(), "0"))):
                _record(k, recorded.get())
                recorded.set(r.add(recorded.get(), "1"))
                every.set(r.word("every"))
        _finish(k)


def _start(k: StateBlock) -> None:
    r = k.r
    r.store(r.load(r.pointer("h"), k.first), r.pointer("H"), "0")
    k.spread_step()
    set_time(k, "0")
    with r.when(r.compare("ne", r.word("nu"), "0")):
        r.store(r.load(r.pointer("T"), "0"), r.pointer("TS"), "0")
        k.signals(INSIDE)


def _size(k: StateBlock) -> str:
    return k.r.mul(k.r.word("nx"), k.r.word("columns"))


def _splat(r: Routine, value: str) -> str:
    """A vector of one number."""
    if r.width == 1:
        return value
    one = r.op(f"insertelement {r.vector} poison, double {value}, i64 0")
    return r.op(f"shufflevector {r.vector} {one}, {r.vector} poison, <{r.width} x i32> zeroinitializer")


def _moved(k: StateBlock, coefficients: tuple[float, ...], target: str) -> None:
    """target = S + h * sum of coefficients * dk."""
    r = k.r
    h = _splat(r, r.load(r.pointer("H"), "0"))
    parts = [r.at(r.pointer("DK"), r.mul(_size(k), str(j))) for j in range(len(coefficients))]
    with r.loop(_size(k), "0", r.width) as i:
        s = r.vload(r.pointer("S"), i)
        total = r.combination(coefficients, parts, i)
        r.vstore(s if total is None else r.f("fadd", s, r.f("fmul", h, total, r.vector), r.vector), target, i)


def _rows(k: StateBlock, count: str, place: Callable[[str], str], source: str, target: str) -> None:
    """Row place(i) of target = sum_c PB[i, c] source[c] + GM[i], for i below count."""
    r = k.r
    columns, nx = r.word("columns"), r.word("nx")
    with r.loop(count) as i:
        gradient = r.at(r.pointer("PB"), r.mul(i, nx))
        constant = r.at(r.pointer("GM"), r.mul(i, columns))
        out = r.at(target, r.mul(place(i), columns))
        with r.loop(columns, "0", UNROLLED * r.width) as v:
            parts = [r.add(v, str(j * r.width)) for j in range(UNROLLED)]
            sums = [r.variable(r.vector, r.vload(constant, p)) for p in parts]
            with r.loop(nx) as c:
                g = _splat(r, r.load(gradient, c))
                row = r.at(source, r.mul(c, columns))
                for total, p in zip(sums, parts):
                    total.set(r.f("fadd", total.get(), r.f("fmul", g, r.vload(row, p), r.vector), r.vector))
            for total, p in zip(sums, parts):
                r.vstore(total.get(), out, p)


def _copied(k: StateBlock, source: str, target: str) -> None:
    """Rows whose rate is just another state."""
    r = k.r
    columns = r.word("columns")
    with r.loop(r.word("nx")) as i:
        c = r.load(r.pointer("copied"), i, "i64")
        with r.when(r.compare("sge", c, "0")):
            row, out = r.at(source, r.mul(c, columns)), r.at(target, r.mul(i, columns))
            with r.loop(columns, "0", r.width) as v:
                r.vstore(r.vload(row, v), out, v)


def _pull(k: StateBlock, kind: str, context: int, count: str) -> None:
    """Rows of a pullback at one state: a unit weight in each lane."""
    r = k.r
    function = r.op(f"inttoptr i64 {r.word(kind)} to ptr")
    r.do(f"call void {function}(ptr {r.load(r.pointer('contexts'), str(context), 'ptr')}, i64 0, i64 {count})")
    blocks = r.word(f"{kind}_blocks")
    with r.when(r.compare("ne", blocks, "0")):
        status = r.pointer(f"{kind}_status")
        r.op(f"call i1 @failed(ptr {status}, i64 {blocks}, i64 1, ptr {r.pointer('fail')})")


def _runge_kutta(k: StateBlock, method: RungeKutta, projects: bool) -> None:
    r, s = k.r, method.stages
    for stage in range(s):
        if stage:
            k.update("X", method.a[stage], "Y")
        k.at_time(method.c[stage])
        k.rates(stage)
        source = r.pointer("S")
        if stage:
            source = r.pointer("DY")
            _moved(k, method.a[stage], source)
        _pull(k, "pull", s + stage, r.word("n_live"))
        target = r.at(r.pointer("DK"), r.mul(_size(k), str(stage)))
        _rows(k, r.word("n_live"), lambda i: r.load(r.pointer("live"), i, "i64"), source, target)
        _copied(k, source, target)
    _moved(k, method.b, r.pointer("S"))
    if projects:
        k.update("X", method.b, "Y")
        _pull_projection(k, 2 * s + 1)
    k.commit(lambda i: k.updated("X", method.b, i))


def _map(k: StateBlock, projects: bool, node: float) -> None:
    r = k.r
    k.at_time(node)
    r.store(r.load(r.pointer("T"), "0"), r.pointer("TS"), "0")
    k.rates(0)
    _pull(k, "pull", 1, r.word("nx"))
    _all_rows(k)
    if projects:
        k.copy("XN", "Y")
        _pull_projection(k, 3)
    k.commit(lambda i: r.vload(r.pointer("XN"), i))


def _pull_projection(k: StateBlock, context: int) -> None:
    k.at_time(1.0)
    _pull(k, "pulled", context, k.r.word("nx"))
    _all_rows(k)


def _all_rows(k: StateBlock) -> None:
    """S = PB S + GM."""
    r = k.r
    _rows(k, r.word("nx"), lambda i: i, r.pointer("S"), r.pointer("DX"))
    with r.loop(_size(k), "0", r.width) as i:
        r.vstore(r.vload(r.pointer("DX"), i), r.pointer("S"), i)


def _record(k: StateBlock, index: str) -> None:
    r = k.r
    target = r.at(r.pointer("s_samples"), r.mul(index, _size(k)))
    with r.loop(_size(k)) as i:
        r.store(r.load(r.pointer("S"), i), target, i)
    row = r.at(r.pointer("samples"), r.mul(index, r.word("nx")))
    with r.loop(r.word("nx")) as e:
        r.store(r.load(r.pointer("X"), e), row, e)


def _finish(k: StateBlock) -> None:
    r = k.r
    failed = r.compare("ne", r.load(r.pointer("fail"), "0", "i64"), "0")
    r.store(r.select(failed, str(FAILED), str(REACHED), "i64"), r.pointer("status"), k.first, "i64")
    with r.loop(r.word("nx")) as e:
        r.store(r.load(r.pointer("X"), e), r.pointer("x_end"), e)
