"""Tables of texts: for a terminal, and for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, two blanks between them; the first line names them."""
    lines = [list(heads), *(list(r) for r in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths)).rstrip() for line in lines)


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """An HTML table, every text escaped."""
    top = "".join(f'<th style="text-align:left">{escape(h)}</th>' for h in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(str(c))}</td>' for c in r) + "</tr>" for r in rows
    )
    title = f'<caption style="text-align:left;caption-side:top">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
