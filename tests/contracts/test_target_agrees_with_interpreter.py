"""Every target agrees with the interpreter: on Systems of each kind, for one state and batches, bound and failing."""

from collections.abc import Callable

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import NameLookupError, ShapeError, SolveError
from symbody.codegen.compile import emit_files
from symbody.codegen.kernel.passport import Kernel, results_by_name
from symbody.codegen.targets import TARGETS
from symbody.symbolic.lower.lowering import lower

BATCH = 11  # not a whole number of vectors


def scalars() -> sb.System:
    """Arithmetic, powers, roots; parameters, of which some values are made once."""
    x, y = sb.symbol("x", "coordinate"), sb.symbol("y", unit="N")
    k, m = (sb.symbol(n, "parameter", default=d) for n, d in (("k", 1.7), ("m", 0.6)))
    w = sb.sqrt(k / m)
    return sb.System(
        "scalars", inputs={"x": x, "y": y}, outputs={"f": sb.sin(w * x) * y - 3 * x**3 / (1 + y**2), "g": w * x - y / 7}
    )


def arrays() -> sb.System:
    """A matrix and a vector in, a matrix and a vector out, one vector of parameters."""
    a = np.array([[sb.symbol(f"A{i}{j}") for j in range(3)] for i in range(3)])
    v = np.array([sb.symbol(f"v{i}", "state") for i in range(3)])
    p = np.array([sb.symbol(f"p{i}", "parameter", default=0.5 + i) for i in range(3)])
    return sb.System(
        "arrays",
        inputs={"A": a, "v": v},
        parameters={"p": p},
        outputs={"B": a @ a.T + np.outer(p, v), "w": a @ (p * v)},
    )


def solve_block() -> sb.System:
    """x e^x = a, and a block of two unknowns that reads its solution."""
    a = sb.symbol("a", "coordinate")
    x, u, v = (sb.symbol(n, "unknown") for n in "xuv")
    lambert = sb.solve([x * sb.exp(x) - a], [x], [0.5], name="lambert")
    circle = sb.solve([u**2 + v**2 - 4 - a, u - v * lambert[0]], [u, v], [1.5, 1.2], name="circle")
    return sb.System("solve", inputs={"a": a}, outputs={"x": lambert[0], "y": [circle[0], circle[1] + a]})


def tables() -> sb.System:
    x = sb.symbol("x")
    knots, heights = [-1.0, 0.0, 0.7, 2.0], [0.3, -0.2, 1.1, 0.4]
    return sb.System(
        "tables",
        inputs={"x": x},
        outputs={"y": sb.table(x, knots, heights), "z": sb.table(x**2, knots, heights, "cubic")},
    )


def externals() -> sb.System:
    """A function with two results from outside, as Python and as C text."""
    x, y = sb.symbol("x"), sb.symbol("y")
    polar = sb.External(
        "twist", 2, 2, function=lambda a, b: (a * b + a, b - 2 * a),
        c_body="out[0] = in[0] * in[1] + in[0];\nout[1] = in[1] - 2.0 * in[0];",
    )  # fmt: skip
    first, second = sb.extern(polar, x, y + 1)
    return sb.System("externals", inputs={"x": x, "y": y}, outputs={"f": first * second, "g": second - x})


def choices() -> sb.System:
    """Selects, comparisons, truths, min, max, sign, floor, mod; NaN and infinities go through them."""
    x, y = sb.symbol("x"), sb.symbol("y")
    inside = (x < y) & ~sb.equal(y, 0)
    return sb.System(
        "choices",
        inputs={"x": x, "y": y},
        outputs={
            "a": sb.select(inside | (x <= -1), x / y, y - x),
            "b": sb.minimum(x, y) + sb.maximum(2 * x, y) - sb.sign(x) * abs(y),
            "c": [sb.floor(x), sb.ceil(y), x % sb.maximum(abs(y), 0.25), inside],
        },
    )


def mechanism() -> sb.System:
    return sb.forward_dynamics(sb.load("pendulum2"), formalism="base")


def loop() -> sb.System:
    """A closed mechanism: implicit blocks, checks, and a status."""
    return sb.forward_dynamics(sb.load("four_bar"), formalism="newton_euler")


SYSTEMS: list[Callable[[], sb.System]] = [
    scalars, arrays, solve_block, tables, externals, choices, mechanism, loop,
]  # fmt: skip
BUILT = [name for name, row in TARGETS.items() if row.build and name != "python"]


@pytest.fixture(scope="module")
def made():
    """Each System, and its Kernels by target, made once for all tests."""
    return {}


@pytest.fixture
def kernels(made, make, target):
    """(System, the interpreter's Kernel, the target's Kernel)."""
    if TARGETS[target].lacks():
        pytest.skip(TARGETS[target].lacks())
    if make not in made:
        with sb.Graph():
            made[make] = make(), {}
    system, known = made[make]
    for name in ("python", target):
        if name not in known:
            known[name] = system.compile(name)
    return system, known["python"], known[target]


def states(system: sb.System, *loop: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.uniform(0.1, 0.6, loop + a.shape) for n, a in system.inputs.items()}


def same(target: str, found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].shape == value.shape
        np.testing.assert_allclose(found[name], value, rtol=1e-12, atol=1e-13, err_msg=name)
        if TARGETS[target].bits:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


every = pytest.mark.parametrize("make", SYSTEMS, ids=lambda f: f.__name__)
on_target = pytest.mark.parametrize("target", BUILT)


@every
@on_target
def test_the_kernel_has_the_ports_of_the_system(kernels):
    system, _, kernel = kernels
    program = lower(system)
    assert isinstance(kernel, Kernel)
    assert [(p.name, p.shape, p.unit, p.default) for p in kernel.inputs] == [
        (p.name, p.shape, p.unit, p.default) for p in program.inputs
    ]
    assert [(p.name, p.default) for p in kernel.parameters] == [(p.name, p.default) for p in program.parameters]
    assert [(p.name, p.shape, p.unit) for p in kernel.outputs] == [(p.name, p.shape, p.unit) for p in program.outputs]


@every
@on_target
def test_one_state_at_a_time(kernels, target):
    system, interpreter, kernel = kernels
    for seed in range(3):
        state = states(system, seed=seed)
        expected = interpreter.call_named(**state)
        same(target, kernel.call_named(**state), expected)
        result = kernel(*state.values())
        if len(expected) == 1:
            assert np.shape(result) == next(iter(expected.values())).shape
        else:
            assert result._fields == tuple(expected)


@every
@on_target
def test_batches(kernels, target):
    system, _, kernel = kernels
    state = states(system, BATCH)
    batch = kernel.call_named(**state)
    ones = [kernel.call_named(**{n: a[i] for n, a in state.items()}) for i in range(BATCH)]
    # a target gives a state the same bits, alone or among others
    for name, values in batch.items():
        np.testing.assert_array_equal(values, np.array([one[name] for one in ones]))
    few = {n: a if k else a[0] for k, (n, a) in enumerate(state.items())}  # the first is shared by all
    wide = {n: np.broadcast_to(a, (BATCH, *system.inputs[n].shape)) for n, a in few.items()}
    for name, values in kernel.call_named(**few).items():
        shared = kernel.call_named(**wide)[name] if len(few) > 1 else values
        np.testing.assert_array_equal(values, shared)


@on_target
@pytest.mark.parametrize("make", [scalars, arrays, mechanism, loop], ids=lambda f: f.__name__)
def test_parameters_bound_given_and_differing_by_state(kernels, target):
    system, interpreter, kernel = kernels
    state = states(system, 4)
    name = next(iter(system.parameters))
    default = np.asarray(system.default(name), float).reshape(system.parameters[name].shape)
    for value in (default * 1.2, default + np.linspace(0.1, 0.2, 4).reshape(4, *[1] * default.ndim)):
        expected = interpreter.call_named(**state, parameters={name: value})
        same(target, kernel.call_named(**state, parameters={name: value}), expected)
        same(target, kernel.bind({name: value}).call_named(**state), expected)
    same(target, kernel.call_named(**state), interpreter.call_named(**state))


@every
@on_target
def test_out_is_filled_and_mistakes_are_named(kernels, target):
    system, interpreter, kernel = kernels
    state = states(system, 5)
    out = {n: np.zeros((5, *a.shape)) for n, a in system.outputs.items()}
    kernel(**state, out=out)
    same(target, out, interpreter.call_named(**state))
    with pytest.raises(ShapeError):
        kernel(**{n: np.zeros((2, 7, 9, 4)) for n in state}, out={next(iter(out)): np.zeros(3)})
    with pytest.raises(NameLookupError):
        kernel.call_named(**state, nobody=1.0)


@on_target
@pytest.mark.parametrize("make", [solve_block, loop], ids=["solve_block", "loop"])
def test_a_block_that_fails_says_so(kernels, target):
    system, interpreter, kernel = kernels
    state = states(system, 3)
    first = next(iter(state))
    state[first][1] = np.nan
    results, status = kernel.call_with_status(**state)
    expected, outcome = interpreter.call_with_status(**state)
    np.testing.assert_array_equal(status, outcome)
    assert (status[1] < 0).any()
    assert (status[[0, 2]] > 0).all()
    same(target, results_by_name(kernel.outputs, results), results_by_name(kernel.outputs, expected))
    with pytest.raises(SolveError):
        kernel(**{n: a[1] for n, a in state.items()})


@on_target
def test_choices_let_nan_and_infinities_through(made, target):
    if TARGETS[target].lacks():
        pytest.skip(TARGETS[target].lacks())
    with sb.Graph():
        system = choices()
    special = [0.0, -0.0, 1.0, -1.0, 0.3, np.inf, -np.inf, np.nan]
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        expected = system.compile("python").call_named(x, y)
    for name, found in system.compile(target).call_named(x, y).items():
        np.testing.assert_array_equal(found, expected[name])


@every
def test_the_same_system_is_written_in_the_same_words(make):
    written = [name for name, row in TARGETS.items() if row.emit and not row.motion]
    texts = []
    for _ in range(2):
        with sb.Graph():
            system = make()
            texts.append({target: emit_files(system, target) for target in written})
    assert texts[0] == texts[1]
    for target in written:
        assert all(text.strip() for text in texts[0][target].values())
        assert sum(name.endswith(TARGETS[target].shown) for name in texts[0][target]) == 1
