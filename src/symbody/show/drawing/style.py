"""What planar and spatial drawings share: colours, symbols, the legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# told apart by people with any colour vision (Okabe and Ito 2008), the yellow left out: it is not seen on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7a6a00")
INK, GREY, GROUND, SPRING, CUT = "#27303a", "#7b8794", "#c9d0d6", "#59636e", "#c0162c"
JOINT: dict[str, Any] = {"marker": "o", "markerfacecolor": "white", "markeredgecolor": INK, "linestyle": "none"}
CUT_RING = {**JOINT, "markerfacecolor": "none", "markeredgecolor": CUT, "markeredgewidth": 1.3}
COM = {**JOINT, "markerfacecolor": GREY, "markeredgecolor": "white"}


def colour_of(place: int) -> str:
    """Colour of the body with this place in the Mechanism."""
    return COLOURS[place % len(COLOURS)]


def add_legend(figure: Any, kinds: Sequence[str]) -> None:
    """One line below the drawing that says what the symbols are; `kinds` of "joint", "cut", "mass"."""
    from matplotlib.lines import Line2D

    symbols: dict[str, tuple[str, dict[str, Any]]] = {
        "joint": ("joint", {**JOINT, "markersize": 6}),
        "cut": ("cut of a loop", {**CUT_RING, "markersize": 9}),
        "mass": ("centre of mass", {**COM, "markersize": 6}),
    }
    handles = [Line2D([], [], label=symbols[k][0], **symbols[k][1]) for k in symbols if k in kinds]
    figure.legend(
        handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=7.5, handletextpad=0.2, columnspacing=1.5,
        labelcolor=GREY, borderaxespad=0.3,
    )  # fmt: skip
