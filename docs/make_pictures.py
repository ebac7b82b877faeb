"""Make the pictures of the documentation: python docs/make_pictures.py [--report]

overview.png   a linkage in motion, drawn from a simulation, with its speeds and the force in its hinge
drawing_*.png  what Mechanism.show draws of a planar and of a spatial mechanism
report.png     with --report: the report of `make demo` in a browser (needs Chromium and playwright)
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from symbody.drawing.show import body_poses

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "pictures"
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#8a949e"


def overview() -> Path:
    """The bundled four-bar linkage over some turns of its crank: positions, coupler curve, speeds, force in the cut."""
    from matplotlib.figure import Figure

    linkage = sb.load("four_bar")
    motion = sb.simulate(linkage, 0.7, qd0={"crank": -18.0}, outputs=["reaction.loop"], samples=701)
    figure: Any = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.05, 1))
    _strobe(left.subplots(), linkage, motion)
    upper, lower = right.subplots(2, 1, sharex=True)
    for joint, colour in (("crank", BLUE), ("rocker", GREEN)):
        upper.plot(motion.t, motion[f"qd.{joint}"], color=colour, label=joint, linewidth=1.6)
    upper.set_ylabel("speed (rad/s)")
    upper.legend(frameon=False, fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 0.97))
    force = np.hypot(motion["reaction.loop.fx"], motion["reaction.loop.fy"])
    lower.plot(motion.t, force, color=BLUE, linewidth=1.6)
    lower.set(ylabel="force in the\ncut hinge (N)", xlabel="time (s)", ylim=(0, None))
    for axes in (upper, lower):
        axes.grid(True, color="0.92", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(0, motion.t[-1])
    path = FOLDER / "overview.png"
    figure.savefig(path, dpi=120, pil_kwargs={"optimize": True}, metadata={"Software": None})
    return path


def drawings() -> list[Path]:
    """Two bundled mechanisms as `Mechanism.show` draws them."""
    paths = []
    for kind, name in (("planar", "andrews_squeezer"), ("spatial", "multi_link_suspension")):
        paths.append(FOLDER / f"drawing_{kind}.png")
        figure = sb.load(name).show()
        figure.savefig(paths[-1], dpi=100, pil_kwargs={"optimize": True}, metadata={"Software": None})
    return paths


def _strobe(axes: Any, linkage: sb.Mechanism, motion: sb.Trajectory) -> None:
    """The bars at some instants, the last one in full colour, and the path of a point of the coupler."""
    point = np.array([0.12, 0.22, 0.0])  # in the frame of the coupler
    path = np.array([_at(linkage, q, "coupler", point) for q in motion.q])
    shown = np.linspace(95, 325, 8).astype(int)  # about one turn
    for k in shown:
        last = k == shown[-1]
        strength = 1.0 if last else 0.2
        q = motion.q[k]
        a, b = _at(linkage, q, "crank", np.zeros(3)), _at(linkage, q, "coupler", np.zeros(3))
        c, d = _at(linkage, q, "rocker", np.array([0, 0.3, 0])), _at(linkage, q, "rocker", np.zeros(3))
        p = _at(linkage, q, "coupler", point)
        if last:
            axes.fill(*np.array([b, c, p]).T[:2], color=ORANGE, alpha=0.2, linewidth=0)
        for bar, colour in (((a, b), BLUE), ((b, c), ORANGE), ((c, d), GREEN)):
            axes.plot(
                *np.array(bar).T[:2], color=colour, linewidth=5 if last else 3, alpha=strength, solid_capstyle="round"
            )
        if last:
            axes.plot(*np.array([a, b, c, d]).T[:2], "o", color="white", markeredgecolor="0.2", markersize=5)
    axes.plot(*path.T[:2], color=GREY, linewidth=1.4, zorder=0)
    axes.plot(*path[shown[-1]][:2], "o", color=GREY, markersize=5)
    for x in (0.0, 0.4):
        axes.fill([x - 0.03, x + 0.03, x], [-0.045, -0.045, 0], color="0.75", zorder=0)
    axes.set_aspect("equal")
    axes.axis("off")


def _at(linkage: sb.Mechanism, q: np.ndarray, body: str, point: np.ndarray) -> np.ndarray:
    rotation, position = body_poses(linkage, q)[body]
    return np.asarray(position + rotation @ point)


def report() -> Path:
    """A screenshot of the report that `make demo` writes."""
    from playwright.sync_api import sync_playwright

    page_file = Path("demo_out") / "ur5.html"
    if not page_file.is_file():
        raise SystemExit(f"There is no {page_file}: run make demo first.")
    browser_path = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
    flags = ["--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=flags)
        page = browser.new_page(viewport={"width": 1000, "height": 780})
        page.goto(page_file.resolve().as_uri())
        for _ in range(200):
            if page.evaluate("window.symbodyAnimation !== undefined"):
                break
            page.wait_for_timeout(50)
        page.evaluate("window.symbodyAnimation.pause(); window.symbodyAnimation.show(0.3)")
        page.wait_for_timeout(2000)
        path = FOLDER / "report.png"
        page.screenshot(path=path)
        browser.close()
    return path


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    print(f"wrote {overview()}")
    print("wrote " + ", ".join(str(path) for path in drawings()))
    if "--report" in sys.argv:
        print(f"wrote {report()}")
