"""The Magic Formula against its published equations, written out here a second time in plain floats."""

import math
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest

import symbody as sb
from symbody.model.library import magic_formula as mf
from symbody.model.library.magic_formula_data import CAR_TYRE, NAMES, SYMMETRIC_TYRE, from_tir


def published(Fz, kappa, alpha_star, gamma, Vcx, tyre):
    """Pacejka, Tire and Vehicle Dynamics, 2012, eqs (4.E1) to (4.E78) without turn slip and pressure."""
    p = SimpleNamespace(**asdict(tyre))
    sgn = lambda x: float(x > 0) - float(x < 0)  # noqa: E731
    atan, sin, cos, sqrt = math.atan, math.sin, math.cos, math.sqrt
    Fzo_ = p.LFZO * p.FNOMIN
    dfz = (Fz - Fzo_) / Fzo_
    g = math.sin(gamma)
    mu_x_ = 10 * p.LMUX / (1 + 9 * p.LMUX)
    mu_y_ = 10 * p.LMUY / (1 + 9 * p.LMUY)
    # longitudinal, pure
    SHx = (p.PHX1 + p.PHX2 * dfz) * p.LHX
    kx = kappa + SHx
    Cx = p.PCX1 * p.LCX
    mux = (p.PDX1 + p.PDX2 * dfz) * (1 - p.PDX3 * g**2) * p.LMUX
    Dx = mux * Fz
    Ex = min((p.PEX1 + p.PEX2 * dfz + p.PEX3 * dfz**2) * (1 - p.PEX4 * sgn(kx)) * p.LEX, 1)
    Kxk = Fz * (p.PKX1 + p.PKX2 * dfz) * math.exp(p.PKX3 * dfz) * p.LKX
    Bx = Kxk / (Cx * Dx)
    SVx = Fz * (p.PVX1 + p.PVX2 * dfz) * p.LVX * mu_x_ * abs(Vcx) / (0.1 + abs(Vcx))
    Fxo = Dx * sin(Cx * atan(Bx * kx - Ex * (Bx * kx - atan(Bx * kx)))) + SVx
    # lateral, pure
    Kya = p.PKY1 * Fzo_ * sin(p.PKY4 * atan(Fz / ((p.PKY2 + p.PKY5 * g**2) * Fzo_))) * (1 - p.PKY3 * abs(g)) * p.LKY
    SVyg = Fz * (p.PVY3 + p.PVY4 * dfz) * g * p.LKYC * mu_y_
    SVy = Fz * (p.PVY1 + p.PVY2 * dfz) * p.LVY * mu_y_ + SVyg
    Kygo = Fz * (p.PKY6 + p.PKY7 * dfz) * p.LKYC
    SHy = (p.PHY1 + p.PHY2 * dfz) * p.LHY + (Kygo * g - SVyg) / Kya
    ay = alpha_star + SHy
    Cy = p.PCY1 * p.LCY
    muy = (p.PDY1 + p.PDY2 * dfz) * (1 - p.PDY3 * g**2) * p.LMUY
    Dy = muy * Fz
    Ey = min((p.PEY1 + p.PEY2 * dfz) * (1 + p.PEY5 * g**2 - (p.PEY3 + p.PEY4 * g) * sgn(ay)) * p.LEY, 1)
    By = Kya / (Cy * Dy)
    Fyo = Dy * sin(Cy * atan(By * ay - Ey * (By * ay - atan(By * ay)))) + SVy
    # combined
    Bxa = (p.RBX1 + p.RBX3 * g**2) * cos(atan(p.RBX2 * kappa)) * p.LXAL
    Exa = p.REX1 + p.REX2 * dfz
    aS = alpha_star + p.RHX1
    top = cos(p.RCX1 * atan(Bxa * aS - Exa * (Bxa * aS - atan(Bxa * aS))))
    Gxa = top / cos(p.RCX1 * atan(Bxa * p.RHX1 - Exa * (Bxa * p.RHX1 - atan(Bxa * p.RHX1))))
    Fx = Gxa * Fxo
    Byk = (p.RBY1 + p.RBY4 * g**2) * cos(atan(p.RBY2 * (alpha_star - p.RBY3))) * p.LYKA
    Eyk = p.REY1 + p.REY2 * dfz
    SHyk = p.RHY1 + p.RHY2 * dfz
    kS = kappa + SHyk
    top = cos(p.RCY1 * atan(Byk * kS - Eyk * (Byk * kS - atan(Byk * kS))))
    Gyk = top / cos(p.RCY1 * atan(Byk * SHyk - Eyk * (Byk * SHyk - atan(Byk * SHyk))))
    DVyk = muy * Fz * (p.RVY1 + p.RVY2 * dfz + p.RVY3 * g) * cos(atan(p.RVY4 * alpha_star))
    SVyk = DVyk * sin(p.RVY5 * atan(p.RVY6 * kappa)) * p.LVYKA
    Fy = Gyk * Fyo + SVyk
    # moments
    at = alpha_star + p.QHZ1 + p.QHZ2 * dfz + (p.QHZ3 + p.QHZ4 * dfz) * g
    ar = alpha_star + SHy + SVy / Kya
    at_eq = sqrt(at**2 + (Kxk / Kya) ** 2 * kappa**2) * sgn(at)
    ar_eq = sqrt(ar**2 + (Kxk / Kya) ** 2 * kappa**2) * sgn(ar)
    cosa = 1 / sqrt(1 + alpha_star**2)
    Bt = (p.QBZ1 + p.QBZ2 * dfz + p.QBZ3 * dfz**2) * (1 + p.QBZ5 * abs(g) + p.QBZ6 * g**2) * p.LKY / p.LMUY
    Dto = Fz * (p.UNLOADED_RADIUS / Fzo_) * (p.QDZ1 + p.QDZ2 * dfz) * p.LTR * sgn(Vcx)
    Dt = Dto * (1 + p.QDZ3 * abs(g) + p.QDZ4 * g**2)
    Et = (p.QEZ1 + p.QEZ2 * dfz + p.QEZ3 * dfz**2) * (
        1 + (p.QEZ4 + p.QEZ5 * g) * 2 / math.pi * atan(Bt * p.QCZ1 * at_eq)
    )
    Et = min(Et, 1)
    t = Dt * cos(p.QCZ1 * atan(Bt * at_eq - Et * (Bt * at_eq - atan(Bt * at_eq)))) * cosa
    Br = p.QBZ9 * p.LKY / p.LMUY + p.QBZ10 * By * Cy
    Dr = (
        Fz * p.UNLOADED_RADIUS * p.LMUY * sgn(Vcx) * cosa
        * ((p.QDZ6 + p.QDZ7 * dfz) * p.LRES + (p.QDZ8 + p.QDZ9 * dfz) * g * p.LKZC
           + (p.QDZ10 + p.QDZ11 * dfz) * g * abs(g) * p.LKZC)
    )  # fmt: skip
    Mzr = Dr * cos(atan(Br * ar_eq))
    s = p.UNLOADED_RADIUS * (p.SSZ1 + p.SSZ2 * Fy / Fzo_ + (p.SSZ3 + p.SSZ4 * dfz) * g) * p.LS
    Mz = -t * (Fy - SVyk) + Mzr + s * Fx
    Mx = p.UNLOADED_RADIUS * Fz * (p.QSX1 * p.LVMX - p.QSX2 * gamma + p.QSX3 * Fy / Fzo_) * p.LMX
    V = abs(Vcx) / p.LONGVL
    My = -p.UNLOADED_RADIUS * Fz * (p.QSY1 + p.QSY2 * Fx / Fzo_ + p.QSY3 * V + p.QSY4 * V**4) * sgn(Vcx) * p.LMY
    return np.array([Fx, Fy, Mx, My, Mz, t])


def ours(Fz, kappa, alpha, gamma, Vcx, tyre):
    f = mf.magic_formula(Fz, kappa, alpha, gamma, abs(Vcx), math.copysign(1.0, Vcx), tyre)
    return np.array([f.Fx, f.Fy, f.Mx, f.My, f.Mz, f.trail])


def random_case(rng):
    case = (rng.uniform(500, 8000), rng.uniform(-0.4, 0.4), rng.uniform(-0.4, 0.4), rng.uniform(-0.2, 0.2))
    return (*case, rng.choice([-1, 1]) * rng.uniform(3, 50))


@pytest.mark.parametrize("seed", range(20))
def test_it_equals_the_published_equations_at_random_slips(seed):
    rng = np.random.default_rng(seed)
    # every coefficient that the table leaves zero, and every scaling factor, takes part
    extra = {n: rng.uniform(-0.1, 0.1) for n, v in NAMES.items() if v == 0 and n[0] in "PRQ"}
    scales = {n: rng.uniform(0.7, 1.3) for n in NAMES if n.startswith("L") and n != "LONGVL"}
    for tyre in (CAR_TYRE, replace(CAR_TYRE, **extra, **scales)):
        case = random_case(rng)
        expected = published(*case, tyre)
        # ratios are rounded near zero (scalar.ratio), which costs 1e-13 of the force at most
        np.testing.assert_allclose(ours(*case, tyre), expected, rtol=1e-11, atol=1e-9)


def test_nodes_give_what_floats_give():
    rng = np.random.default_rng(1)
    case = random_case(rng)[:4]
    symbols = sb.symbols("Fz kappa alpha gamma")
    f = mf.magic_formula(*symbols)
    nodes = [f.Fx, f.Fy, f.Mx, f.My, f.Mz]
    system = sb.System("tyre", inputs=dict(zip(("Fz", "kappa", "alpha", "gamma"), symbols)), outputs={"w": nodes})
    expected = ours(*case, CAR_TYRE.LONGVL, CAR_TYRE)[:5]
    np.testing.assert_allclose(system.compile()(*case), expected, rtol=1e-12)


def test_a_symmetric_tyre_without_slip_only_resists_rolling():
    w = ours(4000.0, 0.0, 0.0, 0.0, 20.0, SYMMETRIC_TYRE)
    np.testing.assert_allclose(w[[0, 1, 2, 4]], 0, atol=1e-12)
    assert w[3] == pytest.approx(-0.01 * 0.313 * 4000)


def test_a_symmetric_tyre_mirrors_left_and_right():
    left, right = (
        ours(3000.0, 0.05, 0.1, 0.0, 20.0, SYMMETRIC_TYRE),
        ours(3000.0, 0.05, -0.1, 0.0, 20.0, SYMMETRIC_TYRE),
    )
    np.testing.assert_allclose(left, right * [1, -1, 1, 1, -1, 1], rtol=1e-12)


def test_peak_of_the_longitudinal_force_is_D():
    kappa = np.linspace(0, 1, 20001)
    force = mf.magic_formula(4000.0, kappa, 0.0, tyre=SYMMETRIC_TYRE).Fx
    assert force.max() == pytest.approx(1.210 * 4000, rel=1e-7)  # D = pDx1 Fz at the nominal load


def test_slopes_at_zero_slip_are_BCD():
    h = 1e-6
    along = ours(4000.0, h, 0.0, 0.0, 20.0, SYMMETRIC_TYRE) - ours(4000.0, -h, 0.0, 0.0, 20.0, SYMMETRIC_TYRE)
    assert along[0] / (2 * h) == pytest.approx(21.51 * 4000, rel=1e-6)  # pKx1 Fz
    side = ours(4000.0, 0.0, h, 0.0, 20.0, SYMMETRIC_TYRE) - ours(4000.0, 0.0, -h, 0.0, 20.0, SYMMETRIC_TYRE)
    cornering = -14.95 * 4000 * math.sin(2 * math.atan(1 / 2.130))
    assert side[1] / (2 * h) == pytest.approx(cornering, rel=1e-6)


def test_side_force_opposes_sliding_and_the_moment_turns_the_wheel_into_it():
    f = mf.magic_formula(4000.0, 0.0, 0.05, tyre=SYMMETRIC_TYRE)  # slides to the left
    assert f.Fy < 0 < f.Mz
    assert f.trail > 0


def test_cornering_stiffness_rises_less_than_the_load():
    one, two = (mf.magic_formula(F, 0.0, 0.01, tyre=SYMMETRIC_TYRE).Fy for F in (3000.0, 6000.0))
    assert 1 < two / one < 2


def test_combined_slip_takes_from_both_forces():
    alone_x = mf.magic_formula(4000.0, 0.05, 0.0, tyre=SYMMETRIC_TYRE).Fx
    alone_y = mf.magic_formula(4000.0, 0.0, 0.08, tyre=SYMMETRIC_TYRE).Fy
    both = mf.magic_formula(4000.0, 0.05, 0.08, tyre=SYMMETRIC_TYRE)
    assert 0 < both.Fx < alone_x
    assert alone_y < both.Fy < 0


def test_a_wheel_in_the_air_has_no_force():
    for load in (0.0, -100.0):
        np.testing.assert_array_equal(ours(load, 0.1, 0.1, 0.05, 20.0, CAR_TYRE)[:5], 0)


def test_camber_pushes_to_the_side_to_which_the_wheel_leans():
    assert mf.magic_formula(4000.0, 0.0, 0.0, 0.1, tyre=SYMMETRIC_TYRE).Fy < 0  # top to the right: force to the right


def test_derivatives_are_finite_at_rest():
    kappa, alpha = sb.symbols("kappa alpha")
    f = mf.magic_formula(4000.0, kappa, alpha, tyre=SYMMETRIC_TYRE)
    system = sb.System("tyre", inputs={"s": [kappa, alpha]}, outputs={"w": [f.Fx, f.Fy, f.Mz]})
    slope = system.jacobian("w", "s").compile()(np.zeros(2))
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(slope[0, 0], 21.51 * 4000)


def test_a_property_file_is_read():
    text = "[LATERAL_COEFFICIENTS]\nPCY1 = 1.3  $shape\nPDY1=-0.9 ! peak\n{radial}\nUNKNOWN = 4\nFNOMIN = 4850 $load\n"
    tyre = from_tir(text)
    assert (tyre.PCY1, tyre.PDY1, tyre.FNOMIN, tyre.LMUY, tyre.PDX1, tyre.PKY4) == (1.3, -0.9, 4850, 1, 0, 2)
