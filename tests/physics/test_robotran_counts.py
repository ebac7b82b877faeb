"""ROBOTRAN's own models: the same quantities in no more operations, with values that all formalisms share.

Of the car there are two generations in the repository that the model file comes from, and the counts in the README
beside that file (F2 859 + 740, F1 3022 + 1866) belong to the older one: they are those of mbs_invdyna_car.py and
mbs_dirdyna_car.py with continuation lines left out; with them it is 1053 + 894 and 3532 + 2252 (see
docs/decisions/0011-two-cars-of-robotran.md). Both cars are compared here, each with the program made for it.
"""

from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from mechanics.formalisms.robotran_car import BODIES, F1, F2, robotran_car
from symbody.symbolic.expr.arrays import is_zero

MODELS = Path(__file__).parents[2] / ".." / "shared" / "data" / "robotran_models"
COMAN = {"inverse": 2043 + 1830, "semi_explicit": 9588 + 7347, "forward": 19063 + 16121 + 435}
# mbs_invdyna_ and mbs_dirdyna_Robotran_Mazda_MX5.py at commit 705a37b, every line
CAR_43 = {"inverse": 2184 + 1778, "semi_explicit": 8471 + 5600}
# what the first gives at q = sin k, qd = cos 2k, qdd = sin 3k, k = 1..43
CAR_43_TORQUES = """
 4.939709552160e+02 -3.007000188585e+02  9.798939617242e+03  2.100239007259e+03  2.678142605382e+03 -7.346944922673e+02
 4.343225708445e+00  4.590771050420e+01  1.066622395924e+01 -1.154748552839e+00  7.605519012935e-01 -4.017585371454e+01
-2.104893792878e+01  3.759564674601e-01 -7.968280354486e-01 -1.578208214343e-01  1.627464858058e-01  1.779551838103e-01
 7.793813391661e-02 -1.012358968732e-01 -4.895496585665e+01 -5.618441000307e+00 -3.264727254962e+01  7.615054405827e+00
 4.816006151117e-02 -5.021103426917e+00  3.985086280115e+01  1.975818043452e+00 -3.460520209240e+01 -5.521513053444e+00
-2.059893937788e+00  4.090340952922e+00  1.061609955522e+00  6.773109419767e-01  1.075220959102e-01  1.256402265289e-01
 2.916372826306e-01 -8.377547895832e-03 -3.710181846899e+01  1.280770586945e+00 -2.043521016836e+00  6.555462208699e-01
 2.148892898933e+00
"""


def model(name):
    path = MODELS / f"{name}.mbs"
    if not path.is_file():
        pytest.skip("ROBOTRAN's models are not here")
    return sb.load(path).replace(forces=(), cuts=())


def test_humanoid_needs_fewer_operations():
    coman = model("coman_29")
    inverse = sb.inverse_dynamics(coman, formalism="base")
    assert inverse.count().total <= 0.8 * COMAN["inverse"]
    semi = sb.semi_explicit(coman, formalism="base")
    assert semi.count().total <= 0.8 * COMAN["semi_explicit"]
    forward = sb.forward_dynamics(coman, formalism="order_n")
    assert forward.count().total <= COMAN["forward"]
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (3, coman.nv))
    tau = inverse.compile("python")(q, qd, qdd)
    m, c = semi.compile("python")(q, qd)
    np.testing.assert_allclose(m @ qdd + c, tau, rtol=1e-9, atol=1e-9 * np.max(np.abs(tau)))
    back = forward.compile("python")(q, qd, tau)
    np.testing.assert_allclose(m @ back + c, tau, rtol=1e-8, atol=1e-8 * np.max(np.abs(tau)))


def state(n):
    k = np.arange(1, n + 1)
    return np.sin(k), np.cos(2 * k), np.sin(3 * k)


def test_car_needs_fewer_operations_and_gives_robotrans_values():
    car = model("car_43")
    bodies = [b.name for b in car.bodies if not is_zero(b.mass)]
    assert len(bodies) == 28
    inverse = sb.inverse_dynamics(car, formalism="base")
    loaded = sb.inverse_dynamics(car, formalism="base", wrenches=bodies)  # as in ROBOTRAN: a wrench on every body
    assert inverse.count().total <= 2637 <= 0.8 * CAR_43["inverse"]
    assert loaded.count().total <= 2861 <= 0.8 * CAR_43["inverse"]
    torques = np.array(CAR_43_TORQUES.split(), dtype=float)
    found = inverse.compile("python")(*state(43))
    np.testing.assert_allclose(found, torques, rtol=1e-11, atol=1e-11)
    semi = sb.semi_explicit(car, formalism="base")
    assert semi.count().total <= 4922 <= 0.8 * CAR_43["semi_explicit"]
    m, c = semi.compile("python")(*state(43)[:2])
    weights = np.cos(np.arange(1, 44))
    assert weights @ m @ weights == pytest.approx(3029.5161954114, rel=1e-12)  # by mbs_dirdyna_Robotran_Mazda_MX5.py
    assert weights @ c == pytest.approx(-10171.814703236, rel=1e-12)


def test_older_car_needs_fewer_operations_and_gives_robotrans_values():
    """The counts that are published, in both readings: without and with the wrenches on 28 bodies in our program."""
    car = robotran_car()
    bodies = [f"b{k}" for k in BODIES]
    inverse, semi = sb.inverse_dynamics(car, formalism="base"), sb.semi_explicit(car, formalism="base")
    assert inverse.count().total <= 0.8 * F2
    assert semi.count().total <= 0.8 * F1
    loaded = sb.inverse_dynamics(car, formalism="newton_euler", wrenches=bodies)
    loaded_semi = sb.semi_explicit(car, formalism="base", wrenches=bodies)
    assert loaded.count().total <= F2
    assert loaded_semi.count().total <= 0.8 * F1
    # from mbs_invdyna_car.py and mbs_dirdyna_car.py at the same numbers
    q, qd, qdd = state(43)
    wrenches = [np.sin(np.arange(1, 7) + k) for k in range(len(bodies))]
    weights = np.cos(np.arange(1, 44))
    tau = loaded.compile("python")(q, qd, qdd, *wrenches)
    m, c = loaded_semi.compile("python")(q, qd, *wrenches)
    assert weights @ tau == pytest.approx(-29.04678100255, rel=1e-12)
    assert weights @ m @ weights == pytest.approx(525.93301445844, rel=1e-12)
    assert weights @ c == pytest.approx(-5.7153926094044, rel=1e-12)
