"""Wrenches of cuts, judged by free bodies: what a row of a cut carries, in which direction, and under which name."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.verbs.certify.loop_checks import ClosedStates, reaction_checks
from symbody.mechanics.verbs.dynamics import forward_dynamics


def held(kind, **options):
    """Two bodies on the ground, a cut between the first and the second whose frames stand skew."""
    b = sb.Mechanism.builder(f"held_{kind}")
    shape = {"mass": 1.3, "com": (0.1, 0.2, 0), "inertia": (0.2, 0.3, 0.4)}
    b.body("ground", frames={"rail": {"position": (0.3, 0.2, 0.5), "rotation": ("x", 0.4)}})
    b.joint("floor", "fixed", "world", "ground")
    b.body("a", **shape, frames={"pin": {"position": (0.2, -0.1, 0.3), "rotation": ("y", 0.3)}})
    b.joint("float", "floating", "world", "a")
    return b.cut("hold", kind, "a.pin", "ground.rail", **options).done()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("cylindrical", {"axis": "z"}),
        ("prismatic", {"axis": "y"}),
        ("universal", {"axis": "x", "axis2": "z"}),
        ("rows", {"rows": ["x", "ry"]}),
        ("rows", {"rows": ["y", "z", "rx", "rz"]}),
    ],
)
def test_wrenches_of_cuts_keep_every_body_in_balance(kind, options):
    """The axes of a row belong to one of the frames, and a force along them acts where that frame's partner is."""
    mech = held(kind, **options)
    point = ClosedStates(mech, 2, partition="pivoting")
    given = {"tau": point.tau}
    qdd = point.evaluate(forward_dynamics(mech, formalism="newton_euler", partition=point.partition), **given)
    wrenches = sb.reactions(mech, [j.name for j in mech.joints], partition=point.partition)
    checks = list(reaction_checks(mech, point, wrenches, given, np.asarray(qdd)))
    assert len(checks) == 3
    assert all(c.passed for c in checks), checks


def test_rows_of_a_planar_loop_act_along_the_axes_that_they_are_written_in():
    mech = sb.load("four_bar")
    point = ClosedStates(mech, 3, partition=["crank"])
    given = {"tau": point.tau}
    qdd = point.evaluate(forward_dynamics(mech, formalism="newton_euler", partition=["crank"]), **given)
    checks = list(reaction_checks(mech, point, sb.reactions(mech, partition=["crank"]), given, np.asarray(qdd)))
    assert all(c.passed for c in checks), checks


def test_a_cut_with_the_name_of_a_joint_keeps_both_reactions():
    b = sb.Mechanism.builder("twice", gravity=(0, -9.81, 0))
    for n in ("a", "b"):
        b.body(n, mass=1, com=(0.5, 0, 0), inertia=(0, 0, 0.1), frames={"end": (1, 0, 0)})
    b.joint("a", "revolute", "world", "a").joint("b", "revolute", "world", "b", position=(1.5, 0, 0))
    mech = b.cut("b", "rod", "a.end", "b.end", length=0.7).done()
    found = sb.reactions(mech)
    assert {"reaction_a", "reaction_b", "reaction_b_cut"} <= set(found.outputs)
