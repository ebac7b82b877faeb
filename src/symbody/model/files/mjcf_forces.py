"""What acts on MJCF bodies besides joints: compensation of gravity, and the fluid around them.

MuJoCo's drag is that of the box of equal inertia: each side by itself, viscous and quadratic, at the centre of mass
(engine_passive: inertia box model). It becomes the force element `drag`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.model.build.builder import Builder
from symbody.model.files.mesh_mass import principal_axes
from symbody.model.files.mjcf_geoms import MassProperties
from symbody.model.files.mjcf_tree import BodyRecord
from symbody.model.files.xml_file import Element
from symbody.model.record.pose import Pose

LIGHTEST = 1e-15  # kg: MuJoCo leaves out what is lighter


class BodyForces:
    """Forces at the centre of mass of each body, on frames that are called after them."""

    def __init__(self, option: Element, gravity: list[float], passive: bool, builder: Builder) -> None:
        self.gravity, self.builder = np.array(gravity), builder
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
        if share and moving and mass.mass and self.gravity.any():
            force = -share * mass.mass * self.gravity
            self._add(body, "gravcomp", "point_force", Pose(np.eye(3), mass.com), {"force": [float(f) for f in force]})
        if (self.density or self.viscosity) and mass.mass > LIGHTEST and moving:
            if any(g.element.get("fluidshape") == "ellipsoid" for g in body.geoms):
                raise body.element.error(
                    f"body {body.name!r} has geoms with fluidshape='ellipsoid', whose lift and added mass are not "
                    "supported; expected 'none', or density and viscosity 0 in <option>."
                )
            moments, axes = _box_axes(mass)
            self._add(body, "fluid", "drag", Pose(axes, mass.com), self._drag(mass.mass, moments))

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
        drags = [body.name for body, _, kind, _ in self.made if kind == "drag"]
        if drags:
            fluid = f"density {self.density:g}, viscosity {self.viscosity:g}"
            self.builder.note(
                f"{self.made[0][0].element.file}: the fluid ({fluid}) acts on {len(drags)} bodies as drag, by MuJoCo's "
                "box of equal inertia"
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
