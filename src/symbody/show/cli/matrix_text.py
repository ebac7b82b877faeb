"""Matrices with names of rows and columns: as text that fits a terminal, and as CSV."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Sequence

import numpy as np


def matrix_text(name: str, matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str], width: int = 0) -> str:
    """A matrix under its name; one that is wider than the terminal is cut into groups of columns. Zeros are points."""
    width = width or max(60, shutil.get_terminal_size((100, 24)).columns)
    shape = f"{name}  ({matrix.shape[0]} x {matrix.shape[1]})"
    if not matrix.size:
        return f"{shape}: empty"
    cells = [[_cell(x) for x in row] for row in matrix]
    margin = max(map(len, rows))
    widths = [max(len(head), *(len(r[k]) for r in cells)) + 2 for k, head in enumerate(columns)]
    lines = [shape]
    for first, last in _groups(widths, width - margin):
        lines.append(" " * margin + "".join(f"{columns[k]:>{widths[k]}}" for k in range(first, last)))
        for label, row in zip(rows, cells):
            lines.append(f"{label:<{margin}}" + "".join(f"{row[k]:>{widths[k]}}" for k in range(first, last)))
    return "\n".join(lines)


def _cell(x: float) -> str:
    return "." if x == 0 else f"{x:.5g}"


def _groups(widths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Ranges of columns that fit beside each other."""
    out, first, used = [], 0, 0
    for k, w in enumerate(widths):
        if k > first and used + w > room:
            out.append((first, k))
            first, used = k, 0
        used += w
    return [*out, (first, len(widths))]


def matrix_csv(matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> bytes:
    """Names of the columns in the first line, of the rows in the first column; numbers with all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["", *columns])
    writer.writerows([label, *map(float, row)] for label, row in zip(rows, matrix))
    return text.getvalue().encode()
