"""Grounds: planes, and heights z = height(x, y) of a smooth surface, m, in world axes with z upward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from symbody.model.library.law_functions import cos, sin, sqrt, table
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.derivative import gradient
from symbody.symbolic.expr.walk import substitute

Vec = tuple[Any, Any, Any]


@dataclass(frozen=True, eq=False)
class Ground:
    """A surface. A plane has a unit normal n and the offset n . p of its points; any other ground has a height only."""

    height: Callable[[Any, Any], Any]
    normal: Vec | None = None
    offset: Any = 0


def flat(height: Any = 0) -> Ground:
    """The horizontal plane z = height."""
    return Ground(lambda x, y: height, (0, 0, 1), height)


def slope(along_x: Any, along_y: Any = 0, height: Any = 0) -> Ground:
    """The plane z = height + along_x x + along_y y; slopes are tangents of angles."""
    size = sqrt(1 + along_x * along_x + along_y * along_y)
    normal = (-along_x / size, -along_y / size, 1 / size)
    return Ground(lambda x, y: height + along_x * x + along_y * y, normal, height / size)


def sinusoid(amplitude: Any, wavelength: Any, phase: Any = 0, heading: Any = 0, height: Any = 0) -> Ground:
    """Waves: height + amplitude sin(2 pi s / wavelength + phase), s = x cos(heading) + y sin(heading)."""
    number = 2 * 3.141592653589793 / wavelength
    straight = is_zero(heading)

    def wave(x: Any, y: Any) -> Any:
        s = x if straight else x * cos(heading) + y * sin(heading)
        return height + amplitude * sin(number * s + phase)

    return Ground(wave)


def profile(positions: Sequence[float], heights: Sequence[float], kind: str = "cubic") -> Ground:
    """A measured profile along x, the same for all y; `cubic` (natural spline, smooth normals) or `linear`."""
    return Ground(lambda x, y: table(x, positions, heights, kind))


def surface(ground: Ground, x: Any, y: Any) -> tuple[Any, Vec]:
    """(height, unit normal) of a ground above (x, y), as nodes."""
    if ground.normal is not None:
        return ground.height(x, y), ground.normal
    nodes = as_nodes([x, y])
    graph = nodes[0].graph
    here = [graph.symbol(n, "input", scope="ground") for n in ("x", "y")]
    height = as_nodes([here[0], ground.height(*here)])[1]
    height, dx, dy = substitute([height, *gradient(height, here)], dict(zip(here, nodes)))
    size = sqrt(1 + dx * dx + dy * dy)
    return height, (-dx / size, -dy / size, 1 / size)
