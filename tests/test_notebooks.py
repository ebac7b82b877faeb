"""Notebooks: one for each tutorial, the same words and code; figures, tables and animations show by themselves."""

from __future__ import annotations

import importlib.util

import pytest

import symbody as sb
from helpers.pages import ROOT

DOCS = ROOT / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


def made(page):
    spec = importlib.util.spec_from_file_location("make_notebooks", DOCS / "make_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.notebook(page)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda p: p.stem)
def test_a_notebook_is_its_tutorial(page):
    assert (DOCS / "notebooks" / f"{page.stem}.ipynb").read_text(encoding="utf-8") == made(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda p: p.stem)
def test_a_notebook_runs(page, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.reads(made(page), as_version=4)
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_figures_show_without_a_backend():
    motion = sb.simulate(sb.load("pendulum2"), 0.5, q0=[0.3, 0.1], outputs=["p.rod2.end"])
    for figure in (motion.plot(), motion.plot_path("p.rod2.end"), sb.load("four_bar").show()):
        assert figure._repr_png_()[:4] == b"\x89PNG"


def test_records_are_tables():
    arm = sb.load("pendulum2")
    for record in (
        sb.inverse_dynamics(arm, formalism="newton_euler").count(),
        sb.linearize(arm),
        sb.modes(arm),
        sb.verify(arm, states=1),
        sb.simulate(arm, 0.1),
    ):
        assert record._repr_html_().startswith("<table>")


def test_an_animation_of_many_frames_is_small_and_needs_no_network():
    pytest.importorskip("meshcat")
    motion = sb.simulate(sb.load("four_bar"), 1.0, qd0={"crank": 10.0}, samples=1000)
    html = motion.animate()._repr_html_()
    assert html.startswith("<iframe")
    assert len(html) < 3_000_000
    assert "default-src &#x27;none&#x27;" in html
