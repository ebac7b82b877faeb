"""Numbers of a model file: a zero is structure, every other quantity a parameter with its value as default."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from symbody.model.build.builder import Builder
from symbody.model.record.mechanism import WORLD, Mechanism, Shape
from symbody.model.record.origin import fault
from symbody.model.record.pose import Pose
from symbody.model.record.validate import INERTIA_SLACK

GROUND = "ground"
NEGLIGIBLE = 1e-12  # kg m^2: exporters write -5e-20 for 0
INERTIA_ENTRIES = (("xx", 0, 0), ("xy", 0, 1), ("yy", 1, 1), ("xz", 0, 2), ("yz", 1, 2), ("zz", 2, 2))


class FileValues:
    """Declares the quantities of one file in a Builder; with `symbolic=False` they stay plain numbers.

    Lengths and masses are declared nonzero: a file that means zero says so.
    """

    def __init__(self, builder: Builder, symbolic: bool) -> None:
        self.builder = builder
        self.symbolic = symbolic
        self._taken: dict[str, int] = {}  # name -> the number that was last put behind it
        self._bodies: set[str] = set()
        self._carrier = GROUND  # the body with frames fixed to the world
        self._ground: dict[str, Any] = {}

    def scalar(self, value: float, name: str, unit: str, origin: str, nonzero: bool = False) -> Any:
        """0, a parameter called `name`, or the number itself."""
        if value == 0:
            return 0
        if not self.symbolic:
            return value
        return self.builder.parameter(self._free(name), value, unit, nonzero=nonzero, origin=origin)

    def vector(self, values: Iterable[float], stem: str, owner: str, origin: str) -> list[Any]:
        """Three lengths called <stem>x_<owner>, <stem>y_<owner>, <stem>z_<owner>, m."""
        return [self.scalar(float(v), f"{stem}{axis}_{owner}", "m", origin, True) for axis, v in zip("xyz", values)]

    def mass(self, value: float, owner: str, origin: str) -> Any:
        return self.scalar(value, f"m_{owner}", "kg", origin, True)

    def inertia(self, tensor: np.ndarray, owner: str, origin: str) -> list[Any]:
        """The six entries Ixx, Ixy, Iyy, Ixz, Iyz, Izz of a symmetric tensor, kg m^2."""
        return [
            self.scalar(float(tensor[i, j]), f"I{name}_{owner}", "kg m^2", origin) for name, i, j in INERTIA_ENTRIES
        ]

    def body(
        self,
        name: str,
        mass: float,
        com: Iterable[float],
        tensor: np.ndarray,
        frames: Mapping[str, Any] | None = None,
        shapes: Sequence[Shape] = (),
        origin: str = "",
    ) -> None:
        """A body of numbers: mass kg, com (3,) m, tensor (3, 3) about the com in body axes, kg m^2.

        Published files hold tensors that no distribution of mass has, rounded or estimated ones. They are kept as
        written, with a note: the equations of motion need no more than the numbers. A negative moment about an axis is
        none of these.
        """
        self._bodies.add(name)
        least = float(np.diag(tensor).min())
        if least < -max(NEGLIGIBLE, INERTIA_SLACK * float(np.abs(tensor).max())):
            raise fault(origin, f"{name!r} has the moment of inertia {least:.6g}; expected 0 or more, kg m^2.")
        physical = is_physical(tensor)
        if not physical:
            moments = ", ".join(f"{m:.4g}" for m in np.linalg.eigvalsh(tensor))
            self.builder.note(
                f"{origin}: {name!r} has the principal moments of inertia {moments}, which no distribution of mass "
                "has; they were kept as written"
            )
        inertia = self.inertia(tensor, name, origin)
        kilograms = self.mass(mass, name, origin)
        centre = self.vector(com, "c", name, origin)
        self.builder.body(name, kilograms, centre, inertia, frames, shapes, origin, physical)

    def ground(self, frame: str, pose: Pose, origin: str) -> tuple[str, str]:
        """The point (body, frame) of a frame that is fixed to the world: a massless body there carries such frames.

        To be called when all bodies of the file are known.
        """
        if frame not in self._ground:
            position = self.vector(pose.position, "p", f"{GROUND}_{frame}", origin)
            self._ground[frame] = {"position": position, "rotation": pose.rotation}
        while self._carrier in self._bodies:
            self._carrier += "_"
        return self._carrier, frame

    def done(self) -> Mechanism:
        """The validated Mechanism."""
        if self._ground:
            self.builder.body(self._carrier, frames=self._ground)
            self.builder.joint(f"{self._carrier}_fixed", "fixed", WORLD, self._carrier)
        return self.builder.done()

    def _free(self, name: str) -> str:
        """The name as an identifier that no other parameter of the file has."""
        name = re.sub(r"\W", "_", name, flags=re.ASCII)
        unique, k = name, self._taken.get(name, 1)
        while unique in self._taken:
            k += 1
            unique = f"{name}_{k}"
        self._taken[name] = k
        self._taken.setdefault(unique, 1)
        return unique


def is_physical(tensor: np.ndarray) -> bool:
    """Whether some distribution of mass has this tensor: no principal moment negative, none above the sum of two.

    A single moment is that of a planar model, whose other moments are not used.
    """
    if np.count_nonzero(tensor) <= 1:
        return True
    low, middle, high = np.linalg.eigvalsh(tensor)
    slack = INERTIA_SLACK * float(np.abs(tensor).max())
    return bool(low >= -slack and high <= low + middle + slack)


def tensor_of(ixx: float, ixy: float, iyy: float, ixz: float, iyz: float, izz: float) -> np.ndarray:
    """The symmetric (3, 3) tensor of six entries."""
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def turned(tensor: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """R I R^T, symmetric to the last bit."""
    out = rotation @ tensor @ rotation.T
    return (out + out.T) / 2
