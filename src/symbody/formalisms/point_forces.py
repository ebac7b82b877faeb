"""Forces at one point: given ones, contact with the ground, user functions; and efforts on joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symbody.formalisms import triples as t3
from symbody.formalisms.accounts import Account, contact_account, ramp_energy, rate_along_motion
from symbody.formalisms.link_forces import driven, finish_source, link_input, measure
from symbody.formalisms.points import from_frame
from symbody.formalisms.tyres import ground_of
from symbody.formalisms.wrenches import Element
from symbody.library import contact, friction, springs
from symbody.library.grounds import surface

# -- given forces


def point_force(element: Element) -> None:
    """force (3,) N at the point, in world axes (axes: body for the frame's own); else the input F_<name>."""
    _given(element, ("force",))


def wrench(element: Element) -> None:
    """force (3,) N at the point and moment (3,) N m, in world axes (axes: body for the frame's own).

    What is not given becomes an input: F_<name>, M_<name>; if one of them is given, the other is zero.
    """
    _given(element, ("force", "moment"))


def _given(element: Element, parts: tuple[str, ...]) -> None:
    some = any(element.given(p) for p in parts)
    found: dict[str, Any] = {"force": t3.ZERO, "moment": t3.ZERO}
    for part, letter, unit in (("force", "F", "N"), ("moment", "M", "N m")):
        if part not in parts:
            continue
        if element.given(part):
            found[part] = element.values(part, 3)
        elif not some:
            found[part] = element.wrenches.input(f"{letter}_{element.name}", 3, unit)
    if element.option("axes", ("world", "body")) == "world":
        _push_given(element, found["force"], found["moment"])
        return
    f, turn = element.frames[0], element.motions[0].rotation
    force, moment = found["force"], found["moment"]
    element.wrenches.push_at(f, from_frame(f.rotation, force), from_frame(f.rotation, moment))
    element.account(lambda: Account(given=element.power_world(from_frame(turn, force), from_frame(turn, moment))))


def _push_given(element: Element, force: Any, moment: Any) -> None:
    """A force and a moment in world axes that come from outside: their power is given."""
    element.push_world(force, moment)
    element.account(lambda: Account(given=element.power_world(force, moment)))


# -- contact of a point with the ground


def contact_point(element: Element) -> None:
    """A point that the ground pushes out: stiffness (N/m), damping (N s/m), friction (coefficient).

    slowest (m/s): friction is nearly full above this speed; width (m): smooth onset; ground: see `tyres.ground_of`.
    """
    m = element.motions[0]
    ground = ground_of(element)
    height, normal = surface(ground, m.position[0], m.position[1])
    if ground.normal is not None:
        depth = t3.minus(ground.offset, t3.dot(normal, m.position))
    else:
        depth = t3.times(normal[2], height - m.position[2])  # along the normal, to first order in the curvature
    lift = t3.dot(normal, m.velocity)
    stiffness, width = element.value("stiffness"), element.value("width", 0)
    pressing = contact.normal_force(depth, -lift, stiffness, element.value("damping", 0), width)
    force = t3.scaled(pressing, normal)
    if element.given("friction"):
        slide = t3.add(m.velocity, t3.negative(t3.scaled(lift, normal)))
        gain = contact.friction_gain(
            t3.dot(slide, slide), pressing, element.value("friction"), element.value("slowest", 0.01)
        )
        force = t3.add(force, t3.scaled(gain, slide))
    element.observe("depth", depth, "m")
    element.observe("Fn", pressing, "N")
    element.push_world(force, t3.ZERO)

    def account() -> Account:
        rate = t3.minus(0, lift) if ground.normal is not None else rate_along_motion(element.tree, depth)
        return contact_account(depth, rate, stiffness, width, element.power_world(force))

    element.account(account)


# -- functions of the user


def external(element: Element) -> None:
    """A user's `function`: an External (Python or C), a Python function of nodes, or the text of an expression.

    link    F = function(Z, Zd, t); names in a text: Z, Zd, t
    point   (Fx, Fy, Fz[, Mx, My, Mz]) = function(p (3), v (3), R (9, row by row), omega (3), t), all in world axes
    none    the force of a link is the input F_<name>; those of a point are F_<name> and M_<name> in world axes
    """
    function = element.force.values.get("function")
    if function is None:
        link_input(element) if len(element.frames) == 2 else wrench(element)
        return
    if len(element.frames) == 2:
        line = measure(element)
        (force,) = element.call(function, {"Z": line.Z, "Zd": line.Zd, "t": element.time}, (1,))
        finish_source(element, line, force)
        return
    m = element.motions[0]
    rows = m.rotation if m.rotation is not None else t3.tensor([t3.along(k, 1) for k in range(3)])
    names = {
        **{f"p{k + 1}": m.position[k] for k in range(3)},
        **{f"v{k + 1}": m.velocity[k] for k in range(3)},
        **{f"R{i + 1}{j + 1}": rows[i][j] for i in range(3) for j in range(3)},
        **{f"w{k + 1}": m.omega[k] for k in range(3)},
        "t": element.time,
    }
    values = element.call(function, names, (3, 6))
    _push_given(element, t3.triple(values), t3.triple(values[3:]) if len(values) == 6 else t3.ZERO)


# -- joints

JOINT_LAWS: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]] = {
    # law -> (function, what it is a function of, numbers it takes)
    "viscous": (friction.viscous, ("qd",), ("coefficient",)),
    "coulomb": (friction.coulomb, ("qd",), ("level", "width")),
    "stribeck": (friction.stribeck, ("qd",), ("level", "breakaway", "speed", "coefficient", "width")),
    "bump_stop": (springs.bump_stop, ("q",), ("lower", "upper", "stiffness", "width")),
    "spring": (springs.spring_damper, ("q", "qd"), ("stiffness", "damping", "length")),
}


def joint(element: Element) -> None:
    """A law on the coordinate of `joint`, or of the joint that carries the body given as point; the effort adds to tau.

    law: actuator, viscous, coulomb, stribeck, bump_stop, spring, with the numbers of the library.
    """
    iq, iv = _coordinate(element)
    tree = element.tree
    law = element.option("law", ("actuator", *JOINT_LAWS))
    q, qd = tree.q[iq], tree.qd[iv]
    if law == "actuator":
        effort = driven(element)
        element.account(lambda: Account(given=t3.times(effort, qd)))
    else:
        function, arguments, numbers = JOINT_LAWS[law]
        given = {n: element.value(n) for n in numbers if element.given(n)}
        effort = function(*({"q": q, "qd": qd}[a] for a in arguments), **given)
        element.account(lambda: _joint_account(law, q, qd, effort, given))
    element.observe("F", effort)
    element.wrenches.efforts[iv] = t3.plus(element.wrenches.efforts[iv], effort)


def _joint_account(law: str, q: Any, qd: Any, effort: Any, numbers: dict[str, Any]) -> Account:
    """Springs and stops store; what dampers and friction take is lost."""
    if law == "bump_stop":
        width = numbers.get("width", 0)
        below, above = ramp_energy(numbers["lower"] - q, width), ramp_energy(q - numbers["upper"], width)
        return Account(stored=numbers["stiffness"] * (below + above))
    if law == "spring":
        spring = {n: x for n, x in numbers.items() if n != "damping"}
        slack = t3.minus(springs.spring_damper(q, qd, **spring), effort)
        return Account(stored=springs.energy(q, **spring), lost=t3.times(slack, qd))
    return Account(lost=t3.minus(0, t3.times(effort, qd)))


def _coordinate(element: Element) -> tuple[int, int]:
    """(index in q, index in qd) of the element's joint, which must have one coordinate."""
    mechanism, wanted = element.tree.mechanism, element.force.values.get("joint")
    if wanted is None:
        carried = [j.name for j in mechanism.joints if (j.child, "") in element.force.points]
        if len(carried) != 1:
            raise element.fault("names no joint; expected joint: its name, or one point: the body that it carries.")
        wanted = carried[0]
    target = mechanism.joint(str(wanted))
    for slot in mechanism.slots:
        if slot.joint is target and slot.nv == 1:
            return slot.iq, slot.iv
    raise element.fault(f"acts on joint {wanted!r}; expected a joint with one coordinate of its own.")
