"""MJCF (MuJoCo XML) -> Mechanism: the worldbody's tree, default classes, inertia from geoms, equality as cuts.

In MJCF a joint's anchor may lie anywhere in its body, and a body may have several joints in turn. In the Mechanism the
frame of a body is that of the joint that carries it: body frames move to the last joint's anchor, and massless bodies
stand between joints in turn. Coordinates keep MuJoCo's meaning: `ref`, free joints as poses in the world, their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, nearest, wrong_argument
from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues
from symbody.model.files.mjcf_actuators import Actuators
from symbody.model.files.mjcf_align import align_free_bodies
from symbody.model.files.mjcf_attach import expand_attachments
from symbody.model.files.mjcf_attributes import unknown_attributes
from symbody.model.files.mjcf_defaults import Defaults, expand_includes, section
from symbody.model.files.mjcf_equality import read_equality
from symbody.model.files.mjcf_forces import BodyForces, carriers
from symbody.model.files.mjcf_geoms import MassProperties
from symbody.model.files.mjcf_keyframes import read_keyframes
from symbody.model.files.mjcf_meshes import MeshAssets
from symbody.model.files.mjcf_names import read_mjcf
from symbody.model.files.mjcf_replicate import expand_replicates
from symbody.model.files.mjcf_springs import JointSprings, curve
from symbody.model.files.mjcf_tendons import Tendon, TendonForces, read_tendons
from symbody.model.files.mjcf_tree import BodyRecord, GeomRecord, JointRecord, TreeReader, compiler_of
from symbody.model.files.mjcf_weights import Felt, felt_inertia, spring_damper
from symbody.model.files.urdf_shapes import MeshFinder, placement_of, trusted_folders
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.mechanism import WORLD, Limits, Mechanism, Shape
from symbody.model.record.pose import IDENTITY, Pose, from_axis_angle

SECTIONS = {  # what is done with each
    "compiler": "read", "option": "read", "default": "read", "asset": "read", "worldbody": "read", "equality": "read",
    "size": "unneeded", "visual": "unneeded", "statistic": "unneeded", "custom": "unneeded",
    "contact": "noted", "tendon": "read", "actuator": "read", "sensor": "noted", "keyframe": "read",
    "deformable": "noted", "extension": "noted",
}  # fmt: skip
PARTS = ("body", "geom", "joint", "site", "texture", "material", "mesh")  # of sections: in files to be included
KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "ball", "free": "free"}
MOVING_LAWS = ("stiffness", "damping", "armature", "frictionloss")
ROUNDING = 1e-12  # of moments of inertia that are found from a tensor: a plate's are no reason to balance
NOT_ON = {"free": ("frictionloss",)}


def read(
    path: str | Path, symbolic: bool = True, packages: Sequence[str | Path] = (), actuators: str = "efforts"
) -> Mechanism:
    """The Mechanism of an MJCF file.

    symbolic  nonzero masses, lengths, inertias and joint laws become parameters with their value as default
    packages  folders whose files may be read (includes, meshes), besides that of the model
    actuators "efforts": joints take efforts, and the actuators are listed in the notes; "laws": they become force
              elements with inputs u_<name>, as MuJoCo's controls
    """
    if actuators not in ("efforts", "laws"):
        raise wrong_argument("actuators", actuators, "'efforts' or 'laws'", error=ModelError)
    path = Path(path)
    top = read_mjcf(path)
    if top.tag != "mujoco":
        hint = " This is URDF: name it .urdf." if top.tag == "robot" else ""
        hint = " This is a part: load the file that includes it." if top.tag == "mujocoinclude" else hint
        raise top.error(f"the file's root is <{top.tag}>; expected <mujoco>.{hint}")
    top = expand_includes(top, path, trusted_folders(packages))
    unknown = unknown_attributes(top)
    top, notes, written = expand_attachments(top, path, trusted_folders(packages))
    top = expand_replicates(top, compiler_of(section(top, "compiler")), written)
    for child in top.children:
        if child.tag not in SECTIONS:
            part = " It seems to be a part: load the file that includes it." if child.tag in PARTS else ""
            raise child.error(f"<{child.tag}> is no section of MJCF.{part or ' ' + nearest(child.tag, SECTIONS)}")
        flexible = child.first("flex") if child.tag == "deformable" else None
        if flexible is not None:
            raise flexible.error(
                "<flex> is not supported; expected rigid bodies: what bends has no place in a Mechanism. Remove it."
            )
    reader = _MjcfReader(top, path, symbolic, packages, actuators)
    for sentence in (*unknown, *notes):
        reader.builder.note(sentence)
    return reader.read()


class _MjcfReader:
    """Turns the records of the tree into pieces of the Builder."""

    def __init__(
        self, top: XmlElement, path: Path, symbolic: bool, packages: Sequence[str | Path], actuators: str
    ) -> None:
        self.top = top
        self.settings = section(top, "compiler")
        option = section(top, "option")
        self.flags = {k: f.choice(k, ("enable", "disable"), "") for f in option.all("flag") for k in f.attributes}
        gravity = option.numbers("gravity", 3, (0, 0, -9.81))
        if self.flags.get("gravity") == "disable":
            gravity = [0.0, 0.0, 0.0]
        self.builder = Builder(top.get("model") or path.stem, gravity, source=path.name)
        self.values = FileValues(self.builder, symbolic)
        self.meshes = MeshFinder(path, packages)
        defaults, asset = Defaults(top), section(top, "asset")
        folder = self.settings.get("meshdir") or self.settings.get("assetdir")
        strip = self.settings.get("strippath") == "true"
        meshes = MeshAssets(asset, defaults, folder, self.meshes, strip)
        meshes.fits_around = self.settings.get("fitaabb") == "true"
        self.tree = TreeReader(defaults, compiler_of(self.settings), meshes, self.builder.note)
        self.tree.read(section(top, "worldbody"))
        self.masses = self._masses()
        align_free_bodies(self.tree, self.masses, self.settings.get("alignfree") == "true")
        self.colours = {m.get("name"): tuple(m.numbers("rgba", 4)) for m in asset.all("material")}
        self.passive = {law: self._acts(law) for law in ("spring", "damper")}
        # without springs and dampers MuJoCo leaves out all passive forces, weight compensation and fluid too
        acts = self.passive["spring"] or self.passive["damper"]
        motors = bool(section(top, "actuator").children) and self.flags.get("actuation") != "disable"
        self.forces = BodyForces(option, gravity, acts, motors, self.builder, meshes)
        self.tendons = read_tendons(section(top, "tendon"), self.tree)
        self.actuators = Actuators(section(top, "actuator"), self.tree, self.builder, self.values, actuators)
        self.springs = JointSprings(self.tree, self.builder, self.values, self.passive)

    def _acts(self, law: str) -> bool:
        """Whether the flags of <option> leave a law of joints and tendons on."""
        return "disable" not in (self.flags.get("passive"), self.flags.get(law))

    def read(self) -> Mechanism:
        masses = self.masses
        equalities = read_equality(section(self.top, "equality"), self.tree, self.builder)
        for cut in equalities.cuts:
            for body, frame, pose in cut.ends:
                if body.parent is not None:
                    body.frames[frame] = pose
        self.springs.prepare()
        for body in self.tree.bodies[1:]:
            self.forces.find(body, masses[body])
            self._body(body, masses[body])
            self._joints(body, equalities.details)
        for body in self.tree.bodies[1:]:  # what follows others comes last
            for joint in body.joints:
                if not joint.axial and joint.element.tag != "freejoint" and joint.element.number("armature", 0.0):
                    self._armature(body, joint)
        self.forces.write()
        self.springs.write()
        for cut in equalities.cuts:
            ends = [
                (body.name, frame) if body.parent is not None else self.values.ground(frame, pose, cut.origin)
                for body, frame, pose in cut.ends
            ]
            self.builder.cut(cut.name, cut.kind, ends[0], ends[1], origin=cut.origin)
        for law in equalities.laws:
            self.builder.coupling(law.name, equalities.expression(law), origin=law.origin)
        lines = TendonForces(self.tendons, self.tree, self.builder, self.values, equalities.details)
        friction = self.flags.get("frictionloss") != "disable"
        lines.write(self.passive["spring"], self.passive["damper"], friction, self.actuators)
        for name, element in equalities.tendons:
            lines.equality(name, element, equalities.tendon_length)
        self.actuators.write(lines, lambda: self.felt)
        read_keyframes(section(self.top, "keyframe"), self.tree, equalities.details, self.builder)
        self._notes()
        return self.values.done()

    @cached_property
    def felt(self) -> Felt:
        """Inertia that joints and tendons feel in the file's configuration."""
        sums = [(t.joints, self._tendon_armature(t)) for t in self.tendons.values() if t.fixed]
        return felt_inertia(self.tree.bodies, self.masses, self._joint_armature, sums)

    def _joint_armature(self, joint: JointRecord) -> float:
        """Armature of the joint itself and what actuators add, kg m^2 or kg."""
        return joint.element.number("armature", 0.0) + self.actuators.on("joint", joint.name).armature

    def _tendon_armature(self, tendon: Tendon) -> float:
        return tendon.element.number("armature", 0.0) + self.actuators.on("tendon", tendon.name).armature

    # -- masses

    def _masses(self) -> dict[BodyRecord, MassProperties]:
        """Mass properties in MJCF body frames, bounded, balanced and scaled as <compiler> asks."""
        out = {body: self._bounded(self.tree.mass_of(body)) for body in self.tree.bodies[1:]}
        wanted = self.settings.number("settotalmass", -1.0)
        total = sum(p.mass for p in out.values())
        if wanted > 0 and self.settings.get("fusestatic") == "true":
            for body, given in out.items():
                if given.mass and not body.joints and not any(b.joints for b in carriers(body)):
                    raise body.element.error(
                        f"body {body.name!r} stands still, and MuJoCo may fuse it with the world before settotalmass "
                        "scales masses; expected fusestatic='false' in <compiler>, or no settotalmass."
                    )
        if wanted > 0 and total > 0:
            out = {
                b: MassProperties(p.mass * wanted / total, p.com, p.tensor * (wanted / total), p.axes)
                for b, p in out.items()
            }
        return out

    def _bounded(self, given: MassProperties) -> MassProperties:
        least_mass, least = self.settings.number("boundmass", 0.0), self.settings.number("boundinertia", 0.0)
        balance = self.settings.get("balanceinertia") == "true"
        tensor = given.tensor
        if least > 0 or balance:
            moments, axes = np.linalg.eigh(tensor)
            if least > moments[0]:
                moments = np.maximum(moments, least)
                tensor = (axes * moments) @ axes.T
            if balance and moments[2] > (moments[0] + moments[1]) * (1 + ROUNDING):
                tensor = np.eye(3) * moments.mean()
        return MassProperties(max(given.mass, least_mass), given.com, (tensor + tensor.T) / 2, given.axes)

    def _body(self, body: BodyRecord, given: MassProperties) -> None:
        shift = Pose(np.eye(3), -body.anchor)
        frames = {
            name: {
                "position": self.values.vector(
                    (shift @ pose).position, "p", f"{body.name}_{name}", body.element.origin
                ),
                "rotation": pose.rotation,
            }
            for name, pose in body.frames.items()
        }
        shapes = [s for g in body.geoms if (s := self._shape(g, shift)) is not None]
        com = given.com - body.anchor if given.mass or given.tensor.any() else np.zeros(3)
        self.values.body(body.name, given.mass, com, given.tensor, frames, shapes, body.element.origin)

    def _shape(self, geom: GeomRecord, shift: Pose) -> Shape | None:
        """A geom as a Shape, with full sizes."""
        element, s = geom.element, geom.size
        colour = tuple(element.numbers("rgba", 4)) or self.colours.get(element.get("material"), ())
        file = ""
        sizes: tuple[float, ...] = tuple(float(2 * x) for x in s)
        match geom.kind:
            case "sphere":
                sizes = (float(s[0]),)
            case "cylinder" | "capsule":
                sizes = (float(s[0]), float(2 * s[1]))
            case "mesh":
                file, sizes = self.tree.meshes.file(element)
            case "box" | "ellipsoid":
                pass
            case _:
                return None  # planes and height fields do not move
        return Shape(geom.kind, sizes, placement_of(shift @ geom.pose, self.builder), file, colour)

    # -- joints

    def _joints(self, body: BodyRecord, held: dict[str, dict[str, Any]]) -> None:
        """The joints of a body in turn, with massless bodies between them; `held`: what equalities say of them."""
        assert body.parent is not None
        origin = body.element.origin
        parent = WORLD if body.parent.parent is None else body.parent.name
        # pose of the MJCF body frame in the frame that carries the next joint
        here = Pose(body.pose.rotation, body.pose.position - body.parent.anchor)
        if not body.joints:
            self._place(f"{body.name}_fixed", "fixed", parent, body.name, here, IDENTITY.position, origin)
        for k, joint in enumerate(body.joints):
            last = k == len(body.joints) - 1
            child = body.name if last else self.tree.new_name(f"{body.name}_{k + 1}")
            if not last:
                frames = self.springs.frames_before(body, k + 1)
                self.builder.body(child, frames=frames, origin=joint.element.origin)
            if joint.kind == "free":
                here = IDENTITY  # its coordinates are the pose in the world, whatever the body's pose is
                self.builder.note(
                    f"{origin}: body {body.name!r} is free; its initial position {_text(body.pose.position)} "
                    "is a value of q, not part of the Mechanism: q0='qpos0' starts there"
                )
            details = self._laws(joint) | held.get(joint.name, {})
            here = self._referred(joint, here)
            self._place(
                joint.name,
                KINDS[joint.kind],
                parent,
                child,
                here,
                joint.anchor,
                joint.element.origin,
                axis=tuple(joint.axis),
                **details,
            )
            self.springs.hold(body, joint, parent, child)
            parent, here = child, Pose(np.eye(3), -joint.anchor)

    def _armature(self, body: BodyRecord, joint: JointRecord) -> None:
        """Armature of a ball or free joint: on all its velocities alike, as a body without weight would do.

        That of a ball joint between moving bodies turns on the world as the joint does.
        """
        e, size = joint.element, joint.element.number("armature")
        between = joint.kind == "ball" and (len(body.joints) > 1 or any(b.joints for b in carriers(body)))
        name = self.tree.new_name(f"{body.name}_armature")
        inertia = self.values.scalar(size, f"armature_{joint.name}", "kg m^2", e.origin)
        free = joint.kind == "free"
        mass = self.values.scalar(size, f"armature_mass_{joint.name}", "kg", e.origin) if free else 0
        self.builder.body(name, mass=mass, inertia=[inertia] * 3, origin=e.origin)
        if between:
            self.builder.joint(f"{name}_ball", "ball", WORLD, name, mimic=(joint.name, 1, 0), origin=e.origin)
        else:
            self.builder.joint(f"{name}_fixed", "fixed", body.name, name, origin=e.origin)
        gravity = [float(g) for g in self.forces.gravity]
        if free and any(gravity):
            lift = [mass * -g if g else 0 for g in gravity]
            self.builder.force(f"{name}_lift", "point_force", [name], {"force": lift}, origin=e.origin)
        self.builder.note(
            f"{e.origin}: armature {size:g} of {joint.kind} joint {joint.name!r} was made the body {name!r}, which has "
            "inertia and no weight"
        )

    def _place(
        self, name: str, kind: str, parent: str, child: str, here: Pose, anchor: np.ndarray, origin: str, **details: Any
    ) -> None:
        """A joint whose frame stands at the anchor, with the axes of the MJCF body."""
        position = here.position + here.rotation @ anchor
        self.builder.joint(
            name,
            kind,
            parent,
            child,
            position=self.values.vector(position, "p", name, origin),
            rotation=here.rotation,
            origin=origin,
            **details,
        )

    def _referred(self, joint: JointRecord, here: Pose) -> Pose:
        """The pose turned (or shifted) back by `ref`, so that q = ref is the configuration of the file."""
        if joint.kind not in ("hinge", "slide"):
            return here
        ref = self._angle(joint, joint.element.number("ref", 0.0))
        if ref == 0:
            return here
        if joint.kind == "slide":
            return Pose(here.rotation, here.position - here.rotation @ joint.axis * ref)
        turn = from_axis_angle(list(joint.axis), -ref)
        # about the anchor, not about the body's origin
        return here @ Pose(turn, joint.anchor - turn @ joint.anchor)

    def _laws(self, joint: JointRecord) -> dict[str, Any]:
        """Spring, damping, friction, armature and range."""
        e, name = joint.element, joint.name
        if e.tag == "freejoint":
            return {}
        curves = {law: curve(e, law) for law in ("stiffness", "damping")}
        reflected = self.actuators.on("joint", name)
        given = {law: curves[law][0] if law in curves else e.number(law, 0.0) for law in MOVING_LAWS}
        for law, value in given.items():
            if value < 0:
                raise e.error(f"joint {name!r} has {law} {value:g}; expected zero or more.")
            if value > 0 and law in NOT_ON.get(joint.kind, ()):
                raise e.error(
                    f"{joint.kind} joint {name!r} has {law} {value:g}; expected it on hinges and slides only. Set "
                    f"{law}='0' there, or write the joint as hinges and slides."
                )
        if _timed(joint):
            if joint.kind in ("ball", "free"):
                raise e.error(f"{joint.kind} joint {name!r} has springdamper; expected it on hinges and slides only.")
            given["stiffness"], given["damping"] = spring_damper(self.felt.by(joint), *e.numbers("springdamper", 2))
            self.builder.note(
                f"{e.origin}: springdamper of joint {name!r} was made the stiffness {given['stiffness']:.6g} and the "
                f"damping {given['damping']:.6g}, for the inertia that it feels in the file's configuration"
            )
        if e.number("springyield", 0.0) > 0 and given["stiffness"]:
            raise e.error(
                f"joint {name!r} has springyield, by which its spring is bent for good; expected elastic springs. Set "
                "springyield='0'."
            )
        given["armature"] += reflected.armature
        given["damping"] += reflected.damping[0]
        self.springs.bend(joint, curves["stiffness"], [x + y for x, y in zip(curves["damping"], reflected.damping)])
        turn = joint.kind in ("hinge", "ball")
        out: dict[str, Any] = {}
        if given["stiffness"] and self.passive["spring"] and joint.axial:
            out["stiffness"] = self.values.scalar(
                given["stiffness"], f"stiffness_{name}", "N m/rad" if turn else "N/m", e.origin
            )
            rest = self._angle(joint, e.number("springref", 0.0))
            if rest:
                out["rest"] = self.values.scalar(rest, f"rest_{name}", "rad" if turn else "m", e.origin)
        if given["damping"] and self.passive["damper"]:
            out["viscous"] = self.values.scalar(
                given["damping"], f"viscous_{name}", "N m s/rad" if turn else "N s/m", e.origin
            )
        if given["frictionloss"] and self.flags.get("frictionloss") != "disable":
            out["coulomb"] = self.values.scalar(
                given["frictionloss"], f"coulomb_{name}", "N m" if turn else "N", e.origin
            )
        if given["armature"] and joint.axial:
            unit = "kg m^2" if turn else "kg"
            out["rotor"] = (self.values.scalar(given["armature"], f"armature_{name}", unit, e.origin), 1)
        if joint.kind in ("hinge", "slide"):
            out["limits"] = self._limits(joint)
        elif joint.kind == "ball" and any(e.numbers("range", 2, (0, 0))):
            self.builder.note(f"{e.origin}: the range of ball joint {name!r} was left out")
        return out

    def _limits(self, joint: JointRecord) -> Limits | None:
        e = joint.element
        limited = e.choice("limited", ("true", "false", "auto"), "auto")
        lower, upper = (self._angle(joint, x) for x in e.numbers("range", 2, (0, 0)))
        given = lower != 0 or upper != 0
        if limited == "auto" and given and not self.tree.compiler.autolimits:
            raise e.error(f"joint {joint.name!r} has a range; expected limited='true' with it, as autolimits is off.")
        force = e.numbers("actuatorfrcrange", 2, (0, 0))
        on = e.choice("actuatorfrclimited", ("true", "false", "auto"), "auto") != "false"
        effort = force[1] if on and force[1] > 0 and force[0] == -force[1] else None
        if limited == "false" or (limited == "auto" and not given):
            return None if effort is None else Limits(effort=effort)
        if lower >= upper:
            raise e.error(f"joint {joint.name!r} has the range {e.get('range') or 'none'!r}; expected lower < upper.")
        return Limits(lower, upper, effort=effort)

    def _angle(self, joint: JointRecord, value: float) -> float:
        """A coordinate in rad or m."""
        return self.tree.compiler.angle(value) if joint.kind == "hinge" else value

    # -- what was left out

    def _notes(self) -> None:
        for part in self.top.children:
            if SECTIONS[part.tag] == "noted" and part.children:
                names = [f"{c.tag} {c.get('name')!r}" if c.get("name") else c.tag for c in part.children]
                listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
                self.builder.note(f"{part.origin}: <{part.tag}> was left out: {listed}")
        world = self.tree.bodies[0]
        if world.geoms:
            self.builder.note(f"{world.element.origin}: {len(world.geoms)} shapes fixed to the world were left out")
        for tag, count in self.tree.unseen.items():
            self.builder.note(f"{world.element.file}: {count} <{tag}> were left out")
        for sentence in self.meshes.notes():
            self.builder.note(sentence)


def _timed(joint: JointRecord) -> bool:
    """Whether spring and damper are given by time constant and damping ratio."""
    if joint.element.tag == "freejoint":
        return False
    given = joint.element.numbers("springdamper", 2)
    return bool(given) and min(given) > 0


def _text(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{v:g}" for v in values) + ")"
