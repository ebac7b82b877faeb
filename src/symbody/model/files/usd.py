"""USD Physics -> Mechanism, through the package usd-core (extra `usd`): rigid bodies, joints, drives, gravity.

A joint of UsdPhysics gives its frame in both bodies; where they coincide its coordinate is zero. A body that no joint
carries is free. Joints that close loops, or are excluded from the articulation, become cuts. Lengths and masses are
turned into m and kg by the units of the stage, angles from degrees. Other files that a stage refers to are not opened.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.basics.regular_file import TooLarge, read_regular
from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues, turned
from symbody.model.files.parser_process import ROOM, Failed, output_of
from symbody.model.files.usd_size import check_size
from symbody.model.files.xml_file import LARGEST as LARGEST_NUMBER
from symbody.model.record.mechanism import WORLD, Limits, Mechanism
from symbody.model.record.pose import IDENTITY, Pose, from_quaternion

KINDS = {
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsFixedJoint": "fixed",
    "PhysicsSphericalJoint": "ball",
}
CUTS = {"revolute": "revolute", "prismatic": "prismatic", "fixed": "solid", "ball": "ball"}
FOREIGN = ("physx", "mjc:", "newton:", "isaac", "drake")  # what PhysX, MuJoCo and others add to joints and bodies
LARGEST = 256 * 2**20
BINARY = b"PXR-USDC"
# bytes of text that the binary form may unfold to: numbers as they are written, and arrays unpacked
UNFOLDED, ALWAYS = 50, 16 * 2**20  # of each byte; for small files
DEEPEST = 1000  # brackets in brackets of a text: the parser of usd-core goes down with each, and its stack may end
# texts, paths and comments, whose brackets do not count; then brackets
_NESTING = re.compile(
    rb'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|@@@[\s\S]*?@@@|@[^@\n]*@|#[^\n]*'
    rb"|([(\[{])|([)\]}])"
)

# bytes that are no text, as usd-core writes them; the library takes values with them for values that are not there
_NO_TEXT = re.compile(rb"(?<!\\)(?:\\\\)*\\(?:x[89a-fA-F]|[23][0-7])")
_ALIGNED = {  # axis of a joint -> its frame turned so that the axis is z
    "X": np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
    "Y": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
    "Z": np.eye(3),
}


def read(path: str | Path, symbolic: bool = True) -> Mechanism:
    """The Mechanism of a USD file with UsdPhysics; with `symbolic=False` its numbers stay numbers."""
    path = Path(path)
    try:
        from pxr import Sdf, Tf, Usd
    except ImportError:
        raise ModelError(f"{path.name}: USD files need the package usd-core: pip install usd-core") from None
    data = _text_of(path)
    _check_nesting(data, path.name)
    try:
        with _warnings(Tf) as warned:
            return _read(Sdf, Usd, path, data, symbolic, warned)
    except Tf.ErrorException as error:  # any question to a stage may raise it
        told = (str(getattr(e, "commentary", e)) for e in error.args or [error])
        said = " ".join(" ".join(told).split())[:160]
        raise ModelError(
            f"{path.name}: this is no USD file that can be read ({said}); expected .usda, .usdc."
        ) from None


def _read(Sdf: Any, Usd: Any, path: Path, data: bytes, symbolic: bool, warned: Callable[[], list[str]]) -> Mechanism:
    layer = Sdf.Layer.CreateAnonymous(".usda")
    if not layer.ImportFromString(data.decode(errors="replace")):
        raise ModelError(f"{path.name}: this is no USD file that can be read; expected .usda or .usdc.")
    if _NO_TEXT.search(data) and _has_no_text(layer.ExportToString().encode()):
        raise ModelError(f"{path.name}: a name or value has bytes that are no UTF-8; expected text.")
    others = sorted(filter(None, layer.GetCompositionAssetDependencies()))  # "": this file itself
    if others:
        raise ModelError(
            f"{path.name}: the stage is made of other files ({', '.join(others[:3])}), which are not opened; "
            f"expected one file. Make it: usdcat --flatten {path.name} -o flat_{path.stem}.usda"
        )
    check_size(layer, data, path.name)
    return _UsdReader(Usd.Stage.Open(layer), path, symbolic).read(warned)


@contextmanager
def _warnings(Tf: Any) -> Iterator[Callable[[], list[str]]]:
    """What the library would write to the terminal; nothing where it is too old to be asked, and writes it."""
    if not hasattr(Tf, "DiagnosticTrap"):
        yield list
        return
    with Tf.DiagnosticTrap() as trap:
        try:
            yield lambda: [" ".join(str(w.commentary).split())[:160] for w in trap.GetWarnings()]
        finally:
            trap.ClearWarnings()
            trap.ClearStatuses()


# the reader of USD's binary form trusts sizes and places in the file
_PROGRAM = """
import os
os.environ["PXR_WORK_THREAD_LIMIT"] = "1"  # each thread would take a part of the room
from pxr import Sdf
layer = Sdf.Layer.OpenAsAnonymous(file)
sys.stdout.buffer.write(layer.ExportToString().encode()[:enough])
"""


def _text_of(path: Path) -> bytes:
    """The file as text; one in the binary form is turned into it by a separate process."""
    try:
        data = read_regular(path, LARGEST)
        if not data.startswith(BINARY):
            return data
        with tempfile.TemporaryDirectory(prefix="symbody_usd_") as folder:
            copy = Path(folder, "stage.usdc")
            copy.write_bytes(data)
            text = min(UNFOLDED * len(data), LARGEST)
            # the library itself takes half of the room; the text stands in it twice
            return output_of(_PROGRAM, "pxr", copy, max(text, ALWAYS), ROOM + len(data) + 2 * text)
    except TooLarge as error:
        raise ModelError(f"{path.name}: the file has {error.size} bytes; expected {LARGEST} at most.") from None
    except Failed as error:
        raise ModelError(f"{path.name}: this is no USD file that can be read ({error}); expected .usdc.") from None
    except OSError as error:
        raise ModelError(f"{path.name} cannot be read: {error.strerror or error}. Correct the path.") from None


def _has_no_text(data: bytes) -> bool:
    """Whether a quoted name or value has such bytes; in paths of assets, as of Windows, a backslash is one."""
    return any(m[0][:1] in b"\"'" and _NO_TEXT.search(m[0]) for m in _NESTING.finditer(data))


def _check_nesting(data: bytes, name: str) -> None:
    depth = 0
    for match in _NESTING.finditer(data):
        depth += (match[1] is not None) - (match[2] is not None)
        if depth > DEEPEST:
            line = data.count(b"\n", 0, match.start()) + 1
            raise ModelError(f"{name}:{line}: more than {DEEPEST} brackets are open; expected fewer, nested less.")


@dataclass(eq=False)
class _UsdJoint:
    name: str
    prim: Any
    kind: str
    parent: str  # path of the body, "" for the world
    child: str
    in_parent: Pose
    in_child: Pose


class _UsdReader:
    def __init__(self, stage: Any, path: Path, symbolic: bool) -> None:
        from pxr import Usd, UsdGeom, UsdPhysics

        self.stage, self.file, self.physics, self.geometry = stage, path.name, UsdPhysics, UsdGeom
        self.metre = float(UsdGeom.GetStageMetersPerUnit(stage))
        self.kilogram = float(UsdPhysics.GetStageKilogramsPerUnit(stage))
        for word, unit in (("metersPerUnit", self.metre), ("kilogramsPerUnit", self.kilogram)):
            if not 0 < unit < LARGEST_NUMBER:
                raise ModelError(f"{self.file}: the stage has {word} = {unit:g}; expected a positive number.")
        root = stage.GetDefaultPrim()
        self.builder = Builder(root.GetName() if root else path.stem, self._gravity(), source=path.name)
        self.values = FileValues(self.builder, symbolic)
        self.cache = UsdGeom.XformCache()
        prims = list(stage.Traverse(Usd.TraverseInstanceProxies()))  # what lies in instances is a body, too
        self.bodies = {str(p.GetPath()): p for p in prims if p.HasAPI(UsdPhysics.RigidBodyAPI)}
        self.names = _short_names(list(self.bodies))
        self.joints = [j for p in prims if p.IsA(UsdPhysics.Joint) and (j := self._joint(p)) is not None]
        self.carriers: dict[str, _UsdJoint] = {}
        if not self.bodies:
            raise ModelError(f"{self.file}: the stage has no prim with PhysicsRigidBodyAPI; expected one at least.")

    def _origin(self, prim: Any) -> str:
        return f"{self.file}:{prim.GetPath()}"

    def _fault(self, prim: Any, sentence: str) -> ModelError:
        return ModelError(f"{self._origin(prim)}: {sentence}")

    def _gravity(self) -> list[float]:
        scenes = [p for p in self.stage.Traverse() if p.IsA(self.physics.Scene)]
        axis = str(self.geometry.GetStageUpAxis(self.stage))
        if axis not in ("Y", "Z"):
            raise ModelError(f"{self.file}: the stage has upAxis = {axis[:20]!r}; expected Y or Z.")
        up = np.array([0.0, 1.0, 0.0] if axis == "Y" else [0.0, 0.0, 1.0])
        direction, size = -up, 9.81
        if scenes:
            scene = self.physics.Scene(scenes[0])
            given = self._numbers(scene.GetGravityDirectionAttr(), (0, 0, 0))
            direction = given / np.linalg.norm(given) if np.linalg.norm(given) > 0 else -up
            (magnitude,) = self._numbers(scene.GetGravityMagnitudeAttr(), (-math.inf,), infinite=True)
            if math.isfinite(magnitude) and magnitude >= 0:
                size = float(magnitude) * self.metre
        return [float(x) + 0.0 for x in direction * size]

    # -- values of attributes: a file may give them any type

    def _numbers(self, attribute: Any, default: Sequence[float], infinite: bool = False) -> np.ndarray:
        """As many numbers as the default has; infinite: whether they may be, for "not given"."""
        value = attribute.Get() if attribute else None
        if value is None:
            return np.array(default, dtype=float)
        try:
            found = np.array(value, dtype=float).reshape(-1)
        except (TypeError, ValueError):
            found = np.zeros(0)
        size = np.abs(found)
        if infinite:  # the largest single number means that, too: of PhysX and those that export for it
            found = np.where(size >= np.finfo(np.float32).max, np.copysign(math.inf, found), found)
        if len(found) != len(default) or not ((size < LARGEST_NUMBER) | (infinite & np.isinf(found))).all():
            said, count = " ".join(str(value).split())[:60], len(default)
            raise self._fault(
                attribute.GetPrim(),
                f"{attribute.GetName()} is {said!r}; expected {count} {'number' if count == 1 else 'numbers'} below "
                f"{LARGEST_NUMBER:g}.",
            )
        return found

    def _quaternion(self, attribute: Any) -> list[float] | None:
        """w, x, y, z; None where there is none."""
        value = attribute.Get() if attribute else None
        if value is None:
            return None
        if not hasattr(value, "GetReal"):
            raise self._fault(attribute.GetPrim(), f"{attribute.GetName()} is {value!r}; expected a quaternion.")
        found = np.array([value.GetReal(), *value.GetImaginary()], dtype=float)
        if not (np.abs(found) < LARGEST_NUMBER).all():
            raise self._fault(attribute.GetPrim(), f"{attribute.GetName()} is {found.tolist()}; expected numbers.")
        return [float(x) for x in found]

    def read(self, warned: Callable[[], list[str]]) -> Mechanism:
        """warned: what the library says of the file."""
        cuts = self._carry()
        frames: dict[str, dict[str, Pose]] = {body: {} for body in self.bodies}
        for joint in cuts:
            for body, pose in ((joint.parent, joint.in_parent), (joint.child, joint.in_child)):
                if body:
                    frames[body][joint.name] = self._shift(body) @ pose
        for body, prim in self.bodies.items():
            self._body(body, prim, frames[body])
        for body, prim in self.bodies.items():
            if body not in self.carriers:
                place = self._world(prim)[0]
                position = self.values.vector(place.position, "p", f"{self.names[body]}_free", self._origin(prim))
                self.builder.joint(
                    f"{self.names[body]}_free",
                    "free",
                    WORLD,
                    self.names[body],
                    position=position,
                    rotation=place.rotation,
                    origin=self._origin(prim),
                )
        closing = {id(joint) for joint in cuts}
        for joint in self.joints:
            if id(joint) not in closing:
                self._write(joint)
        for joint in cuts:
            ends = [
                (self.names[body], joint.name)
                if body
                else self.values.ground(joint.name, pose, self._origin(joint.prim))
                for body, pose in ((joint.parent, joint.in_parent), (joint.child, joint.in_child))
            ]
            self.builder.cut(joint.name, CUTS[joint.kind], ends[0], ends[1], origin=self._origin(joint.prim))
        self.builder.note(f"{self.file}: shapes, materials and contacts of the stage were left out")
        prims = (*self.bodies.values(), *(joint.prim for joint in self.joints))
        foreign = dict.fromkeys(n for p in prims for n in p.GetAuthoredPropertyNames() if n.startswith(FOREIGN))
        if foreign:
            listed = ", ".join(list(foreign)[:8]) + (f" and {len(foreign) - 8} more" if len(foreign) > 8 else "")
            self.builder.note(f"{self.file}: properties for other programs were left out: {listed}")
        for sentence in dict.fromkeys(warned()[:8]):
            self.builder.note(f"{self.file}: {sentence}")
        return self.values.done()

    # -- joints

    def _joint(self, prim: Any) -> _UsdJoint | None:
        joint = self.physics.Joint(prim)
        if joint.GetJointEnabledAttr().Get() is False:
            self.builder.note(f"{self._origin(prim)}: the joint is not enabled and was left out")
            return None
        kind = KINDS.get(str(prim.GetTypeName()))
        if kind is None:
            raise self._fault(prim, f"a joint of type {prim.GetTypeName()}; expected one of {', '.join(KINDS)}.")
        ends = []
        for side in (joint.GetBody0Rel(), joint.GetBody1Rel()):
            targets = side.GetTargets()
            ends.append(self._owner(prim, str(targets[0])) if targets else "")
        poses = [
            self._local(prim, end, getattr(joint, f"GetLocalPos{k}Attr")(), getattr(joint, f"GetLocalRot{k}Attr")())
            for k, end in enumerate(ends)
        ]
        if ends[0] == ends[1]:
            raise self._fault(prim, "a joint joins a body to itself; expected two bodies.")
        axis = "Z"  # of a ball joint, whose axis is that of its cone: its frames stay as they are
        if kind in ("revolute", "prismatic"):
            axis = str(prim.GetAttribute("physics:axis").Get() or "X")
        if axis not in _ALIGNED:
            raise self._fault(prim, f"physics:axis is {axis[:20]!r}; expected X, Y or Z.")
        align = Pose(_ALIGNED[axis], np.zeros(3))
        first, second = (pose @ align for pose in poses)
        name = prim.GetName()
        if not ends[1]:
            return _UsdJoint(name, prim, kind, ends[1], ends[0], second, first)
        return _UsdJoint(name, prim, kind, ends[0], ends[1], first, second)

    def _owner(self, prim: Any, path: str) -> str:
        """The rigid body of a target: itself, or the one around it; "" for what stands still."""
        at = self.stage.GetPrimAtPath(path)
        while at and str(at.GetPath()) != "/":
            if str(at.GetPath()) in self.bodies:
                return str(at.GetPath())
            at = at.GetParent()
        if not self.stage.GetPrimAtPath(path):
            raise self._fault(prim, f"the joint names {path}, which is not in the stage; expected a rigid body.")
        return ""

    def _local(self, prim: Any, body: str, position: Any, quaternion: Any) -> Pose:
        """A joint's frame in the frame of its body (without scale), m."""
        scale = np.ones(3) if not body else self._world(self.bodies[body])[1]
        p = self._numbers(position, (0, 0, 0)) * scale * self.metre
        q = self._quaternion(quaternion)
        if q is None:
            return Pose(np.eye(3), p)
        if np.linalg.norm(q) < 1e-10:
            raise self._fault(prim, "a frame of the joint has the quaternion 0; expected one of length 1.")
        return Pose(from_quaternion(q), p)

    def _world(self, prim: Any) -> tuple[Pose, np.ndarray]:
        """(pose in the world, m; scale of the body's axes)"""
        matrix = np.array(self.cache.GetLocalToWorldTransform(prim), dtype=float).T  # USD has row vectors
        if not (np.abs(matrix) < LARGEST_NUMBER).all():
            raise self._fault(
                prim,
                f"the transform of the body has entries that are not below {LARGEST_NUMBER:g}; expected smaller ones.",
            )
        if np.abs(matrix[3] - (0, 0, 0, 1)).max() > 1e-6:
            raise self._fault(
                prim,
                f"the transform of the body has the last column {matrix[3].tolist()}; expected 0, 0, 0, 1. USD has the "
                "translation in the last row.",
            )
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        if scale.min() <= 0:
            raise self._fault(prim, "the body has the scale 0; expected another.")
        rotation = matrix[:3, :3] / scale
        if abs(np.linalg.det(rotation) - 1) > 1e-6:
            raise self._fault(prim, "the body's transform is sheared or mirrored; expected a rotation and a scale.")
        u, _, v = np.linalg.svd(rotation)
        return Pose(u @ v, matrix[:3, 3] * self.metre), scale

    def _carry(self) -> list[_UsdJoint]:
        """Which joint carries which body, from the world outward; those left over close loops."""
        at: dict[str, list[_UsdJoint]] = {}
        cuts: list[_UsdJoint] = []
        for joint in self.joints:
            if bool(self.physics.Joint(joint.prim).GetExcludeFromArticulationAttr().Get()):
                cuts.append(joint)
            else:
                at.setdefault(joint.parent, []).append(joint)
                at.setdefault(joint.child, []).append(joint)
        reached: set[str] = set()
        done: set[int] = set()
        waiting: deque[str] = deque()
        for start in ("", *self.bodies):
            if start not in reached:
                reached.add(start)
                waiting.append(start)
            while waiting:
                for joint in at.get(waiting.popleft(), ()):
                    if id(joint) not in done:
                        done.add(id(joint))
                        self._reach(joint, reached, waiting, cuts)
        return cuts

    def _reach(self, joint: _UsdJoint, reached: set[str], waiting: deque[str], cuts: list[_UsdJoint]) -> None:
        """The joint carries what it reaches anew; where it does not, it closes a loop."""
        if joint.parent in reached and joint.child in reached:
            cuts.append(joint)
        else:
            if joint.child in reached:  # it points inward: turn it round
                joint.parent, joint.child = joint.child, joint.parent
                joint.in_parent, joint.in_child = joint.in_child, joint.in_parent
                if joint.kind != "fixed":
                    self.builder.note(
                        f"{self._origin(joint.prim)}: body1 carries body0; the coordinate counts backwards"
                    )
            self.carriers[joint.child] = joint
            reached.add(joint.child)
            waiting.append(joint.child)

    def _write(self, joint: _UsdJoint) -> None:
        prim, origin = joint.prim, self._origin(joint.prim)
        place = self._shift(joint.parent) @ joint.in_parent
        details: dict[str, Any] = {}
        if joint.kind in ("revolute", "prismatic"):
            details = self._laws(joint)
        self.builder.joint(
            joint.name,
            joint.kind,
            self.names[joint.parent] if joint.parent else WORLD,
            self.names[joint.child],
            position=self.values.vector(place.position, "p", joint.name, origin),
            rotation=place.rotation,
            axis="z",
            origin=origin,
            **details,
        )
        if joint.kind == "ball" and prim.GetAttribute("physics:coneAngle0Limit").HasAuthoredValue():
            self.builder.note(f"{origin}: the cone limit of the joint was left out")

    def _laws(self, joint: _UsdJoint) -> dict[str, Any]:
        """Limits; drives as springs and dampers towards their targets."""
        prim, origin, turn = joint.prim, self._origin(joint.prim), joint.kind == "revolute"
        unit = math.pi / 180 if turn else self.metre
        bounds = (
            self._numbers(prim.GetAttribute(f"physics:{k}Limit"), (math.inf,), infinite=True)[0]
            for k in ("lower", "upper")
        )
        low, high = (float(b) * unit if math.isfinite(b) else None for b in bounds)
        out: dict[str, Any] = {
            "limits": Limits(low, high) if low is not None and high is not None and low < high else None
        }
        word = "angular" if turn else "linear"
        if prim.HasAPI(self.physics.DriveAPI, word):
            drive = self.physics.DriveAPI(prim, word)
            # a force of the stage is kg unit / s^2; of an angular drive the stiffness is given by degree
            force = self.kilogram * (self.metre**2 / unit if turn else self.metre / unit)
            stiffness, damping, target, speed = (
                float(self._numbers(a, (0,))[0])
                for a in (
                    drive.GetStiffnessAttr(),
                    drive.GetDampingAttr(),
                    drive.GetTargetPositionAttr(),
                    drive.GetTargetVelocityAttr(),
                )
            )
            if speed * damping and stiffness:  # -k (q - target) - d (qd - speed): a spring that is free elsewhere
                target += speed * damping / stiffness
            elif speed * damping:
                self.builder.note(f"{origin}: the target velocity of the drive was left out")
            most = self._numbers(drive.GetMaxForceAttr(), (math.inf,), infinite=True)[0]
            if math.isfinite(most) and (stiffness or damping):
                self.builder.note(f"{origin}: the largest force of the drive, {most:g}, was left out")
            if drive.GetTypeAttr().Get() == "acceleration" and (stiffness or damping):
                raise self._fault(prim, "its drive is of type acceleration; expected force.")
            units = ("N m/rad", "N m s/rad", "rad") if turn else ("N/m", "N s/m", "m")
            numbers = (
                ("stiffness", stiffness * force),
                ("viscous", damping * force),
                ("rest", target * unit if stiffness else 0.0),
            )
            for (key, value), named in zip(numbers, units):
                if value:
                    out[key] = self.values.scalar(value, f"{key}_{joint.name}", named, origin)
        return out

    # -- bodies

    def _shift(self, body: str) -> Pose:
        """The USD body frame in the Mechanism's: that of the joint that carries the body."""
        return self.carriers[body].in_child.inverse() if body in self.carriers else IDENTITY

    def _body(self, body: str, prim: Any, frames: dict[str, Pose]) -> None:
        name, origin = self.names[body], self._origin(prim)
        _, scale = self._world(prim)
        mass, com, tensor = self._mass(prim, scale)
        shift = self._shift(body)
        place = shift @ Pose(np.eye(3), com)
        named = {
            k: {"position": self.values.vector(p.position, "p", f"{name}_{k}", origin), "rotation": p.rotation}
            for k, p in frames.items()
        }
        centre = place.position if mass else np.zeros(3)
        self.values.body(name, mass, centre, turned(tensor, shift.rotation), named, origin=origin)

    def _mass(self, prim: Any, scale: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass kg, com m, tensor kg m^2 in the body's axes, from MassAPI alone."""
        if not prim.HasAPI(self.physics.MassAPI):
            raise self._fault(
                prim,
                "the body has no PhysicsMassAPI, and its mass would come from shapes; expected mass and "
                "diagonalInertia. Write them into the file.",
            )
        rigid = self.physics.RigidBodyAPI(prim)
        if rigid.GetRigidBodyEnabledAttr().Get() is False or rigid.GetKinematicEnabledAttr().Get() is True:
            raise self._fault(
                prim, "the body is kinematic, or not enabled: forces do not move it; expected a body that they move."
            )
        api = self.physics.MassAPI(prim)
        mass = float(self._numbers(api.GetMassAttr(), (0,))[0]) * self.kilogram
        moments = self._numbers(api.GetDiagonalInertiaAttr(), (0, 0, 0))
        if mass <= 0 or not moments.any():
            raise self._fault(
                prim,
                f"the body has mass {mass:g} and diagonalInertia {moments.tolist()}, the rest would come from "
                "shapes; expected both. Write them into the file.",
            )
        com = self._numbers(api.GetCenterOfMassAttr(), (0, 0, 0), infinite=True)
        com = np.where(np.isfinite(com), com, 0.0) * scale * self.metre  # not given: minus infinity
        axes = self._quaternion(api.GetPrincipalAxesAttr())
        turn = np.eye(3) if axes is None or np.linalg.norm(axes) <= 1e-10 else from_quaternion(axes)
        tensor = turned(np.diag(moments) * self.kilogram * self.metre**2, turn)
        return mass, com, tensor


def _short_names(paths: list[str]) -> dict[str, str]:
    """Path -> its last part, or as much of its end as makes it unique."""
    split = {path: path.strip("/").split("/") for path in paths}
    ends = Counter("_".join(parts[-k:]) for parts in split.values() for k in range(1, len(parts) + 1))
    out: dict[str, str] = {"": WORLD}
    for path, parts in split.items():
        names = ["_".join(parts[-k:]) for k in range(1, len(parts) + 1)]
        out[path] = next((n for n in names if n != WORLD and ends[n] == 1), names[-1])
    return out
