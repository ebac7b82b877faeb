"""Second derivatives, many runs, bridges and notes of runs that are not plain: closed loops, other methods, events."""

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import both_modes, close, differences
from symbody.motion.derivatives import casadi_function, jax_function, torch_function

# PyTorch calls what it deprecates itself
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
HALVED = {f"qd.{n}": f"0.5*qd.{n}" for n in ("crank", "coupler", "rocker")}
METHODS = {
    "implicit_euler": {"step": 0.05},
    "sdirk2": {"step": 0.05},
    "verlet": {"step": 0.05},
    "generalized_alpha": {"step": 0.05},
    "radau": {"tolerance": 1e-8},
}


def four_bar(duration=0.1, **options):
    """A closed loop that falls by its weight."""
    given = {"step": 5e-3, "q0": {"crank": 0.8}, "qd0": {"crank": 1.0}, **options}
    return sb.differentiable(
        sb.load("four_bar"), duration, ["q.crank", "qd.crank", "m2", "a"], of=["q.rocker"],
        integrals={"s": "q.rocker^2"}, **given,
    )  # fmt: skip


def pendulum(method, **options):
    """One damped rod, by its length and its start."""
    make = sb.Mechanism.builder("rod", gravity=(0, 0, -9.81))
    make.parameter("l", 0.5)
    make.parameter("d", 0.1)
    make.body("rod", mass=1.0, com=[0, 0, "-l/2"], inertia=["l^2/12", "l^2/12", 0])
    mech = make.joint("turn", "revolute", "world", "rod", axis="x", viscous="d").done()
    given = {"q0": {"turn": 1.0}, "method": method, **METHODS.get(method, {}), **options}
    return sb.differentiable(mech, 0.3, ["q.turn", "l", "d"], of=["q"], integrals={"s": "q.turn^2"}, **given)


def parallelogram(**options):
    """Passes its flat position at t = 0.1 s."""
    make = sb.Mechanism.builder("parallelogram", gravity=(0, -9.81, 0))
    make.parameter("m", 1.0)
    for name, length in (("crank", 0.2), ("coupler", 0.5), ("rocker", 0.2)):
        make.body(name, mass="m", com=[length / 2, 0, 0], inertia=[0, 0, 0.01], frames={"end": [length, 0, 0]})
    make.joint("crank", "revolute", "world", "crank")
    make.joint("coupler", "revolute", "crank", "coupler", position=[0.2, 0, 0], mode="passive")
    make.joint("rocker", "revolute", "world", "rocker", position=[0.5, 0, 0], mode="passive")
    mech = make.cut("pin", "rows", "coupler.end", "rocker.end", rows=["x", "y"]).done()
    start = {"q0": {"crank": 0.8, "coupler": -0.8, "rocker": 0.8}, "qd0": {"crank": -8.0}}
    return sb.differentiable(mech, 0.2, ["m", "qd.crank"], of=["q.crank"], **start, **options)


# -- second order


def second_differences(f, w, way, size=2e-3):
    """v^T H v of w^T y from its values alone, extrapolated."""

    def curved(e):
        low, middle, high = (w @ f(f.start + s * e * way) for s in (-1, 0, 1))
        return (high - 2 * middle + low) / e**2

    return (4 * curved(size / 2) - curved(size)) / 3


def judged(f, exact, part=1e-6):
    """H v is what values say, and says how it was found."""
    w = np.array([1.0, 0.5])
    way = 0.1 * np.linspace(1.0, 2.0, f.variables.size)
    found = f.hessian_vector(f.start, way, w)
    assert found.exact is exact, found.note
    np.testing.assert_allclose(found.product @ way, second_differences(f, w, way), rtol=part)
    np.testing.assert_allclose(found.gradient, f.gradient(f.start, w)[1], rtol=1e-9)
    return found.note


@pytest.mark.parametrize(
    "options", [{}, {"closing": sb.Augmented()}, {"closing": sb.Reduced(["rocker"])}], ids=["own", "all", "rocker"]
)
def test_second_derivatives_of_closed_loops_are_exact(options):
    judged(four_bar(**options), True, 1e-5)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("implicit_euler", None),
        pytest.param("sdirk2", None, marks=pytest.mark.slow),
        ("verlet", "carries rates"),
        ("generalized_alpha", "carries rates"),
        pytest.param("radau", "solved again", marks=pytest.mark.slow),
    ],
)
def test_second_derivatives_of_other_methods(method, reason):
    note = judged(pendulum(method), reason is None, 1e-5)
    assert reason is None or ("differences of gradients" in note and reason in note)


def test_second_derivatives_between_chosen_steps():
    f = pendulum("dopri5", tolerance=1e-11, sampling=4, at="samples")
    found = f.hessian_vector(f.start, np.ones(3), np.ones(5))
    assert "between chosen steps" in found.note
    wanted = differences(lambda x: f.gradient(x, np.ones(5))[1], f.start, 1e-4).sum(axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"tolerance": 1e-10}, {"step": 1e-3}], ids=["chosen", "1ms"])
def test_second_derivatives_through_a_passage(options):
    f = parallelogram(**options)
    found = f.hessian_vector(f.start, [0.5, 1.0])
    assert "passes a singular position" in found.note
    wanted = second_differences(f, np.ones(1), np.array([0.5, 1.0]), 0.02)
    assert abs(found.product @ [0.5, 1.0] - wanted) < 1e-4 * abs(wanted)


# -- many runs


@pytest.mark.parametrize(
    "make",
    [
        four_bar,
        lambda: four_bar(closing=sb.Augmented()),
        lambda: four_bar(events=[sb.When("brake", "q.crank - 0.85", direction=1, reset=HALVED)]),
        lambda: pendulum("implicit_euler"),
        lambda: pendulum("verlet"),
        lambda: pendulum("generalized_alpha"),
        lambda: pendulum("dopri5", tolerance=1e-9),
        pytest.param(lambda: pendulum("radau"), marks=pytest.mark.slow),
        pytest.param(lambda: parallelogram(tolerance=1e-9), marks=pytest.mark.slow),
    ],
    ids=["loop", "multipliers", "event", "implicit", "verlet", "alpha", "chosen", "radau", "passage"],
)
def test_many_runs_have_the_bits_of_single_ones(make):
    f = make()
    rows = f.start * (1 + 0.01 * np.random.default_rng(0).uniform(-1, 1, (4, f.variables.size)))
    w = np.linspace(1.0, 2.0, f().size)
    single = [f.gradient(row, w) for row in rows]
    assert not f.many(rows).lanes  # their steps, or what is carried along, are those of each run
    for threads in (1, 2):
        values, gradients = f.gradients(rows, w, threads=threads)
        np.testing.assert_array_equal(values, [value for value, _ in single])
        np.testing.assert_array_equal(gradients, [gradient for _, gradient in single])


# -- in others' hands


@pytest.fixture(scope="module", params=["loop", "implicit_euler", pytest.param("radau", marks=pytest.mark.slow)])
def run(request):
    return four_bar() if request.param == "loop" else pendulum(request.param)


def test_torch_takes_them(run):
    torch = pytest.importorskip("torch")
    of = torch_function(run)
    theta, w = torch.tensor(run.start, requires_grad=True), torch.tensor([1.0, 0.5], dtype=torch.float64)
    (of(theta) @ w).backward()
    np.testing.assert_array_equal(theta.grad.numpy(), run.gradient(run.start, [1.0, 0.5])[1])


@pytest.mark.slow
def test_torch_and_jax_differentiate_them_twice(run):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    w = np.array([1.0, 0.5])
    wanted = run.hessian(run.start, w)
    by_torch, by_jax = torch_function(run), jax_function(run)
    found = [
        torch.func.hessian(lambda x: by_torch(x) @ torch.tensor(w))(torch.tensor(run.start)).numpy(),
        np.array(jax.hessian(lambda x: by_jax(x) @ w)(jax.numpy.array(run.start))),
    ]
    for second in found:
        np.testing.assert_allclose(second, wanted, atol=1e-9 * np.abs(wanted).max())


def test_jax_takes_them(run):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    of, w = jax_function(run), np.array([1.0, 0.5])
    rows = run.start * np.array([[1.0], [1.001]])
    found = jax.jit(jax.vmap(jax.grad(lambda x: of(x) @ w)))(rows)
    np.testing.assert_array_equal(found, [run.gradient(row, w)[1] for row in rows])


def test_casadi_takes_them(run):
    casadi = pytest.importorskip("casadi")
    of, x = casadi_function(run), casadi.MX.sym("x", run.variables.size)
    jacobian = casadi.Function("j", [x], [casadi.jacobian(of(x), x)])
    close(np.array(jacobian(run.start)), differences(run, run.start), 1e-6)


# -- notes


def told(f, what):
    """The one note of a run with a word, and the instant in it."""
    (note,) = (n for n in f.linearise().notes if what in n)
    return note, float(note.partition("t = ")[2].split()[0])


def reached(f, value):
    """The instant at which the first position falls to a value, from recorded samples."""
    motion = f.trajectory()
    return np.interp(-value, -motion.q[:, 0], motion.t)


@pytest.mark.parametrize("options", [{"tolerance": 1e-9}, {"step": 1e-3}], ids=["chosen", "1ms"])
@pytest.mark.parametrize("place", [0.4, -0.5], ids=["before", "behind"])
def test_notes_of_a_passage(place, options):
    """A law that jumps on the way is told, on both sides of the singular position."""
    f = parallelogram(inputs={"crank": f"-0.5*sign(q.crank - ({place}))"}, sampling=400, **options)
    assert "singular position" in [e.name for e in f.trajectory().events]
    note, instant = told(f, "jumps")
    assert "sign(" in note
    assert abs(instant - reached(f, place)) < 1e-4


@pytest.mark.parametrize("method", ["verlet", "generalized_alpha", "implicit_euler"])
def test_notes_of_other_methods(method):
    note, instant = told(pendulum(method, inputs={"turn": "-0.1*abs(qd.turn)"}), "corner")
    assert "corner of abs" in note
    assert instant == 0.0


def test_steps_that_chatter_in_a_closed_loop():
    for closing in (sb.Reduced(), sb.Augmented()):
        law = {"inputs": {"crank": "-40*qd.crank"}, "closing": closing}
        (note,) = four_bar(0.02, step=1e-3, **law).linearise().notes
        fine = four_bar(0.02, step=1e-5, **law)
        speed = fine.trajectory().qd[:, 0]
        fade = 1e-5 / np.log(speed[0] / speed[1])  # but for the weight
        assert abs(float(note.partition("time constant of ")[2].split()[0]) - fade) < 0.05 * fade
        assert not fine.linearise().notes


def test_an_event_at_a_switch_takes_its_note_away():
    """The instant at which a law jumps moves with the event, and derivatives are those of the motion."""
    law = {"inputs": {"turn": "-0.3*sign(q.turn - 0.8)"}}
    plain = pendulum("rk4", step=0.01, **law)
    assert abs(told(plain, "jumps")[1] - reached(plain, 0.8)) < 1e-3
    turn = sb.When("turn", "q.turn - 0.8", reset={"qd.turn": "qd.turn"})
    fixed, chosen = (pendulum("dopri5", events=[turn], **law, **o) for o in ({"step": 0.01}, {"tolerance": 1e-10}))
    for f in (fixed, chosen):
        assert not any("sign" in note for note in f.linearise().notes)
    found = both_modes(fixed)
    close(found, differences(fixed, fixed.start, 1e-5), 1e-6)
    close(both_modes(chosen), found, 1e-6)
    assert np.abs(plain.jacobian() - found).max() > 1e-2  # what the note is about
