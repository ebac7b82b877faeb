"""The animation of an executed notebook, played in Chromium: what the cell holds is all that it needs."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from helpers.pages import ROOT
from symbody.show.report.animation import viewer_script

CHROMIUM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
FLAGS = ["--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def executed(name: str, folder) -> list[str]:
    """HTML of the outputs of a notebook of the tutorials, as a kernel of its own gives them."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(ROOT / "docs" / "notebooks" / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    outputs = [o for cell in book.cells if cell.cell_type == "code" for o in cell.outputs]
    return [o.data["text/html"] for o in outputs if "text/html" in o.get("data", {})]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None or viewer_script() is None, reason="needs Chromium and meshcat")
@pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="needs playwright")
def test_the_animation_of_an_executed_notebook_plays_offline(tmp_path):
    from playwright.sync_api import sync_playwright

    (html,) = [h for h in executed("four_bar", tmp_path) if "<iframe" in h]
    assert len(html) < 3_000_000
    page_file = tmp_path / "cell.html"
    page_file.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>cell</title><div>{html}</div>", encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 900, "height": 700})
        asked, wrong = [], []
        page.on("request", lambda r: asked.append(r.url))
        page.on("pageerror", lambda e: wrong.append(str(e)))
        page.goto(page_file.as_uri())
        frame = page.frames[-1]
        for _ in range(600):
            if frame.evaluate("window.symbodyAnimation !== undefined"):
                break
            page.wait_for_timeout(50)
        frame.evaluate("symbodyAnimation.pause(); symbodyAnimation.show(0)")
        page.wait_for_timeout(1000)
        first, picture = frame.evaluate("symbodyAnimation.positions()"), page.screenshot()
        frame.evaluate("symbodyAnimation.show(0.05)")
        moved = frame.evaluate("symbodyAnimation.positions()")
        for _ in range(100):  # until the browser has drawn it
            if page.screenshot() != picture:
                break
            page.wait_for_timeout(100)
        changed = page.screenshot() != picture
        frame.evaluate("symbodyAnimation.show(0); symbodyAnimation.play()")
        page.wait_for_timeout(1500)
        played = frame.evaluate("symbodyAnimation.time()")
        browser.close()
    assert wrong == []
    assert [u for u in asked[1:] if not u.startswith(("data:", "blob:", "about:"))] == []
    assert first != moved
    assert changed
    assert played > 0
