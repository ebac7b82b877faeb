"""The structure digraph as a picture: inputs on the left, states by their distance from them, outputs on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symbody.show.drawing.style import COLOURS, GREY, INK
from symbody.show.drawing.svg import Canvas, Picture, TextBox, edge_of, half_size, unit

FONT = 13.0
ROW, GAP = 46.0, 70.0


def draw_digraph(
    edges: Mapping[str, Sequence[str]], inputs: Sequence[str], outputs: Sequence[str], title: str
) -> Picture:
    """edges: name -> names that it acts on at once."""
    layer = dict.fromkeys(inputs, 0)
    front = list(inputs)
    states = [n for n in edges if n not in layer and n not in outputs]
    depth = 0
    while front:
        depth += 1
        front = [b for b in dict.fromkeys(b for a in front for b in edges[a]) if b in states and b not in layer]
        layer |= dict.fromkeys(front, depth)
    rest = [n for n in states if n not in layer]
    last = max(layer.values(), default=0) + bool(rest)
    layer |= dict.fromkeys(rest, max(last, 1))
    layer |= dict.fromkeys(outputs, max(layer.values(), default=0) + 1)
    canvas = Canvas()
    column = max((2 * half_size(n, FONT)[0] for n in edges), default=60.0) + GAP
    boxes: dict[str, TextBox] = {}
    for k in sorted(set(layer.values())):
        names = [n for n in edges if layer[n] == k]
        for i, name in enumerate(names):
            # neighbours in one layer are set off, so that arrows between them are seen
            at = (column * (k + 0.22 * (i % 2)), ROW * (i - (len(names) - 1) / 2))
            half = half_size(name, FONT)
            kind = "rect" if name in inputs or name in outputs else "ellipse"
            fill = "#eaf2f8" if name in inputs else "#eaf6ef" if name in outputs else "white"
            canvas.shape(kind, at, (half[0] + 9, half[1] + 6), fill, INK)
            canvas.text(name, at, FONT, INK)
            boxes[name] = TextBox(name, at, (half[0] + 9, half[1] + 6))
    for a, after in edges.items():
        for b in after:
            if a == b:
                x, y = boxes[a].at
                canvas.curve(
                    (x - 9, y - boxes[a].half[1]), (x, y - boxes[a].half[1] - 20), (x + 9, y - boxes[a].half[1]), GREY
                )
                continue
            _arrow(canvas, boxes[a], boxes[b], b in edges and a in edges[b])
    return canvas.picture(title)


def _arrow(canvas: Canvas, a: TextBox, b: TextBox, both: bool) -> None:
    (dx, dy), length = unit(a.at, b.at)
    bend = 0.12 * length if both else 0.04 * length
    middle = ((a.at[0] + b.at[0]) / 2 - bend * dy, (a.at[1] + b.at[1]) / 2 + bend * dx)
    start, end = edge_of(a, middle, 1.0), edge_of(b, middle, 2.0)
    canvas.curve(start, middle, end, COLOURS[0] if both else GREY)
    (dx, dy), _ = unit(middle, end)
    for side in (1, -1):
        canvas.line([end, (end[0] - 8 * dx - side * 3.5 * dy, end[1] - 8 * dy + side * 3.5 * dx)], GREY, 1.2)
