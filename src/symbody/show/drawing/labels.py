"""Names beside what they name: each where it covers the least, and none where there is no room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

HEIGHT = 1.25  # of a line, in font sizes
DIRECTIONS = [np.round([np.cos(a), np.sin(a)], 9) for a in np.pi / 4 * np.array([1, 3, 7, 5, 0, 4, 2, 6])]
DISTANCES = (7.0, 13.0, 22.0)  # points from the anchor
TEXT_COST, LINE_COST, FAR_COST, LIMIT = 6.0, 1.0, 0.25, 9.0


@dataclass(frozen=True, eq=False)
class Label:
    """A name and the place (2,) it belongs to, in points of the figure; those of a smaller rank are placed first."""

    text: str
    anchor: np.ndarray
    colour: Any
    size: float = 8.0
    rank: int = 0


def place_labels(axes: Any, labels: Sequence[Label], obstacles: np.ndarray, room: np.ndarray) -> list[Any]:
    """Write labels into axes; what is crowded out is left out. All places are in points of the figure.

    obstacles: (n, 2) points of drawn lines; room: (2, 2) lower left and upper right corner of where names may stand.
    """
    boxes: list[np.ndarray] = []
    written = []
    for label in sorted(labels, key=lambda x: x.rank):
        half = 0.5 * np.array([_width(label), HEIGHT * label.size])
        tried = [_candidate(label, half, way, far, boxes, obstacles, room) for far in DISTANCES for way in DIRECTIONS]
        cost, box = min(tried, key=lambda found: found[0])
        if cost > LIMIT:
            continue
        boxes.append(box)
        at = axes.transData.inverted().transform(label.anchor * axes.figure.dpi / 72)
        written.append(
            axes.annotate(
                label.text.replace("$", r"\$"), at, xytext=box.mean(axis=0) - label.anchor, textcoords="offset points",
                fontsize=label.size, color=label.colour, ha="center", va="center", annotation_clip=False, zorder=20,
                bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "alpha": 0.65, "linewidth": 0},
            )
        )  # fmt: skip
    return written


def _width(label: Label) -> float:
    """Points that the text is wide."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(label.text, FontProperties(size=label.size), False)[0]) + 2


def _candidate(
    label: Label,
    half: np.ndarray,
    way: np.ndarray,
    far: float,
    boxes: list[np.ndarray],
    obstacles: np.ndarray,
    room: np.ndarray,
) -> tuple[float, np.ndarray]:
    """Cost and box (2, 2) of one place: what it covers, and how far it is."""
    # the box touches the ray from its anchor, whatever its shape
    middle = label.anchor + way * far + np.sign(way) * half
    box = np.stack([middle - half, middle + half])
    if (box[0] < room[0]).any() or (box[1] > room[1]).any():
        return np.inf, box
    covered = ((obstacles > box[0] - 1) & (obstacles < box[1] + 1)).all(axis=1).sum() if len(obstacles) else 0
    texts = sum(bool((box[0] < b[1]).all() and (box[1] > b[0]).all()) for b in boxes)
    return LINE_COST * float(covered) + TEXT_COST * 2 * texts + FAR_COST * (far - DISTANCES[0]), box
