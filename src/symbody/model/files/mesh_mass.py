"""Mass properties of triangle meshes: solids by signed or unsigned pyramids (MuJoCo's "legacy"), hulls and shells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from symbody.model.files.mesh_file import Mesh

RULES = ("legacy", "exact", "convex", "shell")


class Content(NamedTuple):
    """volume m^3 (area m^2 of a shell), com (3,) m, tensor (3, 3) about the com for density 1."""

    volume: float
    com: np.ndarray
    tensor: np.ndarray


def content(mesh: Mesh, rule: str = "exact") -> Content:
    """What the mesh encloses. volume is 0 where there is nothing; faces of a hull are made where there are none.

    exact   sum of signed pyramids over the faces, which must close and face outward
    legacy  the same with unsigned ones, above the centroid of the surface: exact for what is star-shaped, else too much
    convex  of the convex hull; shell: of the surface
    """
    if rule == "convex" or not len(mesh.faces):
        mesh = hull(mesh)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a) / 2
    areas = np.linalg.norm(normals, axis=1)
    middles = (a + b + c) / 3
    if areas.sum() <= 0:
        return Content(0.0, np.zeros(3), np.zeros((3, 3)))
    centroid = areas @ middles / areas.sum()
    if rule == "shell":
        return Content(float(areas.sum()), centroid, _tensor(areas / 12, a - centroid, b - centroid, c - centroid))

    def pyramids(top: np.ndarray) -> np.ndarray:
        volumes = np.sum((middles - top) * normals, axis=1) / 3
        return np.abs(volumes) if rule == "legacy" else volumes

    parts = pyramids(centroid)
    if abs(parts.sum()) < 1e-300:
        return Content(0.0, centroid, np.zeros((3, 3)))
    com = parts @ (0.75 * middles + 0.25 * centroid) / parts.sum()
    parts = pyramids(com)  # about the centre of mass, where "legacy" finds another volume
    return Content(float(parts.sum()), com, _tensor(parts / 20, a - com, b - com, c - com))


def _tensor(weights: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Second moments of triangles (or of pyramids on them) are those of their corners and of the corners' sum."""
    moments = sum((np.einsum("n,ni,nj->ij", weights, x, x) for x in (a, b, c, a + b + c)), np.zeros((3, 3)))
    tensor: np.ndarray = np.trace(moments) * np.eye(3) - moments
    return tensor


def turned_over(mesh: Mesh) -> bool:
    """Whether faces that share an edge look to different sides, or cover each other. Vertices at one place are one.

    An edge of a closed surface is passed as often in one direction as in the other, one at a hole once.
    """
    corner = np.unique(mesh.vertices, axis=0, return_inverse=True)[1].reshape(-1)[mesh.faces]
    edges = np.concatenate([corner[:, [0, 1]], corner[:, [1, 2]], corner[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    low, high = edges.min(axis=1), edges.max(axis=1)
    at = np.unique(low * len(mesh.vertices) + high, return_inverse=True)[1].reshape(-1)
    up = np.bincount(at, edges[:, 0] < edges[:, 1])
    down = np.bincount(at, edges[:, 0] > edges[:, 1])
    return bool(np.any((up != down) & (np.maximum(up, down) > 1)))


def hull(mesh: Mesh) -> Mesh:
    """The convex hull, its faces outward; none where the points lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        found = ConvexHull(mesh.vertices)
    except QhullError:
        return Mesh(mesh.vertices, np.zeros((0, 3), dtype=int))
    faces = found.simplices.copy()
    a, b, c = (mesh.vertices[faces[:, k]] for k in range(3))
    inward = np.sum(np.cross(b - a, c - a) * found.equations[:, :3], axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Mesh(mesh.vertices, faces)


MESH_AXES = 1e-7  # relative: to this MuJoCo (4.0) finds the principal axes of a mesh, and leaves the rest out
BODY_AXES = 4e-15  # the same of a body


def kept_by_mujoco(tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tensor of a mesh as MuJoCo keeps it, (3, 3), and its axes: moments about axes that are found to 1e-7."""
    moments, axes = principal_axes(tensor, MESH_AXES)
    kept = (axes * moments) @ axes.T
    return (kept + kept.T) / 2, axes


def principal_axes(tensor: np.ndarray, within: float = BODY_AXES) -> tuple[np.ndarray, np.ndarray]:
    """Moments (3,), the largest first, and the rotation whose columns are their axes, by Jacobi's turns.

    From the unit matrix, the largest entry off the diagonal first, until it is below `within` of the largest entry: so
    equal moments keep the axes that they have, as in MuJoCo, where the sides of an equivalent box depend on them.
    """
    axes, scale = np.eye(3), float(np.abs(tensor).max())
    for _ in range(100):
        d = axes.T @ tensor @ axes
        i, j = max(((0, 1), (0, 2), (1, 2)), key=lambda at: abs(d[at]))
        if abs(d[i, j]) <= within * scale:
            break
        tau = (d[j, j] - d[i, i]) / (2 * d[i, j])
        t = 1 / (tau + np.hypot(1, tau)) if tau >= 0 else -1 / (-tau + np.hypot(1, tau))
        cosine = 1 / np.hypot(1, t)
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = cosine
        turn[i, j], turn[j, i] = t * cosine, -t * cosine
        axes = axes @ turn
    moments = np.diag(axes.T @ tensor @ axes).copy()
    for k in (0, 1, 0):
        if moments[k] + within * scale < moments[k + 1]:
            moments[[k, k + 1]] = moments[[k + 1, k]]
            axes[:, k], axes[:, k + 1] = axes[:, k + 1].copy(), -axes[:, k].copy()
    return moments, axes
