"""Mechanisms, Systems and results travel to workers of the same version, and do there what they do here."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import symbody as sb
from symbody.codegen.kernel.passport import Kernel
from symbody.studies.identification.series import Series
from symbody.symbolic.system.save import fingerprint

MODELS = ["puma560", "ur5", "four_bar", "whipple_bicycle", "motorcycle"]


@pytest.mark.parametrize("name", MODELS)
def test_programs_of_a_copy_are_the_same(name: str) -> None:
    mech = sb.load(name)
    there = pickle.loads(pickle.dumps(mech))
    assert there.graph is not mech.graph
    assert repr(there) == repr(mech)
    assert list(there.parameters) == list(mech.parameters)
    assert not there.gravity.flags.writeable
    assert not there.bodies[0].com.flags.writeable
    for verb in (sb.inverse_dynamics, sb.energy, sb.kinematics):
        options = {"formalism": "newton_euler"} if verb is sb.inverse_dynamics else {}
        assert fingerprint(verb(there, **options)) == fingerprint(verb(mech, **options))


def test_a_system_with_blocks_and_tables_travels() -> None:
    with sb.Graph():
        x, y = sb.symbols("x y")
        block = sb.solve([y**3 + y - x], [y], [0.5], name="cubic")
        system = sb.System("s", inputs={"x": x}, outputs={"f": [block.x[0], sb.table(x, [0, 1, 2], [0, 1, 0]) / 3]})
    for back in (pickle.loads(pickle.dumps(system)), copy.deepcopy(system)):
        assert fingerprint(back) == fingerprint(system)
        assert np.array_equal(back.compile()(0.7), system.compile()(0.7))


def cube(x: float) -> float:
    return x**3


def test_external_functions_travel_by_import_name() -> None:
    with sb.Graph():
        x = sb.symbols("x")
        y = sb.extern(sb.External("cube", 1, 1, function=cube), x)
        system = sb.System("s", inputs={"x": x}, outputs={"f": y})
        z = sb.extern(sb.External("other", 1, 1, function=lambda a: a), x)
        local = sb.System("s", inputs={"x": x}, outputs={"f": z})
    assert pickle.loads(pickle.dumps(system)).compile(target="python")(2.0) == 8.0
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(local)


def test_addresses_of_c_code_stay_in_their_process() -> None:
    """A worker would call what lies there in its own memory."""
    with sb.Graph():
        x = sb.symbols("x")
        y = sb.extern(sb.External("square", 1, 1, address=4096), x)
        system = sb.System("s", inputs={"x": x}, outputs={"f": y})
    with pytest.raises(sb.SymbodyError, match="'square' has the address of C code"):
        pickle.dumps(system)
    (call,) = copy.deepcopy(system).outputs["f"][()].args
    assert call.data is y.args[0].data


def test_pickles_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(sb.load("pendulum2"))
    monkeypatch.setattr(sb, "__version__", "0.0.9")
    with pytest.raises(sb.SymbodyError, match=r"by symbody 0\.1\.0, and this is 0\.0\.9"):
        pickle.loads(data)


def test_records_inside_records_share_their_graph() -> None:
    mech = sb.load("pendulum2")
    equations = sb.equations(mech)
    state = {"q": [0.3, 0.2], "qd": [1.0, -2.0]}
    expected = equations.system().compile("python")(**state).M
    for back in (pickle.loads(pickle.dumps(equations)), copy.deepcopy(equations)):
        assert back.mechanism.graph is not mech.graph
        assert back.text() == equations.text()
        np.testing.assert_allclose(back.system().compile("python")(**state).M, expected, rtol=1e-14)
    base = sb.base_parameters(mech)
    there = pickle.loads(pickle.dumps(base))
    assert [str(group) for group in there.groups] == [str(group) for group in base.groups]


def test_a_copy_of_a_graph_is_the_graph() -> None:
    """Its nodes are: with another one around them, the next symbol would belong to neither."""
    with sb.Graph() as graph:
        x = sb.symbols("x")
    with copy.deepcopy([graph, x])[0]:
        assert sb.symbols("x") is x
        assert (sb.symbols("y") + x).graph is graph
    with pytest.raises(sb.SymbodyError, match="Pickle a System"):
        pickle.dumps(graph)


def test_figures_travel() -> None:
    figure = sb.load("pendulum2").show()
    for back in (pickle.loads(pickle.dumps(figure)), copy.deepcopy(figure)):
        assert back._repr_png_() == figure._repr_png_()


def test_deep_expressions_travel() -> None:
    """Nodes are not walked by pickle, whose recursion would end at a thousand."""
    with sb.Graph():
        x = sb.symbols("x")
        y = x
        for _ in range(5000):
            y = sb.sin(y)
        system = sb.System("deep", inputs={"x": x}, outputs={"f": y})
    assert fingerprint(pickle.loads(pickle.dumps(system))) == fingerprint(system)


def test_results_travel_without_the_memory_of_the_run() -> None:
    motion = sb.simulate(sb.load("pendulum2"), 0.1, 0.01, q0=[0.3, 0.2])
    for back in (pickle.loads(pickle.dumps(motion)), copy.deepcopy(motion)):
        assert np.array_equal(back.q, motion.q)
        assert back.outcome is motion.outcome
        with pytest.raises(sb.SymbodyError, match="simulate"):
            sb.resume(back, 0.1)
    certificate = sb.verify(sb.load("pendulum2"))
    assert str(pickle.loads(pickle.dumps(certificate))) == str(certificate)


@pytest.mark.parametrize("target", ["native", "python"])
def test_kernels_travel_by_their_system_and_options(target: str) -> None:
    with sb.Graph():
        x, p = sb.symbols("x"), sb.symbol("p", "parameter", default=2.0)
        kernel = sb.System("s", inputs={"x": x}, outputs={"f": sb.sin(p) * x + sb.exp(p)}).compile(target)
    for here in (kernel, kernel.bind({"p": 0.7})):
        for there in (pickle.loads(pickle.dumps(here)), copy.deepcopy(here)):
            assert there(0.3) == here(0.3)
    assert kernel.bind({"p": 0.7})(0.3) != kernel(0.3)


@pytest.mark.parametrize("target", ["native", "python", "c"])
def test_function_groups_travel_whole_and_one_by_one(target: str) -> None:
    mech = sb.load("pendulum2")
    q, qd = sb.symbols("q1 q2", role="coordinate"), sb.symbols("qd1 qd2", role="velocity")
    qdd = sb.symbols("qdd1 qdd2", role="acceleration")
    bias = sb.inverse_dynamics(mech).apply(q=q, qd=qd, qdd=[0.0, 0.0])
    tau = sb.inverse_dynamics(mech).apply(q=q, qd=qd, qdd=qdd)
    system = sb.System("arm", inputs={"q": q, "qd": qd, "qdd": qdd}, outputs={"c": bias, "tau": tau})
    kernels = system.compile(target, groups={"bias": ["c"], "efforts": ["tau"]}).bind({"m1": 0.7})
    state = {"q": [0.3, 0.1], "qd": [1.0, -2.0], "qdd": [0.5, 0.2]}

    def efforts(step: Kernel, function: Kernel) -> np.ndarray:
        known = {**state, "workspace": step(**{p.name: state[p.name] for p in step.inputs})}
        return np.asarray(function(**{p.name: known[p.name] for p in function.inputs}))

    assert kernels.step.inputs
    expected = efforts(kernels.step, kernels["efforts"])
    np.testing.assert_allclose(expected, system.compile().bind({"m1": 0.7})(**state).tau, rtol=1e-14)
    for back in (pickle.loads(pickle.dumps(kernels)), copy.deepcopy(kernels)):
        assert np.array_equal(efforts(back.step, back["efforts"]), expected)
    parts = [pickle.loads(pickle.dumps(k)) for k in (kernels.step, kernels["efforts"])]
    assert np.array_equal(efforts(*parts), expected)


@pytest.mark.parametrize("target", ["native", "python", "c"])
@pytest.mark.parametrize("named", [True, False])
def test_bound_kernels_keep_what_they_were_given(target: str, named: bool) -> None:
    """Whoever writes into the arrays afterwards changes neither later calls nor what travels."""
    with sb.Graph():
        x, p, r = sb.symbols("x"), sb.symbol("p", "parameter", default=2.0), sb.symbol("r", "parameter", default=1.0)
        kernel = sb.System("s", inputs={"x": x}, outputs={"f": sb.sin(p) * x + r}).compile(target)
    values = np.array([0.7, 0.3])
    bound = kernel.bind({"p": values[:1].reshape(()), "r": 0.3} if named else values)
    expected = bound(0.3)
    values[:] = 3.0
    assert bound(0.3) == expected
    assert pickle.loads(pickle.dumps(bound))(0.3) == expected
    if named:
        assert bound(0.3, parameters={"r": 0.3}) == expected
    batch = np.full(10_000, 0.3)
    assert np.array_equal(bound(batch), np.full(10_000, expected))


def test_function_groups_keep_what_they_were_given() -> None:
    with sb.Graph():
        x = sb.symbols("x")
        system = sb.System("s", inputs={"x": x}, outputs={"f": sb.sin(x), "g": sb.cos(x)})
    groups = {"first": ["f"]}
    kernels = system.compile("python", groups=groups)
    groups["first"].append("g")
    groups["second"] = ["nothing"]
    assert list(pickle.loads(pickle.dumps(kernels)).functions) == ["first"]
    for wrong in (3, "f", {"first": "f"}, {"first": None}, {"": ["f"]}, {3: ["f"]}):
        with pytest.raises(sb.SymbodyError, match="groups="):
            system.compile("python", groups=wrong)
        with pytest.raises(sb.SymbodyError, match="groups="):
            system.emit("c", groups=wrong)


@pytest.mark.parametrize("mode", ["forward", "adjoint"])
def test_derivatives_of_a_run_travel(mode: str) -> None:
    """What differentiates it holds loaded code, and is made again by what it was asked for."""
    options = {"step": 0.01, "q0": [0.3, 0.2], "outputs": ["energy"]}
    found = sb.sensitivity(sb.load("pendulum2"), 0.1, ["m1", "q.joint1"], mode=mode, **options)
    for back in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert np.array_equal(back.jacobian, found.jacobian)
        assert np.array_equal(back.of("energy", "m1"), found.of("energy", "m1"))
        assert back.notes == found.notes
        assert np.array_equal(back.trajectory.q, found.trajectory.q)
    loss = sb.differentiable(sb.load("pendulum2"), 0.1, ["m1"], of=["q.joint1"], **options).objective()
    theta = np.array([0.8])
    expected = loss(theta)
    for other in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss)):
        assert other(theta) == expected


def test_forms_of_a_bond_graph_travel() -> None:
    graph = sb.BondGraph.load("rlc")
    dae, matrices = graph.dae(), graph.matrices()
    assert str(pickle.loads(pickle.dumps(dae))) == str(dae)
    assert fingerprint(pickle.loads(pickle.dumps(dae)).system()) == fingerprint(dae.system())
    there = pickle.loads(pickle.dumps(matrices))
    assert [str(x) for x in there.A.flat] == [str(x) for x in matrices.A.flat]
    assert str(pickle.loads(pickle.dumps(graph.loops()))) == str(graph.loops())
    structure = sb.BondGraph.load("robot_joint").structure()
    there = pickle.loads(pickle.dumps(structure)).block("integral", "source")
    assert [str(x) for x in there.flat] == [str(x) for x in structure.block("integral", "source").flat]


def test_measured_records_stay_as_they_were_measured() -> None:
    record = Series(np.arange(3.0), {"q": np.arange(6.0).reshape(3, 2)}, ("a", "b"), source="bench")
    for back in (*(pickle.loads(pickle.dumps(record, k)) for k in (2, 5)), copy.deepcopy(record)):
        assert repr(back) == repr(record)
        assert np.array_equal(back["q"], record["q"])
        assert not back.t.flags.writeable
        assert not back["q"].flags.writeable
