"""Figures inside a page: SVG as data, so that it is sharp in print, each in a world of its own."""

from __future__ import annotations

import base64
import io
from typing import Any

from symbody.show.report.page import text


def figure_html(figure: Any, alternative: str) -> str:
    """An <img> of a matplotlib Figure; equal figures give equal text."""
    import matplotlib

    memory = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "symbody"}):
        figure.savefig(memory, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    data = base64.b64encode(memory.getvalue()).decode()
    return f'<img class="figure" alt="{text(alternative)}" src="data:image/svg+xml;base64,{data}">'


def timed_figure_html(figure: Any, alternative: str) -> str:
    """`figure_html` of a figure over time, with a line at the instant that the animation shows."""
    figure.draw_without_rendering()  # the layout is known then
    box = figure.get_tightbbox()
    width = float(box.width)
    axes = figure.axes[-1]
    place, (first, last) = axes.get_window_extent(), axes.get_xlim()
    left, right = ((x / figure.dpi - box.x0) / width for x in (place.x0, place.x1))
    facts = f'data-left="{left:.5f}" data-right="{right:.5f}" data-first="{float(first)!r}" data-last="{float(last)!r}"'
    inside = f'<div class="timed" {facts}>{figure_html(figure, alternative)}<i class="cursor" hidden></i></div>'
    return f'<div class="wide">{inside}</div>'
