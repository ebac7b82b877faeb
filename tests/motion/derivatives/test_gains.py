"""Derivatives by parameters of sampled Systems, with and without memory, against differences of runs."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import NameLookupError


def _controller():
    """Gains, and a filtered position that it remembers."""
    q, qd = np.array(sb.symbols("q_0 q_1")), np.array(sb.symbols("d_0 d_1"))
    kp, kd, z = sb.symbols("kp"), np.array(sb.symbols("kd_0 kd_1")), sb.symbols("z")
    return sb.System(
        "pd",
        inputs={"q": q, "qd": qd, "z": z},
        outputs={"tau": -kp * q - kd * qd - z, "next": 0.9 * z + 0.1 * kp * q[0]},
        states={"z": "next"},
        parameters={"kp": kp, "kd": kd},
        defaults={"kp": 3.0, "kd": [0.5, 0.7]},
        clocks={"period": 0.01},
    )


def _end(parameters, options):
    motion = sb.simulate(sb.load("pendulum2"), 0.3, parameters=parameters, **options)
    return np.concatenate([motion.q[-1], motion.qd[-1]])


@pytest.mark.parametrize("step", [2.5e-3, None])
@pytest.mark.parametrize("mode", ["forward", "adjoint"])
def test_gains_of_a_sampled_system_against_differences(mode, step):
    options = {"q0": [0.5, 0.2], "inputs": {"tau": _controller()}, "step": step}
    found = sb.sensitivity(sb.load("pendulum2"), 0.3, ["pd.kp", "pd.kd", "m1"], mode=mode, **options)
    e, columns = 1e-5, []
    for name, value in (("pd.kp", 3.0), ("pd.kd", [0.5, 0.7]), ("m1", 1.0)):
        for k in range(np.size(value)):
            move = np.zeros(np.shape(value))
            move.flat[k] = e
            ends = [_end({name: np.asarray(value) + s * move}, options) for s in (1, -1)]
            columns.append((ends[0] - ends[1]) / (2 * e))
    wanted = np.array(columns).T
    assert np.abs(found.jacobian - wanted).max() < 1e-8 * np.abs(wanted).max()


def test_gains_are_found_by_other_names_too_and_wrong_ones_are_refused():
    options = {"q0": [0.5, 0.2], "inputs": {"tau": _controller()}, "step": 2.5e-3}
    f = sb.differentiable(sb.load("pendulum2"), 0.3, by=["controller.kp", "pd.kd.2"], of=["q"], **options)
    assert np.array_equal(f.start, [3.0, 0.7])
    whole = sb.differentiable(sb.load("pendulum2"), 0.3, by=["pd.kp", "pd.kd"], of=["q"], **options)
    assert np.allclose(f.linearise().jacobian(), whole.linearise().jacobian()[:, [0, 2]], rtol=1e-14)
    with pytest.raises(NameLookupError, match=r"'pd\.kp'"):
        sb.differentiable(sb.load("pendulum2"), 0.3, by=["pd.kq"], of=["q"], **options)
