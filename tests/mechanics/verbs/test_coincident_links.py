"""A link whose points coincide has no direction: it is refused by its name and its points."""

from __future__ import annotations

import pytest

import symbody as sb
from symbody.motion.trajectory.outcome import Outcome


def with_spring(*points: tuple[str, str]) -> sb.Mechanism:
    make = sb.Mechanism.builder("m")
    make.body("rod", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1), frames={"root": (0, 0, 0)})
    make.joint("hinge", "revolute", "world", "rod", axis="y")
    make.body("car", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    make.joint("rail", "prismatic", "world", "car", axis="x")
    return make.force("spring", "spring_damper", points, stiffness=10.0, length=0.5).done()


def test_points_that_coincide_at_every_position_are_refused() -> None:
    mech = with_spring(("rod", "root"), ("world", ""))
    with pytest.raises(sb.SymbodyError, match=r"'spring'.*'rod.root' and 'world', which coincide at every position"):
        sb.forward_dynamics(mech)


@pytest.mark.parametrize("verb", [sb.linearize, sb.equilibrium])
def test_points_that_coincide_at_a_position_are_named(verb) -> None:
    mech = with_spring(("car", ""), ("world", ""))
    with pytest.raises(sb.SymbodyError, match="link 'spring' between 'car' and 'world' coincide here"):
        verb(mech)
    verb(mech, q0=[0.1, 0.3])  # apart


@pytest.mark.parametrize("method", [{}, {"method": "rk4", "step": 1e-3}])
def test_a_run_that_ends_where_points_coincide_names_the_link(method) -> None:
    mech = with_spring(("car", ""), ("world", ""))
    motion = sb.simulate(mech, 0.1, q0=[0.1, 0.0], **method)
    assert motion.outcome is Outcome.NOT_FINITE
    assert motion.notes == ("The points of the link 'spring' between 'car' and 'world' coincide here.",)
