"""What acts on MJCF bodies besides joints: compensation of gravity, and the fluid around them.

MuJoCo's drag is that of the box of equal inertia: each side by itself, viscous and quadratic, at the centre of mass
(engine_passive: inertia box model). It becomes the force element `drag`. Where geoms of a body have
fluidshape="ellipsoid", these have lift, drag and added mass in its place: `ellipsoid_drag`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.model.build.builder import Builder
from symbody.model.files.mesh_mass import principal_axes
from symbody.model.files.mjcf_geoms import MassProperties, semiaxes
from symbody.model.files.mjcf_meshes import MeshAssets
from symbody.model.files.mjcf_tree import BodyRecord
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.pose import Pose

LIGHTEST = 1e-15  # kg: MuJoCo leaves out what is lighter


class BodyForces:
    """Forces at the centre of mass of each body, on frames that are called after them."""

    def __init__(
        self,
        option: XmlElement,
        gravity: list[float],
        passive: bool,
        motors: bool,
        builder: Builder,
        meshes: MeshAssets,
    ) -> None:
        """passive: whether passive forces act; motors: whether there are actuators, and they act."""
        self.motors = motors
        self.gravity, self.builder, self.meshes = np.array(gravity), builder, meshes
        self.density, self.viscosity = option.number("density", 0.0), option.number("viscosity", 0.0)
        for what, value in (("density", self.density), ("viscosity", self.viscosity)):
            if value < 0:
                raise option.error(f"<option> has {what} {value:g}; expected zero or more.")
        self.wind = option.numbers("wind", 3, (0, 0, 0))
        self.passive = passive
        self.made: list[tuple[BodyRecord, str, str, dict[str, Any]]] = []

    def find(self, body: BodyRecord, mass: MassProperties) -> None:
        """What acts on a body, before it is made: its frames are still open."""
        if not self.passive:
            return
        share = body.element.number("gravcomp", 0.0)
        if not (share or self.density or self.viscosity):
            return
        moving = any(b.joints for b in (body, *carriers(body)))
        if share and moving and mass.mass and self.gravity.any() and self._borne(body):
            force = -share * mass.mass * self.gravity
            self._add(body, "gravcomp", "point_force", Pose(np.eye(3), mass.com), {"force": [float(f) for f in force]})
        if (self.density or self.viscosity) and mass.mass > LIGHTEST and moving:
            wet = [g for g in body.geoms if g.element.choice("fluidshape", ("none", "ellipsoid"), "none") != "none"]
            for geom in wet:
                size, pose = semiaxes(geom.element, geom.size, geom.pose, self.meshes)
                self._add(body, "ellipsoid", "ellipsoid_drag", pose, self._ellipsoid(geom.element, size))
            if wet:
                return
            moments, axes = _box_axes(mass)
            self._add(body, "fluid", "drag", Pose(axes, mass.com), self._drag(mass.mass, moments))

    def _borne(self, body: BodyRecord) -> bool:
        """Whether the weight is borne. Joints with actuatorgravcomp leave that to actuators: where there are none, or
        they are off, nothing does."""
        joints = [j for b in (body, *carriers(body)) for j in b.joints]
        given = [j for j in joints if j.element.choice("actuatorgravcomp", ("true", "false"), "false") == "true"]
        e = body.element
        if given and not self.motors:
            if len(given) < len(joints):
                raise e.error(
                    f"body {body.name!r} has gravcomp, which joint {given[0].name!r} leaves to actuators that do not "
                    "act, and others bear; expected actuatorgravcomp on all of its joints or on none."
                )
            self.builder.note(
                f"{e.origin}: gravcomp of body {body.name!r} was left out: it is left to actuators, and none act"
            )
            return False
        limited = [j.name for j in given if j.element.get("actuatorfrcrange")]
        if limited:
            self.builder.note(
                f"{e.origin}: gravcomp of body {body.name!r} acts in full, in MuJoCo within the actuatorfrcrange of "
                f"joint {limited[0]!r}"
            )
        return True

    def _ellipsoid(self, geom: XmlElement, size: np.ndarray) -> dict[str, Any]:
        """Coefficients and added mass, which MuJoCo finds by a quadrature of 15 points."""
        given = geom.numbers("fluidcoef", range(1, 6))
        named = dict(zip(("blunt", "slender", "angular", "kutta", "magnus"), given))
        mass, inertia = added_mass(size)
        out: dict[str, Any] = {"semiaxes": [float(x) for x in size], **named}
        out |= {k: v for k, v in (("density", self.density), ("viscosity", self.viscosity)) if v}
        vectors = {"added_mass": self.density * mass, "added_inertia": self.density * inertia}
        vectors["wind"] = np.array(self.wind)
        return out | {k: [float(x) for x in v] for k, v in vectors.items() if v.any()}

    def _drag(self, mass: float, moments: np.ndarray) -> dict[str, Any]:
        a, b, c = np.sqrt(np.maximum(moments.sum() - 2 * moments, LIGHTEST) / mass * 6)
        mean = (a + b + c) / 3
        rho, nu = self.density, self.viscosity
        values = {
            "linear": np.full(3, 3 * np.pi * mean * nu),
            "quadratic": rho / 2 * np.array([b * c, a * c, a * b]),
            "angular": np.full(3, np.pi * mean**3 * nu),
            "angular_quadratic": rho / 64 * np.array([a * (b**4 + c**4), b * (a**4 + c**4), c * (a**4 + b**4)]),
            "wind": np.array(self.wind),
        }
        return {k: [float(x) for x in v] for k, v in values.items() if v.any()}

    def _add(self, body: BodyRecord, what: str, kind: str, at: Pose, values: dict[str, Any]) -> None:
        frame = what
        while frame in body.frames:
            frame += "_"
        body.frames[frame] = at
        self.made.append((body, frame, kind, values))

    def write(self) -> None:
        """Into the Builder, when all bodies are there."""
        for body, frame, kind, values in self.made:
            name = f"{body.name}_{frame}"
            self.builder.force(name, kind, [(body.name, frame)], values, origin=body.element.origin)
        for wanted, how in (
            ("drag", "drag, by MuJoCo's box of equal inertia"),
            ("ellipsoid_drag", "drag, lift and added mass of ellipsoids"),
        ):
            bodies = {body.name for body, _, kind, _ in self.made if kind == wanted}
            if bodies:
                fluid = f"density {self.density:g}, viscosity {self.viscosity:g}"
                self.builder.note(
                    f"{self.made[0][0].element.file}: the fluid ({fluid}) acts on {len(bodies)} bodies as {how}"
                )


def carriers(body: BodyRecord) -> list[BodyRecord]:
    """The bodies that carry one, up to the world."""
    out = []
    while body.parent is not None:
        body = body.parent
        out.append(body)
    return out


def _box_axes(mass: MassProperties) -> tuple[np.ndarray, np.ndarray]:
    """Moments and axes of the box: those that the file gives, else principal ones."""
    if mass.axes is None:
        return principal_axes(mass.tensor)
    return np.diag(mass.axes.T @ mass.tensor @ mass.axes), mass.axes


# Gauss-Kronrod, 15 points: abscissae of (0, 1) and weights to the 8 digits that MuJoCo has
_ABSCISSAE = np.array([
    0.00427231, 0.02544604, 0.06756779, 0.12923441, 0.20695638, 0.29707742, 0.39610752, 0.5, 0.60389248, 0.70292258,
    0.79304362, 0.87076559, 0.93243221, 0.97455396, 0.99572769,
])  # fmt: skip
_WEIGHTS = np.array([0.01146766, 0.03154605, 0.05239501, 0.07032663, 0.08450236, 0.09517529, 0.10221647, 0.10474107])
_TINY = 1e-14  # MuJoCo's smallest divisor there


def added_mass(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per density of the fluid: (3,) m^3 and (3,) m^5 along and about the axes of an ellipsoid (Tuckerman 1925).

    kappa_i is the integral over l > 0 of abc / ((i^2 + l) sqrt((a^2 + l) (b^2 + l) (c^2 + l))), with l = scale
    x^3/(1-x)^2.
    """
    x, weights = _ABSCISSAE, np.r_[_WEIGHTS, _WEIGHTS[-2::-1]]
    place, rate = x**3 / (1 - x) ** 2, x**2 * (3 - x) / (1 - x) ** 3
    squares, volume = size**2, 4 / 3 * np.pi * size.prod()
    kappa = np.zeros(3)
    for i in range(3):
        scale = (squares[i] * size.prod()) ** 0.4
        ratios = 1 + scale * place[:, None] / squares
        kappa[i] = np.sum(weights * scale * rate / (ratios[:, i] * np.sqrt(ratios.prod(axis=1)))) / squares[i]
    inertia = np.zeros(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        apart, both = squares[j] - squares[k], squares[j] + squares[k]
        divisor = max(_TINY, abs(2 * apart + both * (kappa[j] - kappa[k])))
        inertia[i] = volume / 5 * apart**2 * abs(kappa[k] - kappa[j]) / divisor
    return volume * kappa / np.maximum(_TINY, 2 - kappa), inertia
