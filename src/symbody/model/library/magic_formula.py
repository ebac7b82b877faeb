"""The Magic Formula: Pacejka, Tire and Vehicle Dynamics, 3rd edition 2012, section 4.3.2, eqs (4.E1) to (4.E78).

ISO axes at the contact point: x forward, y left, z up. kappa = -v_sx / |v_x|, alpha = v_y / |v_x| is the tangent of the
slip angle (positive: the wheel slides to the left), camber positive when the top leans to the right, load > 0 upward.
Left out: turn slip (all zeta = 1), inflation pressure, friction that fades with slip speed (LMUV = 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from symbody.model.library.law_functions import absolute, atan, cos, exp, maximum, minimum, ratio, sign, sin, sqrt
from symbody.model.library.magic_formula_data import CAR_TYRE, MagicFormula

SMALL = 1e-4  # N: stiffnesses and peaks below it are zero, as they are in the air


@dataclass(frozen=True)
class TyreForces:
    """Force (Fx, Fy) N and moment (Mx, My, Mz) N m of the road on the tyre at the contact point; trail, m."""

    Fx: Any
    Fy: Any
    Mx: Any
    My: Any
    Mz: Any
    trail: Any


@dataclass(frozen=True)
class Slip:
    """What the formulas of all forces share: load and its increment, slips, and the sense of motion."""

    load: Any  # N, never negative
    more: Any  # dfz: (load - nominal) / nominal
    kappa: Any
    alpha: Any
    gamma: Any  # sine of the camber angle
    forward: Any  # sign of v_x
    speed: Any  # |v_x|, m/s


@dataclass(frozen=True)
class Curve:
    """A force of pure slip and the factors of its curve that others need: stiffness, peak, B C, shifts."""

    force: Any
    stiffness: Any
    peak: Any
    bc: Any
    horizontal: Any
    vertical: Any


def magic_formula(
    load: Any,
    kappa: Any,
    alpha: Any,
    camber: Any = 0,
    speed: Any = None,
    forward: Any = 1,
    tyre: MagicFormula = CAR_TYRE,
) -> TyreForces:
    """Forces and moments of combined slip; speed = |v_x| (m/s, the reference speed if None), forward = sign of v_x."""
    nominal = tyre.LFZO * tyre.FNOMIN
    load = maximum(load, 0)
    s = Slip(load, load / nominal - 1, kappa, alpha, sin(camber), forward, tyre.LONGVL if speed is None else speed)
    x, y = longitudinal(s, tyre), lateral(s, tyre)
    Fx = x.force * longitudinal_weight(s, tyre)
    shift = side_shift(s, tyre, y.peak)
    Fy = y.force * lateral_weight(s, tyre) + shift
    trail, residual = aligning(s, tyre, x, y)
    # (4.E71) to (4.E78)
    R0 = tyre.UNLOADED_RADIUS
    arm = R0 * (tyre.SSZ1 + tyre.SSZ2 * Fy / nominal + (tyre.SSZ3 + tyre.SSZ4 * s.more) * s.gamma) * tyre.LS
    Mz = -trail * (Fy - shift) + residual + arm * Fx
    Mx = R0 * load * (tyre.QSX1 * tyre.LVMX - tyre.QSX2 * camber + tyre.QSX3 * Fy / nominal) * tyre.LMX
    v = s.speed / tyre.LONGVL
    v2 = v * v
    rolling = tyre.QSY1 + tyre.QSY2 * Fx / nominal + tyre.QSY3 * v + tyre.QSY4 * v2 * v2
    My = -R0 * load * rolling * forward * tyre.LMY
    return TyreForces(Fx, Fy, Mx, My, Mz, trail)


def shape(D: Any, C: Any, B: Any, E: Any, x: Any) -> Any:
    """D sin(C atan(Bx - E (Bx - atan Bx))), the formula itself (4.E9)."""
    return D * sin(_angle(C, B, E, x))


def _angle(C: Any, B: Any, E: Any, x: Any) -> Any:
    b = B * x
    return C * atan(b - E * (b - atan(b)))


def longitudinal(s: Slip, p: MagicFormula) -> Curve:
    """Fx of pure slip, (4.E9) to (4.E18)."""
    horizontal = (p.PHX1 + p.PHX2 * s.more) * p.LHX
    k = s.kappa + horizontal
    mu = (p.PDX1 + p.PDX2 * s.more) * (1 - p.PDX3 * s.gamma * s.gamma) * p.LMUX
    C, D = p.PCX1 * p.LCX, mu * s.load
    E = (p.PEX1 + (p.PEX2 + p.PEX3 * s.more) * s.more) * (1 - p.PEX4 * sign(k)) * p.LEX
    stiffness = s.load * (p.PKX1 + p.PKX2 * s.more) * exp(p.PKX3 * s.more) * p.LKX
    B = ratio(stiffness, C * D, SMALL)
    vertical = s.load * (p.PVX1 + p.PVX2 * s.more) * p.LVX * _less_friction(p.LMUX) * s.speed / (0.1 + s.speed)
    return Curve(shape(D, C, B, minimum(E, 1), k) + vertical, stiffness, D, B * C, horizontal, vertical)


def lateral(s: Slip, p: MagicFormula) -> Curve:
    """Fy of pure slip, (4.E19) to (4.E30)."""
    g2 = s.gamma * s.gamma
    nominal = p.LFZO * p.FNOMIN
    mu = (p.PDY1 + p.PDY2 * s.more) * (1 - p.PDY3 * g2) * p.LMUY
    C, D = p.PCY1 * p.LCY, mu * s.load
    stiffness = p.PKY1 * nominal * sin(p.PKY4 * atan(s.load / ((p.PKY2 + p.PKY5 * g2) * nominal)))
    stiffness = stiffness * (1 - p.PKY3 * absolute(s.gamma)) * p.LKY
    B = ratio(stiffness, C * D, SMALL)
    less = _less_friction(p.LMUY)
    by_camber = s.load * (p.PVY3 + p.PVY4 * s.more) * s.gamma * p.LKYC * less
    vertical = s.load * (p.PVY1 + p.PVY2 * s.more) * p.LVY * less + by_camber
    camber_stiffness = s.load * (p.PKY6 + p.PKY7 * s.more) * p.LKYC
    horizontal = (p.PHY1 + p.PHY2 * s.more) * p.LHY + ratio(camber_stiffness * s.gamma - by_camber, stiffness, SMALL)
    a = s.alpha + horizontal
    E = (p.PEY1 + p.PEY2 * s.more) * (1 + p.PEY5 * g2 - (p.PEY3 + p.PEY4 * s.gamma) * sign(a)) * p.LEY
    return Curve(shape(D, C, B, minimum(E, 1), a) + vertical, stiffness, D, B * C, horizontal, vertical)


def _less_friction(scale: Any) -> Any:
    """Scale of vertical shifts on slippery roads, (4.E8): 10 s / (1 + 9 s)."""
    return 1 if isinstance(scale, int) and scale == 1 else 10 * scale / (1 + 9 * scale)


def longitudinal_weight(s: Slip, p: MagicFormula) -> Any:
    """Share of Fx that remains under side slip, (4.E50) to (4.E57)."""
    # cos(atan x) = 1 / sqrt(1 + x^2)
    B = (p.RBX1 + p.RBX3 * s.gamma * s.gamma) * p.LXAL / _secant(p.RBX2 * s.kappa)
    E = minimum(p.REX1 + p.REX2 * s.more, 1)
    return cos(_angle(p.RCX1, B, E, s.alpha + p.RHX1)) / cos(_angle(p.RCX1, B, E, p.RHX1))


def lateral_weight(s: Slip, p: MagicFormula) -> Any:
    """Share of Fy that remains under longitudinal slip, (4.E58) to (4.E65)."""
    B = (p.RBY1 + p.RBY4 * s.gamma * s.gamma) * p.LYKA / _secant(p.RBY2 * (s.alpha - p.RBY3))
    E = minimum(p.REY1 + p.REY2 * s.more, 1)
    horizontal = p.RHY1 + p.RHY2 * s.more
    return cos(_angle(p.RCY1, B, E, s.kappa + horizontal)) / cos(_angle(p.RCY1, B, E, horizontal))


def side_shift(s: Slip, p: MagicFormula, peak: Any) -> Any:
    """Side force that longitudinal slip makes by itself (ply steer), (4.E66), (4.E67)."""
    D = peak * (p.RVY1 + p.RVY2 * s.more + p.RVY3 * s.gamma) / _secant(p.RVY4 * s.alpha)
    return D * sin(p.RVY5 * atan(p.RVY6 * s.kappa)) * p.LVYKA


def aligning(s: Slip, p: MagicFormula, x: Curve, y: Curve) -> tuple[Any, Any]:
    """(pneumatic trail m, residual moment N m), (4.E31) to (4.E49) with the equivalent slips (4.E77), (4.E78)."""
    g, g_size, more = s.gamma, absolute(s.gamma), s.more
    cosine = 1 / _secant(s.alpha)
    R0, nominal = p.UNLOADED_RADIUS, p.LFZO * p.FNOMIN
    along = ratio(x.stiffness, y.stiffness, SMALL) * s.kappa
    at = s.alpha + p.QHZ1 + p.QHZ2 * more + (p.QHZ3 + p.QHZ4 * more) * g
    ar = s.alpha + y.horizontal + ratio(y.vertical, y.stiffness, SMALL)
    t, r = _equivalent(at, along), _equivalent(ar, along)
    softer = p.LKY / p.LMUY
    B = (p.QBZ1 + (p.QBZ2 + p.QBZ3 * more) * more) * (1 + p.QBZ5 * g_size + p.QBZ6 * g * g) * softer
    D = s.load * (R0 / nominal) * (p.QDZ1 + p.QDZ2 * more) * (1 + p.QDZ3 * g_size + p.QDZ4 * g * g) * p.LTR * s.forward
    E = (p.QEZ1 + (p.QEZ2 + p.QEZ3 * more) * more) * (1 + (p.QEZ4 + p.QEZ5 * g) * (2 / math.pi) * atan(B * p.QCZ1 * t))
    trail = D * cos(_angle(p.QCZ1, B, minimum(E, 1), t)) * cosine
    plain = (p.QDZ6 + p.QDZ7 * more) * p.LRES
    leaning = (p.QDZ8 + p.QDZ9 * more + (p.QDZ10 + p.QDZ11 * more) * g_size) * g * p.LKZC
    peak = s.load * R0 * (plain + leaning) * p.LMUY * s.forward * cosine
    return trail, peak / _secant((p.QBZ9 * softer + p.QBZ10 * y.bc) * r)


def _equivalent(alpha: Any, along: Any) -> Any:
    """Side slip and the longitudinal slip that weighs as much, with the sign of the side slip."""
    # the tiny number keeps derivatives finite at rest
    return sqrt(alpha * alpha + along * along + 1e-30) * sign(alpha)


def _secant(x: Any) -> Any:
    """1 / cos(atan x)."""
    return sqrt(1 + x * x)
