"""Function groups: the same bits as the whole, shared work in the step alone, regrouping from the same System."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import NameLookupError
from symbody.codegen.targets import TARGETS
from symbody.symbolic.lower.groups import group
from symbody.symbolic.lower.lowering import lower


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


def arm() -> sb.System:
    """M, c and tau of a planar arm with two links."""
    q = sb.symbols("q1 q2", role="coordinate")
    qd = sb.symbols("qd1 qd2", role="velocity")
    qdd = sb.symbols("qdd1 qdd2", role="acceleration")
    m, length, inertia = (sb.symbol(n, "parameter", default=d) for n, d in (("m", 1.3), ("l", 0.7), ("I", 0.2)))
    c2, s2 = sb.cos(q[1]), sb.sin(q[1])
    k = m * length**2
    m22 = inertia + k / 4
    m12 = m22 + k * c2 / 2
    m11 = 2 * inertia + k * (1 + c2) + k / 2
    h = k * s2 / 2
    c = [-h * qd[1] * (2 * qd[0] + qd[1]), h * qd[0] ** 2]
    tau = [m11 * qdd[0] + m12 * qdd[1] + c[0], m12 * qdd[0] + m22 * qdd[1] + c[1]]
    return sb.System(
        "arm", inputs={"q": q, "qd": qd, "qdd": qdd}, outputs={"M": [[m11, m12], [m12, m22]], "c": c, "tau": tau}
    )


GROUPINGS = [
    {"mass": ["M"], "bias": ["c"], "inverse": ["tau"]},
    {"model": ["M", "c"], "inverse": ["tau"]},
    {"everything": ["M", "c", "tau"]},
]


@pytest.mark.parametrize("groups", GROUPINGS, ids=["three", "two", "one"])
@pytest.mark.parametrize("target", [n for n, row in TARGETS.items() if row.build_groups])
def test_grouped_results_are_those_of_the_whole_bit_for_bit(groups, target):
    system = arm()
    whole = system.compile(target)
    cut = system.compile(target, groups=groups)
    rng = np.random.default_rng(0)
    state = {n: rng.uniform(-2, 2, (50, 2)) for n in ("q", "qd", "qdd")}
    expected = whole(**state)._asdict()
    reads = [p.name for p in group(lower(system), groups).step.inputs]
    workspace = cut.step(**{n: state[n] for n in reads})
    for name, outputs in groups.items():
        function = cut[name]
        needs = [p.name for p in group(lower(system), groups).functions[name].inputs]
        result = function(**{n: state[n] for n in needs if n != "workspace"}, workspace=workspace)
        for output in outputs:
            value = getattr(result, output) if len(outputs) > 1 else result
            np.testing.assert_array_equal(value, expected[output])


def test_no_shared_value_depends_on_accelerations():
    cut = group(lower(arm()), GROUPINGS[0])
    assert {p.name for p in cut.step.inputs} <= {"q", "qd"}
    assert cut.step.outputs[0].shape[0] > 0


def test_an_unknown_function_proposes_the_nearest():
    kernels = arm().compile("python", groups=GROUPINGS[0])
    with pytest.raises(NameLookupError, match="'mass'"):
        kernels["mas"]
    assert "step" in repr(kernels)
    assert kernels.bind({"m": 2.0}).functions.keys() == kernels.functions.keys()


@pytest.mark.parametrize("target", ["native", "python", "c"])
def test_a_bound_kernel_keeps_what_a_later_mapping_does_not_change(target):
    x = sb.symbols("x")
    a, b = (sb.symbol(n, "parameter", default=1.0) for n in "ab")
    kernel = sb.System("line", inputs={"x": x}, outputs={"y": a * x + b}).compile(target)
    bound = kernel.bind({"a": 5.0})
    assert bound(2.0) == 11.0
    assert bound(2.0, parameters={"b": 3.0}) == 13.0
    assert bound.bind({"b": 3.0})(2.0) == 13.0
    assert kernel(2.0) == 3.0
