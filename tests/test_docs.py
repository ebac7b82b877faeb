"""The documentation stays true: its code runs, its links lead somewhere, its lists are complete."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from helpers.pages import ROOT, blocks, run_page
from symbody.motion.methods.methods import METHODS
from symbody.motion.trajectory.outcome import Outcome

DOCS = ROOT / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
GUIDES = [
    DOCS / name
    for name in (
        "simulation.md",
        "derivatives.md",
        "loops.md",
        "gpu.md",
        "kinematics.md",
        "analysis.md",
        "drawing.md",
        "verification.md",
        "forces.md",
        "extending.md",
        "bondgraph.md",
        "equations.md",
        "gears.md",
        "contacts.md",
        "controllers.md",
        "index.md",
    )
]
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "examples").glob("*.md"))]


def script(name: str) -> ModuleType:
    """A program of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", [*TUTORIALS, *GUIDES], ids=lambda p: p.stem)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert any(b.kind == "python" for b in blocks(page.read_text(encoding="utf-8")))
    run_page(page)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in [*TUTORIALS, *GUIDES] if "```python slow" in p.read_text()], ids=lambda p: p.stem
)
def test_code_of_the_page_runs_with_its_slow_parts(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, slow=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_of_the_page_lead_to_files(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [*re.findall(r"\]\(([^)#\s]+)", text), *re.findall(r'<img src="([^"]+)"', text)]
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda p: str(p.relative_to(DOCS)))
def test_links_of_the_site_stay_within_it(page):
    """The site is made of docs/ alone: `make docs` refuses a link that leads out of it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert not [link for link in links if not (page.parent / link).resolve().is_relative_to(DOCS)]


def test_pictures_are_small():
    for picture in (DOCS / "pictures").iterdir():
        most = 500_000 if picture.suffix == ".webp" else 150_000  # those that move
        assert picture.stat().st_size < most, picture.name


def test_gallery_is_what_the_pictures_say():
    """Made by `python docs/make_pictures.py`."""
    maker = script("make_pictures")
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == maker.gallery()
    assert {row.file for row in maker.PICTURES} == {p.name for p in (DOCS / "pictures").iterdir()}


# -- lists


def test_api_page_is_what_the_docstrings_say():
    """Made by `python docs/make_api.py`."""
    assert (DOCS / "api.md").read_text(encoding="utf-8") == script("make_api").page()


def test_api_page_has_every_public_name():
    import symbody

    text = (DOCS / "api.md").read_text(encoding="utf-8")
    assert set(symbody.__all__) == set(re.findall(r"^(?:### |\| `)sb\.(\w+)", text, flags=re.MULTILINE))


def test_simulation_page_lists_every_method_and_outcome():
    text = (DOCS / "simulation.md").read_text(encoding="utf-8")
    assert set(METHODS) <= set(re.findall(r"`(\w+)`", text))
    assert {o.name for o in Outcome} <= set(re.findall(r"`(\w+)`", text))


def test_architecture_says_what_every_wing_is_for():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    wings = {p.parent.name for p in Path(ROOT / "src" / "symbody").glob("*/__init__.py")}
    assert {f"| `{name}/` |" for name in wings} <= set(re.findall(r"\| `\w+/` \|", text))
