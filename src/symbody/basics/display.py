"""What records look like: figures that a notebook shows by itself, one style for all plots, tables of texts."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

DPI = 110  # of a figure in a notebook


@cache
def _picture_class() -> Any:
    from matplotlib.figure import Figure

    class FigurePicture(Figure):
        """A Figure that a notebook shows as a picture, whatever backend is chosen."""

        def _repr_png_(self) -> bytes:
            memory = io.BytesIO()
            self.savefig(memory, format="png", dpi=DPI)
            return memory.getvalue()

        def __reduce__(self) -> Any:  # pickle would look for the class by its name: it is made where it is used
            return _blank, (), self.__getstate__()

    return FigurePicture


def _blank() -> Any:
    made = _picture_class()
    return made.__new__(made)


def picture(**options: Any) -> Any:
    """A new matplotlib Figure; options are those of Figure."""
    return _picture_class()(**options)


def styled(axes: Any) -> None:
    """The style of all plots: light lines behind, no frame above and beside, numbers as they are."""
    axes.grid(True, which="major", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    for axis in (axes.xaxis, axes.yaxis):
        formatter = axis.get_major_formatter()
        if hasattr(formatter, "set_useOffset"):
            formatter.set_useOffset(False)


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, two blanks between them; the first line names them."""
    lines = [list(heads), *(list(r) for r in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths)).rstrip() for line in lines)


def html_table(heads: Sequence[object], rows: Sequence[Sequence[object]], caption: str = "") -> str:
    """An HTML table, every text escaped."""
    left = ' style="text-align:left"'
    top = "".join(f"<th{left}>{escape(str(h))}</th>" for h in heads)
    body = "".join("<tr>" + "".join(f"<td{left}>{escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    title = f'<caption style="text-align:left;caption-side:top">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def html_notes(notes: Sequence[object]) -> str:
    """Remarks below a table."""
    return "".join(f"<p>{escape(str(note))}</p>" for note in notes)
