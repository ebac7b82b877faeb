"""The lines of a drawing: outlines of points, coils, dashpots, circles. Arrays of points in, polylines out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

FLAT = 1e-3  # of the largest extent: what is thinner is a line, or a plane


def outline(points: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Faces and edges (polylines) of the hull of points (n, d): none, one segment, a polygon, or a polyhedron."""
    centre = points.mean(axis=0)
    _, sizes, directions = np.linalg.svd(points - centre, full_matrices=False)
    rank = int((sizes > FLAT * max(float(sizes[0]), 1e-300)).sum()) if sizes[0] > 0 else 0
    if rank < 2:
        along = (points - centre) @ directions[0]
        return [], [points[[along.argmin(), along.argmax()]]] if rank else []
    from scipy.spatial import ConvexHull

    if rank == 2:
        face = points[ConvexHull((points - centre) @ directions[:2].T).vertices]
        return [face], [np.vstack([face, face[:1]])]
    hull = ConvexHull(points)
    faces = [points[simplex] for simplex in hull.simplices]
    edges = []
    for k, (simplex, neighbours) in enumerate(zip(hull.simplices, hull.neighbors)):
        for i, other in enumerate(neighbours):  # the neighbour lies opposite to corner i
            # two triangles of one plane have no edge between them
            if other > k and hull.equations[k, :3] @ hull.equations[other, :3] < 0.98:
                edges.append(points[np.delete(simplex, i)])
    return faces, edges


def across(axis: np.ndarray) -> np.ndarray:
    """(2, 3) two unit directions, perpendicular to an axis and to each other."""
    axis = axis / np.linalg.norm(axis)
    first = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first)])


def circle(centre: np.ndarray, axis: np.ndarray, radius: float, count: int = 48) -> np.ndarray:
    """(count + 1, 3) a closed circle about an axis."""
    angle = np.linspace(0, 2 * np.pi, count + 1)
    out: np.ndarray = centre + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ across(axis)
    return out


def zigzag(start: np.ndarray, end: np.ndarray, width: float) -> np.ndarray:
    """(n, 2) a spring in the plane: straight ends, teeth of +- width / 2."""
    turns = int(np.clip(np.linalg.norm(end - start) / width, 4, 10))
    along = np.array([0, 0.15, *(0.15 + 0.7 * (np.arange(2 * turns) + 0.5) / (2 * turns)), 0.85, 1])
    aside = np.array([0, 0, *(0.5 * width * (-1.0) ** np.arange(2 * turns)), 0, 0])
    return _on(start, end, along, aside)


def dashpot(start: np.ndarray, end: np.ndarray, width: float) -> list[np.ndarray]:
    """Polylines (n, 2) of a damper in the plane: a cup that is open towards the end, and a piston in it."""
    half = 0.5 * width
    cup = _on(start, end, [0, 0.3], [0, 0]), _on(start, end, [0.66, 0.3, 0.3, 0.66], [half, half, -half, -half])
    piston = _on(start, end, [0.52, 0.52], [0.75 * half, -0.75 * half]), _on(start, end, [0.52, 1], [0, 0])
    return [*cup, *piston]


def _on(start: np.ndarray, end: np.ndarray, along: object, aside: object) -> np.ndarray:
    """Points at shares `along` of the way from start to end, `aside` to the left of it."""
    way = end - start
    left = np.array([-way[1], way[0]]) / max(float(np.linalg.norm(way)), 1e-300)
    out: np.ndarray = start + np.outer(np.asarray(along), way) + np.outer(np.asarray(aside), left)
    return out


def helix(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """(n, 3) a coil spring in space, with straight ends."""
    length = float(np.linalg.norm(end - start))
    if length < 1e-12:
        return np.stack([start, end])
    turns = int(np.clip(length / (2.2 * radius), 4, 12))
    share = np.linspace(0, 1, 16 * turns + 1)
    angle = 2 * np.pi * turns * share
    coil = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ across(end - start) * radius
    body = start + np.outer(0.12 + 0.76 * share, end - start) + coil
    return np.vstack([start, start + 0.12 * (end - start), body, start + 0.88 * (end - start), end])


def sampled(lines: list[np.ndarray], step: float, dimension: int) -> np.ndarray:
    """(n, dimension) points along polylines, no further apart than about a step: what labels keep away from."""
    out = []
    for line in lines:
        for a, b in pairwise(line):
            count = min(int(np.linalg.norm(b - a) / step) + 2, 60)
            out.append(a + np.linspace(0, 1, count)[:, None] * (b - a))
    return np.vstack([np.zeros((0, dimension)), *out])
