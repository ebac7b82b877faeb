"""The figure of a planar mechanism, in its plane: bars and plates, hinges and slides, ground, springs, cuts."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.display import picture
from symbody.show.drawing.curves import circle, dashpot, outline, sampled, zigzag
from symbody.show.drawing.labels import Label, place_labels
from symbody.show.drawing.skeleton import Connection, JointMark, Piece, Skeleton
from symbody.show.drawing.style import COM, CUT, CUT_RING, GREY, GROUND, INK, JOINT, SPRING, add_legend, colour_of

LARGEST = (6.2, 5.6)  # inches of the axes
LEFT, RIGHT, BOTTOM, TOP = 0.75, 0.25, 0.75, 0.45  # inches around them
BORDER = 45  # points of the axes around the mechanism, for names
DEEP = 0.2  # of its extent in the plane: what is deeper is drawn in space
PARALLEL = 1e-6


def plane_of(body: Skeleton) -> np.ndarray | None:
    """(2, 3) directions to the right and up of the plane in which all motion stays; None for a spatial mechanism."""
    motions = [m for pivot in body.pivots for m in pivot.motions]
    turns = [axis for motion, axis in motions if motion.is_turn and axis is not None]
    slides = [axis for motion, axis in motions if motion.is_slide and axis is not None]
    if not turns or len(turns) + len(slides) < len(motions):
        return None
    normal = turns[0]
    tilted = [np.linalg.norm(np.cross(axis, normal)) for axis in turns] + [abs(axis @ normal) for axis in slides]
    if max(tilted) > PARALLEL:
        return None
    points = body.points()
    depth, flat = points @ normal, points - np.outer(points @ normal, normal)
    if np.ptp(depth) > DEEP * np.ptp(flat, axis=0).max():
        return None
    # up is against gravity where gravity lies in the plane, else z or y
    up = next(u for u in (body.up, *np.eye(3)[[2, 1]]) if np.linalg.norm(np.cross(u, normal)) > 0.1)
    up = up - (up @ normal) * normal
    up /= np.linalg.norm(up)
    right = np.cross(up, normal)
    return np.stack([right * np.sign(right[np.argmax(np.abs(right))]), up])


def draw_planar(body: Skeleton, plane: np.ndarray, name: str) -> Any:
    """A matplotlib Figure of a Skeleton as seen on a plane (2, 3)."""
    sheet = _Sheet(body, plane)
    for place, piece in enumerate(body.pieces):
        sheet.piece(piece, GREY if piece.fixed else colour_of(place))
    for wheel in body.wheels:
        sheet.wheel(wheel.centre, wheel.axle, wheel.radius)
    for pivot in body.pivots:
        sheet.pivot(pivot)
    for bond in body.bonds:
        sheet.bond(bond)
    for names, point in body.named_pivots():
        sheet.label(names, point @ plane.T, GREY, 7, rank=2)
    sheet.axes.set_title(name.replace("$", r"\$"), fontsize=11, fontweight="bold", loc="left")
    sheet.finish()
    return sheet.figure


class _Sheet:
    """Axes of equal scale, on which sizes of symbols are given in points, and what labels must keep away from."""

    def __init__(self, body: Skeleton, plane: np.ndarray) -> None:
        from matplotlib.ticker import MaxNLocator

        self.plane = plane
        points = body.points() @ plane.T
        low, high = points.min(axis=0), points.max(axis=0)
        span = np.maximum(high - low, 0.05 * max(float((high - low).max()), 1e-3))
        self.unit = float((span / (np.array(LARGEST) * 72 - 2 * BORDER)).max())  # m in one point
        half = np.maximum(span / 2 + BORDER * self.unit, np.array([150, 80]) * self.unit)
        self.low = (low + high) / 2 - half
        width, height = 2 * half / self.unit / 72
        size = np.array([width + LEFT + RIGHT, height + BOTTOM + TOP])
        self.figure: Any = picture(figsize=tuple(size))
        self.axes: Any = self.figure.add_axes((LEFT / size[0], BOTTOM / size[1], width / size[0], height / size[1]))
        self.axes.set(xlim=self.low[0] + np.array([0, 2 * half[0]]), ylim=self.low[1] + np.array([0, 2 * half[1]]))
        self.axes.set(xlabel=f"{_letter(plane[0])} (m)", ylabel=f"{_letter(plane[1])} (m)", aspect="equal")
        self.axes.spines[:].set_visible(False)
        self.axes.tick_params(labelsize=7, colors=GREY, length=2)
        for axis in (self.axes.xaxis, self.axes.yaxis):
            axis.label.set(size=8, color=GREY)
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        self.room = 72 * np.array([[LEFT, BOTTOM], size - 0.05])  # not over the numbers of the axes
        self.lines: list[np.ndarray] = []
        self.labels: list[Label] = []
        self.kinds: set[str] = set()
        self.stands: list[np.ndarray] = []

    # -- what is drawn

    def piece(self, piece: Piece, colour: str) -> None:
        """A body: a bar, or a plate through all its points."""
        points = piece.points @ self.plane.T
        faces, edges = outline(points)
        for face in faces:
            self.axes.fill(*face.T, color=colour, alpha=0.18, linewidth=0, zorder=2)
        for edge in edges:
            self.line(edge, color=colour, linewidth=3 if faces else 5, alpha=0.85, zorder=3, gid=f"body {piece.name}")
        if piece.fixed:
            self.stand(points[0])
        if piece.mass > 0:
            com = piece.com @ self.plane.T
            self.kinds.add("mass")
            self.axes.plot(*com, **{**COM, "markerfacecolor": colour}, markersize=6, markeredgewidth=0.8, zorder=5)
            middle = com if faces or not edges else edges[0].mean(axis=0)
            self.line(np.stack([middle, com]), color=colour, linewidth=1, linestyle=":", zorder=2)
        if edges or piece.mass > 0:
            middle = edges[0].mean(axis=0) if edges and not faces else points.mean(axis=0)
            self.label(piece.name, middle, colour, rank=0)

    def wheel(self, centre: np.ndarray, axle: np.ndarray, radius: float) -> None:
        """A tyre, seen from its side or from above."""
        self.line(
            circle(centre, axle, radius) @ self.plane.T, color=INK, linewidth=2.5, alpha=0.7, zorder=2, gid="wheel"
        )

    def pivot(self, pivot: JointMark) -> None:
        """A joint: a circle, or a block on its guide; what stands on the ground has hatching below."""
        if pivot.floats:
            return
        point, start = pivot.point @ self.plane.T, pivot.start @ self.plane.T
        if pivot.slide is not None:
            self.guide(point, start, pivot.slide @ self.plane.T, pivot.grounded)
        else:
            if pivot.grounded:
                self.stand(point)
            self.kinds.add("joint")
            self.axes.plot(*point, **JOINT, markersize=6.5, markeredgewidth=1.4, zorder=6, gid=f"joint {pivot.name}")
        self.lines.append(np.stack([point, point]))

    def stand(self, point: np.ndarray) -> None:
        """A pivot's stand: a triangle on hatched ground, once at each place."""
        if any(np.linalg.norm(point - other) < self.unit for other in self.stands):
            return
        self.stands.append(point)
        foot = point + self.unit * np.array([[-8, -14], [8, -14]])
        corners = np.vstack([point, foot, point])
        self.lines.append(corners)
        self.axes.fill(*corners.T, facecolor=GROUND, edgecolor=INK, linewidth=1, zorder=1, gid="ground")
        self.hatched(foot[0] - [4 * self.unit, 0], foot[1] + [4 * self.unit, 0])

    def hatched(self, start: np.ndarray, end: np.ndarray) -> None:
        """A line of the ground, with strokes to its right."""
        way = (end - start) / np.linalg.norm(end - start)
        stroke = 5 * self.unit * (np.array([way[1], -way[0]]) - way)
        self.line(np.stack([start, end]), color=INK, linewidth=1, zorder=1, gid="ground")
        for x in np.arange(_length(np.stack([start, end])) // (4.5 * self.unit)) + 0.9:
            root = start + way * x * 4.5 * self.unit
            self.axes.plot(*np.stack([root, root + stroke]).T, color=INK, linewidth=0.7, zorder=1)

    def guide(self, point: np.ndarray, start: np.ndarray, way: np.ndarray, grounded: bool) -> None:
        """A slide: a block at the child's origin, and the line along which it moves."""
        u = self.unit
        if abs(way[0]) > 1e-9:
            way = way * np.sign(way[0])  # so that the ground is below
        reach = sorted([float((start - point) @ way), 0.0])
        ends = point + np.outer([reach[0] - 20 * u, reach[1] + 20 * u], way)
        left = np.array([-way[1], way[0]])
        if grounded:
            self.hatched(*(ends - 6 * u * left))
        else:
            self.line(ends, color=INK, linewidth=1, linestyle=(0, (6, 2)), zorder=2)
        block = point + np.array([[-9, -6], [9, -6], [9, 6], [-9, 6]]) @ np.stack([way, left]) * u
        self.axes.fill(*block.T, facecolor="white", edgecolor=INK, linewidth=1.4, zorder=4, gid="slide")
        self.lines.append(np.vstack([block, block[:1]]))

    def bond(self, bond: Connection) -> None:
        """A spring, a damper, a rod, or the place where a loop is cut."""
        start, end = bond.start @ self.plane.T, bond.end @ self.plane.T
        if bond.kind == "cut":
            self.kinds.add("cut")
            for x, grounded in zip((start, end), bond.grounded):
                if grounded:
                    self.stand(x)
                self.axes.plot(*x, **JOINT, markersize=6.5, markeredgewidth=1.4, zorder=6)
                self.axes.plot(*x, **CUT_RING, markersize=12, zorder=7, gid=f"cut {bond.name}")
            self.line(
                np.stack([start, end]), color=CUT, linewidth=1, linestyle=":", zorder=7
            )  # nothing if it is closed
            self.label(bond.name, end, CUT, 7, rank=3)
            return
        for x, grounded in zip((start, end), bond.grounded):
            if grounded:
                self.stand(x)
            self.axes.plot(*x, **JOINT, markersize=4, markeredgewidth=1.1, zorder=6)
        self.label(bond.name, (start + end) / 2, CUT if bond.kind == "rod" else SPRING, 7.5, rank=1)
        for line in self.bond_lines(bond.kind, start, end):
            colour = CUT if bond.kind == "rod" else SPRING
            style = "--" if bond.kind == "link" else "-"
            self.line(line, color=colour, linewidth=1.3, linestyle=style, zorder=4, gid=f"{bond.kind} {bond.name}")

    def bond_lines(self, kind: str, start: np.ndarray, end: np.ndarray) -> list[np.ndarray]:
        width = 11 * self.unit
        if kind == "spring":
            return [zigzag(start, end, width)]
        if kind == "damper":
            return dashpot(start, end, width)
        if kind != "strut":
            return [np.stack([start, end])]
        way = (end - start) / max(float(np.linalg.norm(end - start)), 1e-300)
        left = 8 * self.unit * np.array([-way[1], way[0]])
        near, far = start + 0.12 * (end - start), end - 0.12 * (end - start)
        ends = [np.stack([start, near]), np.stack([near - left, near + left])]
        ends += [np.stack([far, end]), np.stack([far - left, far + left])]
        return [*ends, zigzag(near + left, far + left, width), *dashpot(near - left, far - left, 0.8 * width)]

    # -- the sheet

    def line(self, points: np.ndarray, **style: Any) -> None:
        self.lines.append(points)
        style = {"solid_capstyle": "round", "solid_joinstyle": "round", **style}
        self.axes.plot(*points.T, **style)

    def label(self, text: str, at: np.ndarray, colour: str, size: float = 8.5, rank: int = 0) -> None:
        self.labels.append(Label(text, self.paper(at), colour, size, rank))

    def paper(self, points: np.ndarray) -> np.ndarray:
        """Points of the plane, in points of the figure."""
        out: np.ndarray = (points - self.low) / self.unit + 72 * np.array([LEFT, BOTTOM])
        return out

    def finish(self) -> None:
        """Names and the legend, which need to know of everything else."""
        place_labels(self.axes, self.labels, self.paper(sampled(self.lines, 4 * self.unit, 2)), self.room)
        add_legend(self.figure, sorted(self.kinds))


def _length(line: np.ndarray) -> float:
    return float(np.linalg.norm(line[-1] - line[0]))


def _letter(way: np.ndarray) -> str:
    """x, y, z, their opposites, or the direction in numbers."""
    k = int(np.argmax(np.abs(way)))
    if abs(way[k]) > 1 - 1e-9:
        return "xyz"[k] if way[k] > 0 else f"\N{MINUS SIGN}{'xyz'[k]}"
    return f"along ({way[0]:.2g}, {way[1]:.2g}, {way[2]:.2g})"
