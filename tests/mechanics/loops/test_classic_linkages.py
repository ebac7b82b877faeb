"""Linkages whose motion is known by a formula: exact straight lines, universal joints, overconstrained loops, gears."""

from math import acos, asin, atan, atan2, cos, pi, sin, tan

import numpy as np
import pytest

import symbody as sb


def _rod(b, name, parent, length, position=(0, 0, 0)):
    inertia = length**2 / 12
    b.body(name, mass=1, com=[length / 2, 0, 0], inertia=[0, inertia, inertia], frames={"end": [length, 0, 0]})
    b.joint(f"at_{name}", "revolute", parent, name, position=list(position))


@pytest.mark.slow
def test_a_peaucellier_linkage_draws_a_straight_line():
    crank, arm, side = 0.4, 0.8, 0.35
    b = sb.Mechanism.builder("peaucellier", gravity=(0, -9.81, 0))
    _rod(b, "crank", "world", crank, (crank, 0, 0))
    for k in "ab":
        _rod(b, f"arm_{k}", "world", arm)
        _rod(b, f"near_{k}", f"arm_{k}", side, (arm, 0, 0))
        _rod(b, f"far_{k}", f"arm_{k}", side, (arm, 0, 0))
        b.cut(f"near_{k}", "ball", "crank.end", f"near_{k}.end")
    b.cut("pen", "ball", "far_a.end", "far_b.end")
    turn = 0.5
    near = np.array([crank + crank * cos(turn), crank * sin(turn)])
    distance, heading = np.hypot(*near), atan2(near[1], near[0])
    pen = near * (arm**2 - side**2) / distance**2  # inversion in a circle
    half = acos((arm**2 + distance**2 - side**2) / (2 * arm * distance))
    q0 = [turn]
    for angle in (heading + half, heading - half):
        joint = arm * np.array([cos(angle), sin(angle)])
        q0 += [angle, *(atan2(*(p - joint)[::-1]) - angle for p in (near, pen))]
    motion = sb.simulate(b.done(), 1, 1e-3, q0, [0.3, *[0] * 6], outputs=["energy"])
    q = motion.q
    assert np.ptp(q[:, 0]) > 1
    drawn = arm * np.cos(q[:, 1]) + side * np.cos(q[:, 1] + q[:, 3])
    assert np.allclose(drawn, (arm**2 - side**2) / (2 * crank), rtol=0, atol=1e-8)
    assert np.ptp(motion["energy"]) < 1e-4


def test_a_universal_joint_turns_as_the_formula_says():
    bend = 0.6
    b = sb.Mechanism.builder("cardan", gravity=(0, 0, 0))
    b.body("driver", mass=1, inertia=[0.01, 0.01, 0.02]).joint("inner", "revolute", "world", "driver")
    b.body("driven", mass=1, inertia=[0.02, 0.02, 0.03])
    b.joint("outer", "revolute", "world", "driven", rotation=["x", bend])
    mech = b.cut("cross", "universal", "driver", "driven", axis="x", axis2="y").done()
    motion = sb.simulate(mech, 6, 1e-3, [0, 0], [2, 0], outputs=["energy"])
    inner, outer = motion.q.T
    assert inner[-1] > 2 * pi
    assert np.allclose(np.sin(inner) * cos(bend) * np.cos(outer), np.cos(inner) * np.sin(outer), rtol=0, atol=1e-10)
    assert np.ptp(motion["energy"]) < 1e-10
    assert sb.verify(mech).passed


def test_a_bennett_linkage_moves_though_it_has_more_constraints_than_joints():
    a, alpha, beta = 1.0, 0.7, 1.3
    c = a * sin(beta) / sin(alpha)
    b = sb.Mechanism.builder("bennett")
    parent, place, twist = "world", 0.0, 0.0
    for name, length, angle in (("first", a, alpha), ("second", c, beta), ("third", a, alpha)):
        end = {"position": [length, 0, 0], "rotation": ["x", angle]}
        b.body(name, mass=1, com=[length / 2, 0, 0], inertia=[0.01, 0.05, 0.05], frames={"end": end})
        b.joint(f"at_{name}", "revolute", parent, name, position=[place, 0, 0], rotation=["x", twist])
        parent, place, twist = name, length, angle
    b.body("ground", frames={"hinge": {"position": [-c, 0, 0], "rotation": ["x", -beta]}})
    b.joint("still", "fixed", "world", "ground")
    mech = b.cut("close", "revolute", "third.end", "ground.hinge").done()
    ratio = sin((beta + alpha) / 2) / sin((beta - alpha) / 2)
    motion = sb.simulate(mech, 0.5, 1e-3, [1.0, 2 * atan(ratio / tan(0.5)), 2 * pi - 1.0], outputs=["energy"])
    first, second, third = motion.q.T
    assert np.ptp(first) > 0.3
    assert np.allclose(first + third, 2 * pi, rtol=0, atol=1e-9)
    assert np.allclose(np.tan(first / 2) * np.tan(second / 2), ratio, rtol=1e-7)
    assert np.ptp(motion["energy"]) < 1e-8


def test_the_platform_of_a_sarrus_linkage_rises_straight():
    length = 0.5
    b = sb.Mechanism.builder("sarrus")
    for k, at, axis in (("a", [0.5, 0, 0], "y"), ("b", [0, 0.5, 0], "x")):
        for name, parent, place in ((f"low_{k}", "world", at), (f"up_{k}", f"low_{k}", [0, 0, length])):
            b.body(name, mass=1, com=[0, 0, length / 2], inertia=[0.02, 0.02, 0], frames={"top": [0, 0, length]})
            b.joint(f"at_{name}", "revolute", parent, name, position=place, axis=axis)
    b.body("platform", mass=3, inertia=[0.1, 0.1, 0.2], frames={"edge": [-0.5, 0.5, 0]})
    b.joint("at_platform", "revolute", "up_a", "platform", position=[0, 0, length], axis="y")
    mech = b.cut("edge", "revolute", "up_b.top", "platform.edge", axis="x").done()
    lean = asin(0.5)
    q0 = [lean, -2 * lean, lean, -2 * lean, lean]
    motion = sb.simulate(mech, 0.3, 1e-3, q0)
    low_a, up_a, low_b, up_b, platform = motion.q.T
    assert low_a[-1] > lean + 0.1
    assert np.allclose(low_a + up_a + platform, 0, atol=1e-10)
    assert np.allclose([up_a, up_b], [-2 * low_a, -2 * low_b], atol=1e-10)
    assert np.allclose(low_a, low_b, atol=1e-10)


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81)])
def test_a_planetary_gear_shares_the_torque_and_is_certified_though_nothing_pulls_on_it(gravity):
    sun, planet, inertias = 20, 15, {"sun": 0.01, "carrier": 0.05, "ring": 0.1}
    ring = sun + 2 * planet
    b = sb.Mechanism.builder("planetary", gravity=gravity)
    for name, size in inertias.items():
        b.body(name, mass=1, inertia=[size] * 3).joint(f"turn_{name}", "revolute", "world", name)
    b.body("planet", mass=0.3, inertia=[0.001] * 3)
    b.joint("turn_planet", "revolute", "carrier", "planet", position=[0.1, 0, 0])
    b.coupling("inner", f"{sun}*(q.turn_sun - q.turn_carrier) + {planet}*q.turn_planet")
    b.coupling("outer", f"{ring}*(q.turn_ring - q.turn_carrier) - {planet}*q.turn_planet")
    mech = b.done()
    # speeds of sun, carrier, ring and planet (in space) by those of sun and carrier: Willis' equation
    k = ring / sun
    speeds = np.array([[1, 0], [0, 1], [-1 / k, (1 + k) / k], [-sun / planet, 1 + sun / planet]])
    mass = speeds.T @ np.diag([0.01, 0.05 + 0.3 * 0.1**2, 0.1, 0.001]) @ speeds
    found = sb.forward_dynamics(mech).compile()(np.zeros(4), np.zeros(4), [0.3, 0, 0, 0])
    assert np.allclose(found[:2], np.linalg.solve(mass, [0.3, 0]), rtol=1e-13)
    certificate = sb.verify(mech)
    assert certificate.passed, certificate
