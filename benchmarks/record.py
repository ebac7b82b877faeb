"""What a benchmark returns: a table with notes, and the claims that its figures support or refute."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

Cell = str | float | int | None


@dataclass(frozen=True)
class Options:
    """quick: small sizes only, about a minute for everything. budget: seconds that one step of a peer may take."""

    quick: bool = False
    budget: float = 60.0


@dataclass
class Missing:
    """A cell without a figure, and why."""

    reason: str


@dataclass
class Claim:
    """A promise about one figure of this run."""

    text: str
    measured: float
    limit: float
    at_least: bool = False  # else at most

    @property
    def holds(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


@dataclass
class Section:
    """A table. Rows are name -> cell; a cell is a number (shown with 3 digits), a text, or Missing (shown as "-")."""

    name: str
    title: str
    columns: list[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def add(self, **cells: Any) -> None:
        self.rows.append(cells)

    def reasons(self) -> list[str]:
        """Why cells are empty, each reason once, with the columns it concerns."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            for column, cell in row.items():
                if isinstance(cell, Missing) and cell.reason:
                    named = found.setdefault(cell.reason, [])
                    if column not in named:
                        named.append(column)
        return [f"- in {', '.join(columns)}: {reason}" for reason, columns in found.items()]

    def show(self, console: Console) -> None:
        table = Table(title=self.title, title_justify="left")
        for k, column in enumerate(self.columns):
            table.add_column(column, justify="left" if k == 0 else "right")
        for row in self.rows:
            table.add_row(*(shown(row.get(column)) for column in self.columns))
        console.print(table)
        for note in [*self.notes, *self.reasons()]:
            console.print(f"  {note}", style="dim", soft_wrap=True)
        console.print()

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        data["claims"] = [asdict(c) | {"holds": c.holds} for c in self.claims]
        return data


def shown(cell: Any) -> str:
    """Three digits, so that a table does not pretend to more than a shared machine can tell."""
    if cell is None or isinstance(cell, Missing):
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}".replace(",", " ")
    if isinstance(cell, float):
        if cell and abs(cell) < 100:
            return f"{cell:.3g}"
        return f"{cell:,.0f}".replace(",", " ")
    return str(cell)
