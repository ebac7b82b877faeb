"""Meshes that MJCF makes by itself: <mesh builtin="sphere" params="2"/> and its kin, with MuJoCo's (4.0) triangles.

Spheres are icosahedra divided further, hemispheres octahedra whose triangles are divided and lifted onto the sphere;
superspheres and supertori (Barr 1981) are grids of angles whose sines and cosines are raised to powers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from symbody.model.files.xml_file import XmlElement

Triangles = tuple[np.ndarray, np.ndarray]  # vertices (n, 3) and faces (m, 3), outward
FINEST = 500  # of a grid: 500 000 triangles


def builtin_mesh(asset: XmlElement) -> Triangles:
    """The triangles of a mesh asset with the attribute builtin. A cone has no faces: it is the hull of its points."""
    kind = asset.choice("builtin", _MAKERS, "")
    maker, bounds = _MAKERS[kind]
    given = asset.numbers("params", len(bounds))
    for value, (low, high) in zip(given, bounds):
        if not low <= value <= high:
            raise asset.error(
                f"mesh {asset.get('name')!r} is a {kind} with {value:g} in params={asset.get('params')!r}; expected "
                f"{low:g} to {high:g} there."
            )
    if not given:
        raise asset.error(f"mesh {asset.get('name')!r} is a {kind} without params; expected {len(bounds)} numbers.")
    return maker(*given)


def _sphere(divisions: float) -> Triangles:
    """An icosahedron whose triangles are cut into four, as often as asked, with the new points on the sphere."""
    golden = float(np.float32((1 + 5**0.5) / 2))  # in single precision, as in MuJoCo
    corners = np.array([(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)])
    turned = np.vstack([np.roll(corners, shift, axis=1) for shift in range(3)])
    points: list[np.ndarray] = list((turned / np.hypot(1, golden)).astype(np.float32))
    near = 1.1 * min(float(np.linalg.norm(p - points[0])) for p in points[1:])
    faces = [
        f if np.linalg.det([points[k] for k in f]) > 0 else f[::-1]
        for f in combinations(range(12), 3)
        if all(np.linalg.norm(points[i] - points[j]) < near for i, j in combinations(f, 2))
    ]
    for _ in range(int(divisions)):
        middles: dict[frozenset[int], int] = {}

        def middle(i: int, j: int, known: dict[frozenset[int], int] = middles) -> int:
            if frozenset((i, j)) not in known:
                point = (points[i] + points[j]) / np.float32(2)
                known[frozenset((i, j))] = len(points)
                squares = point * point
                points.append(point / np.sqrt(squares[0] + squares[1] + squares[2]))
            return known[frozenset((i, j))]

        cut = [(f, (middle(f[0], f[1]), middle(f[1], f[2]), middle(f[2], f[0]))) for f in faces]
        faces = [t for f, m in cut for t in ((f[0], m[0], m[2]), (f[1], m[1], m[0]), (f[2], m[2], m[1]), m)]
    return np.array(points), np.array(faces)


def _hemisphere(divisions: float) -> Triangles:
    """The upper half of an octahedron, its sides divided, on the sphere; a fan of triangles below."""
    rows = int(divisions) + 1
    equator = np.array([(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0)])
    pole = np.array([0, 0, 1])
    points = [pole]
    for row in range(1, rows + 1):
        for start, end in zip(equator, np.roll(equator, -1, axis=0)):
            flat = [pole + row / rows * (start - pole) + k / rows * (end - start) for k in range(row)]
            points += [p / np.linalg.norm(p) for p in flat]

    def at(row: int, k: int) -> int:
        """The k-th point of a row around the pole."""
        return 2 * row * (row - 1) + 1 + k % (4 * row) if row else 0

    faces = []
    for row in range(rows):
        for side in range(4):
            here, below = side * row, side * (row + 1)
            faces += [(at(row, here + k), at(row + 1, below + k), at(row + 1, below + k + 1)) for k in range(row + 1)]
            faces += [(at(row, here + k), at(row + 1, below + k + 1), at(row, here + k + 1)) for k in range(row)]
    faces += [(at(rows, k), len(points), at(rows, k + 1)) for k in range(4 * rows)]
    return np.array([*points, np.zeros(3)]), np.array(faces)


def _cone(edges: float, radius: float) -> Triangles:
    """A prism over a regular polygon, whose top is smaller, or a point."""
    angle = 2 * np.pi * np.arange(int(edges)) / int(edges)
    rim, up = np.c_[np.cos(angle), np.sin(angle), np.zeros(len(angle))], np.array([0, 0, 1])
    top = rim * radius if radius else np.zeros((1, 3))
    return np.vstack([rim - up, top + up]), np.zeros((0, 3), dtype=int)


def _power(wave: np.ndarray, power: float) -> np.ndarray:
    return np.copysign(np.abs(wave) ** power, wave)


def _grid(first: np.ndarray) -> np.ndarray:
    """Triangles between the rows of a grid that closes within each row, by the indices of its points (rows, n)."""
    right = np.roll(first, -1, axis=1)
    return _halves(first[:-1], right[:-1], right[1:], first[1:])


def _halves(*corners: np.ndarray) -> np.ndarray:
    """Two triangles of each quadrangle a b c d."""
    a, b, c, d = (k.ravel() for k in corners)
    return np.vstack([np.stack([a, b, d], axis=-1), np.stack([b, c, d], axis=-1)])


def _supersphere(number: float, around: float, along: float) -> Triangles:
    n = int(number)
    v = -np.pi / 2 + np.pi * np.arange(1, n)[:, None] / n
    u = -np.pi + 2 * np.pi * np.arange(n) / n
    flat = _power(np.cos(v), along)
    parts = (flat * _power(np.cos(u), around), flat * _power(np.sin(u), around), _power(np.sin(v), along))
    rings = np.stack(np.broadcast_arrays(*parts), axis=-1)
    at = 1 + np.arange((n - 1) * n).reshape(n - 1, n)
    south = np.stack([np.zeros(n, dtype=int), np.roll(at[0], -1), at[0]], axis=-1)
    north = np.stack([at[-1], np.roll(at[-1], -1), np.full(n, at[-1, -1] + 1)], axis=-1)
    points = np.vstack([[(0, 0, -1)], rings.reshape(-1, 3), [(0, 0, 1)]])
    return points, np.vstack([south, _grid(at), north])


def _supertorus(number: float, radius: float, tube: float, ring: float) -> Triangles:
    n = int(number)
    u, v = 2 * np.pi * np.arange(n)[:, None] / n, 2 * np.pi * np.arange(n) / n
    reach = 1 + radius * _power(np.cos(v), tube)
    parts = (reach * _power(np.cos(u), ring), reach * _power(np.sin(u), ring), radius * _power(np.sin(v), tube))
    points = np.stack(np.broadcast_arrays(*parts), axis=-1)
    at = np.arange(n * n).reshape(n, n)
    a, b = at, np.roll(at, -1, axis=0)
    return points.reshape(-1, 3), _halves(a, b, np.roll(b, -1, axis=1), np.roll(a, -1, axis=1))


_ANY = (0.0, 1e6)
_SMALL = np.nextafter(0.0, 1.0)
_MAKERS: dict[str, tuple[Callable[..., Triangles], tuple[tuple[float, float], ...]]] = {
    "sphere": (_sphere, ((0, 4),)),
    "hemisphere": (_hemisphere, ((0, 10),)),
    "cone": (_cone, ((3, FINEST), (0, 1))),
    "supersphere": (_supersphere, ((3, FINEST), _ANY, _ANY)),
    "supertorus": (_supertorus, ((3, FINEST), (_SMALL, 1), (_SMALL, 1e6), (_SMALL, 1e6))),
}
