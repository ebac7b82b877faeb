"""Loops that cannot be: every one is answered by one sentence that names the loop, the joints, and what to change."""

import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import symbody as sb
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, SolveError, SymbodyError
from symbody.show.cli.app import app

BAR = {"mass": 1.0, "inertia": [0, 0, 0.01]}


def linkage(rocker: float = 0.3, ground: float = 0.4, kind: str = "rows", **more) -> sb.Mechanism:
    """Crank of 0.1 m, coupler to (0.4, 0.2) m, rocker; more: name -> length of a rod from crank to rocker."""
    b = sb.Mechanism.builder("linkage", gravity=[0, -9.81, 0])
    b.body("crank", **BAR).body("coupler", **BAR, frames={"end": [0.4, 0.2, 0]})
    b.body("rocker", **BAR, frames={"end": [0, rocker, 0], "middle": [0, rocker / 2, 0]})
    b.joint("crank", "revolute", "world", "crank")
    b.joint("coupler", "revolute", "crank", "coupler", position=[0, 0.1, 0], mode="passive")
    b.joint("rocker", "revolute", "world", "rocker", position=[ground, 0, 0], mode="passive")
    b.cut("loop", kind, "rocker.end", "coupler.end", rows=["x", "y"] if kind == "rows" else ())
    for name, length in more.items():
        b.cut(name, "rod", "coupler", "rocker.middle", length=length)
    return b.done()


def told(error: type[SymbodyError], *words: str, **options) -> str:
    """The one sentence that simulate answers with."""
    mech = options.pop("mech", None) or linkage()
    with pytest.raises(error) as caught:
        sb.simulate(mech, 0.1, 1e-3, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))
    for word in words:
        assert word in text, text
    return text


# -- loops that cannot close


def test_bars_that_are_too_short():
    told(
        SolveError, "linkage cannot be assembled", "'loop'", "gap", "joints crank, coupler, rocker", "check lengths",
        mech=linkage(0.01, 3.0),
    )  # fmt: skip


def test_a_rod_of_impossible_length():
    told(
        SolveError, "cannot be assembled", "'rod'", "Not even alone", "check lengths and points", mech=linkage(rod=5.0)
    )


@pytest.mark.parametrize(("length", "gap"), [(2.0, 1.1), (0.04, 0.06)])
def test_the_gap_of_a_rod_is_a_length(length, gap):
    """The ends of levers of 0.2 m, 0.5 m apart, are 0.1 to 0.9 m from each other."""
    b = sb.Mechanism.builder("levers")
    for name, x in (("a", 0.0), ("b", 0.5)):
        b.body(name, **BAR, frames={"end": [0.2, 0, 0]})
        b.joint(f"j{name}", "revolute", "world", name, position=[x, 0, 0])
    told(
        SolveError,
        f"'bar' (gap {gap:g} m; joints ja, jb)",
        mech=b.cut("bar", "rod", "a.end", "b.end", length=length).done(),
    )


def test_driven_joints_that_hold_a_loop_open():
    """Three joints driven, then one of them free: two laws still leave a triangle that does not close."""
    mech = linkage()
    joints = [replace(j, mode="driven", value=mech.graph.number(0.3)) for j in mech.joints]
    told(
        SolveError, "All joints of 'loop' are driven", "crank, coupler, rocker", "drive fewer", "laws",
        mech=mech.replace(joints=tuple(joints)),
    )  # fmt: skip
    told(
        SolveError, "Driven joints stand where their laws say: crank, coupler;", "drive fewer",
        mech=mech.replace(joints=(*joints[:2], mech.joints[2])),
    )  # fmt: skip


def test_loops_that_close_one_by_one_but_not_together():
    text = told(SolveError, "cannot be assembled", "'first'", "'second'", mech=linkage(first=0.4, second=0.42))
    assert "Each of them can close alone, but not all together" in text


def test_points_out_of_the_plane_that_no_joint_can_bring_together():
    b = sb.Mechanism.builder("hinges")
    b.body("a", **BAR, frames={"end": [1, 0, 0]}).body("b", **BAR, frames={"end": [1, 0, 0.2]})
    b.joint("a", "revolute", "world", "a").joint("b", "revolute", "world", "b", position=[0.5, 0, 0])
    told(
        ModelError, "loop 'ball' cannot close", "0.2 m", "no joint", mech=b.cut("ball", "ball", "a.end", "b.end").done()
    )


def test_too_many_constraints_leave_no_freedom():
    told(
        ModelError,
        "is locked",
        "'loop'",
        "'rod'",
        "crank, coupler, rocker",
        "Remove",
        mech=linkage(rod=math.hypot(0.4, 0.05)),
    )
    told(ModelError, "is locked", "'loop'", "crank, coupler, rocker", mech=linkage(kind="solid"))


def test_redundant_constraints_are_no_error():
    """A hinge in space closes a planar loop with three constraints too many, but consistent ones."""
    traj = sb.simulate(linkage(kind="revolute"), 0.2, 1e-3, qd0={"crank": 5.0})
    plain = sb.simulate(linkage(), 0.2, 1e-3, qd0={"crank": 5.0})
    np.testing.assert_allclose(traj.q, plain.q, atol=1e-9)


# -- positions and speeds


def test_a_singular_start():
    flat = dict.fromkeys(("upright0", "upright1", "upright2"), math.pi / 2) | {
        "across1": -math.pi / 2,
        "across2": -math.pi / 2,
    }
    mech = sb.load("n_four_bar")
    told(
        ModelError,
        "starts in a singular position",
        "'window1', 'window2'",
        "upright0",
        "across2",
        "q0",
        mech=mech,
        q0=flat,
    )


def test_speeds_that_exclude_each_other():
    text = told(
        ModelError, "'slide', 'crank'", "would open", mech=sb.load("slider_crank"), qd0={"slide": 3.0, "crank": 5.0}
    )
    assert "slider_crank" in text


def test_a_position_that_cannot_be_reached_is_replaced_and_said():
    traj = sb.simulate(sb.load("slider_crank"), 0.01, 1e-3, q0={"slide": 3.0})
    assert traj.notes[0].startswith("q0 was changed by up to")
    assert "loops close" in traj.notes[0]


# -- partitions


def test_a_partition_of_unknown_joints():
    told(NameLookupError, "'cranc'", "Did you mean 'crank'?", partition=["cranc"])
    with pytest.raises(NameLookupError, match="Did you mean 'crank'"):
        sb.forward_dynamics(linkage(), "base", partition=["cranc"])


@pytest.mark.parametrize("partition", [["crank", "rocker"], []])
def test_a_partition_of_a_wrong_size(partition):
    told(ModelError, "Choose 1 of crank, coupler, rocker", partition=partition)


def test_a_partition_that_is_no_list():
    told(ModelError, "partition='crank'", "a list of the independent joints", partition="crank")
    told(DefinitionError, "partition=3", "a list of independent joints", partition=3)
    told(DefinitionError, "is for closed loops", mech=sb.load("pendulum2"), partition=["q1"])


def test_a_given_partition_that_is_singular_at_the_start():
    """Crank and rod in one line: the slider rests, and says nothing about the crank."""
    start = {"crank": -math.pi / 2, "rod": math.pi / 2}
    told(
        ModelError, "cannot start with the partition slide", "'wrist'", "crank, rod", "choose another partition",
        mech=sb.load("slider_crank"), partition=["slide"], q0=start,
    )  # fmt: skip


def test_a_partition_that_is_singular_everywhere():
    """A rocker of a loop that stands still cannot tell how the rest moves."""
    b = sb.Mechanism.builder("rest", gravity=[0, -9.81, 0])
    b.body("a", **BAR, frames={"end": [0, 1, 0]}).body("b", **BAR).body("s", mass=1.0)
    b.joint("a", "revolute", "world", "a").joint("b", "revolute", "a", "b", position=[0, 0.5, 0])
    b.joint("s", "prismatic", "world", "s", axis="x", position=[0, 1, 0])
    mech = b.cut("loop", "rows", "a.end", "s", rows=["x"]).coupling("held", "q.s - 0.1").done()
    text = told(ModelError, mech=mech, partition=["a"])
    assert "loop" in text
    assert "Choose" in text


# -- the command line


def test_the_command_line_says_it_in_one_line_and_exits_with_1(tmp_path):
    path = tmp_path / "linkage.yaml"
    path.write_text(
        """symbody: 1
name: linkage
bodies:
  crank: {mass: 1, inertia: [0, 0, 0.1]}
  coupler: {mass: 1, inertia: [0, 0, 0.1], frames: {end: [0.4, 0, 0]}}
  rocker: {mass: 1, inertia: [0, 0, 0.1], frames: {end: [0, 0.3, 0]}}
joints:
  crank: {kind: revolute, parent: world, child: crank}
  coupler: {kind: revolute, parent: crank, child: coupler, position: [0, 0.1, 0], mode: passive}
  rocker: {kind: revolute, parent: world, child: rocker, position: [5, 0, 0], mode: passive}
cuts:
  loop: {kind: rows, between: [rocker.end, coupler.end], rows: [x, y]}
""",
        encoding="utf-8",
    )
    flat = "upright0=pi/2,upright1=pi/2,upright2=pi/2,across1=-pi/2,across2=-pi/2"
    for words, said in (
        (["simulate", str(path), "-t", "1"], "'loop'"),
        (["simulate", "n_four_bar", "-t", "1", "--q0", flat], "'window1', 'window2'"),
    ):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 1
        assert isinstance(result.exception, SystemExit)
        assert said in " ".join(result.stderr.split())
        assert "Traceback" not in result.stderr


def hanging(cut, **options):
    """A bar of 1 kg with two bars without mass hung to it, of which a cut holds the end."""
    b = sb.Mechanism.builder("hanging")
    b.body("a", mass=1.0, com=[0.2, 0, 0], inertia=[0.1, 0.1, 0.1]).joint("j0", "revolute", "world", "a", axis="y")
    b.body("b", mass=0).joint("j1", "revolute", "a", "b", axis="y", position=[0.4, 0, 0])
    b.body("c", mass=0, frames={"end": [0.3, 0, 0]})
    b.joint("j2", "revolute", "b", "c", axis="y", position=[0.3, 0, 0])
    b.body("g", frames={"hook": [0.7, 0, 0.2]}).joint("g", "fixed", "world", "g")
    return b.cut("tie", cut, "c.end", "g.hook", **options).done()


def test_a_motion_of_bodies_without_mass_is_refused_where_a_loop_leaves_one():
    """One row leaves two motions of three, and of these one that moves only what has no mass; two rows leave one."""
    with pytest.raises(ModelError, match="moves nothing with mass: j1, j2 may move together"):
        sb.simulate(hanging("rows", rows=["z"]), 0.05)
    run = sb.simulate(hanging("ball"), 0.05, outputs=["energy"])
    assert run.outcome.ok
    np.testing.assert_allclose(run["energy"], run["energy"][0], atol=1e-9)
