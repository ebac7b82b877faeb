"""Pictures as SVG text: lines, texts whose boxes are known, and the file around them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from symbody.basics.arguments import declared
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import FormatError

Point = tuple[float, float]
WIDTH = 0.62  # of a character, of the size of the font; digits and capitals of the sans serif fonts are narrower
MARGIN = 14.0


@dataclass(frozen=True)
class TextBox:
    """A text and the box that it fills: centre, half width, half height."""

    text: str
    at: Point
    half: Point

    def overlaps(self, other: TextBox) -> bool:
        return all(abs(a - b) < h + k for a, b, h, k in zip(self.at, other.at, self.half, other.half))


@dataclass(frozen=True)
class Picture:
    """An SVG: its text, its size in px, and its labels. Notebooks show it."""

    svg: str
    width: float
    height: float
    labels: tuple[TextBox, ...] = field(repr=False, default=())

    def _repr_svg_(self) -> str:
        return self.svg

    @declared
    def save(self, path: str | Path) -> Path:
        """Write the file, whose name ends with .svg."""
        if Path(path).suffix.lower() != ".svg":
            raise FormatError(f"{path} has the suffix {Path(path).suffix!r}; expected .svg.")
        return write_whole(Path(path), self.svg)


@dataclass
class Canvas:
    """Collects pieces of a picture."""

    pieces: list[str] = field(default_factory=list)
    labels: list[TextBox] = field(default_factory=list)
    corners: list[Point] = field(default_factory=list)

    def line(self, points: list[Point], colour: str, width: float = 1.4, dash: str = "") -> None:
        self.corners += points
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.pieces.append(
            f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-linejoin="round" stroke-linecap="round"{dashed}/>'
        )

    def curve(self, start: Point, control: Point, end: Point, colour: str, width: float = 1.2) -> None:
        self.corners += [start, control, end]
        (a, b), (c, d), (e, f) = start, control, end
        self.pieces.append(
            f'<path d="M{a:.1f},{b:.1f} Q{c:.1f},{d:.1f} {e:.1f},{f:.1f}" fill="none" stroke="{colour}" '
            f'stroke-width="{width}"/>'
        )

    def shape(self, kind: str, at: Point, half: Point, fill: str, stroke: str) -> None:
        (x, y), (a, b) = at, half
        self.corners += [(x - a, y - b), (x + a, y + b)]
        if kind == "ellipse":
            piece = f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{a:.1f}" ry="{b:.1f}"'
        else:
            piece = f'<rect x="{x - a:.1f}" y="{y - b:.1f}" width="{2 * a:.1f}" height="{2 * b:.1f}" rx="4"'
        self.pieces.append(f'{piece} fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>')

    def text(self, text: str, at: Point, size: float, colour: str, title: str = "", bold: bool = False) -> TextBox:
        label = TextBox(text, at, half_size(text, size))
        self.labels.append(label)
        (x, y), (a, b) = at, label.half
        self.corners += [(x - a, y - b), (x + a, y + b)]
        inside = f"<title>{escape(title)}</title>" if title else ""
        weight = ' font-weight="600"' if bold else ""
        self.pieces.append(
            f'<text x="{x:.1f}" y="{y + 0.35 * size:.1f}" font-size="{size:g}" fill="{colour}"{weight} '
            f'text-anchor="middle">{inside}{escape(text)}</text>'
        )
        return label

    def picture(self, title: str) -> Picture:
        """The whole file, cut to what is drawn."""
        xs, ys = [x for x, _ in self.corners] or [0.0], [y for _, y in self.corners] or [0.0]
        x, y = min(xs) - MARGIN, min(ys) - MARGIN
        width, height = max(xs) - x + MARGIN, max(ys) - y + MARGIN
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x:.1f} {y:.1f} {width:.1f} {height:.1f}" '
            f'width="{width:.0f}" height="{height:.0f}" font-family="Helvetica, Arial, sans-serif" role="img">'
        )
        back = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="white"/>'
        text = "\n".join([head, f"<title>{escape(title)}</title>", back, *self.pieces, "</svg>", ""])
        return Picture(text, width, height, tuple(self.labels))


def half_size(text: str, size: float) -> Point:
    """Half width and half height of a text."""
    return 0.5 * WIDTH * size * len(text), 0.6 * size


def unit(a: Point, b: Point) -> tuple[Point, float]:
    """Direction from a to b, and their distance."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = math.hypot(dx, dy) or 1.0
    return (dx / length, dy / length), length


def edge_of(box: TextBox, towards: Point, gap: float = 4.0) -> Point:
    """Where a line from the middle of a box towards a point leaves it."""
    (dx, dy), _ = unit(box.at, towards)
    a, b = box.half[0] + gap, box.half[1] + gap
    scale = min(a / abs(dx) if abs(dx) > 1e-9 else math.inf, b / abs(dy) if abs(dy) > 1e-9 else math.inf)
    return box.at[0] + dx * scale, box.at[1] + dy * scale
