"""Continuous to discrete time and back: zero-order hold (exact) and Tustin's rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, ModelError, real_argument, word_argument, wrong_argument
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.state_space import StateSpace

METHODS = ("zoh", "tustin")


@declared
def discretize(model: Any, dt: float, method: str = "zoh", prewarp: float | None = None) -> StateSpace:
    """The model at sampling instants, dt in s.

    zoh      inputs are held between instants: exact, by the matrix exponential of [[A, B], [0, 0]] (Van Loan 1978)
    tustin   s = 2 (z - 1) / (dt (z + 1)); prewarp (rad/s): the frequency at which both responses agree exactly
    """
    word_argument("method", method, METHODS)
    ss = as_state_space(model).proper("discrete time")
    if ss.dt is not None:
        raise DefinitionError(f"the model is discrete already, with dt {ss.dt:g} s.")
    real_argument("dt", dt, "a positive sampling period in s", above=0.0)
    if method == "zoh":
        Ad, Bd = hold(ss, dt)
        return ss.replace(A=Ad, B=Bd, dt=dt)
    return ss.replace(**_tustin(ss, _tustin_step(dt, prewarp)), dt=dt)


def continuous(model: Any, method: str = "zoh", prewarp: float | None = None) -> StateSpace:
    """The continuous model whose discretisation a discrete one is. zoh needs a matrix logarithm: no poles at z <= 0."""
    from scipy.linalg import logm

    word_argument("method", method, METHODS)
    ss = as_state_space(model)
    if ss.dt is None:
        raise DefinitionError("the model is continuous already.")
    n = len(ss.states)
    if method == "zoh":
        whole = np.block([[ss.A, ss.B], [np.zeros((len(ss.inputs), n)), np.eye(len(ss.inputs))]])
        if n and np.min(np.where(np.abs(ss.poles.imag) < 1e-12, ss.poles.real, 1.0)) <= 1e-12:
            raise ModelError("a pole at z <= 0 comes from no continuous model of this order under a zero-order hold.")
        rate = np.real(logm(whole)) / ss.dt
        return ss.replace(A=rate[:n, :n], B=rate[:n, n:], dt=None)
    h = _tustin_step(ss.dt, prewarp)
    back = np.linalg.inv(np.eye(n) + ss.A)
    A = 2 / h * back @ (ss.A - np.eye(n))
    middle = np.eye(n) - h / 2 * A
    B, C = middle @ ss.B / h, ss.C @ middle
    return ss.replace(A=A, B=B, C=C, D=ss.D - C @ ss.B / 2, dt=None)


def hold(ss: StateSpace, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """(Ad, Bd) with x(t + dt) = Ad x(t) + Bd u for an input held over dt."""
    from scipy.linalg import expm

    n, m = ss.B.shape
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = ss.A, ss.B
    grown = expm(whole * dt)
    return grown[:n, :n], grown[:n, n:]


def ramp(ss: StateSpace, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Ad, B0, B1) with x(t + dt) = Ad x + B0 u(t) + B1 u(t + dt) for an input that is straight in between."""
    from scipy.linalg import expm

    n, m = ss.B.shape
    whole = np.zeros((n + 2 * m, n + 2 * m))
    whole[:n, :n], whole[:n, n : n + m] = ss.A * dt, ss.B * dt
    whole[n : n + m, n + m :] = np.eye(m)
    grown = expm(whole)
    by_slope = grown[:n, n + m :]
    return grown[:n, :n], grown[:n, n : n + m] - by_slope, by_slope


def _tustin_step(dt: float, prewarp: float | None) -> float:
    """The step of the rule: dt, or what makes the frequency `prewarp` agree, 2 tan(omega dt / 2) / omega."""
    if prewarp is None:
        return dt
    if not 0 < prewarp < np.pi / dt:
        raise wrong_argument("prewarp", prewarp, "a frequency between 0 and half of the sampling rate, rad/s")
    return float(2 * np.tan(prewarp * dt / 2) / prewarp)


def _tustin(ss: StateSpace, h: float) -> dict[str, np.ndarray]:
    n = len(ss.states)
    middle = np.linalg.inv(np.eye(n) - h / 2 * ss.A)
    B = h * middle @ ss.B
    return {"A": middle @ (np.eye(n) + h / 2 * ss.A), "B": B, "C": ss.C @ middle, "D": ss.D + ss.C @ B / 2}
