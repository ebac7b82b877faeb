"""Make the pictures of the documentation, and the gallery that shows them: python docs/make_pictures.py [NAME ...]

Without names all of them are made. Each is a function whose body the gallery prints: what is seen is what was run.
Those that move are drawn by the page that `motion.animate()` makes, in Chromium (with playwright); the Panda and its
meshes come with the extra `robots`. What is missing is named, and its picture stays as it is.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from symbody.show.drawing.numeric_poses import body_poses

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "pictures"
FRAMES, WIDTH, HEIGHT = 60, 560, 380  # of pictures that move
FLAGS = ["--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#8a949e"


@dataclass(frozen=True)
class Picture:
    """A file, the sentence above it, and the function that makes what is drawn: a Trajectory is animated.

    distance  how far the camera stands, in parts of the distance from which all of the motion is seen
    first     the instant from which on it is shown, s
    """

    file: str
    caption: str
    make: Callable[[], Any]
    distance: float = 1.0
    first: float = 0.0


class MissingError(Exception):
    """A package or program that a picture needs is not here."""


PICTURES: list[Picture] = []
Maker = Callable[[], Any]


def picture(file: str, caption: str, distance: float = 1.0, first: float = 0.0) -> Callable[[Maker], Maker]:
    """Put a function into the gallery."""

    def put(make: Maker) -> Maker:
        PICTURES.append(Picture(file, caption, make, distance, first))
        return make

    return put


def panda_urdf() -> Path:
    """The Panda of example-robot-data, wherever the package manager has put it."""
    spec = importlib.util.find_spec("pinocchio")
    for folder in Path(spec.origin).parents if spec and spec.origin else ():
        found = folder / "share/example-robot-data/robots/panda_description/urdf/panda.urdf"
        if found.is_file():
            return found
    raise MissingError("the package example-robot-data (extra `robots`)")


@picture(
    "panda.webp", "A Franka Panda from its URDF file, with its meshes: computed torques lead it along a path.", 0.7
)
def panda() -> sb.Trajectory:
    robot = sb.load(panda_urdf())
    t, n = sb.symbol("t"), robot.nv
    q, qd = (sb.symbols(" ".join(f"{name}{k}" for k in range(n))) for name in ("q", "qd"))
    middle = [0, -0.5, 0, -2.1, 0, 1.7, 0.785, 0.02]  # seven angles, and how far the fingers are open
    width = [0.9, 0.35, 0, 0.35, 0.25, 0.3, 0.5, 0.018]
    omega = np.array([1, 2, 1, 2, 1, 2, 1, 2]) * np.pi / 2
    path = [m + a * sb.sin(w * t) for m, a, w in zip(middle, width, omega)]
    speed, acceleration = (
        [a * w * sb.cos(w * t) for a, w in zip(width, omega)],
        [-a * w**2 * sb.sin(w * t) for a, w in zip(width, omega)],
    )
    wanted = [c + 100 * (p - x) + 20 * (s - v) for c, p, x, s, v in zip(acceleration, path, q, speed, qd)]
    tau = sb.inverse_dynamics(robot).apply(q=q, qd=qd, qdd=wanted)
    control = sb.System("computed_torque", inputs={"t": t, "q": q, "qd": qd}, outputs={"tau": tau})
    return sb.simulate(robot, 4.0, step=2e-3, q0=middle, qd0=width * omega, inputs=control)


@picture(
    "car.webp", "A car on four multi-link suspensions with tyres changes lanes: 55 coordinates, 40 constraints.", 0.9
)
def car() -> sb.Trajectory:
    return sb.simulate(sb.load("car_lane_change"), 4.0, step=2e-3)


@picture(
    "stewart.webp", "A Gough-Stewart platform, five closed loops in 24 coordinates, shaken by its legs.", 0.9, first=3.0
)
def stewart() -> sb.Trajectory:
    wanted = [f"0.12*sin(2*pi*t/3 + {k}*pi/3)" for k in range(6)]  # m, of each leg
    legs = {f"piston{k + 1}": f"4e4*({z} - q.piston{k + 1}) - 2e3*qd.piston{k + 1}" for k, z in enumerate(wanted)}
    return sb.simulate(sb.load("stewart"), 6.0, step=1e-3, inputs=legs)


@picture(
    "overview.png",
    "A four-bar linkage over a turn of its crank: speeds, and the force in the hinge where its loop was cut.",
)
def overview() -> Any:
    linkage = sb.load("four_bar")
    motion = sb.simulate(linkage, 0.7, qd0={"crank": -18.0}, outputs=["reaction.loop"], sampling=701)
    return strobe_and_plots(linkage, motion)


@picture("drawing_planar.png", "What `Mechanism.show` draws of a planar mechanism: Andrews' squeezer.")
def squeezer() -> Any:
    return sb.load("andrews_squeezer").show()


@picture("drawing_spatial.png", "And of a spatial one: four bars, a rod and a strut hold a wheel.")
def suspension() -> Any:
    return sb.load("multi_link_suspension").show()


@picture("plot.png", "`motion.plot()`: a panel for each quantity and unit, in one style.")
def plot() -> Any:
    motion = sb.simulate(sb.load("slider_crank"), 1.0, qd0={"crank": 12.0}, outputs=["reaction.crank"])
    return motion.plot(["q", "qd", "reaction.crank"])


@picture("bode.png", "The frequency response of three rods on each other, from the first motor to the second joint.")
def bode() -> Any:
    from symbody.studies.control.frequency import frequency_response

    linear = sb.linearize(sb.load("pendulum3"), outputs=["q"])
    response = frequency_response(linear, np.geomspace(1, 100, 600), inputs="tau.joint1", outputs="q.joint2")
    return response.plot()


@picture("report.png", "`sb.write_report`: one HTML file with the motion in 3-D, plots, equations and the certificate.")
def report() -> Path:
    robot = sb.load("ur5")
    damped = {joint.name: f"-5*qd.{joint.name}" for joint in robot.joints}
    motion = sb.simulate(robot, 3.0, q0={"shoulder_lift": -1.0}, inputs=damped, outputs=["energy"])
    return sb.write_report(robot, "ur5.html", motion, equations=None)


# -- the four-bar linkage, bar by bar


def strobe_and_plots(linkage: sb.Mechanism, motion: sb.Trajectory) -> Any:
    """Positions of the bars and the path of a point of the coupler; speeds; force in the cut."""
    from matplotlib.figure import Figure

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
    return figure


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


# -- from what is drawn to files


@contextlib.contextmanager
def opened(page_file: Path, width: int, height: int) -> Iterator[Any]:
    """A page with an animation in Chromium, ready and paused."""
    if importlib.util.find_spec("playwright") is None:
        raise MissingError("the package playwright")
    browser_path = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
    if browser_path is None:
        raise MissingError("Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(page_file.resolve().as_uri())
        for _ in range(400):
            if page.evaluate("window.symbodyAnimation !== undefined"):
                break
            page.wait_for_timeout(50)
        page.evaluate("symbodyAnimation.pause()")
        yield page
        browser.close()


def film(motion: sb.Trajectory, path: Path, distance: float, first: float) -> None:
    """Frames of a motion at equal steps in time, as a WebP file that repeats."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        html = motion.animate().save(Path(folder) / "motion.html")
        with opened(html, WIDTH, HEIGHT) as page:
            page.add_style_tag(content=".bar { display: none !important } .pane { height: 100vh !important }")
            page.evaluate(
                "symbodyAnimation.viewer.set_3d_pane_size(); symbodyAnimation.home();"
                "{ const v = symbodyAnimation.viewer, c = v.camera.position, o = v.controls.target;"
                f" c.sub(o).multiplyScalar({distance}).add(o); v.set_property(['Axes'], 'visible', false); }}"
            )
            page.wait_for_timeout(5000)  # meshes are read, lights stand
            frames = []
            last = float(motion.t[-1])
            for k in range(FRAMES):
                page.evaluate(f"symbodyAnimation.show({first + (last - first) * k / FRAMES})")
                page.wait_for_timeout(120)
                frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    period = round(1000 * (last - first) / FRAMES)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=period, loop=0, quality=45, method=6)


def write(row: Picture) -> Path:
    """Make one picture."""
    path = FOLDER / row.file
    made = row.make()
    if isinstance(made, sb.Trajectory):
        film(made, path, row.distance, row.first)
    elif isinstance(made, Path):
        with opened(made, 1000, 780) as page:
            page.evaluate("symbodyAnimation.show(0.3)")
            page.wait_for_timeout(2000)
            page.screenshot(path=path)
    else:
        made.savefig(path, dpi=100, pil_kwargs={"optimize": True}, metadata={"Software": None})
    return path


def gallery() -> str:
    """The page: every picture below its sentence, and above the code that made it."""
    parts = [
        "# Gallery\n\nMade by `python docs/make_pictures.py`, this page included: below each picture\n"
        "stands the code that was run for it, after `import numpy as np` and `import symbody as sb`.\n"
    ]
    for row in PICTURES:
        code = textwrap.dedent(inspect.getsource(row.make).partition(":\n")[2]).rstrip()
        parts.append(
            f"## {row.make.__name__}\n\n{row.caption}\n\n![{row.caption}](pictures/{row.file})\n\n```py\n{code}\n```\n"
        )
    return "\n".join(parts)


def main(names: list[str]) -> None:
    known = {row.make.__name__: row for row in PICTURES}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"There is no picture {', '.join(unknown)}; there are {', '.join(known)}.")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for row in [known[name] for name in names] or PICTURES:
            try:
                print(f"wrote {write(row)}")
            except MissingError as missing:
                print(f"{row.file} stays as it is: it needs {missing}")
    (DOCS / "gallery.md").write_text(gallery(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
