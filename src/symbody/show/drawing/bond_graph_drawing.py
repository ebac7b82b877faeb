"""A bond graph as a picture: half arrows, causal strokes, numbers of bonds; storages in derivative causality stand out.

The stroke stands at the end of a bond that receives the effort. A multibond is a double line, a signal a thin arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from symbody.basics.errors import DefinitionError, word_argument
from symbody.bondgraph.causality.causality import Causality, assign
from symbody.bondgraph.graph.bond_graph import OPEN, Bond, BondGraph, Element
from symbody.show.drawing.bond_layout import BondLayout, layout
from symbody.show.drawing.graphviz import graphviz_layout
from symbody.show.drawing.style import COLOURS, GREY, INK
from symbody.show.drawing.svg import Canvas, Picture, Point, TextBox, edge_of, half_size, unit

ROW = 62.0  # px between rows
SPACE = 46.0  # px of bond between texts of neighbours
FONT, SMALL = 15.0, 9.5
STROKE, ARROW = 6.0, 9.0  # half length of a stroke, length of the half arrow
AROUND = 16.0  # px around a junction


def draw(graph: BondGraph, causality: Any = "integral", layout: str = "own", bicausal: Sequence[int] = ()) -> Picture:
    """The picture of a graph.

    causality   a Causality, "integral", "derivative", or None: without strokes
    layout      "own", or "graphviz", whose program `neato` must be there
    bicausal    numbers of bonds that carry both effort and flow: a stroke on both ends
    """
    if isinstance(causality, str):
        word_argument("causality", causality, ("integral", "derivative"))
        causality = None if graph.of_kind(OPEN) else assign(graph, causality)
    if causality is not None and not isinstance(causality, Causality):
        raise DefinitionError(f"causality={causality!r}; expected a Causality, 'integral', 'derivative' or None.")
    word_argument("layout", layout, ("own", "graphviz"))
    return _Drawer(graph, causality, _places(graph, layout), set(bicausal)).picture()


def _places(graph: BondGraph, how: str) -> BondLayout:
    return layout(graph) if how == "own" else graphviz_layout(graph)


def _text(e: Element) -> str:
    return e.kind if e.is_junction else f"{'P' if e.kind == OPEN else e.kind}:{e.name}"


class _Drawer:
    def __init__(self, graph: BondGraph, causality: Causality | None, places: BondLayout, bicausal: set[int]) -> None:
        self.graph, self.causality, self.layout, self.bicausal = graph, causality, places, bicausal
        self.canvas = Canvas()
        widest = max(2 * half_size(_text(e), FONT)[0] for e in graph.elements.values())
        self.column = max(80.0, widest + SPACE * 0.6)
        self.boxes: dict[str, TextBox] = {}
        self.numbers: list[tuple[Bond, list[Point]]] = []

    def point(self, place: tuple[float, float]) -> Point:
        return place[0] * self.column, place[1] * ROW

    def picture(self) -> Picture:
        late = {n for n in self.graph.elements if self.is_late(n)}
        for e in self.graph.elements.values():
            colour = COLOURS[1] if e.name in late else COLOURS[0] if e.kind in ("Se", "Sf") else INK
            title = f"{e.name}: {e.kind}" + (f", {e.domain}" if e.domain else "")
            at = self.point(self.layout.places[e.name])
            self.boxes[e.name] = self.canvas.text(_text(e), at, FONT, colour, title, e.is_junction)
        for b in self.graph.bonds:
            self.bond(b)
        for b, way in self.numbers:
            self.number(b, way)
        end = " in preferred " + self.causality.prefer + " causality" if self.causality is not None else ""
        return self.canvas.picture(f"Bond graph {self.graph.name}{end}")

    def is_late(self, name: str) -> bool:
        """Whether a storage is in derivative causality on some bond."""
        if self.causality is None or self.graph.elements[name].kind not in ("I", "C"):
            return False
        labels = (name, *(f"{name}_{k + 1}" for k in range(len(self.graph.bonds_of(name)))))
        return any(label in self.causality.derivative for label in labels)

    def bond(self, b: Bond) -> None:
        tail, head = self.boxes[b.tail], self.boxes[b.head]
        corners = [self.point(c) for c in self.layout.corners.get(b.number, ())]
        start = self.edge(b.tail, corners[0] if corners else head.at)
        end = self.edge(b.head, corners[-1] if corners else tail.at)
        way = [start, *corners, end]
        colour, width = (GREY, 1.0) if b.signal else (INK, 1.4)
        if b.dimension > 1:
            self.canvas.line(way, colour, 4.2)
            self.canvas.line(way, "white", 2.0)
        else:
            self.canvas.line(way, colour, width, "5 3" if b.signal else "")
        self.arrow(way[-2], way[-1], colour, b.signal)
        self.stroke(b, way)
        self.numbers.append((b, way))

    def edge(self, name: str, towards: Point) -> Point:
        """Where a bond leaves an element: its box, or a circle around a junction, so that strokes do not meet."""
        box = self.boxes[name]
        if not self.graph.elements[name].is_junction:
            return edge_of(box, towards, 5.0)
        (dx, dy), _ = unit(box.at, towards)
        return box.at[0] + AROUND * dx, box.at[1] + AROUND * dy

    def arrow(self, before: Point, end: Point, colour: str, full: bool) -> None:
        (dx, dy), _ = unit(before, end)
        for side in (1, -1) if full else (1,):
            barb = (end[0] - ARROW * dx - side * 0.6 * ARROW * dy, end[1] - ARROW * dy + side * 0.6 * ARROW * dx)
            self.canvas.line([end, barb], colour)

    def stroke(self, b: Bond, way: list[Point]) -> None:
        if self.causality is None:
            return
        ends = {self.causality.strokes.get((b.number, k), "") for k in range(b.dimension)} - {""}
        if b.number in self.bicausal:
            ends = {b.tail, b.head}
        for name in ends if len(ends) == 1 or b.number in self.bicausal else ():
            at, inward = (way[0], way[1]) if name == b.tail else (way[-1], way[-2])
            (dx, dy), _ = unit(at, inward)
            a = (at[0] - STROKE * dy, at[1] + STROKE * dx)
            c = (at[0] + STROKE * dy, at[1] - STROKE * dx)
            self.canvas.line([a, c], COLOURS[1] if b.number in self.bicausal else INK, 2.0)

    def number(self, b: Bond, way: list[Point]) -> None:
        """The number beside the longest part of a bond, on the side that the half arrow leaves free, clear of texts."""
        text = str(b.number)
        parts = sorted(pairwise(way), key=lambda part: -unit(*part)[1])
        half = half_size(text, SMALL)
        best: tuple[int, Point] | None = None
        for start, end in parts:
            (dx, dy), length = unit(start, end)
            for share in (0.5, 0.36, 0.64):
                for side in (-1, 1):
                    off = 4.0 + abs(dy) * half[0] + abs(dx) * half[1]
                    x = start[0] + share * length * dx - side * off * dy
                    y = start[1] + share * length * dy + side * off * dx
                    label = TextBox(text, (x, y), (half[0] + 1, half[1]))
                    hits = sum(label.overlaps(o) for o in self.canvas.labels)
                    if best is None or hits < best[0]:
                        best = hits, (x, y)
                    if not hits:
                        break
                if best is not None and not best[0]:
                    break
            if best is not None and not best[0]:
                break
        if best is not None:
            self.canvas.text(text, best[1], SMALL, GREY)
