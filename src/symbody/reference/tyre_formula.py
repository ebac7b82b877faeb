"""Pacejka's Magic Formula (Tire and Vehicle Dynamics, 3rd edition 2012, 4.3.2), in the symbols of the book.

zeta = 1 (no turn slip), no inflation pressure, LMUV = 0. A second transcription: names follow the equations (4.E1) ff.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.reference.jets import Array

if TYPE_CHECKING:
    from symbody.reference.loads import NumericElement

# Table A3.1 of the 2nd edition, 205/60R15 91V; what it does not list is 0, scaling factors are 1
_CAR = """
FNOMIN 4000 UNLOADED_RADIUS 0.313 LONGVL 16.67 VERTICAL_STIFFNESS 183626 VERTICAL_DAMPING 0
PCX1 1.685 PDX1 1.21 PDX2 -0.037 PDX3 0 PEX1 0.344 PEX2 0.095 PEX3 -0.02 PEX4 0 PKX1 21.51 PKX2 -0.163 PKX3 0.245
PHX1 -0.002 PHX2 0.002 PVX1 0 PVX2 0 RBX1 12.35 RBX2 -10.77 RBX3 0 RCX1 1.092 REX1 0 REX2 0 RHX1 0.007
PCY1 1.193 PDY1 -0.99 PDY2 0.145 PDY3 -11.23 PEY1 -1.003 PEY2 -0.537 PEY3 -0.083 PEY4 -4.787 PEY5 0
PKY1 -14.95 PKY2 2.13 PKY3 -0.028 PKY4 2 PKY5 0 PKY6 -0.92 PKY7 -0.24 PHY1 0.003 PHY2 -0.001
PVY1 0.045 PVY2 -0.024 PVY3 -0.532 PVY4 0.039 RBY1 6.461 RBY2 4.196 RBY3 -0.015 RBY4 0 RCY1 1.081 REY1 0 REY2 0
RHY1 0.009 RHY2 0 RVY1 0.053 RVY2 -0.073 RVY3 0.517 RVY4 35.44 RVY5 1.9 RVY6 -10.71
QBZ1 8.964 QBZ2 -1.106 QBZ3 -0.842 QBZ5 -0.227 QBZ6 0 QBZ9 18.47 QBZ10 0 QCZ1 1.18 QDZ1 0.1 QDZ2 -0.001 QDZ3 0.007
QDZ4 13.05 QDZ6 -0.008 QDZ7 0 QDZ8 -0.296 QDZ9 -0.009 QDZ10 0 QDZ11 0 QEZ1 -1.609 QEZ2 -0.359 QEZ3 0 QEZ4 0.174
QEZ5 -0.896 QHZ1 0.007 QHZ2 -0.002 QHZ3 0.147 QHZ4 0.004 SSZ1 0.043 SSZ2 0.001 SSZ3 0.731 SSZ4 -0.238
QSX1 0 QSX2 0 QSX3 0 QSY1 0.01 QSY2 0 QSY3 0 QSY4 0
"""
_SCALES = "LFZO LCX LMUX LEX LKX LHX LVX LCY LMUY LEY LKY LKYC LKZC LHY LVY LTR LRES LXAL LYKA LVYKA LS LMX LVMX LMY"
_ASYMMETRIC = (
    "PHX1 PHX2 PVX1 PVX2 PHY1 PHY2 PVY1 PVY2 RHX1 RHY1 RHY2 RBY3 RVY1 RVY2 QDZ6 QDZ7 QHZ1 QHZ2 SSZ1 QSX1 PEY3 QEZ4"
)


def coefficients(element: NumericElement) -> dict[str, float]:
    """Coefficients of the tyre that the element names (or of its record), with those that the element gives itself."""
    words = _CAR.split()
    out = {name: float(x) for name, x in zip(words[::2], words[1::2], strict=True)}
    out.update(dict.fromkeys(_SCALES.split(), 1.0))
    given: Any = element.force.values.get("tyre", "car")
    if given == "symmetric":
        out.update(dict.fromkeys(_ASYMMETRIC.split(), 0.0))
    elif not isinstance(given, str):
        out = {name: float(element.motion.model.number(getattr(given, name))) for name in out}
    if element.has("radius"):
        out["UNLOADED_RADIUS"] = element.number("radius")
    out.update({name: element.number(name) for name in out if element.has(name)})
    return out


def forces(
    p: dict[str, float], load: Array, kappa: Array, alpha: Array, camber: Array, speed: Array, forward: Array
) -> tuple[Array, ...]:
    """(Fx, Fy, Mx, My, Mz) of combined slip; alpha is the tangent of the slip angle, forward the sense of rolling."""
    fz = np.maximum(load, 0.0)
    fz0 = p["LFZO"] * p["FNOMIN"]
    dfz = (fz - fz0) / fz0
    g = np.sin(camber)
    fx0, k_x = _pure_x(p, fz, dfz, kappa, g, speed)
    y = _pure_y(p, fz, dfz, fz0, alpha, g)
    # combined slip: weights and the side force that kappa makes
    b = (p["RBX1"] + p["RBX3"] * g**2) * np.cos(np.arctan(p["RBX2"] * kappa)) * p["LXAL"]
    e = np.minimum(p["REX1"] + p["REX2"] * dfz, 1.0)
    fx = fx0 * _cosine(p["RCX1"], b, e, alpha + p["RHX1"]) / _cosine(p["RCX1"], b, e, p["RHX1"])
    b = (p["RBY1"] + p["RBY4"] * g**2) * np.cos(np.arctan(p["RBY2"] * (alpha - p["RBY3"]))) * p["LYKA"]
    e = np.minimum(p["REY1"] + p["REY2"] * dfz, 1.0)
    sh = p["RHY1"] + p["RHY2"] * dfz
    weight = _cosine(p["RCY1"], b, e, kappa + sh) / _cosine(p["RCY1"], b, e, sh)
    d_v = y["D"] * (p["RVY1"] + p["RVY2"] * dfz + p["RVY3"] * g) * np.cos(np.arctan(p["RVY4"] * alpha))
    sv = d_v * np.sin(p["RVY5"] * np.arctan(p["RVY6"] * kappa)) * p["LVYKA"]
    fy = weight * y["Fy"] + sv
    trail, residual = _aligning(p, fz, dfz, fz0, kappa, alpha, g, forward, k_x, y)
    r0 = p["UNLOADED_RADIUS"]
    s = r0 * (p["SSZ1"] + p["SSZ2"] * (fy / fz0) + (p["SSZ3"] + p["SSZ4"] * dfz) * g) * p["LS"]
    mz = -trail * (fy - sv) + residual + s * fx
    mx = r0 * fz * (p["QSX1"] * p["LVMX"] - p["QSX2"] * camber + p["QSX3"] * fy / fz0) * p["LMX"]
    v = speed / p["LONGVL"]
    my = -r0 * fz * (p["QSY1"] + p["QSY2"] * fx / fz0 + p["QSY3"] * v + p["QSY4"] * v**4) * forward * p["LMY"]
    return fx, fy, mx, my, mz


def _pure_x(p: dict[str, float], fz: Array, dfz: Array, kappa: Array, g: Array, speed: Array) -> tuple[Array, Array]:
    """(Fx0, K_x kappa), (4.E9) to (4.E18)."""
    k = kappa + (p["PHX1"] + p["PHX2"] * dfz) * p["LHX"]
    c = p["PCX1"] * p["LCX"]
    d = (p["PDX1"] + p["PDX2"] * dfz) * (1 - p["PDX3"] * g**2) * p["LMUX"] * fz
    e = (p["PEX1"] + p["PEX2"] * dfz + p["PEX3"] * dfz**2) * (1 - p["PEX4"] * np.sign(k)) * p["LEX"]
    stiffness = fz * (p["PKX1"] + p["PKX2"] * dfz) * np.exp(p["PKX3"] * dfz) * p["LKX"]
    b = _quotient(stiffness, c * d)
    sv = fz * (p["PVX1"] + p["PVX2"] * dfz) * speed / (0.1 + speed) * p["LVX"] * _digressive(p["LMUX"])
    return d * _sine(c, b, np.minimum(e, 1.0), k) + sv, stiffness


def _pure_y(p: dict[str, float], fz: Array, dfz: Array, fz0: float, alpha: Array, g: Array) -> dict[str, Any]:
    """Fy0 and the factors that others need, (4.E19) to (4.E30)."""
    c = p["PCY1"] * p["LCY"]
    d = (p["PDY1"] + p["PDY2"] * dfz) * (1 - p["PDY3"] * g**2) * p["LMUY"] * fz
    k = p["PKY1"] * fz0 * np.sin(p["PKY4"] * np.arctan(fz / ((p["PKY2"] + p["PKY5"] * g**2) * fz0)))
    k = k * (1 - p["PKY3"] * np.abs(g)) * p["LKY"]
    b = _quotient(k, c * d)
    less = _digressive(p["LMUY"])
    sv_g = fz * (p["PVY3"] + p["PVY4"] * dfz) * g * p["LKYC"] * less
    sv = fz * (p["PVY1"] + p["PVY2"] * dfz) * p["LVY"] * less + sv_g
    k_g = fz * (p["PKY6"] + p["PKY7"] * dfz) * p["LKYC"]
    sh = (p["PHY1"] + p["PHY2"] * dfz) * p["LHY"] + _quotient(k_g * g - sv_g, k)
    a = alpha + sh
    e = (p["PEY1"] + p["PEY2"] * dfz) * p["LEY"]
    e = e * (1 + p["PEY5"] * g**2 - (p["PEY3"] + p["PEY4"] * g) * np.sign(a))
    fy = d * _sine(c, b, np.minimum(e, 1.0), a) + sv
    return {"Fy": fy, "K": k, "D": d, "BC": b * c, "SH": sh, "SV": sv}


def _aligning(
    p: dict[str, float],
    fz: Array,
    dfz: Array,
    fz0: float,
    kappa: Array,
    alpha: Array,
    g: Array,
    forward: Array,
    k_x: Array,
    y: dict[str, Any],
) -> tuple[Array, Array]:
    """(pneumatic trail, residual moment), (4.E31) to (4.E49), (4.E77), (4.E78)."""
    size, r0 = np.abs(g), p["UNLOADED_RADIUS"]
    a_t = alpha + p["QHZ1"] + p["QHZ2"] * dfz + (p["QHZ3"] + p["QHZ4"] * dfz) * g
    a_r = alpha + y["SH"] + _quotient(y["SV"], y["K"])
    share = (_quotient(k_x, y["K"]) * kappa) ** 2
    a_t = np.sqrt(a_t**2 + share + 1e-30) * np.sign(a_t)
    a_r = np.sqrt(a_r**2 + share + 1e-30) * np.sign(a_r)
    softer = p["LKY"] / p["LMUY"]
    b = (p["QBZ1"] + p["QBZ2"] * dfz + p["QBZ3"] * dfz**2) * (1 + p["QBZ5"] * size + p["QBZ6"] * g**2) * softer
    c = p["QCZ1"]
    d = fz * (r0 / fz0) * (p["QDZ1"] + p["QDZ2"] * dfz) * (1 + p["QDZ3"] * size + p["QDZ4"] * g**2) * p["LTR"] * forward
    e = p["QEZ1"] + p["QEZ2"] * dfz + p["QEZ3"] * dfz**2
    e = e * (1 + (p["QEZ4"] + p["QEZ5"] * g) * (2 / np.pi) * np.arctan(b * c * a_t))
    cosine = np.cos(np.arctan(alpha))
    trail = d * _cosine(c, b, np.minimum(e, 1.0), a_t) * cosine
    b_r = p["QBZ9"] * softer + p["QBZ10"] * y["BC"]
    level = (p["QDZ6"] + p["QDZ7"] * dfz) * p["LRES"]
    level = level + (p["QDZ8"] + p["QDZ9"] * dfz + (p["QDZ10"] + p["QDZ11"] * dfz) * size) * g * p["LKZC"]
    d_r = fz * r0 * level * p["LMUY"] * forward * cosine
    return trail, d_r * np.cos(np.arctan(b_r * a_r))


def _angle(c: Any, b: Any, e: Any, x: Any) -> Any:
    return c * np.arctan(b * x - e * (b * x - np.arctan(b * x)))


def _sine(c: Any, b: Any, e: Any, x: Any) -> Any:
    return np.sin(_angle(c, b, e, x))


def _cosine(c: Any, b: Any, e: Any, x: Any) -> Any:
    return np.cos(_angle(c, b, e, x))


def _quotient(a: Any, b: Any) -> Any:
    """a / b that fades where b is below 1e-4 N: in the air, where both vanish."""
    return a * b / (b * b + 1e-8)


def _digressive(scale: float) -> float:
    """(4.E8) with A_mu = 10."""
    return 10 * scale / (1 + 9 * scale)
