"""Frequency and time responses, transfer functions, discretisation: closed forms, python-control, SciPy."""

import numpy as np
import pytest
from scipy import signal

import symbody as sb
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, ShapeError
from symbody.studies.control.discretize import continuous, discretize
from symbody.studies.control.frequency import frequency_response
from symbody.studies.control.measured_response import experimental_response
from symbody.studies.control.symbolic_transfer import symbolic_transfer
from symbody.studies.control.time_response import impulse_response, step_response, time_response
from symbody.studies.control.transfer import transfer
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.linear_system import linear_system
from symbody.studies.linear.linearize import linearize
from symbody.studies.linear.state_space import StateSpace

MOTOR = {"R": 2.0, "L": 0.05, "J": 0.02, "f": 0.1, "k": 0.6}


def motor():
    """The DC motor of hybrid 3.1: u = R i + L di/dt, J dw/dt = -f w + k i."""
    i, w, u = sb.symbols("i w u")
    R, L, J, f, k = (sb.symbol(n, "parameter", default=v) for n, v in MOTOR.items())
    return sb.System(
        "motor",
        inputs={"i": i, "w": w, "u": u},
        outputs={"i_dot": (u - R * i) / L, "w_dot": (k * i - f * w) / J, "speed": w},
        states={"i": "i_dot", "w": "w_dot"},
    )


def motor_coefficients(R, L, J, f, k):
    """a0, a1, b0 of hybrid 3.1, eq. (4)."""
    return R * f / (L * J), f / J + R / L, k / (L * J)


def random_model(n=6, m=2, p=3, seed=0, dt=None):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n)) - 2 * np.eye(n)
    if dt is not None:
        A = A / (1.5 * np.abs(np.linalg.eigvals(A)).max())
    return StateSpace(A, rng.normal(size=(n, m)), rng.normal(size=(p, n)), rng.normal(size=(p, m)), dt=dt)


# -- the DC motor


def test_motor_transfer_function_is_the_published_one():
    a0, a1, b0 = motor_coefficients(**MOTOR)
    found = transfer(motor(), "u", "speed")
    np.testing.assert_allclose(found.denominator, [1, a1, a0], rtol=1e-12)
    np.testing.assert_allclose(found.numerator, [b0], rtol=1e-12)
    assert found.static_gain == pytest.approx(b0 / a0)
    s = np.array([1j, 3 + 2j])
    np.testing.assert_allclose(found(s), b0 / (s**2 + a1 * s + a0))
    assert "u to speed" in repr(found)


def test_motor_symbolic_coefficients_hold_for_any_parameters():
    system = symbolic_transfer(motor(), "u", "speed")
    assert not system.inputs
    assert set(system.parameters) == set(MOTOR)
    other = {"R": 1.1, "L": 0.3, "J": 0.7, "f": 0.05, "k": 2.0}
    for values in (MOTOR, other):
        a0, a1, b0 = motor_coefficients(**values)
        found = system.compile("python")(parameters=values)
        np.testing.assert_allclose(found.denominator, [1, a1, a0], rtol=1e-14)
        np.testing.assert_allclose(found.numerator, [0, 0, b0], rtol=1e-14)


def test_motor_impulse_response_is_the_inverse_laplace_transform():
    """hybrid 3.1, eq. (6)."""
    R, L, J, f, k = MOTOR.values()
    t = np.linspace(0, 0.5, 60)
    exact = k / (R * J - L * f) * (np.exp(-f * t / J) - np.exp(-R * t / L))
    np.testing.assert_allclose(impulse_response(motor(), t, "u")["y"][:, 0], exact, atol=1e-12)


def test_symbolic_transfer_of_a_mechanism():
    mech = sb.load("pendulum2")
    first = mech.joints[0].name
    system = symbolic_transfer(linearize(mech, outputs=[f"q.{first}"], symbolic=True))
    numeric = transfer(linearize(mech, outputs=[f"q.{first}"]), f"tau.{first}")
    kernel = system.compile("python")
    found = kernel(**{n: np.zeros(a.shape) for n, a in system.inputs.items()})
    np.testing.assert_allclose(
        np.trim_zeros(np.round(found.numerator, 14), "f"), numeric.numerator, rtol=1e-8, atol=1e-12
    )
    np.testing.assert_allclose(found.denominator, numeric.denominator, rtol=1e-8, atol=1e-8)


# -- transfer functions in numbers


@pytest.mark.parametrize("seed", range(4))
def test_zeros_poles_gain_give_back_the_frequency_response(seed):
    ss = random_model(seed=seed)
    ss = ss.replace(D=np.where(np.arange(6).reshape(3, 2) % 2, ss.D, 0.0))
    w = np.geomspace(0.01, 100, 30)
    response = frequency_response(ss, w)
    for o in range(3):
        for i in range(2):
            found = transfer(ss, i, o)
            np.testing.assert_allclose(found(1j * w), response.values[:, o, i], rtol=1e-7)
            assert len(found.zeros) == (6 if ss.D[o, i] else 5)


def test_zeros_of_high_relative_degree_are_not_invented():
    """A chain of five integrators with two zeros: nothing at infinity may appear as a large zero."""
    zeros, poles = np.array([-1.0, -3.0]), np.array([-0.5, -2, -4, -1 + 2j, -1 - 2j])
    A, B, C, D = signal.zpk2ss(zeros, poles, 7.0)
    found = transfer((A, B, C, D))
    np.testing.assert_allclose(np.sort(found.zeros.real), np.sort(zeros), rtol=1e-9)
    np.testing.assert_allclose(np.sort_complex(found.poles), np.sort_complex(poles), rtol=1e-9)
    assert found.gain == pytest.approx(7.0)


def test_what_a_channel_does_not_reach_is_cancelled():
    a = StateSpace(np.diag([-1.0, -2, -3]), [[1], [0], [1]], [[1, 1, 0]], [[0]])
    found = transfer(a)
    np.testing.assert_allclose(found.poles, [-1])
    assert len(found.zeros) == 0
    assert found.gain == pytest.approx(1)
    nothing = transfer(StateSpace([[-1.0]], [[0.0]], [[1.0]], [[0.0]]))
    assert nothing.gain == 0
    assert nothing(1j) == 0


def test_control_agrees_on_zeros_and_poles():
    control = pytest.importorskip("control")
    mech = sb.load("pendulum3")
    linear = linearize(mech, outputs=["p." + mech.bodies[-1].name])
    from symbody.codegen.interop.control_bridge import to_control

    theirs = to_control(linear)
    for i in range(3):
        for o in (0, 1, 2):
            found = transfer(linear, i, o)
            channel = theirs[o, i]
            w = np.array([0.3, 1.7, 9.0])
            np.testing.assert_allclose(found(1j * w), np.squeeze(channel(1j * w)), rtol=1e-6, atol=1e-12)
            if len(found.poles) == 6 and found.gain:
                np.testing.assert_allclose(
                    np.sort_complex(np.round(found.poles, 6)), np.sort_complex(np.round(channel.poles(), 6)), atol=1e-5
                )
                expected = control.zeros(control.ss(channel))
                expected = expected[np.abs(expected) < 1e6]
                np.testing.assert_allclose(
                    np.sort_complex(np.round(found.zeros, 5)), np.sort_complex(np.round(expected, 5)), atol=1e-4
                )


# -- frequency


def test_frequency_response_of_an_oscillator():
    omega, zeta = 5.0, 0.1
    ss = StateSpace([[0, 1], [-(omega**2), -2 * zeta * omega]], [[0], [1]], [[1, 0]], [[0]])
    w = np.linspace(0.1, 20, 50)
    found = frequency_response(ss, w)
    np.testing.assert_allclose(found.channel(), 1 / (omega**2 - w**2 + 2j * zeta * omega * w), rtol=1e-12)
    np.testing.assert_allclose(found.decibels[:, 0, 0], 20 * np.log10(np.abs(found.channel())))
    assert found.phase[-1, 0, 0] < -2.9
    peak = frequency_response(ss)
    assert peak.frequency[np.argmax(peak.magnitude[:, 0, 0])] == pytest.approx(omega / (2 * np.pi), rel=0.05)


def test_bode_figure_has_a_line_for_each_channel():
    found = frequency_response(random_model())
    figure = found.plot()
    assert len(figure.axes) == 2
    assert len(figure.axes[0].lines) == 6
    assert "u1 to y1" in [t.get_text() for t in figure.axes[0].get_legend().get_texts()]


def test_response_at_an_undamped_pole_is_infinite():
    ss = StateSpace([[0.0, 1], [0, 0]], [[0], [1]], [[1, 0]], [[0]])
    assert np.isinf(frequency_response(ss, [0.0]).magnitude).all()


# -- discrete time


@pytest.mark.parametrize(("method", "theirs"), [("zoh", "zoh"), ("tustin", "bilinear")])
def test_discretisation_equals_scipys(method, theirs):
    ss = random_model()
    made = discretize(ss, 0.1, method)
    for found, expected in zip(
        (made.A, made.B, made.C, made.D), signal.cont2discrete((ss.A, ss.B, ss.C, ss.D), 0.1, theirs)
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    back = continuous(made, method)
    for name in "ABCD":
        np.testing.assert_allclose(getattr(back, name), getattr(ss, name), atol=1e-9)


def test_prewarped_tustin_agrees_at_its_frequency():
    ss, w = random_model(m=1, p=1), 4.0
    made = discretize(ss, 0.2, "tustin", prewarp=w)
    exact = frequency_response(ss, w).values
    np.testing.assert_allclose(frequency_response(made, w).values, exact, rtol=1e-10)
    assert np.abs(frequency_response(discretize(ss, 0.2, "tustin"), w).values - exact).max() > 1e-4


def test_held_input_gives_the_same_samples_in_discrete_time():
    ss, dt = random_model(), 0.07
    t = dt * np.arange(40)
    u = np.random.default_rng(0).normal(size=(40, 2))
    found = time_response(ss, t, u)
    np.testing.assert_allclose(found["y"], time_response(discretize(ss, dt), t, u)["y"], atol=1e-12)


@pytest.mark.parametrize("between", ["held", "straight"])
def test_time_response_equals_scipys(between):
    ss = random_model()
    t = np.linspace(0, 3, 61)
    u = np.stack([np.sin(3 * t), np.cos(t)], axis=1)
    x0 = np.arange(6) / 6
    _, y, x = signal.lsim((ss.A, ss.B, ss.C, ss.D), u, t, x0, interp=between == "straight")
    found = time_response(ss, t, u, x0, between)
    np.testing.assert_allclose(found["y"], y, atol=1e-10)
    np.testing.assert_allclose(found["x"], x, atol=1e-10)
    assert found.labels["y"] == ss.outputs


def test_step_response_settles_at_the_static_gain():
    found = step_response(motor(), np.linspace(0, 3, 400), "u")
    assert found["y"][-1, 0] == pytest.approx(transfer(motor(), "u", "speed").static_gain, rel=1e-5)


# -- measured


@pytest.mark.parametrize("estimator", ["H1", "H2", "Hv"])
def test_response_from_a_noisy_record(estimator):
    rng = np.random.default_rng(2)
    dt, n = 0.01, 60_000
    ss = discretize(StateSpace([[0, 1], [-100.0, -2]], [[0], [100.0]], [[1, 0]], [[0]]), dt)
    u = rng.normal(size=n)
    above, below = signal.ss2tf(ss.A, ss.B, ss.C, ss.D)
    y = signal.lfilter(above[0], below, u)
    found = experimental_response(u, y + 0.02 * rng.normal(size=n), dt, estimator, segment=1024)
    band = (found.frequency > 0.3) & (found.frequency < 4)
    exact = frequency_response(ss, found.omega[band]).channel()
    assert np.median(np.abs(found.values[band] / exact - 1)) < 0.02
    assert np.median(found.coherence[band]) > 0.98
    assert found.windows > 100


def test_impulse_and_fourier_transform_give_the_response():
    """hybrid F9: strike, record until rest, divide the transforms."""
    dt, n = 0.01, 4000
    ss = discretize(StateSpace([[0, 1], [-100.0, -4]], [[0], [100.0]], [[1, 0]], [[0]]), dt)
    u = np.zeros(n)
    u[0] = 3.0
    y = signal.dlsim((ss.A, ss.B, ss.C, ss.D, dt), u)[1][:, 0]
    found = experimental_response(u, y, dt, window="boxcar", segment=n)
    np.testing.assert_allclose(found.values, frequency_response(ss, found.omega).channel(), rtol=1e-6, atol=1e-9)


# -- refusals


def test_refusals_say_what_was_expected():
    ss = random_model()
    with pytest.raises(NameLookupError, match="no input 'u9'"):
        transfer(ss, "u9")
    with pytest.raises(DefinitionError, match="one input and one output"):
        transfer(ss, [0, 1], 0)
    with pytest.raises(DefinitionError, match="positive sampling period"):
        discretize(ss, -1)
    with pytest.raises(DefinitionError, match="expected one of zoh, tustin"):
        discretize(ss, 0.1, "euler")
    with pytest.raises(DefinitionError, match="discrete already"):
        discretize(discretize(ss, 0.1), 0.1)
    with pytest.raises(DefinitionError, match="equally spaced"):
        time_response(ss, [0, 1, 3])
    with pytest.raises(ShapeError, match="u has shape"):
        time_response(ss, [0, 1, 2], np.zeros((3, 5)))
    with pytest.raises(DefinitionError, match="no linear model"):
        as_state_space("motor")
    with pytest.raises(ShapeError, match="B of a state space"):
        StateSpace(np.eye(2), np.zeros((3, 1)), np.zeros((1, 2)), np.zeros((1, 1)))
    with pytest.raises(DefinitionError, match="estimator"):
        experimental_response(np.ones(10), np.ones(10), 0.1, "H9")
    with pytest.raises(ModelError, match="z <= 0"):
        continuous(StateSpace([[-0.5]], [[1.0]], [[1.0]], [[0.0]], dt=0.1))
    with pytest.raises(DefinitionError, match="no states"):
        linear_system(sb.System("f", inputs={"x": sb.symbol("x")}, outputs={"y": 2 * sb.symbol("x")}))
