"""Figures inside a page: SVG as data, so that it is sharp in print, each in a world of its own."""

from __future__ import annotations

import base64
import io
from typing import Any

from symbody.report.page import text


def figure_html(figure: Any, alternative: str) -> str:
    """An <img> of a matplotlib Figure; equal figures give equal text."""
    import matplotlib

    memory = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "symbody"}):
        figure.savefig(memory, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    data = base64.b64encode(memory.getvalue()).decode()
    return f'<img class="figure" alt="{text(alternative)}" src="data:image/svg+xml;base64,{data}">'
