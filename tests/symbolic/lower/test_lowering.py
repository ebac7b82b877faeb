"""Programs compute what their Systems say, in the operations that the cost model promises."""

import numpy as np
import pytest

import symbody as sb
from helpers.expressions import random_expressions
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.lower.count import count_program
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.lower.program import operands
from symbody.symbolic.rewrite.cost import cost


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


def random_system(seed, **options):
    outputs, xs, ps = random_expressions(seed, **options)
    return sb.System("r", inputs={"x": xs}, outputs={"f": outputs}, parameters={"p": ps})


def point_of(system, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 1.5, system.inputs["x"].shape)
    p = rng.uniform(0.5, 1.5, system.parameters["p"].shape)
    values = {**dict(zip(system.inputs["x"].flat, x)), **dict(zip(system.parameters["p"].flat, p))}
    return x, p, values


@pytest.mark.parametrize("seed", range(25))
def test_a_program_gives_the_values_of_its_nodes(seed):
    system = random_system(seed, size=60)
    x, p, values = point_of(system, seed)
    result = interpret(lower(system), [x], {"p": p})
    expected = np.array(evaluate(list(system.outputs["f"].flat), values), dtype=float)
    np.testing.assert_allclose(result["f"], expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_the_counter_agrees_with_the_cost_model(seed):
    system = random_system(seed, size=30 + 2 * seed)
    counts, expected = count_program(lower(system)), cost(system.expressions())
    assert (counts.mul, counts.add, counts.div) == (expected.mul, expected.add, expected.div)
    assert (counts.trig, counts.other) == (expected.trig, expected.other)
    assert counts.setup <= expected.setup  # the lowering also shares the beginnings of setup sums and products


@pytest.mark.parametrize("seed", range(10))
def test_every_value_comes_after_its_operands_and_in_its_rate(seed):
    program = lower(random_system(seed, size=80))
    order = {v: i for i, v in enumerate([*program.setup, *program.step, *program.call])}
    runs = {v: k for k, run in enumerate((program.setup, program.step, program.call)) for v in run}
    roles = {}
    for port in program.inputs:
        for k in range(port.size):
            roles[port.start + k] = 1 if k % 2 else 2  # random_expressions alternates inputs and velocities
    for v in order:
        for a in operands(program.ops[v], program.args[v]):
            if a in order:
                assert order[a] < order[v]
                assert runs[a] <= runs[v]
            elif program.ops[a] == "input":
                assert runs[v] >= roles[program.args[a][0]]


def test_a_parameter_only_part_runs_in_setup():
    x = sb.symbols("x")
    m, c = sb.symbols("m c", role="parameter")
    program = lower(sb.System("s", inputs={"x": x}, outputs={"f": 2 * (m * c) * x + (m * m + 3)}))
    counts = count_program(program)
    assert (counts.mul, counts.add) == (1, 1)
    assert counts.setup == 4


def test_powers_share_one_chain():
    x = sb.symbols("x")
    counts = count_program(lower(sb.System("s", inputs={"x": x}, outputs={"f": [x**2, x**3, x**5, x**8]})))
    assert counts.mul == 4  # x2, x3 = x x2, x5 = x2 x3, x8 = x3 x5


def test_a_quotient_is_one_division_and_a_shared_divisor_one_reciprocal():
    x, y, z = sb.symbols("x y z")
    single = count_program(lower(sb.System("s", inputs={"v": [x, y, z]}, outputs={"f": x / (y * z)})))
    assert (single.mul, single.div) == (1, 1)
    shared = count_program(lower(sb.System("s", inputs={"v": [x, y, z]}, outputs={"f": [x / z, y / z]})))
    assert (shared.mul, shared.div) == (2, 1)


def test_signs_cost_nothing():
    x, y, z = sb.symbols("x y z")
    system = sb.System("s", inputs={"v": [x, y, z]}, outputs={"f": [-(x - y) * z, (y - x) * (-z), -x - y]})
    counts = count_program(lower(system))
    assert (counts.mul, counts.add) == (1, 2)
    result = interpret(lower(system), [[1.0, 2.5, 4.0]])
    np.testing.assert_allclose(result["f"], [6.0, -6.0, -3.5])


def test_choices_tables_and_external_functions_are_lowered():
    x, y = sb.symbols("x y")
    f = sb.External("f", 2, 2, function=lambda a, b: (a * b, a - b))
    first, second = sb.extern(f, x, -y)
    outputs = [
        sb.select(x > y, x, y), sb.minimum(x, 2 * y), sb.maximum(x, y), sb.table(x, [0, 1, 2], [0, 5, 1]),
        first + second, sb.atan2(y, x), abs(-x), sb.hypot(x, y), (x - 5) % 3, sb.sqrt(x) ** 3, x ** sb.symbols("x"),
    ]  # fmt: skip
    system = sb.System("s", inputs={"x": x, "y": y}, outputs={"f": outputs})
    result = interpret(lower(system), [1.7, 0.4])
    expected = np.array(evaluate(outputs, {"x": 1.7, "y": 0.4}), dtype=float)
    np.testing.assert_allclose(result["f"], expected, rtol=1e-13)


def test_what_does_not_depend_on_the_unknowns_leaves_the_block():
    x, p, q = sb.symbols("x p q")
    solution = sb.solve([x * sb.exp(x) - sb.sin(p) * q], [x], [0.5], name="lambert")
    program = lower(
        sb.System("s", inputs={"p": p, "q": q}, outputs={"x": solution.x[0], "e": solution.at(sb.exp(x) * q)})
    )
    (block,) = program.blocks
    inside = {program.ops[v] for v in block.body}
    outside = [program.ops[v] for v in program.main()]
    assert "sin" not in inside
    assert outside.count("exp") == 0  # exp(x) at the solution is the block's own
    result = interpret(program, [1.1, 0.8])
    value = result["x"]
    assert value * np.exp(value) == pytest.approx(np.sin(1.1) * 0.8, abs=1e-12)
    assert result["e"] == pytest.approx(np.exp(value) * 0.8, rel=1e-12)


def test_cascaded_and_nested_blocks_are_lowered():
    x, y, p = sb.symbols("x y p")
    first = sb.solve([x**2 - p], [x], [1.0], name="root")
    second = sb.solve([y**3 + y - first.x[0]], [y], [0.5], name="cubic")
    inner = sb.solve([y**2 - x], [y], [1.0], name="inner")
    outer = sb.solve([x + inner.x[0] - p], [x], [1.0], name="outer")
    outputs = [second.x[0], outer.x[0], outer.at(inner.x[0] * p)]
    system = sb.System("s", inputs={"p": p}, outputs={"f": outputs})
    result = interpret(lower(system), [4.0])
    root = (np.sqrt(1 + 16) - 1) / 2
    np.testing.assert_allclose(result["f"], [1.0, root**2, root * 4], rtol=1e-11)
    slopes = system.jacobian("f", "p")
    expected = [float(evaluate(n, {"p": 4.0})) for n in slopes.outputs["df_dp"].flat]
    np.testing.assert_allclose(interpret(lower(slopes), [4.0])["df_dp"], expected, rtol=1e-10)


def test_two_copies_of_a_block_do_not_mix():
    x, p, q = sb.symbols("x p q")
    root = sb.System("root", inputs={"p": p}, outputs={"x": sb.solve([x**2 - p], [x], [1.0]).x[0]})
    both = root.apply(p=p) - root.apply(p=q + 1)
    system = sb.System("s", inputs={"p": p, "q": q}, outputs={"f": both})
    assert interpret(lower(system), [9.0, 3.0])["f"] == pytest.approx(1.0, rel=1e-12)


def test_depth_is_harmless_to_lowering():
    x, y = sb.symbols("x y")
    e = x
    for _ in range(100_000):
        e = e * y + x
    program = lower(sb.System("s", inputs={"x": x, "y": y}, outputs={"f": e}))
    assert count_program(program).total == 200_000
