"""The figure of a spatial mechanism: bars and hulls, joints with their axes, ground, wheels, coils, cuts."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.display import picture
from symbody.show.drawing.curves import across, circle, helix, outline, sampled
from symbody.show.drawing.labels import Label, place_labels
from symbody.show.drawing.skeleton import Connection, JointMark, Piece, Skeleton, Wheel
from symbody.show.drawing.style import COM, CUT, CUT_RING, GREY, GROUND, INK, JOINT, SPRING, add_legend, colour_of

LARGEST = (6.4, 5.4)  # inches of the drawing
AROUND = np.array([0.7, 0.55])  # inches around it for numbers and names
LEGEND, TITLE = 0.2, 0.2  # and more below and above
MANY = 14  # with more joints than this, symbols are drawn smaller and only bodies are named


def draw_spatial(body: Skeleton, name: str) -> Any:
    """A matplotlib Figure of a Skeleton in space."""
    space = _PlotSpace(body)
    feet = [p.start for p in body.pivots if p.grounded] + [p.points[0] for p in body.pieces if p.fixed]
    space.base([*feet, *(x for b in body.bonds for x, fixed in zip((b.start, b.end), b.grounded) if fixed)])
    for place, piece in enumerate(body.pieces):
        space.piece(piece, GREY if piece.fixed else colour_of(place))
    for wheel in body.wheels:
        space.wheel(wheel)
    for pivot in body.pivots:
        space.pivot(pivot)
    for bond in body.bonds:
        space.bond(bond)
    if not space.many:
        space.names += [(names, point, GREY, 7.0, 3) for names, point in body.named_pivots()]
    space.figure.suptitle(name.replace("$", r"\$"), fontsize=11, fontweight="bold", x=0.03, y=0.98, ha="left")
    space.finish()
    return space.figure


def _empty_axes() -> Any:
    """Axes in a square of one inch; layers as they are told: what is translucent hides nothing."""
    return picture(figsize=(1, 1)).add_axes((0, 0, 1, 1), projection="3d", computed_zorder=False)


class _PlotSpace:
    """Axes of equal scale in three dimensions; `unit` is a hundredth of the extent, m."""

    def __init__(self, body: Skeleton) -> None:
        points = body.points()
        low, high = points.min(axis=0), points.max(axis=0)
        extent = max(float((high - low).max()), 1e-3)
        half = np.maximum((high - low) / 2, 0.12 * extent) + 0.04 * extent
        self.unit, self.up = extent / 100, body.up
        self.many = len(body.pivots) > MANY
        self.axes = _empty_axes()
        self.figure = self.axes.figure
        for k, letter in enumerate("xyz"):
            centre = (low[k] + high[k]) / 2
            getattr(self.axes, f"set_{letter}lim")(centre - half[k], centre + half[k])
            axis = getattr(self.axes, f"{letter}axis")
            axis.set_pane_color((1, 1, 1, 0))
            axis.line.set_color(GROUND)
            axis.label.set(text=f"{letter} (m)", size=8, color=GREY)
            axis.labelpad = 0
            axis.set_tick_params(labelsize=6.5, labelcolor=GREY, pad=-2)
            axis.get_major_locator().set_params(nbins=max(2, round(6 * half[k] / half.max())), min_n_ticks=1)
            axis._axinfo["grid"].update(color="#eceff1", linewidth=0.6)
        self.axes.set_box_aspect(tuple(half))
        upright = int(np.argmax(np.abs(body.up)))
        below = bool(body.up[upright] < 0)  # such as z down: seen from there, and turned over
        elev, azim, roll = (-22, 58, 180) if below else (22, -58, 0)
        self.axes.view_init(elev, azim, roll, vertical_axis="xyz"[upright])
        self.room = self._fit(np.stack([(low + high) / 2 - half, (low + high) / 2 + half]))
        self.lines: list[np.ndarray] = []
        self.names: list[tuple[str, np.ndarray, str, float, int]] = []
        self.kinds: set[str] = set()

    def _fit(self, box: np.ndarray) -> np.ndarray:
        """Give the figure the shape of the box (2, 3) as it is seen; (2, 2) its corners in points."""
        corners = np.array([[box[i, 0], box[j, 1], box[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        self.figure.draw_without_rendering()
        seen = self.paper(corners) / 72  # of a square of one inch
        low, high = seen.min(axis=0), seen.max(axis=0)
        scale = float((np.array(LARGEST) / (high - low)).min())
        size = (high - low) * scale + 2 * AROUND + [0, LEGEND + TITLE]
        size[0] = max(size[0], 4.5)
        self.figure.set_size_inches(size)
        corner = (size + np.array([0, LEGEND - TITLE])) / 2 - scale * (low + high) / 2
        self.axes.set_position((*corner / size, *scale / size))
        return 72 * np.array([[0.03, 0.03], size - 0.03])

    # -- what is drawn

    def base(self, feet: list[np.ndarray]) -> None:
        """The ground: a pad below each joint that stands on it, and their hull."""
        side = across(self.up) * 3.2 * self.unit
        for foot in feet:
            self.face(foot + np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) @ side, GROUND, 0.9, gid="ground")
        if len(feet) > 2:
            for face in outline(np.array(feet))[0]:
                self.face(face, GROUND, 0.3, gid="ground")

    def piece(self, piece: Piece, colour: str) -> None:
        """A body: a bar, a plate, or the hull of its points."""
        faces, edges = outline(piece.points)
        for face in faces:
            self.face(face, colour, 0.12, zorder=2)
        for edge in edges:
            width = (1.6 if faces else 4) * (0.75 if self.many else 1)
            self.line(edge, color=colour, linewidth=width, alpha=0.9, zorder=3, gid=f"body {piece.name}")
        if piece.mass > 0:
            self.kinds.add("mass")
            middle = piece.com if faces or not edges else edges[0].mean(axis=0)
            self.line(np.stack([middle, piece.com]), color=colour, linewidth=1, linestyle=":", zorder=2)
            self.dot(piece.com, {**COM, "markerfacecolor": colour}, 4 if self.many else 6, zorder=5)
        if edges or piece.mass > 0:
            middle = piece.points.mean(axis=0) if faces or not edges else edges[0].mean(axis=0)
            reach = float(np.linalg.norm(np.ptp(piece.points, axis=0))) / self.unit
            self.names.append((piece.name, middle, colour, 8.0, 0 if reach > 10 else 2))

    def wheel(self, wheel: Wheel) -> None:
        """A tyre: two circles and the tread between them."""
        width = 0.14 * wheel.radius * wheel.axle
        for side in (-width, width):
            self.line(
                circle(wheel.centre + side, wheel.axle, wheel.radius), color=INK, linewidth=1.6, zorder=4, gid="wheel"
            )
        self.face(circle(wheel.centre, wheel.axle, wheel.radius), INK, 0.1, zorder=1)

    def pivot(self, pivot: JointMark) -> None:
        """A joint: a circle with a stroke along its axis, a square for a slide, a ball for more than one motion."""
        if pivot.floats:
            return
        self.kinds.add("joint")
        size = 3.8 if self.many else 5.5
        axes = [axis for _, axis in pivot.motions if axis is not None]
        if len(axes) == 1:
            stroke = axes[0] * (2.2 if self.many else 3.5) * self.unit
            self.line(np.stack([pivot.point - stroke, pivot.point + stroke]), color=INK, linewidth=1.4, zorder=6)
        if pivot.slide is not None:
            way = np.stack([pivot.start, pivot.point])
            self.line(way, color=INK, linewidth=1, linestyle=(0, (4, 2)), zorder=3)
        style = {**JOINT, "marker": "s" if pivot.slide is not None else "o"}
        if len(axes) != 1:
            style["markerfacecolor"] = GROUND
        self.dot(pivot.point, style, size, zorder=7, gid=f"joint {pivot.name}")

    def bond(self, bond: Connection) -> None:
        """A coil, a damper as a thick piece of a line, a rod, or the place where a loop is cut."""
        ends = np.stack([bond.start, bond.end])
        if bond.kind == "cut":
            self.kinds.add("cut")
            for x in ends:
                self.dot(x, JOINT, 3.8 if self.many else 5.5, zorder=7)
                self.dot(x, CUT_RING, 8 if self.many else 11, zorder=8, gid=f"cut {bond.name}")
            self.line(ends, color=CUT, linewidth=1, linestyle=":", zorder=8)  # nothing is seen of it where it is closed
            return
        if bond.kind == "rod":
            self.line(ends, color=CUT, linewidth=2, zorder=4, gid=f"rod {bond.name}")
        elif bond.kind == "link":
            self.line(ends, color=SPRING, linewidth=1.4, linestyle="--", zorder=4, gid=f"link {bond.name}")
        else:
            if bond.kind in ("spring", "strut"):
                coil = helix(bond.start, bond.end, 2.2 * self.unit)
                self.line(coil, color=SPRING, linewidth=1.2, zorder=4, gid=f"{bond.kind} {bond.name}")
            if bond.kind in ("damper", "strut"):
                cup = bond.start + np.outer([0.25, 0.6], bond.end - bond.start)
                self.line(ends, color=SPRING, linewidth=1, zorder=4)
                self.line(cup, color=SPRING, linewidth=4.5, alpha=0.6, zorder=4, gid=f"damper {bond.name}")
        for x in ends:
            self.dot(x, JOINT, 3, zorder=6)
        self.names.append((bond.name, ends.mean(axis=0), CUT if bond.kind == "rod" else SPRING, 7.0, 1))

    # -- the space

    def line(self, points: np.ndarray, **style: Any) -> None:
        self.lines.append(points)
        self.axes.plot(*points.T, **{"solid_capstyle": "round", **style})

    def dot(self, point: np.ndarray, style: dict[str, Any], size: float, **more: Any) -> None:
        self.lines.append(np.stack([point, point]))
        self.axes.plot(*point[:, None], **{"markeredgewidth": 1.1, **style}, markersize=size, **more)

    def face(self, points: np.ndarray, colour: str, alpha: float, zorder: float = 1, gid: str = "face") -> None:
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

        made = Poly3DCollection([points], facecolors=colour, alpha=alpha, linewidths=0, zorder=zorder)
        made.set_gid(gid)
        self.axes.add_collection3d(made)

    def paper(self, points: np.ndarray) -> np.ndarray:
        """(n, 2) points in space, in points of the figure."""
        seen = np.column_stack([points, np.ones(len(points))]) @ self.axes.get_proj().T  # homogeneous
        out: np.ndarray = self.axes.transData.transform(seen[:, :2] / seen[:, 3:]) * 72 / self.figure.dpi
        return out

    def finish(self) -> None:
        """Names and the legend, which need to know of everything else."""
        self.figure.draw_without_rendering()  # the projection is known afterwards
        places = self.paper(np.array([at for _, at, *_ in self.names]).reshape(-1, 3))
        labels = [Label(n, at, colour, size, rank) for (n, _, colour, size, rank), at in zip(self.names, places)]
        obstacles = self.paper(sampled(self.lines, 1.2 * self.unit, 3))
        place_labels(self.axes, labels, obstacles, self.room)
        add_legend(self.figure, sorted(self.kinds))
