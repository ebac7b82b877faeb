"""A new function, target or pass is one row through `symbody.extend`: used end to end, and taken away again."""

import math
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import symbody as sb
from helpers.function_contract import CHECKS, samples, units_apart
from helpers.pages import run_command
from symbody.basics.errors import CompileError, DefinitionError, ExpressionError, FormatError, NameLookupError
from symbody.codegen.compile import emit_files
from symbody.codegen.interop.casadi_bridge import to_casadi
from symbody.codegen.interop.sympy_bridge import from_sympy, to_sympy
from symbody.extend import (
    Effect,
    ForceElement,
    Function,
    Instructions,
    Kernel,
    Pass,
    Source,
    Target,
    add_force_element,
    add_function,
    add_pass,
    add_target,
    functions,
    passes,
    remove_force_element,
    remove_function,
    remove_pass,
    remove_target,
    targets,
)

# Gudermann's function and the cube root, which the C library has
GD = Function(
    name="gd", arity=1, about="Gudermann's function: atan(sinh(x)).", parity="odd", exact_at={0: 0},
    partials=lambda node, x: (1 / sb.cosh(x),),
    arrays=lambda x: np.arctan(np.sinh(x)), floats=lambda x: math.atan(math.sinh(x)),
    c="{p}_gd({0})", c_helper="static double {p}_gd(double a)\n{{\n    return atan(sinh(a));\n}}\n",
    llvm=lambda ir, a: ir.libm_call("atan", ir.libm_call("sinh", a)),
    sympy=lambda sympy, x: sympy.atan(sympy.sinh(x)),
    curve=lambda x: (np.arctan(np.sinh(x)), 1 / np.cosh(x), -np.tanh(x) / np.cosh(x)),
)  # fmt: skip
CBRT = Function(
    name="cbrt", arity=1, about="Cube root.", parity="odd", exact_at={0: 0, 1: 1}, domain=((0.0, math.inf),),
    partials=lambda node, x: (1 / (3 * node**2),), floats=math.cbrt,
    arrays=lambda x: np.power(x, 1 / 3) if np.iscomplexobj(x) else np.cbrt(x), c="cbrt({0})", libm="cbrt", weight=3,
)  # fmt: skip
TARGET_NAMES = ("native", "python", "c")


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


@pytest.fixture
def gd():
    yield add_function(GD)
    remove_function("gd")


@pytest.fixture
def cbrt():
    yield add_function(CBRT)
    remove_function("cbrt")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_added_functions_keep_the_contract(gd, cbrt, check):
    check(GD)
    check(CBRT)


def test_an_added_function_is_used_end_to_end(gd, cbrt, tmp_path):
    x, k = sb.symbol("x"), sb.symbol("k", "parameter", default=2.0)
    assert sb.parse("gd(x)") is gd(x)
    assert gd(-x) is -gd(x)
    np.testing.assert_allclose(gd(np.array([0.2, 0.4])), np.arctan(np.sinh([0.2, 0.4])))
    system = sb.System("both", inputs={"x": x}, outputs={"y": gd(k * x) - 3 * cbrt(x + 4), "z": gd(x) ** 2})
    small = system.optimize()
    points = samples(GD, 37)[0]
    y = np.arctan(np.sinh(2 * points)) - 3 * np.cbrt(points + 4)
    for target in TARGET_NAMES:
        kernel = small.compile(target)
        np.testing.assert_allclose(kernel.call_named(points)["y"], y, rtol=1e-14, atol=1e-14)
        one = np.array([kernel.call_named(p)["y"] for p in points.tolist()])
        assert units_apart(one, kernel.call_named(points)["y"]) <= 4
    slope = system.jacobian("y", "x").compile()(points)
    np.testing.assert_allclose(slope, 2 / np.cosh(2 * points) - (points + 4) ** (-2 / 3), rtol=1e-13)
    assert "both_gd(" in system.emit("c")
    assert system.count().other == 3
    assert r"\operatorname{gd}" in system.outputs["z"][()]._repr_latex_()
    system.save(tmp_path / "both.json")
    again = sb.System.load(tmp_path / "both.json")
    np.testing.assert_array_equal(again.compile()(points).y, system.compile()(points).y)
    sympy = pytest.importorskip("sympy")
    assert float(to_sympy(gd(x)).subs("x", 0.3)) == pytest.approx(math.atan(math.sinh(0.3)))
    assert from_sympy(sympy.Symbol("x")) is x


def test_an_added_function_serves_models(gd, tmp_path):
    """A cam lifts a mass by h(q): (I + m h'^2) qdd + m h' h'' qd^2 + m g h' = tau."""
    (tmp_path / "cam.yaml").write_text(
        "name: cam\nbodies: {shaft: {mass: 1, inertia: [0.1, 0.1, 0.1]}, lift: {mass: 2}}\njoints:\n"
        "  turn: {kind: revolute, parent: world, child: shaft, axis: z}\n"
        "  rise: {kind: prismatic, parent: world, child: lift, axis: z}\n"
        "couplings: {cam: {expression: q.rise - 0.2*gd(q.turn)}}\n"
    )
    cam = sb.load(tmp_path / "cam.yaml")
    kernel = sb.forward_dynamics(cam, formalism="newton_euler", partition=["turn"]).compile()
    q, qd, tau = 0.4, 1.3, 0.7
    first, second = 0.2 / np.cosh(q), -0.2 * np.tanh(q) / np.cosh(q)
    given = {"q": [q, 0.2 * np.arctan(np.sinh(q))], "qd": [qd, first * qd], "tau": [tau, 0.0]}
    qdd = kernel.call_named(**{p.name: given[p.name] for p in kernel.inputs})["qdd"]
    expected = (tau - 2 * first * (second * qd**2 + 9.81)) / (0.1 + 2 * first**2)
    assert qdd[0] == pytest.approx(expected, rel=1e-12)
    remove_function("gd")
    try:
        with pytest.raises(ExpressionError, match="function 'gd'"):
            sb.inverse_dynamics(cam, formalism="newton_euler")
    finally:
        add_function(GD)


def test_what_a_row_does_not_say_is_refused_by_name(tmp_path):
    f = add_function(Function(name="plain", arity=2, about="A sum.", arrays=lambda a, b: a + b))
    try:
        x, y = sb.symbols("x y")
        system = sb.System("s", inputs={"x": x, "y": y}, outputs={"f": f(x, y)})
        assert system.compile("python")(1.0, 2.0) == 3.0
        with pytest.raises(CompileError, match=r"libm=.*llvm="):
            system.compile()
        with pytest.raises(CompileError, match=r"no text in c.*c="):
            system.emit("c")
        with pytest.raises(ExpressionError, match=r"no derivative.*partials"):
            system.jacobian("f", "x")
        with pytest.raises(ExpressionError, match="sympy="):
            to_sympy(f(x, y))
        pytest.importorskip("casadi")
        with pytest.raises(ExpressionError, match="casadi="):
            to_casadi(f(x, y))
        system.save(tmp_path / "s.json")
    finally:
        remove_function("plain")
    with pytest.raises(FormatError, match=r"'plain'.*add_function"):
        sb.System.load(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "sin"}, "symbody's own"),
        ({"name": "mul"}, "operation"),
        ({"name": "lambda"}, "word"),
        ({"name": "two words"}, "word"),
        ({"arity": 0}, "at least 1"),
        ({"arity": 2}, "of one argument"),
        ({"parity": "both"}, "'odd' or 'even'"),
        ({"parity": "", "commutative": True}, "expected 2"),
        ({"domain": ((0, 1), (0, 1))}, "one for each argument"),
        ({"c_helper": "static double gd(double a);"}, "static function"),
        ({"truth": True}, "own rows"),
    ],
)
def test_a_row_that_cannot_be_is_refused(changes, message):
    before = functions()
    with pytest.raises(DefinitionError, match=message):
        add_function(replace(GD, **changes))
    assert functions() == before


def test_own_rows_stay(gd):
    with pytest.raises(DefinitionError, match="own"):
        remove_function("sin")
    with pytest.raises(DefinitionError, match="added before"):
        add_function(GD)
    with pytest.raises(NameLookupError, match="'gd'"):
        remove_function("dg")


def test_code_on_disk_is_not_mistaken_for_another_function_of_the_same_name():
    def value(row: Function) -> float:
        f = add_function(row)
        try:
            with sb.Graph():
                x = sb.symbol("x")
                return float(sb.System("cached", inputs={"x": x}, outputs={"y": f(x)}).compile()(0.3))
        finally:
            remove_function(row.name)

    def twice(ir: Instructions, a: str) -> str:
        return ir.line(f"fadd {ir.double} {a}, {a}")

    plain = Function(name="mine", arity=1, about="Whatever.", arrays=np.cbrt)
    rows = [replace(plain, libm="cbrt"), replace(plain, libm="expm1"), replace(plain, llvm=twice),
            replace(plain, llvm=lambda ir, a: ir.intrinsic("sqrt", a)), replace(plain, llvm="fabs")]  # fmt: skip
    expected = [math.cbrt(0.3), math.expm1(0.3), 0.6, math.sqrt(0.3), 0.3]
    for _ in range(2):
        assert [value(row) for row in rows] == expected


def test_code_that_a_python_function_wrote_is_not_kept_on_disk(gd, cbrt, tmp_path, monkeypatch):
    """Nothing in a file could tell which function of that name it was."""
    monkeypatch.setattr("symbody.codegen.kernel.cache.directory", lambda: tmp_path)
    x = sb.symbol("x")
    sb.System("written", inputs={"x": x}, outputs={"y": gd(x)}).compile(wait=True)
    assert not list(tmp_path.iterdir())
    sb.System("named", inputs={"x": x}, outputs={"y": cbrt(x)}).compile(wait=True)
    assert len(list(tmp_path.iterdir())) == 1


def test_native_code_that_is_kept_on_disk_finds_its_function_in_another_process(tmp_path):
    code = (
        "import numpy as np, symbody as sb, math\nfrom symbody.extend import Function, add_function\n"
        "names = {}.split()\n"
        "made = {{n: add_function(Function(name=n, arity=1, about='', arrays=np.cbrt, libm=n)) for n in names}}\n"
        "x = sb.symbol('x')\n"
        "for n in names:\n"
        "    s = sb.System('s' + n, inputs={{'x': x}}, outputs={{'y': made[n](x)}})\n"
        "    assert s.compile()(0.3) == getattr(math, n)(0.3), n\n"
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    for names in ("cbrt log1p", "log1p cbrt"):
        subprocess.run([sys.executable, "-c", code.format(repr(names))], env=env, check=True, timeout=60)


# -- targets


def listing(source: Source) -> dict[str, str]:
    """One line a value."""
    program = source.program
    return {f"{program.name}.lst": "".join(f"{op} {args}\n" for op, args in zip(program.ops, program.args))}


def interpreted(source: Source, **options: object) -> Kernel:
    build = targets()["python"].build
    assert build is not None
    return build(source, **options)


@pytest.fixture
def listed():
    add_target(Target(name="listing", about="values in order", emit=listing, build=interpreted))
    yield
    remove_target("listing")


def test_an_added_target_is_used_end_to_end(listed, tmp_path):
    x = sb.symbol("x")
    system = sb.System("line", inputs={"x": x}, outputs={"y": 2 * x})
    assert "mul" in system.emit("listing")
    assert system.compile("listing")(3.0) == 6.0
    with pytest.raises(CompileError, match="does not build groups"):
        system.compile("listing", groups={"a": ["y"]})
    output = run_command(f"emit pendulum2 -f base --target listing --out {tmp_path}")
    assert "pendulum2_inverse.lst" in output
    assert (tmp_path / "pendulum2_inverse.lst").read_text().startswith("input")


def test_targets_are_refused_by_name(listed):
    x = sb.symbol("x")
    system = sb.System("line", inputs={"x": x}, outputs={"y": 2 * x})
    with pytest.raises(NameLookupError, match="'native'"):
        system.compile("nativ")
    with pytest.raises(NameLookupError, match="'text'"):
        system.emit("tex")
    with pytest.raises(CompileError, match="source text alone"):
        system.compile("text")
    with pytest.raises(CompileError, match="no source text"):
        system.emit("native")
    for row, message in (
        (Target(name="c", about="", emit=listing), "already"),
        (Target(name="nothing", about=""), "neither emit nor build"),
    ):
        with pytest.raises(DefinitionError, match=message):
            add_target(row)
    with pytest.raises(DefinitionError, match="own"):
        remove_target("c")
    with pytest.raises(NameLookupError, match="'listing'"):
        remove_target("listin")


def gain(k):
    """k x, with its texts."""
    texts = dict.fromkeys(("fortran", "array", "matlab", "rust", "javascript", "julia", "maple"), f"({k}*{{0}})")
    return Function(
        name="gain", arity=1, about="k x.", arrays=lambda u: k * u, partials=lambda n, x: (k,), c=f"({k}*{{0}})",
        texts=texts, latex=f"G_{k:.0f}", llvm=lambda ir, a: ir.line(f"fmul {ir.double} {a}, {ir.number(k)}"),
    )  # fmt: skip


def test_a_function_that_is_changed_is_changed_everywhere():
    """A name that gets another row in one process: texts, Kernels and runs, of Systems made before, too: x' = k x."""
    old = None
    for k in (2.0, 3.0):
        call = add_function(gain(k))
        try:
            x = sb.symbol("x", "state")
            new = sb.System("grow", inputs={"x": x}, outputs={"r": call(x)}, states={"x": "r"})
            old = old or new
            for system in (old, new):
                for target in ("c", "fortran2008", "matlab", "rust", "javascript", "julia", "maple", "jax"):
                    assert f"({k}" in "".join(emit_files(system, target).values()), target
                assert f"G_{k:.0f}" in system.emit("latex")
                for target in TARGET_NAMES:
                    assert system.compile(target)(1.0) == k
                run = sb.simulate(system, 1.0, 1e-3, method="rk4", states0={"x": 1.0})
                assert run["x"][-1] == pytest.approx(math.exp(k), rel=1e-9)
        finally:
            remove_function("gain")


def test_a_force_element_that_is_changed_is_changed_in_models_made_before():
    """A mass of 1 kg on a rail in wind: v' = k v."""
    rail = sb.Mechanism.builder("glider", gravity=[0, 0, 0])
    rail.body("cart", mass=1.0).joint("x", "prismatic", "world", "cart", axis="x")
    mech = None
    for k in (1.0, 2.0):
        add_force_element(ForceElement("wind", "k v", ("joint",), lambda place, k=k: Effect(k * place.v)))
        try:
            mech = mech or rail.force("wind", "wind", joint="x").done()
            assert sb.simulate(mech, 1.0, 1e-3, method="rk4", qd0=[1.0])["qd"][-1, 0] == pytest.approx(math.exp(k))
        finally:
            remove_force_element("wind")


# -- passes


def test_an_added_pass_runs_at_the_end_and_is_undone_where_it_does_not_pay():
    x = sb.symbol("x")
    system = sb.System("s", inputs={"x": x}, outputs={"y": sb.sinh(x) + sb.cosh(x)})
    add_pass(Pass("join", "sinh + cosh", on_nodes=lambda roots: [sb.exp(x) for _ in roots]))
    add_pass(
        Pass(
            "dear", "more work", on_nodes=lambda roots: [r * x**3 / x**3 + sb.sin(x) - sb.sin(x) + x * x for r in roots]
        )
    )
    try:
        assert system.optimize(also=["join"]).outputs["y"][()] is sb.exp(x)
        assert system.optimize(also=["dear", "join"]).outputs["y"][()] is sb.exp(x)
        with pytest.raises(DefinitionError, match="already"):
            add_pass(passes()["join"])
        with pytest.raises(NameLookupError, match="'join'"):
            system.optimize(also=["joni"])
    finally:
        remove_pass("join")
        remove_pass("dear")
    with pytest.raises(DefinitionError, match="own"):
        remove_pass("factor")


def test_the_door_is_not_opened_by_import():
    code = "import sys, symbody; assert 'symbody.extend' not in sys.modules; symbody.extend.add_function"
    subprocess.run([sys.executable, "-c", code], env=None, check=True, timeout=60)
