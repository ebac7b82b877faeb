"""Wheels on the ground: geometry against brute force, rolling, signs, and the power of tyre forces."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.formalisms.applied_forces import wrenches
from symbody.mechanics.formalisms.efforts import generalized
from symbody.mechanics.formalisms.newton_euler import at_rest, newton_euler
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.formalisms.vec3 import vec
from symbody.mechanics.formalisms.wheel import on_ground, on_plane, sliding
from symbody.model.build.builder import Builder
from symbody.model.library import grounds
from symbody.model.library.magic_formula import magic_formula
from symbody.model.library.magic_formula_data import CAR_TYRE, SYMMETRIC_TYRE
from symbody.model.record.mechanism import Force

# -- geometry


def contact_kernel(ground):
    """(centre, axle) -> radius, point, forward, side, normal, up, camber of the contact."""
    with sb.Graph() as graph:
        centre, axle = sb.symbols("c1 c2 c3"), sb.symbols("j1 j2 j3")
        c = on_ground(vec(centre), vec(axle), ground, graph)
        names = ("radius", "point", "forward", "side", "normal", "up", "camber")
        outputs = {n: list(v) if isinstance(v := getattr(c, n), tuple) else v for n in names}
        return sb.System("contact", inputs={"c": centre, "j": axle}, outputs=outputs).compile()


def random_wheel(rng):
    """A wheel about half a metre above the ground, of any heading, leaning up to 50 degrees."""
    heading, lean = rng.uniform(-np.pi, np.pi), rng.uniform(-0.9, 0.9)
    axle = np.array([-np.sin(heading) * np.cos(lean), np.cos(heading) * np.cos(lean), np.sin(lean)])
    return np.array([*rng.uniform(-1, 1, 2), rng.uniform(0.4, 0.7)]), axle


def brute_force(centre, axle, height):
    """(radius, point) of the disc that just touches: the lowest point of a circle, by golden section in 40 digits."""
    mp = mpmath.mp.clone()
    mp.dps = 40
    c, j = mp.matrix(list(map(mp.mpf, centre))), mp.matrix(list(map(mp.mpf, axle)))
    j = j / mp.sqrt(mp.fdot(j, j))
    e1 = mp.matrix([j[1], -j[0], 0])
    e1 = e1 / mp.sqrt(mp.fdot(e1, e1))
    e2 = mp.matrix([e1[1] * j[2] - e1[2] * j[1], e1[2] * j[0] - e1[0] * j[2], e1[0] * j[1] - e1[1] * j[0]])

    def edge(r, phi):
        return c + r * (mp.cos(phi) * e1 + mp.sin(phi) * e2)

    def gap(r, phi):
        p = edge(r, phi)
        return p[2] - height(p[0], p[1], mp)

    def lowest(r):
        grid = [2 * mp.pi * k / 48 for k in range(48)]
        k = min(range(48), key=lambda i: gap(r, grid[i]))
        a, b, g = grid[k] - mp.mpf("0.14"), grid[k] + mp.mpf("0.14"), (mp.sqrt(5) - 1) / 2
        x, y = b - g * (b - a), a + g * (b - a)
        fx, fy = gap(r, x), gap(r, y)
        while b - a > mp.mpf(10) ** -18:
            if fx < fy:
                b, y, fy = y, x, fx
                x = b - g * (b - a)
                fx = gap(r, x)
            else:
                a, x, fx = x, y, fy
                y = a + g * (b - a)
                fy = gap(r, y)
        return (a + b) / 2

    # the gap of the lowest point shrinks as the circle grows: secant until the circle touches
    r0, r1 = mp.mpf(centre[2]), mp.mpf(centre[2]) * mp.mpf("1.1")
    g0, g1 = gap(r0, lowest(r0)), gap(r1, lowest(r1))
    while abs(r1 - r0) > mp.mpf(10) ** -17 and g1 != g0:
        r0, r1, g0 = r1, r1 - g1 * (r1 - r0) / (g1 - g0), g1
        g1 = gap(r1, lowest(r1))
    return float(r1), np.array([float(x) for x in edge(r1, lowest(r1))])


FLAT = (grounds.flat(0.05), lambda x, y, mp: mp.mpf(0.05))
SLOPE = (grounds.slope(0.2, -0.1, 0.05), lambda x, y, mp: mp.mpf(0.05) + mp.mpf(0.2) * x - mp.mpf(0.1) * y)
WAVES = (
    grounds.sinusoid(0.03, 2.5, 0.3, 0.4),
    lambda x, y, mp: (
        mp.mpf(0.03)
        * mp.sin(2 * mp.pi / mp.mpf(2.5) * (x * mp.cos(mp.mpf(0.4)) + y * mp.sin(mp.mpf(0.4))) + mp.mpf(0.3))
    ),
)
BOWL = (
    grounds.Ground(lambda x, y: 0.1 * x * x + 0.05 * x * y),
    lambda x, y, mp: mp.mpf(0.1) * x * x + mp.mpf(0.05) * x * y,
)


@pytest.mark.parametrize(("ground", "height"), [FLAT, SLOPE, WAVES, BOWL], ids=["flat", "slope", "waves", "bowl"])
def test_contact_geometry_equals_brute_force(ground, height):
    kernel = contact_kernel(ground)
    rng = np.random.default_rng(7)
    for _ in range(3):
        centre, axle = random_wheel(rng)
        found = kernel(centre, axle)
        radius, point = brute_force(centre, axle, height)
        assert found.radius == pytest.approx(radius, abs=1e-12)
        np.testing.assert_allclose(found.point, point, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ground", [FLAT[0], WAVES[0]], ids=["flat", "waves"])
def test_contact_frames_are_right_handed_and_tangent(ground):
    kernel = contact_kernel(ground)
    rng = np.random.default_rng(8)
    for _ in range(10):
        centre, axle = random_wheel(rng)
        f = kernel(centre, axle)
        S, T = np.array([f.forward, f.side, f.normal]), np.array([f.forward, axle, f.up])
        for frame in (S, T):
            np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
            assert np.linalg.det(frame) == pytest.approx(1)
        np.testing.assert_allclose(centre - f.point, f.radius * f.up, atol=1e-12)
        np.testing.assert_allclose(np.sin(f.camber) * axle + np.cos(f.camber) * f.up, f.normal, atol=1e-12)


def test_flat_ground_and_an_implicit_flat_ground_agree():
    closed, implicit = contact_kernel(grounds.flat(0.0)), contact_kernel(grounds.Ground(lambda x, y: 0 * x))
    rng = np.random.default_rng(9)
    for _ in range(5):
        at = random_wheel(rng)
        for a, b in zip(closed(*at), implicit(*at)):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_camber_is_positive_when_the_top_leans_to_the_right():
    lean = 0.2  # turned by +0.2 about x, which points forward: the top goes to -y, the right
    axle = np.array([0.0, np.cos(lean), np.sin(lean)])
    f = contact_kernel(grounds.flat())(np.array([0.0, 0.0, 0.3]), axle)
    np.testing.assert_allclose(f.forward, [1, 0, 0], atol=1e-15)
    assert f.up[1] < 0
    assert f.camber == pytest.approx(lean)
    assert f.radius == pytest.approx(0.3 / np.cos(lean))


# -- sliding


def slide_kernel(ground):
    with sb.Graph() as graph:
        c, j, v, w = (sb.symbols(" ".join(f"{n}{k}" for k in "123")) for n in "cjvw")
        place = on_ground(vec(c), vec(j), ground, graph)
        s = sliding(place, vec(v), vec(w), 0)
        names = ("along", "across", "lift", "speed", "kappa", "slip_angle")
        outputs = {n: getattr(s, n) for n in names} | {"point": list(place.point), "frame": [place.forward, place.side]}
        return sb.System("slide", inputs={"c": c, "j": j, "v": v, "w": w}, outputs=outputs).compile()


@pytest.mark.parametrize("ground", [FLAT[0], SLOPE[0], WAVES[0]], ids=["flat", "slope", "waves"])
def test_pure_rolling_has_no_slip(ground):
    kernel = slide_kernel(ground)
    rng = np.random.default_rng(10)
    for _ in range(5):
        centre, axle = random_wheel(rng)
        omega = 20 * axle + rng.normal(size=3)  # it spins, steers and leans
        point = kernel(centre, axle, omega, omega).point
        rolling = kernel(centre, axle, np.cross(omega, centre - point), omega)
        assert rolling.along == pytest.approx(0, abs=1e-12)
        assert rolling.across == pytest.approx(0, abs=1e-12)
        assert rolling.kappa == pytest.approx(0, abs=1e-12)
        assert rolling.slip_angle == pytest.approx(0, abs=1e-12)
        assert rolling.speed != pytest.approx(0, abs=1)


def test_slip_signs():
    kernel = slide_kernel(grounds.flat())
    centre, axle = np.array([0.0, 0.0, 0.3]), np.array([0.0, 1.0, 0.0])
    rolling = [10.0, 0, 0]
    driven = kernel(centre, axle, rolling, [0, 40.0, 0])  # rolls at 12 m/s over a road of 10 m/s
    assert driven.kappa == pytest.approx(0.2)
    locked = kernel(centre, axle, rolling, [0, 0.0, 0])
    assert locked.kappa == pytest.approx(-1)
    left = kernel(centre, axle, [10.0, 1.0, 0], [0, 10 / 0.3, 0])
    assert left.slip_angle == pytest.approx(np.arctan(0.1))
    assert left.kappa == pytest.approx(0, abs=1e-15)


# -- tyres on a mechanism


def buggy():
    """A hull in space with a steered wheel (axle y of the wheel) on it."""
    b = Builder("buggy", gravity=(0, 0, 0))
    b.body("hull", mass=1)
    b.body("fork", mass=1)
    b.body("wheel", mass=1, frames={"centre": {"position": (0.0, 0.02, 0.0)}, "side": {"rotation": ("x", "-pi/2")}})
    b.joint("float", "floating", "world", "hull", sequence="zyx")
    b.joint("steer", "revolute", "hull", "fork", position=(0.5, 0.3, -0.1), axis="z")
    b.joint("spin", "revolute", "fork", "wheel", position=(0, 0.1, 0), axis="y")
    return b.done()


def run(force, q, qd, inputs=()):
    mech = buggy()
    tree = build_tree(mech)
    found = wrenches(tree, [force])
    tree = replace(tree, wrenches=found.links)
    Q = -generalized(tree, newton_euler(tree, qdd=at_rest(tree), still=True), accelerating=False)
    index = tree.places["wheel"][0]
    outputs = {"Q": Q, "force": list(found.links[index][0]), **found.outputs}
    return sb.System("run", inputs={"q": tree.q, "qd": tree.qd, **found.inputs}, outputs=outputs).compile()(
        q, qd, *inputs
    )


LINEAR = {"radius": 0.32, "stiffness": 2e5, "damping": 300.0, "slip_stiffness": 5e4, "cornering_stiffness": 4e4}
TYRES = {
    "linear": {**LINEAR, "trail": 0.03, "camber_stiffness": 2e3, "friction": 0.9, "rolling_resistance": 0.01},
    "magic": {"law": "magic_formula", "radius": 0.32},
    "waves": {**LINEAR, "ground": "sinusoid", "amplitude": 0.02, "wavelength": 2.0},
}


def spinning(seed):
    rng = np.random.default_rng(seed)
    q = np.array(
        [*rng.uniform(-1, 1, 2), 0.41, rng.uniform(-3, 3), *rng.uniform(-0.05, 0.05, 2), *rng.uniform(-0.3, 0.3, 2)]
    )
    qd = np.array([*rng.uniform(-8, 8, 3), *rng.uniform(-1, 1, 4), rng.uniform(-40, 40)])
    return q, qd


def wheel_motion(q, qd, point):
    """Rotation, centre, velocity and omega of the wheel's centre frame, by homogeneous matrices and complex step."""

    def turn(axis, a):
        c, s = np.cos(a), np.sin(a)
        m = np.eye(4, dtype=complex)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        m[i, i] = m[j, j] = c
        m[i, j], m[j, i] = -s, s
        return m

    def move(*p):
        m = np.eye(4, dtype=complex)
        m[:3, 3] = p
        return m

    def pose(x):
        hull = move(*x[:3]) @ turn(2, x[3]) @ turn(1, x[4]) @ turn(0, x[5])
        return hull @ move(0.5, 0.3, -0.1) @ turn(2, x[6]) @ move(0, 0.1, 0) @ turn(1, x[7]) @ move(*point)

    T = pose(q + 1e-30j * qd)
    W = T[:3, :3].imag / 1e-30 @ T[:3, :3].real.T
    return T.real[:3, :3], T.real[:3, 3], T[:3, 3].imag / 1e-30, np.array([W[2, 1], W[0, 2], W[1, 0]])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("law", TYRES)
def test_the_power_of_a_tyre_is_that_of_its_contact_forces(law, seed):
    """F . v_ct + M . omega at the contact point: every sign between tyre axes and joints takes part."""
    q, qd = spinning(seed)
    values = {**TYRES[law], "width": 1e-3}
    found = run(Force("w", "tyre", (("wheel", "centre"),), values), q, qd)
    R, centre, v, omega = wheel_motion(q, qd, (0, 0.02, 0))
    ground = grounds.sinusoid(0.02, 2.0) if law == "waves" else grounds.flat()
    place = contact_kernel(ground)(centre, R[:, 1])
    force = found.w_Fx * place.forward + found.w_Fy * place.side + found.w_Fz * place.normal
    sliding_velocity = v + np.cross(omega, place.point - centre)
    power = force @ sliding_velocity
    if law == "magic":
        travel = np.hypot(sliding_velocity @ place.forward + omega @ R[:, 1] * place.radius, 0.1)
        slips = -(sliding_velocity @ place.forward) / travel, sliding_velocity @ place.side / travel
        forward = (sliding_velocity @ place.forward + omega @ R[:, 1] * place.radius) / travel
        f = magic_formula(found.w_Fz, *slips, place.camber, travel, forward, replace(CAR_TYRE, UNLOADED_RADIUS=0.32))
        assert found.w_Fx == pytest.approx(f.Fx, rel=1e-9)
        assert found.w_Fy == pytest.approx(f.Fy, rel=1e-9)
        moment = f.Mx * place.forward + f.My * place.side + f.Mz * place.normal
    else:
        rolling = -TYRES[law].get("rolling_resistance", 0) * place.radius * found.w_Fz
        moment = rolling * place.side + found.w_Mz * place.normal
    assert found.w_penetration == pytest.approx(np.cos(place.camber) * (0.32 - place.radius), abs=1e-12)
    assert found.Q @ qd == pytest.approx(power + moment @ omega, rel=1e-9, abs=1e-9)


def test_a_resting_wheel_carries_its_load_at_the_static_deflection():
    q, qd = np.zeros(8), np.zeros(8)
    q[2] = 0.1 + 0.32 - 1000 / 2e5  # 1000 N deflect the tyre by 5 mm
    found = run(Force("w", "tyre", (("wheel", ""),), LINEAR), q, qd)
    assert found.w_Fz == pytest.approx(1000)
    np.testing.assert_allclose(found.force, [0, 0, 1000], atol=1e-9)
    np.testing.assert_allclose(found.Q[:3], [0, 0, 1000], atol=1e-9)


def test_a_lifted_wheel_has_no_force():
    q, qd = spinning(1)
    q[2] = 2.0
    for values in TYRES.values():
        np.testing.assert_allclose(run(Force("w", "tyre", (("wheel", ""),), values), q, qd).Q, 0, atol=1e-9)


def test_the_axle_may_be_another_axis_of_the_frame():
    q, qd = spinning(2)
    a = run(Force("w", "tyre", (("wheel", ""),), LINEAR), q, qd)
    b = run(Force("w", "tyre", (("wheel", "side"),), {**LINEAR, "axle": "z"}), q, qd)
    np.testing.assert_allclose(a.Q, b.Q, rtol=1e-10, atol=1e-8)


def test_a_wheel_with_an_input_wrench_puts_it_at_the_contact_point():
    q, qd = spinning(3)
    given = np.array([100.0, -50.0, 900.0, 1.0, 2.0, 3.0])
    found = run(Force("w", "wheel", (("wheel", "centre"),), {}), q, qd, (given,))
    R, centre, v, omega = wheel_motion(q, qd, (0, 0.02, 0))
    place = contact_kernel(grounds.flat())(centre, R[:, 1])
    S = np.array([place.forward, place.side, place.normal])
    power = given[:3] @ S @ (v + np.cross(omega, place.point - centre)) + given[3:] @ S @ omega
    assert found.Q @ qd == pytest.approx(power, rel=1e-11)


def test_a_user_tyre_is_given_slips_and_penetration():
    def law(penetration, slip_angle, camber, slip, rate, t):
        load = 2e5 * penetration + 300 * rate
        return [5e4 * slip, -4e4 * slip_angle, load, 0, 0, 0]

    q, qd = spinning(0)
    q[2], qd[2] = 0.36, -0.5
    own = run(Force("w", "tyre", (("wheel", ""),), {"law": "external", "radius": 0.32, "function": law}), q, qd)
    ours = run(Force("w", "tyre", (("wheel", ""),), LINEAR), q, qd)
    assert own.w_penetration > 0
    assert own.w_Fz > 0
    np.testing.assert_allclose(own.Q, ours.Q, rtol=1e-11, atol=1e-8)


def test_relaxed_slips_follow_over_their_length_of_travel():
    tree = build_tree(buggy())
    values = {**LINEAR, "relaxation_x": 0.1, "relaxation_y": 0.4}
    found = wrenches(tree, [Force("w", "tyre", (("wheel", ""),), values)])
    assert set(found.states) == set(found.derivatives) == {"x_w_slip", "x_w_side"}
    inputs = {"q": tree.q, "qd": tree.qd, **found.states}
    observed = {k: found.outputs[f"w_{k}"] for k in ("slip", "slip_angle", "Fx", "Fz")}
    system = sb.System("r", inputs=inputs, outputs={**found.derivatives, **observed})
    q, qd = np.zeros(8), np.zeros(8)
    q[2], qd[0], qd[1], qd[7] = 0.4, 10.0, 0.5, 35.0
    at = system.compile()(q, qd, 0.02, 0.01)
    assert at.Fz > 0
    assert at.Fx == pytest.approx(5e4 * 0.02)
    travel = np.hypot(10, 0.1)
    assert at[0] == pytest.approx(travel / 0.1 * (at.slip - 0.02))
    assert at[1] == pytest.approx(travel / 0.4 * (np.tan(at.slip_angle) - 0.01))


def test_the_linear_tyre_is_the_tangent_of_a_symmetric_magic_formula():
    slope = -magic_formula(4000.0, 0.0, 1e-5, tyre=SYMMETRIC_TYRE).Fy / 1e-5
    assert slope == pytest.approx(14.95 * 4000 * np.sin(2 * np.arctan(1 / 2.13)), rel=1e-4)


def test_plane_contact_needs_no_iteration():
    with sb.Graph():
        c, j = sb.symbols("c1 c2 c3"), sb.symbols("j1 j2 j3")
        place = on_plane(vec(c), vec(j), vec((0, 0, 1)), 0)
        s = sb.System("flat", inputs={"c": c, "j": j}, outputs={"r": place.radius, "p": list(place.point)})
    assert s.count().total <= 20
