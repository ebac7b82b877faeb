"""A Trajectory as a figure: one panel for each quantity and unit over a shared time axis, events marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.display import picture, styled
from symbody.basics.errors import NameLookupError, ShapeError, nearest
from symbody.motion.trajectory.columns import Column, batch_shape, columns, component
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.symbolic.system.names import components

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# told apart by people with any colour vision (Okabe and Ito 2008), the yellow darkened to be seen on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c7a00")
STYLES = ("-", "--", ":", "-.")
TITLES = {"q": "coordinates", "qd": "velocities", "qdd": "accelerations", "tau": "efforts", "lam": "multipliers"}
MANY_LINES = 12  # more than this cannot be told apart: those that move the most have colours, the others are grey
LEADING = 8  # how many then have colours
GREY = {"color": "0.82", "linestyle": "-"}
MANY_MEMBERS = 20  # of more motions than this, their median and the band of the middle 90 % is shown
MANY_EVENTS = 12  # more than this are marked by ticks alone
EVENT_ROWS = 3
STILL = 8  # names of what is zero throughout
FLAT = 1e-6  # of its middle: a spread that no eye could read from the ticks
LARGEST = 1e100  # beyond this nothing can be drawn


@dataclass(frozen=True)
class Panel:
    """What one set of axes shows: components of one quantity that share a unit."""

    quantity: str
    unit: str
    columns: tuple[Column, ...]


def plot(
    traj: Trajectory, names: str | Sequence[str] | None = None, width: float = 8.0, title: str | None = None
) -> Figure:
    """A matplotlib Figure of quantities ("q"), components ("q.shoulder") or, by default, everything.

    width: inches; the height grows with the number of panels. Colours and line styles follow the components, the same
    in every panel whose quantities have the same labels; of very many, those with the largest range. What is zero
    throughout is only named, unless it was asked for.
    """
    panels = _panels(traj, names)
    still: list[str] = []
    if names is None:
        panels, still = _without_zeros(traj, panels)
    looks = _looks(traj, panels)
    figure: Any = picture(figsize=(width, 0.9 + 1.75 * max(len(panels), 1)), layout="constrained")
    grid = figure.subplots(max(len(panels), 1), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(grid, panels):
        _draw(axes, traj, panel, looks)
    if not panels:
        grid[0].text(0.5, 0.5, "nothing was recorded", ha="center", va="center", transform=grid[0].transAxes)
    _mark_events(grid, traj)
    figure.align_ylabels(grid)
    grid[-1].set_xlabel("time (s)")
    if still:
        _name_still(figure, still, width)
    if len(traj.t) > 1:
        grid[-1].set_xlim(float(traj.t[0]), float(traj.t[-1]))
    heading = ", ".join(x for x in (traj.model, traj.method) if x) if title is None else title
    if heading:
        figure.suptitle(_plain(heading), fontsize=11, x=0.01, ha="left", fontweight="bold")
    return figure


def plot_path(traj: Trajectory, name: str, axes: str = "", width: float = 6.0, title: str | None = None) -> Figure:
    """A matplotlib Figure of the path of a point: one coordinate of "p.<frame>" against another, in equal scales.

    axes: two letters of x, y, z, such as "xz"; those with the largest ranges where none are given. A ring marks the
    start.
    """
    values = np.asarray(traj[name], dtype=float)
    if values.shape[-1:] != (3,):
        raise ShapeError(f"{name} has shape {values.shape}; expected positions (..., 3), such as p.<body>.")
    ranges = np.ptp(values.reshape(-1, 3), axis=0)
    if axes and (len(axes) != 2 or not set(axes) <= set("xyz")):
        raise NameLookupError(f"axes={axes!r}; expected two letters of x, y and z.")
    first, second = sorted(np.argsort(-ranges, kind="stable")[:2]) if not axes else ("xyz".index(a) for a in axes)
    figure: Any = picture(figsize=(width, width), layout="constrained")
    sheet = figure.subplots()
    for k, member in enumerate(values.reshape(-1, *values.shape[-2:])):
        colour = COLOURS[k % len(COLOURS)]
        sheet.plot(member[:, first], member[:, second], color=colour, linewidth=1.4)
        sheet.plot(*member[0, [first, second]], "o", color=colour, markerfacecolor="white")
    sheet.set_aspect("equal", adjustable="datalim")
    sheet.set_xlabel(f"{'xyz'[first]} (m)", fontsize=9)
    sheet.set_ylabel(f"{'xyz'[second]} (m)", fontsize=9)
    styled(sheet)
    figure.suptitle(
        _plain(f"path of {name}" if title is None else title), fontsize=11, x=0.01, ha="left", fontweight="bold"
    )
    return figure


# -- what is shown


def _panels(traj: Trajectory, names: str | Sequence[str] | None) -> list[Panel]:
    """Panels in the order asked for; a quantity with several units has one panel for each."""
    every = columns(traj)
    wanted = list(traj.values) if names is None else [names] if isinstance(names, str) else list(names)
    chosen: dict[Column, None] = {}
    for name in wanted:
        chosen.update(dict.fromkeys(_named(traj, every, name)))
    groups: dict[tuple[str, str], list[Column]] = {}
    for column in chosen:
        groups.setdefault((column.quantity, column.unit), []).append(column)
    return [Panel(quantity, unit, tuple(found)) for (quantity, unit), found in groups.items()]


def _named(traj: Trajectory, every: list[Column], name: str) -> list[Column]:
    found = [c for c in every if name in (c.quantity, c.name)]
    owners = [n for n in traj.values if name.startswith(f"{n}.")]
    if not found and owners:  # as in traj[name]: all components of a joint, or a place counted from 1
        quantity = max(owners, key=len)
        own = [c for c in every if c.quantity == quantity]
        found = [own[k] for k in components([c.label for c in own], len(own), name[len(quantity) + 1 :])]
    if not found:
        known = [*traj.values, *(c.name for c in every)]
        raise NameLookupError(f"the trajectory of {traj.model or 'this model'} has no {name!r}. {nearest(name, known)}")
    return found


def _rank(traj: Trajectory, column: Column) -> int:
    """Place among the components of its quantity: it decides colour and style."""
    shape = np.shape(traj.values[column.quantity])
    return int(np.ravel_multi_index(column.index, shape[len(shape) - len(column.index) :])) if column.index else 0


def _values(traj: Trajectory, column: Column) -> np.ndarray:
    """(members, instants) of one component; what cannot be drawn is not a number."""
    members = int(np.prod(batch_shape(traj)))
    values = component(np.asarray(traj.values[column.quantity]), column.index).reshape(members, -1)
    return np.where(np.abs(values) < LARGEST, values, np.nan)


def _without_zeros(traj: Trajectory, panels: list[Panel]) -> tuple[list[Panel], list[str]]:
    """Panels without components that are zero throughout, and the names of what was left out; all if all are."""
    kept, still = [], []
    for panel in panels:
        moving = tuple(c for c in panel.columns if np.any(_values(traj, c)))
        if moving:
            kept.append(Panel(panel.quantity, panel.unit, moving))
        several = sum(p.quantity == panel.quantity for p in panels) > 1
        unit = f"({panel.unit})" if several and panel.unit else ""
        whole = " ".join(x for x in (TITLES.get(panel.quantity, ""), panel.quantity, unit) if x)
        still += [c.name for c in panel.columns if c not in moving] if moving else [whole]
    return (kept, list(dict.fromkeys(still))) if kept else (panels, [])


def _looks(traj: Trajectory, panels: Sequence[Panel]) -> dict[Column, dict[str, Any]]:
    """Colour and line style of each component, and grey for those that many others move more than."""
    out: dict[Column, dict[str, Any]] = {}
    crowded = {p.quantity for p in panels if len(p.columns) > MANY_LINES}
    slots: dict[str, int] = {}  # of a crowd, leaders in the order in which they are met
    for panel in panels:
        leading = _leading(traj, panel)
        for column in panel.columns:
            if column not in leading:
                out[column] = GREY
                continue
            slot = slots.setdefault(column.label, len(slots)) if panel.quantity in crowded else _rank(traj, column)
            out[column] = dict(color=COLOURS[slot % len(COLOURS)], linestyle=STYLES[slot // len(COLOURS) % len(STYLES)])
    return out


def _leading(traj: Trajectory, panel: Panel) -> set[Column]:
    """The components of a panel that have a colour: all, or of very many those with the largest range."""
    if len(panel.columns) <= MANY_LINES:
        return set(panel.columns)
    ranges = {c: float(np.ptp(v)) if len(v := (x := _values(traj, c))[np.isfinite(x)]) else 0.0 for c in panel.columns}
    return set(sorted(panel.columns, key=lambda c: -ranges[c])[:LEADING])


# -- drawing


def _draw(axes: Any, traj: Trajectory, panel: Panel, looks: Mapping[Column, dict[str, Any]]) -> None:
    for column in sorted(panel.columns, key=lambda c: looks[c] is not GREY):  # grey lines lie below
        label = "" if looks[column] is GREY else _plain(column.label or column.quantity)
        _draw_lines(axes, np.asarray(traj.t), _values(traj, column), label, looks[column])
    axes.set_ylabel(_axis_label(panel), fontsize=9)
    styled(axes)
    axes.margins(y=0.08)
    _choose_limits(axes, diverged=traj.outcome is Outcome.NOT_FINITE)
    _add_legend(axes, panel)


def _draw_lines(axes: Any, t: np.ndarray, values: np.ndarray, label: str, style: dict[str, Any]) -> None:
    """One line; of a batch thin lines, or of a large one the median and a band."""
    if len(values) <= 1:
        for row in values:
            axes.plot(t, row, label=label, linewidth=1.4, **style)
    elif len(values) <= MANY_MEMBERS:
        for k, row in enumerate(values):
            axes.plot(t, row, label=label if k == 0 else None, linewidth=0.8, alpha=0.6, **style)
    else:
        finite = values[np.isfinite(values).all(axis=1)]
        if not len(finite):
            return
        low, middle, high = np.percentile(finite, (5, 50, 95), axis=0)
        axes.fill_between(t, low, high, color=style["color"], alpha=0.2, linewidth=0)
        axes.plot(t, middle, label=label, linewidth=1.4, **style)


def _axis_label(panel: Panel) -> str:
    name = panel.columns[0].name if len(panel.columns) == 1 else panel.quantity
    words = TITLES.get(panel.quantity, "") if len(panel.columns) > 1 else ""
    first = f"{words} {name}" if words else name
    unit = panel.unit.replace("^2", "²").replace("^3", "³")
    return _plain(f"{first}\n({unit})" if unit else first)


def _name_still(figure: Any, still: Sequence[str], width: float) -> None:
    """What is zero throughout, named below the last panel."""
    more = f" and {len(still) - STILL} more" if len(still) > STILL else ""
    text = _plain(f"zero throughout: {', '.join(still[:STILL])}{more}")
    figure.supxlabel(fill(text, int(18 * width)), fontsize=7.5, color="0.45", x=0.99, ha="right")


def _choose_limits(axes: Any, diverged: bool) -> None:
    """What only rounding and tolerances move, such as an energy that is kept, is shown flat, not as noise that fills
    the panel; what explodes, before it does."""
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()]
    finite = np.concatenate([y[np.isfinite(y)] for y in lines]) if lines else np.zeros(0)
    if not len(finite):
        return
    middle, spread = float(np.median(finite)), float(np.ptp(finite))
    if spread <= max(FLAT * abs(middle), 1e-12):
        half = 0.5 * abs(middle) or 1.0
        axes.set_ylim(middle - half, middle + half)
    usual = 3 * float(np.percentile(np.abs(finite), 75))
    if diverged and 0 < usual < 0.1 * float(np.abs(finite).max()):
        axes.set_ylim(-usual, usual)


def _add_legend(axes: Any, panel: Panel) -> None:
    """Beside the panel, so that it hides nothing: two columns for many lines, and a count of the grey ones."""
    if len(panel.columns) < 2:
        return
    handles, labels = axes.get_legend_handles_labels()
    if len(panel.columns) > len(handles):
        (grey,) = axes.plot([], [], **GREY)
        handles, labels = [*handles, grey], [*labels, f"{len(panel.columns) - len(handles)} smaller"]
    axes.legend(
        handles,
        [x if len(x) <= 18 else f"{x[:17]}…" for x in labels],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.03),
        borderaxespad=0,
        frameon=False,
        fontsize=7 if len(labels) > LEADING else 8,
        ncols=1 if len(labels) <= LEADING + 1 else 2,
        handlelength=1.6,
        labelspacing=0.3,
        columnspacing=1.0,
    )


def _mark_events(grid: Any, traj: Trajectory) -> None:
    """Lines through all panels with names above the first; many events are ticks at the lower edge."""
    events = [e for e in traj.events if len(traj.t) and traj.t[0] <= e.t <= traj.t[-1]]
    if not events:
        return
    times = [e.t for e in events]
    if len(times) > MANY_EVENTS:
        for axes in grid:
            axes.plot(
                times, np.zeros(len(times)), "|", color="0.35", markersize=6, transform=axes.get_xaxis_transform()
            )
        grid[0].set_title(f"{len(times)} events, marked below", fontsize=8, color="0.35", loc="right")
        return
    span = max(float(traj.t[-1] - traj.t[0]), 1e-300)
    ends = [-np.inf] * EVENT_ROWS  # where the last name of each row ends
    for event in sorted(events, key=lambda e: e.t):
        for axes in grid:
            axes.axvline(event.t, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.5)
        text = _plain(event.name if len(event.name) <= 24 else f"{event.name[:23]}…")
        row = next((k for k in range(EVENT_ROWS) if event.t >= ends[k]), None)
        if row is None:
            continue  # no room: the line alone
        ends[row] = event.t + span * (0.012 * len(text) + 0.02)
        near_end = event.t > traj.t[-1] - span * 0.012 * len(text)
        grid[0].annotate(
            text,
            (event.t, 1),
            xycoords=grid[0].get_xaxis_transform(),
            xytext=(-3 if near_end else 3, 2 + 9 * row),
            textcoords="offset points",
            fontsize=7,
            color="0.35",
            ha="right" if near_end else "left",
        )


def _plain(text: str) -> str:
    """Text as it is: a $ in a name starts no formula."""
    return text.replace("$", r"\$")
