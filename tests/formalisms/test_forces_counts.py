"""Operations of link forces (F7) and of external force points (F19) of ROBOTRAN's car, against ROBOTRAN's own counts.

Zeros of the file are structural, every other number is a parameter. The numbers to reach stand in the README beside the
model file; the law itself (link force, tyre force) is an input in both programs.
"""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from symbody.formalisms import triples as t3
from symbody.formalisms.forces import wrenches
from symbody.formalisms.kinematics import frame_motions
from symbody.formalisms.points import frame_of, to_frame, world_motions
from symbody.formalisms.tree import build_tree
from symbody.model.builder import Builder

CAR = Path(__file__).parents[2] / ".." / "shared" / "data" / "robotran_models" / "car_43.mbs"
pytestmark = pytest.mark.skipif(not CAR.exists(), reason="the model files of ROBOTRAN are not beside the repository")


@pytest.fixture(scope="module")
def car():
    """Bodies, joints, links and force points of the file; masses play no part here."""
    root = ElementTree.parse(CAR).getroot()
    b = Builder("car")
    frames = {}
    for body in root.find("bodytree").findall("body"):
        name = body.findtext("bodyname")
        frames[name] = {}
        for point in body.findall("point"):
            key = point.findtext("pointname")
            values = {x: float(point.find("coordinates").findtext(x)) for x in "xyz"}
            frames[name][key] = [b.parameter(f"{name}_{key}_{x}", v) if v else 0 for x, v in values.items()]
            for force in point.findall("extforce"):
                b.force(force.get("name"), "wrench", [(name, key)])
        b.body(name, frames=frames[name])
    for body in root.find("bodytree").findall("body"):
        name, joints = body.findtext("bodyname"), body.findall("joint")
        owner, anchor = body.find("parent").findtext("bodyname"), body.find("parent").findtext("pointname")
        parent, position = ("world", (0, 0, 0)) if owner == "base" else (owner, frames[owner].get(anchor, (0, 0, 0)))
        for k, joint in enumerate(joints):
            letter, axis = joint.findtext("type")
            child = name if k == len(joints) - 1 else f"{name}.{k}"
            if child != name:
                b.body(child)
            kind = {"T": "prismatic", "R": "revolute"}[letter]
            b.joint(joint.findtext("jointname"), kind, parent, child, position, axis=" xyz"[int(axis)])
            parent, position = child, (0, 0, 0)
    for link in root.find("links").findall("link"):
        ends = [
            (link.find(e).findtext("bodyname"), link.find(e).findtext("pointname")) for e in ("endpoint1", "endpoint2")
        ]
        b.force(link.findtext("name"), "link", ends)
    return b.done()


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
    points = [f for f in car.forces if f.kind == "wrench"]
    frames = [frame_of(tree, f.points[0]) for f in points]

    def system(motions):
        """p, R, v, omega, a, alpha of each point, and its wrench (force, moment, shift of the point) on the body."""
        inputs, outputs = {"q": tree.q, "qd": tree.qd, "qdd": tree.qdd}, {}
        for force, frame, m in zip(points, frames, motions):
            w = [tree.graph.symbol(f"{force.name}{k}") for k in range(9)]
            inputs[f"W_{force.name}"] = np.array(w, dtype=object)
            f = to_frame(m.rotation, tuple(w[:3]))
            moment = t3.add(to_frame(m.rotation, tuple(w[3:6])), t3.cross(t3.add(frame.position, tuple(w[6:])), f))
            motion = (*m.position, *sum(m.rotation, ()), *m.velocity, *m.omega, *m.acceleration, *m.alpha)
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
