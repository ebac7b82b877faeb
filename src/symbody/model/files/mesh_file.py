"""Triangles of mesh files: STL (binary and text), OBJ and MuJoCo's MSH. Bounded sizes; nothing is looked up elsewhere.

Formats keep single precision, and MuJoCo computes with single-precision vertices: they are rounded to it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from symbody.basics.errors import ModelError
from symbody.basics.regular_file import TooLarge, read_regular

LARGEST = 128 * 2**20  # bytes of one file


@dataclass(frozen=True, eq=False)
class Mesh:
    """vertices (n, 3) in the units of the file, and faces (m, 3), indices of vertices, outward by the right hand."""

    vertices: np.ndarray
    faces: np.ndarray


def read_mesh(path: Path, origin: str) -> Mesh:
    """The triangles of a file. `origin` is the file:line that names it."""
    try:
        data = read_regular(path, LARGEST)
    except TooLarge as error:
        raise ModelError(f"{origin}: mesh {path.name!r} has {error.size} bytes; expected {LARGEST} at most.") from None
    except OSError as error:
        raise ModelError(
            f"{origin}: mesh {path.name!r} cannot be read: {error.strerror or error}. Correct its path."
        ) from None
    suffix = path.suffix.lower()
    readers = {".stl": _stl, ".obj": _obj, ".msh": _msh}
    if suffix not in readers:
        raise ModelError(f"{origin}: mesh {path.name!r} has the suffix {suffix!r}; expected {', '.join(readers)}.")
    try:
        vertices, faces = readers[suffix](data)
    except (ValueError, IndexError, OverflowError) as error:
        raise ModelError(f"{origin}: mesh {path.name!r} is damaged ({error}); expected {suffix[1:].upper()}.") from None
    return checked(vertices, faces, f"{origin}: mesh {path.name!r}")


def checked(vertices: np.ndarray, faces: np.ndarray, what: str) -> Mesh:
    """Finite vertices, and faces that name them."""
    with np.errstate(invalid="ignore"):  # what is no number is refused below
        points = np.asarray(vertices, dtype=np.float32).astype(float).reshape(-1, 3)
    triangles = np.asarray(faces, dtype=np.int64).reshape(-1, 3)
    if len(points) < 3 or not np.isfinite(points).all():
        raise ModelError(f"{what} has {len(points)} vertices, or some that are not finite; expected three at least.")
    if triangles.size and (triangles.min() < 0 or triangles.max() >= len(points)):
        raise ModelError(f"{what} has a face with a vertex that is not there; expected indices below {len(points)}.")
    return Mesh(points, triangles)


def _stl(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    count = int.from_bytes(data[80:84], "little")
    if len(data) == 84 + 50 * count:  # by its length: a binary file may start with "solid" too
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
        corners = np.frombuffer(data, record, count, 84)["corners"].reshape(-1, 3)
    else:
        words = data.decode("ascii", errors="replace").split()
        if not words or words[0].lower() != "solid":
            raise ValueError("neither the length of a binary file nor the word solid")
        at = [k for k, word in enumerate(words) if word == "vertex"]
        if at and at[-1] + 4 > len(words):
            raise ValueError("its last vertex is not whole")
        corners = np.array([[float(x) for x in words[k + 1 : k + 4]] for k in at], dtype=np.float32)
    if not len(corners) or len(corners) % 3:
        raise ValueError(f"{len(corners)} corners of triangles")
    return corners, np.arange(len(corners))


def _obj(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and polygons, which are cut into fans of triangles; groups, normals and materials are not needed."""
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", errors="replace").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            if len(words) < 4:
                raise ValueError(f"a vertex with {len(words) - 1} coordinates")
            vertices.append([float(x) for x in words[1:4]])
        elif words[0] == "f":
            corners = [int(word.split("/")[0]) for word in words[1:]]
            if 0 in corners:
                raise ValueError("a face names vertex 0; the first is 1")
            corners = [k - 1 if k > 0 else len(vertices) + k for k in corners]  # negative ones count backwards
            faces += [(corners[0], a, b) for a, b in pairwise(corners[1:])]
    return np.array(vertices, dtype=float), np.array(faces, dtype=np.int64)


def _msh(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of vertices, normals, texture coordinates and faces; then these, as floats and as integers."""
    points, normals, textures, faces = (int(n) for n in np.frombuffer(data, "<i4", 4))
    size = 16 + 12 * points + 12 * normals + 8 * textures + 12 * faces
    if min(points, normals, textures, faces) < 0 or len(data) != size:
        raise ValueError(f"{len(data)} bytes, where its header says {size}")
    vertices = np.frombuffer(data, "<f4", 3 * points, 16)
    return vertices, np.frombuffer(data, "<i4", 3 * faces, size - 12 * faces)
