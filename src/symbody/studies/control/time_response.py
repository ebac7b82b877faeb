"""Time response of linear models, exact for inputs that are held or straight between samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, ShapeError, array_argument, word_argument
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.studies.control.discretize import hold, ramp
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.state_space import StateSpace


@declared
def time_response(model: Any, t: Any, u: Any = None, x0: Any = None, between: str = "held") -> Trajectory:
    """x and y over equally spaced times t (k,) for inputs u (k, nu) (or (k,) for one input; None: zero).

    between   samples an input is "held" or "straight"; both without any error of integration. The result has the values
              x, y and u. A discrete model takes one step a sample, and t must be spaced by its dt.
    """
    word_argument("between", between, ("held", "straight"))
    ss = as_state_space(model).proper("a response in time")
    times = array_argument("t", t, "equally spaced instants in s").ravel()
    dt = _spacing(times, ss)
    inputs = _signals(u, len(times), ss)
    x = np.zeros((len(times), len(ss.states)))
    x[0] = 0.0 if x0 is None else _start(x0, len(ss.states))
    if ss.dt is not None:
        A, first, second = ss.A, ss.B, 0 * ss.B
    elif between == "held":
        (A, first), second = hold(ss, dt), 0 * ss.B
    else:
        A, first, second = ramp(ss, dt)
    pushed = inputs[:-1] @ first.T + inputs[1:] @ second.T
    for k in range(len(times) - 1):
        x[k + 1] = A @ x[k] + pushed[k]
    return _trajectory(ss, times, x, inputs, "exact linear response")


@declared
def step_response(model: Any, t: Any, input: Any = 0) -> Trajectory:
    """y for a unit step of one input at t = 0, from rest."""
    ss = as_state_space(model).channel(input)
    times = array_argument("t", t, "equally spaced instants in s").ravel()
    return time_response(ss, times, np.ones((len(times), 1)))


@declared
def impulse_response(model: Any, t: Any, input: Any = 0) -> Trajectory:
    """y for a unit impulse of one input at t = 0, from rest: the inverse Laplace transform of the transfer function.

    In continuous time y = C exp(A t) B, without the impulse that D passes on; in discrete time the first sample is 1.
    """
    ss = as_state_space(model).channel(input).proper("a response in time")
    times = array_argument("t", t, "equally spaced instants in s").ravel()
    if ss.dt is not None:
        return time_response(ss, times, np.eye(len(times))[:, :1])
    return time_response(ss, times, x0=ss.B[:, 0])


def _start(x0: Any, n: int) -> np.ndarray:
    given = array_argument("x0", x0, f"numbers ({n},)")
    if given.shape not in ((), (n,)):
        raise ShapeError(f"x0 has shape {given.shape}; expected {(n,)}.")
    return given


def _spacing(times: np.ndarray, ss: StateSpace) -> float:
    if len(times) < 2:
        raise ShapeError(f"{len(times)} instants were given; expected at least 2.")
    steps = np.diff(times)
    if not np.all(steps > 0) or np.ptp(steps) > 1e-6 * steps.mean():
        raise DefinitionError("the times of a linear response must be equally spaced and ascending.")
    dt = float((times[-1] - times[0]) / (len(times) - 1))
    if ss.dt is not None and abs(dt - ss.dt) > 1e-6 * ss.dt:
        raise DefinitionError(f"the times are spaced by {dt:g} s; the model is sampled every {ss.dt:g} s.")
    return dt


def _signals(u: Any, n: int, ss: StateSpace) -> np.ndarray:
    if u is None:
        return np.zeros((n, len(ss.inputs)))
    given = array_argument("u", u, "an instant a row, an input a column")
    if given.ndim == 1 and len(ss.inputs) == 1:
        given = given[:, None]
    if given.shape != (n, len(ss.inputs)):
        raise ShapeError(
            f"u has shape {given.shape}; expected {(n, len(ss.inputs))}: an instant a row, an input a column."
        )
    return given


def _trajectory(ss: StateSpace, t: np.ndarray, x: np.ndarray, u: np.ndarray, method: str) -> Trajectory:
    return Trajectory(
        t,
        {"x": x, "y": x @ ss.C.T + u @ ss.D.T, "u": u},
        labels={"x": ss.states, "y": ss.outputs, "u": ss.inputs},
        method=method,
    )
