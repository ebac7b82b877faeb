"""The report in a browser: it opens without errors and without a network, and its animation moves.

Needs Chromium and playwright; skipped where one of them, or the viewer, is missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbody as sb
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.show.report.animation import make_motion, viewer_script
from symbody.show.report.model_report import write_report

api = pytest.importorskip("playwright.sync_api")
CHROMIUM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.skipif(viewer_script() is None, reason="needs meshcat"),
]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
NASTY = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        playwright = api.sync_playwright().start()
    except Exception as error:  # its driver is missing
        pytest.skip(f"playwright does not start: {error}")
    try:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    except api.Error as error:
        playwright.stop()
        pytest.skip(f"Chromium does not start: {error}")
    yield opened
    opened.close()
    playwright.stop()


class Visit:
    """A page with everything that it complained of or asked for."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.page = browser.new_page(viewport={"width": 1100, "height": 800})
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.goto(path.as_uri())
        self.until("window.symbodyAnimation !== undefined")

    def until(self, condition: str) -> None:
        """Wait for a condition. The page's policy forbids the browser to evaluate text, so it is asked from outside."""
        for _ in range(600):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{condition} has not come true; {self.errors}")

    def positions(self) -> np.ndarray:
        return np.array(self.page.evaluate("symbodyAnimation.positions()"))

    def picture(self) -> bytes:
        return bytes(self.page.locator(".pane").screenshot())

    def loaded(self) -> list[str]:
        """Addresses other than the page itself and what lies inside it."""
        return [u for u in self.requests[1:] if not u.startswith(("data:", "blob:"))]


@pytest.fixture(scope="module")
def motion() -> tuple[sb.Mechanism, Trajectory]:
    mech = sb.load("pendulum2")
    t = np.linspace(0, 2, 81)
    q = np.stack([np.sin(3 * t), 0.5 * np.cos(4 * t)], axis=-1)
    return mech, Trajectory(t, {"q": q}, labels={"q": ("joint1", "joint2")}, units={"q": "rad"}, model="pendulum2")


@pytest.fixture(scope="module")
def visit(browser: Any, motion: tuple[sb.Mechanism, Trajectory], tmp_path_factory: pytest.TempPathFactory) -> Visit:
    path = tmp_path_factory.mktemp("browser") / "report.html"
    mech, trajectory = motion
    return Visit(browser, write_report(mech, path, trajectory, formalisms=("base",), others={NASTY: NASTY}))


def test_page_opens_without_errors_and_without_any_request(visit: Visit) -> None:
    assert visit.errors == []
    assert visit.loaded() == []
    assert visit.page.title() == "pendulum2"  # no foreign script has run
    assert visit.page.locator("section h2").count() >= 6
    assert visit.page.locator("math").count() >= 5
    box = visit.page.locator("math").first.bounding_box()
    assert box["width"] > 50  # the browser has drawn it
    assert box["height"] > 10


def test_bodies_stand_where_the_kinematics_says(visit: Visit, motion: tuple[sb.Mechanism, Trajectory]) -> None:
    expected = make_motion(*motion)
    for k in (0, 17, 80):
        visit.page.evaluate(f"symbodyAnimation.show({expected.t[k]})")
        np.testing.assert_allclose(visit.positions(), expected.position[k], atol=1e-6)
    between = 0.5 * (expected.t[17] + expected.t[18])
    visit.page.evaluate(f"symbodyAnimation.show({between})")
    middle = 0.5 * (expected.position[17] + expected.position[18])
    np.testing.assert_allclose(visit.positions(), middle, atol=1e-6)


def test_slider_moves_the_bodies_and_the_picture(visit: Visit) -> None:
    page = visit.page
    page.evaluate("symbodyAnimation.show(0)")
    page.wait_for_timeout(100)
    before, picture = visit.positions(), visit.picture()
    page.locator(".time").fill("0.5")
    page.wait_for_timeout(100)
    assert page.evaluate("symbodyAnimation.time()") == pytest.approx(0.5)
    assert page.locator(".clock").inner_text() == "0.50 / 2.00 s"
    assert np.abs(visit.positions() - before).max() > 0.1
    assert visit.picture() != picture


def test_button_plays_and_pauses(visit: Visit) -> None:
    page = visit.page
    page.evaluate("symbodyAnimation.show(0)")
    page.locator(".speed").select_option("0.25")
    page.locator(".play").click()
    visit.until("symbodyAnimation.time() > 0.02")
    assert page.evaluate("symbodyAnimation.playing()")
    page.locator(".play").click()
    stopped = page.evaluate("symbodyAnimation.time()")
    page.wait_for_timeout(150)
    assert page.evaluate("symbodyAnimation.time()") == stopped < 2
    page.locator(".speed").select_option("5")
    page.locator(".repeat").uncheck()
    page.locator(".play").click()
    visit.until("!symbodyAnimation.playing()")
    assert page.evaluate("symbodyAnimation.time()") == 2  # it stops at the end


def test_dragging_turns_the_view_and_a_button_turns_it_back(visit: Visit) -> None:
    page = visit.page
    page.locator(".home").click()
    camera = "symbodyAnimation.viewer.camera.position.toArray()"
    first = np.array(page.evaluate(camera))
    box = page.locator(".pane").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y + 20, steps=4)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert np.abs(np.array(page.evaluate(camera)) - first).max() > 0.1
    page.locator(".home").click()
    np.testing.assert_allclose(page.evaluate(camera), first, atol=1e-6)


def test_springs_reach_from_end_to_end_while_the_bodies_move(browser: Any, tmp_path: Path) -> None:
    mech = sb.load("multi_link_suspension")
    t = np.linspace(0, 1, 11)
    q = np.zeros((11, mech.nq))
    q[:, 0] = 0.2 * np.sin(t)  # the first bar, on which the strut stands, turns about x
    trajectory = Trajectory(t, {"q": q}, model=mech.name)
    visit = Visit(browser, write_report(mech, tmp_path / "strut.html", trajectory, formalisms=(), equations=None))
    top, inner = np.array([0.02, 0.5, 0.42]), np.array([0.02, 0.36, -0.1])  # values of the model file
    for k in (0, 5, 10):
        visit.page.evaluate(f"symbodyAnimation.show({t[k]})")
        strut, rod = visit.page.evaluate("symbodyAnimation.links()")
        foot = inner + 0.27 * np.array([0, np.cos(q[k, 0]), np.sin(q[k, 0])])
        np.testing.assert_allclose(strut["start"], top, atol=1e-6)
        assert strut["length"] == pytest.approx(np.linalg.norm(foot - top), abs=1e-6)
        assert rod["length"] > 0.3
    assert visit.errors == []


def test_no_equation_is_hidden_it_wraps_or_scrolls(browser: Any, tmp_path: Path) -> None:
    path = write_report(sb.load("andrews_squeezer"), tmp_path / "wide.html", formalisms=())
    visit = Visit(browser, path)
    visit.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    found = visit.page.evaluate(
        "[...document.querySelectorAll('.equation')].map("
        "e => [e.scrollWidth, e.clientWidth, getComputedStyle(e).overflowX])"
    )
    assert len(found) > 50
    assert max(wide / seen for wide, seen, _ in found) < 1.3
    assert {overflow for *_, overflow in found} == {"auto"}
    assert visit.errors == []


def test_meshes_of_all_formats_are_drawn(browser: Any, tmp_path: Path) -> None:
    """A triangle as STL, OBJ and Collada, whose corners end up where the file and its unit say."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4")
    facet = np.zeros(1, dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
    facet["corners"][0] = corners
    (tmp_path / "a.stl").write_bytes(b"\0" * 80 + np.uint32(1).tobytes() + facet.tobytes())
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tmp_path / "a.dae").write_text(COLLADA)
    links = "".join(
        f'<link name="l{k}"><visual><geometry><mesh filename="{f}"/></geometry></visual></link>'
        f'<joint name="j{k}" type="fixed"><parent link="base"/><child link="l{k}"/></joint>'
        for k, f in enumerate(("a.stl", "a.obj", "a.dae"))
    )
    (tmp_path / "m.urdf").write_text(f'<robot name="m"><link name="base"/>{links}</robot>')
    path = write_report(sb.load(tmp_path / "m.urdf"), tmp_path / "m.html", formalisms=(), equations=None)
    visit = Visit(browser, path)
    assert visit.errors == []
    assert visit.loaded() == []
    sizes = visit.page.evaluate(
        """() => ["body1", "body2", "body3"].map((name) => {
          const node = symbodyAnimation.viewer.scene_tree.find(["report", name, "part0"]).object;
          const size = new MeshCat.THREE.Box3().setFromObject(node).getSize(new MeshCat.THREE.Vector3());
          return [size.x, size.y, size.z];
        })"""
    )
    # the eye's y is the world's z: a triangle in the xy plane is flat in the second number
    np.testing.assert_allclose(sizes, [[1, 0, 1], [1, 0, 1], [0.01, 0, 0.01]], atol=1e-6)
    visit.page.close()


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>
<library_images><image id="skin" name="skin"><init_from>missing.png</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>skin</init_from></surface></newparam>
<newparam sid="p"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="c"><phong><diffuse><texture texture="p" texcoord="UV"/></diffuse></phong></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="v"><float_array id="a" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="w"><input semantic="POSITION" source="#v"/></vertices>
<triangles count="1" material="k"><input semantic="VERTEX" source="#w" offset="0"/><p>0 1 2</p></triangles></mesh>
</geometry></library_geometries>
<library_visual_scenes><visual_scene id="x"><node id="n"><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="k" target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#x"/></scene></COLLADA>"""
