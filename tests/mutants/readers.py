"""Readers and builder: mutants of what makes a Mechanism of a file, judged by Pinocchio and MuJoCo on the same file.

A change has an effect if any number or word of the Mechanism that is read differs. It is refused if reading ends with a
sentence, or if poses, mass matrix, gravity, limits, friction, springs or gaps of loops differ from the other program's.
"""

from __future__ import annotations

import math
import pickle
import tempfile
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mutants.outputs import Arrays, differences
from mutants.worker import Lines

ALLOWED = 1e-8  # relative: rotations within 1e-10 of a quarter turn are made exact

_LINK = """<link name="{0}"><inertial><origin xyz="0.1 -0.05 {1}" rpy="0.3 -0.2 {1}"/><mass value="{2}"/>
<inertia ixx="0.021" ixy="0.001" ixz="-0.002" iyy="0.033" iyz="0.0015" izz="0.044"/></inertial></link>"""
_JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
<origin xyz="0.2 {4} -0.1" rpy="0.4 {4} -0.7"/>
<axis xyz="{5}"/><limit lower="-1.1" upper="{4}" effort="31" velocity="4.5"/>
<dynamics damping="0.4" friction="0.3"/></joint>"""
_MIMIC = _JOINT.replace("</joint>", '<mimic joint="a" multiplier="-1.7" offset="0.3"/></joint>')

URDF = {
    "urdf arm": '<robot name="arm"><link name="base"/>'
    + "".join(_LINK.format(n, 0.1 * k + 0.07, 1.3 + 0.4 * k) for k, n in enumerate("abcd"))
    + _JOINT.format("a", "revolute", "base", "a", 0.9, "0 0 1")
    + _JOINT.format("b", "prismatic", "a", "b", 0.7, "0.6 0 0.8")
    + _JOINT.format("c", "continuous", "b", "c", 0.5, "1 2 3")
    + _JOINT.format("d", "fixed", "a", "d", 0.3, "1 0 0")
    + "</robot>",
    "urdf fingers": '<robot name="fingers"><link name="base"/>'
    + "".join(_LINK.format(n, 0.1 * k + 0.07, 1.3 + 0.4 * k) for k, n in enumerate("abc"))
    + _JOINT.format("a", "revolute", "base", "a", 0.9, "0 1 0")
    + _MIMIC.format("b", "revolute", "a", "b", 0.7, "0.6 0 0.8")
    + _JOINT.format("c", "revolute", "b", "c", 0.6, "-1 0 0")
    + "</robot>",
}


@dataclass
class Read:
    """A file as it was read: numbers and words of the record, and the quantities that the other program has too."""

    numbers: Arrays
    words: dict[str, str]
    shared: Arrays


def robots() -> dict[str, str]:
    """Files by name: some of URDF, and the models of the tests of MJCF."""
    from model.test_mjcf import MODELS

    return {**URDF, **{f"mjcf {name}": text for name, text in MODELS.items()}}


def read(name: str, text: str) -> Any:
    from symbody.model.files import mjcf, urdf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("robot.urdf" if name.startswith("urdf") else "robot.xml")
        path.write_text(text, encoding="utf-8")
        return (urdf if name.startswith("urdf") else mjcf).read(path)


def position(mech: Any) -> np.ndarray:
    """Coordinates that depend on the place of a joint alone, with unit quaternions."""
    q: list[float] = []
    for joint in mech.joints:
        if joint.mimic is not None or joint.kind == "fixed":
            continue
        if joint.kind == "free":
            q += [math.sin(len(q) + k) for k in range(3)]
        q += [0.5, 0.1, -0.7, 0.5] if joint.kind in ("free", "ball") else [math.sin(1.0 + len(q))]
    return np.array(q)


# -- ours


def ours(mech: Any, q: np.ndarray) -> Read:
    from helpers.mechanism_numbers import Numbers

    here = Numbers(mech, q)
    numbers: Arrays = {}
    words: dict[str, str] = {}

    def walk(path: str, x: Any) -> None:
        if x is None or isinstance(x, (str, bool)):
            words[path] = repr(x)
        elif isinstance(x, (int, float)) or type(x).__name__ == "Node" or isinstance(x, np.ndarray):
            try:
                numbers[path] = here.value(x)
            except Exception:  # an expression of coordinates
                words[path] = str(x)
        elif is_dataclass(x):
            for f in fields(x):
                if f.name not in ("origin", "shapes", "graph", "notes", "source"):
                    walk(f"{path}.{f.name}", getattr(x, f.name))
        elif hasattr(x, "items"):
            for k, v in x.items():
                walk(f"{path}.{k}", v)
        else:
            for k, v in enumerate(x):
                walk(f"{path}.{getattr(v, 'name', k)}", v)

    for part in ("bodies", "joints", "cuts", "couplings", "sensors", "gravity"):
        walk(part, getattr(mech, part))
    shared = {"M": here.mass_matrix(), "gravity": here.value(mech.gravity)}
    for body in mech.bodies:
        r, p = here.poses[body.name]
        shared[f"pose of {body.name}"] = np.column_stack([r, p])
        # MuJoCo's bodies keep their own origins, ours stand at their joints
        shared[f"com of {body.name}"] = np.column_stack([r, p + r @ here.value(body.com)])

    def number(x: Any, other: float = 0.0) -> float:
        return other if x is None else float(here.value(x))

    for joint in mech.joints:
        if joint.name not in here.first or joint.kind in ("free", "ball"):
            continue
        limits = joint.limits
        given = (
            (None, None, None, None) if limits is None else (limits.lower, limits.upper, limits.velocity, limits.effort)
        )
        shared[f"limits of {joint.name}"] = np.array([number(x, math.inf) for x in given])
        laws = (joint.stiffness, joint.rest if joint.stiffness is not None else None, joint.viscous, joint.coulomb)
        shared[f"laws of {joint.name}"] = np.array([number(x) for x in laws])
    return Read(numbers, words, shared)


# -- theirs


def theirs(name: str, text: str, mech: Any, q: np.ndarray) -> Arrays:
    """The shared quantities by Pinocchio or MuJoCo, in our order."""
    return _pinocchio(text, mech, q) if name.startswith("urdf") else _mujoco(text, mech, q)


def _pinocchio(text: str, mech: Any, q: np.ndarray) -> Arrays:
    """Followers are joints there: M = G' M0 G with the map G from our velocities to all."""
    import pinocchio as pin

    model = pin.buildModelFromXML(text)
    data = model.createData()
    place = {}
    for joint in mech.joints:
        if joint.mimic is None and joint.kind != "fixed":
            place[joint.name] = len(place)
    full, G = pin.neutral(model), np.zeros((model.nv, len(place)))
    for name, joint in list(zip(model.names, model.joints))[1:]:
        known = mech.joint(name)
        lead, ratio, offset = name, 1.0, 0.0
        if known.mimic is not None:  # as the file says
            lead, ratio, offset = "a", -1.7, 0.3
        value = ratio * q[place[lead]] + offset
        G[joint.idx_v, place[lead]] = ratio
        full[joint.idx_q : joint.idx_q + joint.nq] = [math.cos(value), math.sin(value)] if joint.nq == 2 else value
    upper = np.triu(pin.crba(model, data, full))
    mass = upper + np.triu(upper, 1).T - np.diag(model.armature)
    pin.framesForwardKinematics(model, data, full)
    out = {"M": G.T @ mass @ G, "gravity": np.asarray(model.gravity.linear)}
    for body in mech.bodies:
        pose = data.oMf[model.getFrameId(body.name, pin.FrameType.BODY)]
        out[f"pose of {body.name}"] = np.column_stack([pose.rotation, pose.translation])
    for name, joint in list(zip(model.names, model.joints))[1:]:
        if name not in place:
            continue
        k, v = joint.idx_q, joint.idx_v
        turning = joint.nq == 2  # a continuous joint has no range
        range_ = (math.inf, math.inf) if turning else (model.lowerPositionLimit[k], model.upperPositionLimit[k])
        out[f"limits of {name}"] = np.array([*range_, _upper(model, "Velocity")[v], _upper(model, "Effort")[v]])
        friction = getattr(model, "upperDryFrictionLimit", getattr(model, "friction", None))
        out[f"laws of {name}"] = np.array([0.0, 0.0, model.damping[v], friction[v]])
    return out


def _upper(model: Any, what: str) -> np.ndarray:
    """Limits by the name that this version has for them."""
    for name in (f"upper{what}Limit", f"{what.lower()}Limit"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name))
    raise AttributeError(what)


def _mujoco(text: str, mech: Any, q: np.ndarray) -> Arrays:
    import mujoco

    from model.test_mjcf import full_mass, random_state

    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    turn = _velocities(model, q, random_state)
    out = {"M": turn.T @ full_mass(mujoco, model, data) @ turn, "gravity": np.array(model.opt.gravity)}
    for body in mech.bodies:
        k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, body.name)
        if k >= 0:
            out[f"com of {body.name}"] = np.column_stack([data.xmat[k].reshape(3, 3), data.xipos[k]])
    moving = [j for j in mech.joints if j.kind != "fixed"]
    for k, joint in enumerate(moving):
        if model.jnt_type[k] not in (2, 3):
            continue
        v = model.jnt_dofadr[k]
        range_ = model.jnt_range[k] if model.jnt_limited[k] else (math.inf, math.inf)
        out[f"limits of {joint.name}"] = np.array([*range_, math.inf, math.inf])
        stiffness = float(np.ravel(model.jnt_stiffness[k])[0])
        rest = model.qpos_spring[model.jnt_qposadr[k]] if stiffness else 0.0
        damping = float(np.ravel(model.dof_damping[v])[0])
        out[f"laws of {joint.name}"] = np.array([stiffness, rest, damping, model.dof_frictionloss[v]])
    return out


def _velocities(model: Any, q: np.ndarray, random_state: Any) -> np.ndarray:
    """From our velocities to MuJoCo's at q."""

    class Fixed:
        """In place of a generator: gives q."""

        def uniform(self, *_: Any) -> np.ndarray:
            return np.array(q)

    return random_state(model, Fixed())[1]


# -- in a child


def reader_baseline(folder: Path) -> bytes:
    """{name: (q, Read, theirs, file -> lines)} of all files, pickled; refused where the programs differ unchanged."""
    out = {}
    for name, text in robots().items():
        tracer = Lines(folder)
        with tracer:
            mech = read(name, text)
        q = position(mech)
        found = ours(mech, q)
        other = theirs(name, text, mech, q)
        found.shared = {k: x for k, x in found.shared.items() if k in other}
        unequal = disagreement(found.shared, other)
        if unequal:
            raise ValueError(f"{name}: the unchanged reader differs from the other program in {unequal}")
        out[name] = (q, found, other, tracer.lines)
    return pickle.dumps(out)


def disagreement(mine: Arrays, other: Arrays) -> dict[str, float]:
    """Quantities that differ by more than ALLOWED; an infinite limit equals an infinite one."""
    finite = [{k: np.where(np.isinf(x), 1e6, x) for k, x in a.items()} for a in (mine, other)]
    return {k: x for k, x in differences(*finite).items() if not x <= ALLOWED}


def judge_reader(names: list[str], base: dict[str, Any]) -> dict[str, Any]:
    """As `worker.judge`, of a changed reader."""
    answer: dict[str, Any] = {"end": "no effect", "changed": {}, "raised": {}, "verdicts": {}, "crashed": False}
    try:
        texts = robots()
    except Exception as error:
        return {**answer, "end": "import", "raised": {"import": f"{type(error).__name__}: {error}"}}
    for name in names:
        q, before, other, _ = base[name]
        try:
            mech = read(name, texts[name])
        except Exception as error:
            answer["raised"][name] = f"{type(error).__name__}: {error}"[:200]
            continue
        try:
            found = ours(mech, q)
            shared = {k: x for k, x in found.shared.items() if k in other}
            changed = differences(before.numbers, found.numbers)
            changed |= {k: math.inf for k in {*before.words, *found.words} if before.words.get(k) != found.words.get(k)}
            unequal = disagreement(shared, other)
        except Exception as error:
            # a record that no numbers can be made of is noticed by any user of it
            answer["raised"][name] = f"{type(error).__name__}: {error}"[:200]
            continue
        if changed:
            answer["changed"][name] = {"record": dict(list(changed.items())[:6])}
            answer["verdicts"][name] = f"refused: {unequal}"[:300] if unequal else "equal"
    if answer["changed"]:
        refused = answer["raised"] or any(v != "equal" for v in answer["verdicts"].values())
        answer["end"] = "refused" if refused else "survived"
    elif answer["raised"]:
        answer["end"] = "raises"
    return answer
