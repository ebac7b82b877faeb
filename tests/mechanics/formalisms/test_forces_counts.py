"""Operations of link forces (F7) and of external force points (F19) of ROBOTRAN's car, against ROBOTRAN's own counts.

Zeros of the file are structural, every other number is a parameter. The numbers to reach stand in the README beside the
model file; the law itself (link force, tyre force) is an input in both programs.
"""

from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.formalisms.applied_forces import wrenches
from symbody.mechanics.formalisms.frame_kinematics import frame_motions
from symbody.mechanics.formalisms.point_motions import frame_of, to_frame, world_motions
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.formalisms.vec3 import cross, vec
from symbody.model.build.builder import Builder
from symbody.model.files.mbs import read

CAR = Path(__file__).parents[3] / ".." / "shared" / "data" / "robotran_models" / "car_43.mbs"


@pytest.fixture(scope="module")
def car():
    if not CAR.exists():
        pytest.skip("the model files of ROBOTRAN are not beside the repository")
    return read(CAR)


def test_link_forces_need_fewer_operations_than_robotran(car):
    tree = build_tree(car)
    found = wrenches(tree, [f for f in car.forces if f.kind == "link"])
    outputs = {n: v for n, v in found.outputs.items() if not n.endswith("_F")}
    outputs |= {f"w{k}": [*f, *m] for k, (f, m) in found.links.items()}
    system = sb.System("F7", inputs={"q": tree.q, "qd": tree.qd, **found.inputs}, outputs=outputs).optimize()
    count = system.count()
    assert count.total <= 96 + 88 + 10
    assert count.trig + count.other <= 12


def test_force_points_need_fewer_operations_than_robotran(car):
    tree = build_tree(car)
    points = [f for f in car.forces if f.kind == "external"]
    frames = [frame_of(tree, f.points[0]) for f in points]

    def system(motions):
        """p, R, v, omega, a, alpha of each point, and its wrench (force, moment, shift of the point) on the body."""
        inputs, outputs = {"q": tree.q, "qd": tree.qd, "qdd": tree.qdd}, {}
        for force, frame, m in zip(points, frames, motions):
            w = [tree.graph.symbol(f"{force.name}{k}") for k in range(9)]
            inputs[f"W_{force.name}"] = np.array(w, dtype=object)
            f = to_frame(m.rotation, vec(w[:3]))
            moment = to_frame(m.rotation, vec(w[3:6])) + cross(frame.position + vec(w[6:]), f)
            motion = (
                *m.position,
                *(x for row in m.rotation for x in row),
                *m.velocity,
                *m.omega,
                *m.acceleration,
                *m.alpha,
            )
            outputs[force.name] = [*motion, *f, *moment]
        return sb.System("F19", inputs=inputs, outputs=outputs)

    best = system(world_motions(tree, frames, 2)).optimize()
    count = best.count()
    assert count.mul <= 952
    assert count.add <= 732
    assert count.div == 0
    assert count.trig <= 38
    # a small program may be a wrong one: compare with kinematics that start at the world
    plain = system(frame_motions(tree, frames, order=2))
    rng = np.random.default_rng(0)
    at = [rng.uniform(-1, 1, a.shape) for a in best.inputs.values()]
    for a, b in zip(best.compile()(*at), plain.compile()(*at)):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def motorcycle():
    """Joints of Table 1.9 of ROBOTRAN's thesis; no anchor lies off the plane of symmetry."""
    b = Builder("motorcycle")

    def at(name, x, z):
        return [b.parameter(f"{name}x", 0.5) if x else 0, 0, b.parameter(f"{name}z", 0.5) if z else 0]

    b.body("chassis", frames={"spring": at("cs", 1, 1)})
    b.body("swing", frames={"spring": at("ss", 1, 1)})
    for name in ("rear", "rider", "head", "torsion", "steer", "fork", "front"):
        b.body(name)
    b.joint("q1_6", "floating", "world", "chassis", sequence="zxy")
    b.joint("q7", "revolute", "chassis", "swing", at("d7", 1, 1), axis="y")
    b.joint("q8", "revolute", "swing", "rear", at("d8", 1, 0), axis="y")
    b.joint("q9", "revolute", "chassis", "rider", at("d9", 1, 1), axis="x")
    b.joint(
        "q10", "revolute", "chassis", "head", at("d10", 1, 1), axis="y", mode="locked", value=b.parameter("q10", 0.4)
    )
    b.joint("q11", "revolute", "head", "torsion", axis="x")
    b.joint("q12", "revolute", "torsion", "steer", axis="z")
    b.joint("q13", "prismatic", "steer", "fork", at("d13", 1, 1), axis="z")
    b.joint("q14", "revolute", "fork", "front", axis="y")
    b.force("suspension", "link", ["chassis.spring", "swing.spring"])
    b.force("rear_tyre", "wheel", ["rear"])
    b.force("front_tyre", "wheel", ["front"])
    return b.done()


def test_link_and_tyres_of_the_motorcycle_need_fewer_operations_than_robotran():
    tree = build_tree(motorcycle())
    found = wrenches(tree)
    outputs = {**found.outputs, **{f"w{k}": [*f, *m] for k, (f, m) in found.links.items()}}
    system = sb.System("moto", inputs={"q": tree.q, "qd": tree.qd, **found.inputs}, outputs=outputs).optimize()
    # thesis, section 1.7.2: complete model 3382, without link and tyres 2576 (both optimised)
    assert system.count().total <= 3382 - 2576
