"""Animations by themselves: as a page, and inside a notebook, without a network."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError
from symbody.model.record.mechanism import Mechanism
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.show.report.animation import MISSING, make_animation
from symbody.show.report.page import Section, page

HEIGHT = 520  # pixels of the frame in a notebook


class Animated:
    """A motion that a notebook plays: the page stands inside the cell. `save` writes it as a file."""

    def __init__(self, html: str, title: str) -> None:
        self.html, self.title = html, title

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title, quote=True)}" srcdoc="{escape(self.html, quote=True)}" '
            f'sandbox="allow-scripts" style="width:100%;height:{HEIGHT}px;border:0" loading="lazy"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Animation of {self.title}, {len(self.html) / 1e6:.1f} MB; .save(path) writes it as a page."

    @declared
    def save(self, path: str | Path) -> Path:
        """Write the page, which opens anywhere."""
        from symbody.basics.atomic_file import write_whole

        return write_whole(path, self.html.encode("utf-8", errors="replace"))


def animated(mech: Mechanism, trajectory: Trajectory | None, parameters: Mapping[str, float] | None = None) -> Animated:
    """A Mechanism, or its motion, to be played in a notebook. It needs the package meshcat."""
    html = animation_page(mech, trajectory, parameters)
    if html is None:
        raise ModelError(MISSING)
    return Animated(html, mech.name)


def animation_page(
    mech: Mechanism, trajectory: Trajectory | None = None, parameters: Mapping[str, float] | None = None
) -> str | None:
    """One HTML file with nothing but the animation; None where the viewer is not installed."""
    view = make_animation(mech, trajectory, parameters, max_frames=1000)
    if view is None:
        return None
    return page(mech.name, "", [Section("motion", "", view.html)], view.scripts, view.data, bare=True)


def standing(mech: Mechanism, q: Any, parameters: Mapping[str, float] | None) -> Trajectory:
    """A Trajectory of one instant: the model at q, its loops closed from there."""
    from symbody.mechanics.assembly.guess import guessed
    from symbody.mechanics.verbs.assemble import assemble

    if mech.cuts or mech.couplings:
        found = assemble(mech, q, parameters)
    else:
        found, _ = guessed(mech, q)
    return Trajectory(np.zeros(1), {"q": np.asarray(found, dtype=float)[None]}, model=mech.name)
