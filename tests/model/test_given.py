"""Numbers given for parameters are refused where no mechanism has them, with a sentence that names the culprit."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError, NameLookupError, ShapeError
from symbody.mechanics.verbs.identifiable_parameters import parameter_values
from symbody.model.record.parameter_values import check_given, given_numbers, massless
from symbody.studies.linear.linear_system import linear_system

VERBS = {
    "simulate": lambda mech, values: sb.simulate(mech, 0.01, parameters=values),
    "linearize": lambda mech, values: sb.linearize(mech, parameters=values),
    "equilibrium": lambda mech, values: sb.equilibrium(mech, parameters=values),
    "trim": lambda mech, values: sb.trim(mech, {"qdd.swing": 0.0}, ["q.swing"], parameters=values),
    "verify": lambda mech, values: sb.verify(mech, 2, parameters=values),
    "assemble": lambda mech, values: sb.assemble(mech, parameters=values),
    "inverse_along": lambda mech, values: sb.inverse_along(
        mech, np.linspace(0, 1, 9), np.zeros((9, 1)), parameters=values
    ),
    "inverse_kinematics": lambda mech, values: sb.inverse_kinematics(
        mech, {"arm.tip": (0.0, 0.0, -1.0)}, parameters=values
    ),
    "sensitivity": lambda mech, values: sb.sensitivity(mech, 0.01, ["m"], values=values),
    "parameter_values": parameter_values,
}


def arm(physical=True):
    """A rigid body that swings about y; its mass, moments, length, damping and the turn of its hinge are parameters."""
    b = sb.Mechanism.builder("arm")
    b.parameter("m", 2.0, "kg")
    b.parameter("l", 1.0, "m", nonzero=True)
    b.parameter("Ixx", 0.2, "kg m^2")
    b.parameter("Iyy", 0.3, "kg m^2")
    b.parameter("d", 0.0)
    b.parameter("co", 1.0)
    b.parameter("rotor", 0.1)
    b.body(
        "arm", mass="m", com=[0, 0, "-l/2"], inertia=["Ixx", "Iyy", 0.15], frames={"tip": [0, 0, "-l"]},
        physical=physical,
    )  # fmt: skip
    turn = [["co", 0, 0], [0, "co", 0], [0, 0, 1]]
    b.joint("swing", "revolute", "world", "arm", axis="y", rotation=turn, viscous="d", rotor=("rotor", 1))
    return b.done()


@pytest.fixture(scope="module")
def mech():
    return arm()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ({"m": -1.0}, ModelError, "body 'arm' has mass -1; expected 0 or more, kg. This comes from the given m = -1"),
        ({"m": np.nan}, ModelError, "parameter 'm' is nan; expected a finite number"),
        ({"l": 0.0}, ModelError, "parameter 'l' is 0; expected another number, because it is declared nonzero"),
        ({"Iyy": 9.0}, ModelError, "body 'arm' .* 9, which violate the triangle inequality.* the given Iyy = 9"),
        ({"mass": 1.0}, NameLookupError, "arm has no parameter 'mass'"),
        ({"m": "heavy"}, ModelError, "parameter 'm' is 'heavy'; expected a number"),
    ],
)
def test_every_verb_refuses_what_no_body_has(mech, verb, values, kind, words):
    with pytest.raises(kind, match=words):
        VERBS[verb](mech, values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"m": np.inf}, "parameter 'm' is inf"),
        ({"Ixx": -0.1}, "body 'arm' has the principal moments of inertia -0.1, 0.15, 0.3; expected 0 or more"),
        ({"d": -0.1}, "joint 'swing' has viscous -0.1; expected 0 or more. This comes from the given d = -0.1"),
        ({"rotor": -0.1}, "joint 'swing' has rotor inertia -0.1; expected 0 or more"),
        ({"co": 0.9}, "rotation of joint 'swing' is not orthogonal"),
        ({"m": [1.0, -2.0, 3.0]}, "body 'arm' has mass -2; .* from the given m = -2 of member 1 of the batch"),
        ({"Iyy": [0.3, 9.0]}, "moments of inertia 0.15, 0.2, 9, which violate"),
    ],
)
def test_numbers_are_held_against_what_validation_demands_of_the_model(mech, values, words):
    with pytest.raises(ModelError, match=words):
        check_given(mech, values)


def test_numbers_that_some_mechanism_has_are_accepted(mech):
    values = {"m": 0.0, "Ixx": 0.15, "Iyy": 0.0, "d": 0.0, "rotor": 0.0}
    assert given_numbers(mech, values) == values
    batch = check_given(mech, {"m": [0.0, 1.0, 2.0], "l": -1.0})
    assert batch["m"].shape == (3,)
    assert given_numbers(mech, None) == {}


def test_published_tensors_that_no_body_has_may_be_given_to_those_that_are_declared_so():
    assert given_numbers(arm(physical=False), {"Iyy": 9.0}) == {"Iyy": 9.0}
    with pytest.raises(ModelError, match="has mass -1"):
        given_numbers(arm(physical=False), {"m": -1.0})


def test_a_planar_model_knows_one_moment_which_must_not_be_negative():
    b = sb.Mechanism.builder("planar")
    b.parameter("I", 0.5)
    b.body("disc", mass=1, inertia=[0, 0, "I"])
    mech = b.joint("hinge", "revolute", "world", "disc", axis="z").done()
    assert given_numbers(mech, {"I": 0.0}) == {"I": 0.0}
    with pytest.raises(ModelError, match=r"body 'disc' .* of inertia -0\.5, 0, 0; expected 0 or more"):
        given_numbers(mech, {"I": -0.5})


def test_batches_of_different_sizes_are_counted_apart(mech):
    with pytest.raises(ShapeError, match="counted differently: parameter 'm' 2, parameter 'Ixx' 3"):
        check_given(mech, {"m": [1, 2], "Ixx": [0.2, 0.2, 0.2]})
    with pytest.raises(ShapeError, match="expected one number"):
        given_numbers(mech, {"m": [1.0, 2.0]})


def test_a_body_may_lose_its_mass_where_motion_still_moves_some(mech):
    """Without mass, gravity has no hold: the arm spins on with its moment of inertia and its rotor alone."""
    assert massless(mech, check_given(mech, {"m": 0.0})) == ["arm"]
    found = sb.simulate(mech, 0.5, qd0={"swing": 2.0}, parameters={"m": 0.0})
    assert found.outcome.ok
    assert np.allclose(found["qd"], 2.0, atol=1e-9)
    assert any("body 'arm' has no mass" in note for note in found.notes)
    assert not sb.simulate(mech, 0.01).notes


def test_what_moves_no_mass_at_all_is_told_by_the_verb_that_divides_by_it(mech):
    values = {"m": 0.0, "Ixx": 0.15, "Iyy": 0.0, "rotor": 0.0}
    with pytest.raises(ModelError, match="mass matrix of arm is singular"):
        sb.linearize(mech, parameters=values)
    stopped = sb.simulate(mech, 0.1, parameters=values)
    assert not stopped.outcome.ok
    assert any("body 'arm' has no mass" in note for note in stopped.notes)


@pytest.mark.parametrize("target", ["python", "native", "c"])
def test_a_kernel_checks_numbers_when_they_are_given(target):
    a = sb.symbol("a", role="parameter", default=2.0, nonzero=True)
    graph = a.graph
    x, b = graph.symbol("x"), graph.symbol("b", "parameter", default=1.0)
    system = sb.System("ratio", inputs={"x": x}, outputs={"y": b * x / a}, parameters={"a": a, "b": b})
    kernel = system.compile(target)
    assert kernel.bind({"a": 4.0})(8.0) == 2.0
    for given in ({"a": 0.0}, {"a": [1.0, 0.0]}, [0.0, 1.0]):
        with pytest.raises(ModelError, match="parameter 'a' is 0; expected another number"):
            kernel.bind(given)
        with pytest.raises(ModelError, match="parameter 'a' is 0; expected another number"):
            kernel(8.0, parameters=given)
    for given in ({"b": np.nan}, [1.0, np.inf]):
        with pytest.raises(ModelError, match=r"parameter 'b' is (nan|inf); expected a finite number"):
            kernel.bind(given)
        with pytest.raises(ModelError, match=r"parameter 'b' is (nan|inf); expected a finite number"):
            kernel(8.0, parameters=given)
    assert kernel.bind({"b": 0.0})(8.0) == kernel(8.0, parameters={"b": 0.0}) == 0.0
    assert np.all(kernel(8.0, parameters={"a": [4.0, -2.0]}) == [2.0, -4.0])


def test_a_program_that_divides_by_a_length_does_not_answer_where_it_is_zero():
    """The smallest program of the PUMA divides by d33, declared nonzero."""
    kernel = sb.inverse_dynamics(sb.load("patterns/puma_robotran")).compile()
    values = {p.name: 0.7 if p.default is None else p.default for p in kernel.parameters}
    at = np.full((3, 6), 0.3)
    assert np.isfinite(kernel(*at, parameters=values)).all()
    with pytest.raises(ModelError, match="parameter 'd33' is 0; expected another number, because it is declared"):
        kernel(*at, parameters={**values, "d33": 0.0})


def test_systems_with_states_are_held_to_the_same():
    graph = sb.Graph("s")
    x, k = graph.symbol("x"), graph.symbol("k", "parameter", default=1.0, nonzero=True)
    system = sb.System("s", inputs={"x": x}, outputs={"v": -x / k}, parameters={"k": k}, states={"x": "v"})
    assert linear_system(system, parameters={"k": 2.0}).A == -0.5
    for run in (lambda v: linear_system(system, parameters=v), lambda v: sb.simulate(system, 0.1, parameters=v)):
        with pytest.raises(ModelError, match="parameter 'k' is 0"):
            run({"k": 0.0})
        with pytest.raises(ModelError, match="parameter 'k' is nan"):
            run({"k": np.nan})


# -- rods


def levers(length):
    b = sb.Mechanism.builder("levers")
    b.parameter("l", 0.6, "m")
    for name, x in (("a", 0.0), ("b", 0.5)):
        b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"end": (0.2, 0, 0)})
        b.joint(f"j{name}", "revolute", "world", name, position=(x, 0, 0))
    return b.cut("bar", "rod", "a.end", "b.end", length=length).done()


@pytest.mark.parametrize("length", [-0.6, 0.0, "l - 1", "0.6 - l"])
def test_a_rod_without_extent_is_refused(length):
    with pytest.raises(ModelError, match=r"cut 'bar' is a rod .*length.* A ball joins two points"):
        levers(length)


@pytest.mark.parametrize("value", [-0.6, 0.0, [0.6, -0.1]])
def test_a_rod_without_extent_by_a_given_number(value):
    mech = levers("l")
    with pytest.raises(ModelError, match=r"cut 'bar' is a rod of length .*comes from the given l") as caught:
        check_given(mech, {"l": value})
    assert "expected above 0, m" in str(caught.value)
    assert check_given(mech, {"l": 0.3})["l"] == 0.3
    if np.ndim(value) == 0:
        for verb in (sb.linearize, sb.assemble):
            with pytest.raises(ModelError, match="cut 'bar' is a rod of length"):
                verb(mech, parameters={"l": value})
