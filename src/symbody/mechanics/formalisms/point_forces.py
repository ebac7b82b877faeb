"""Forces at one point: given ones, contact with the ground, user functions."""

from __future__ import annotations

from typing import Any

from symbody.mechanics.formalisms.element_energy import contact_account, rate_along_motion
from symbody.mechanics.formalisms.link_forces import measure, push_along_line
from symbody.mechanics.formalisms.point_motions import from_frame, to_frame
from symbody.mechanics.formalisms.tyres import ground_of
from symbody.mechanics.formalisms.vec3 import ZERO, dot, minus, plus, times, vec
from symbody.mechanics.formalisms.wrenches import TreeElement
from symbody.model.library import contact
from symbody.model.library.force_element import Account
from symbody.model.library.grounds import surface
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.call import call

# -- given forces


def point_force(element: TreeElement) -> None:
    """force (3,) N at the point, in world axes (axes: body for the frame's own); else the input F_<name>."""
    _given(element, ("force",))


def wrench(element: TreeElement) -> None:
    """force (3,) N at the point and moment (3,) N m, in world axes (axes: body for the frame's own).

    What is not given becomes an input: F_<name>, M_<name>; if one of them is given, the other is zero.
    """
    _given(element, ("force", "moment"))


def _given(element: TreeElement, parts: tuple[str, ...]) -> None:
    some = any(element.given(p) for p in parts)
    found: dict[str, Any] = {"force": ZERO, "moment": ZERO}
    for part, letter, unit in (("force", "F", "N"), ("moment", "M", "N m")):
        if part not in parts:
            continue
        if element.given(part):
            found[part] = vec(element.values(part))
        elif not some:
            found[part] = vec(element.wrenches.input(f"{letter}_{element.name}", 3, unit))
    if element.option("axes") == "world":
        _push_given(element, found["force"], found["moment"])
        return
    f, turn = element.frames[0], element.motions[0].rotation
    force, moment = found["force"], found["moment"]
    element.wrenches.push_at(f, from_frame(f.rotation, force), from_frame(f.rotation, moment))
    element.account(lambda: Account(given=element.power_world(from_frame(turn, force), from_frame(turn, moment))))


def _push_given(element: TreeElement, force: Any, moment: Any) -> None:
    """A force and a moment in world axes that come from outside: their power is given."""
    element.push_world(force, moment)
    element.account(lambda: Account(given=element.power_world(force, moment)))


# -- drag


def drag(element: TreeElement) -> None:
    """In axes of the frame: force -(linear + quadratic abs(v)) v, moment -(angular + angular_quadratic abs(w)) w.

    v (3,) m/s is the velocity of the frame's origin in the fluid, whose own velocity in world axes is `wind`; w (3,)
    rad/s its angular velocity. Each axis has its own coefficients.
    """
    m, f = element.motions[0], element.frames[0]
    through = m.velocity - vec(element.values("wind")) if element.given("wind") else m.velocity
    found = []
    for motion, plain, square in ((through, "linear", "quadratic"), (m.omega, "angular", "angular_quadratic")):
        own = to_frame(m.rotation, motion)
        slow = element.values(plain) or ZERO
        fast = element.values(square) or ZERO
        gains = [plus(a, times(b, _size(v)) if not is_zero(b) else 0) for a, b, v in zip(slow, fast, own)]
        found.append(vec([minus(0, times(gain, v)) for gain, v in zip(gains, own)]))
    element.wrenches.push_at(f, from_frame(f.rotation, found[0]), from_frame(f.rotation, found[1]))
    element.account(
        lambda: Account(lost=-element.power_world(from_frame(m.rotation, found[0]), from_frame(m.rotation, found[1])))
    )


def _size(v: Any) -> Any:
    return 0 if is_zero(v) else call("abs", v)


# -- contact of a point with the ground


def contact_point(element: TreeElement) -> None:
    """A point that the ground pushes out: stiffness (N/m), damping (N s/m), friction (coefficient).

    slowest (m/s): friction is nearly full above this speed; width (m): smooth onset; ground: see `tyres.ground_of`.
    """
    m = element.motions[0]
    ground = ground_of(element)
    height, upward = surface(ground, m.position[0], m.position[1])
    normal = vec(upward)
    if ground.normal is not None:
        depth = minus(ground.offset, dot(normal, m.position))
    else:
        depth = times(normal[2], height - m.position[2])  # along the normal, to first order in the curvature
    lift = dot(normal, m.velocity)
    stiffness, width = element.value("stiffness"), element.value("width")
    pressing = contact.normal_force(depth, -lift, stiffness, element.value("damping"), width)
    force = pressing * normal
    if element.given("friction"):
        slide = m.velocity - lift * normal
        gain = contact.friction_gain(dot(slide, slide), pressing, element.value("friction"), element.value("slowest"))
        force = force + gain * slide
    element.observe("depth", depth, "m")
    element.observe("Fn", pressing, "N")
    element.push_world(force, ZERO)

    def account() -> Account:
        rate = minus(0, lift) if ground.normal is not None else rate_along_motion(element.tree, depth)
        return contact_account(depth, rate, stiffness, width, element.power_world(force))

    element.account(account)


# -- functions of the user


def external(element: TreeElement) -> None:
    """A user's `function`: an External (Python or C), a Python function of nodes, or the text of an expression.

    link    F = function(Z, Zd, t); names in a text: Z, Zd, t
    point   (Fx, Fy, Fz[, Mx, My, Mz]) = function(p (3), v (3), R (9, row by row), omega (3), t), all in world axes
    none    the force of a link is the input F_<name>; those of a point are F_<name> and M_<name> in world axes
    """
    function = element.force.values.get("function")
    if element.where == "link":
        line = measure(element)
        if function is None:
            force = element.input("F", unit="N")
        else:
            (force,) = element.call(function, {"Z": line.Z, "Zd": line.Zd, "t": element.time}, (1,))
        element.observe("F", force, "N")
        push_along_line(element, line, force)
        element.account(lambda: Account(given=times(force, line.Zd)))
        return
    if function is None:
        wrench(element)
        return
    m, rows = element.motions[0], element.rotation
    names = {
        **{f"p{k + 1}": m.position[k] for k in range(3)},
        **{f"v{k + 1}": m.velocity[k] for k in range(3)},
        **{f"R{i + 1}{j + 1}": rows[i][j] for i in range(3) for j in range(3)},
        **{f"w{k + 1}": m.omega[k] for k in range(3)},
        "t": element.time,
    }
    values = element.call(function, names, (3, 6))
    _push_given(element, vec(values), vec(values[3:]) if len(values) == 6 else ZERO)
