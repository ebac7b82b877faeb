"""The HTML report: complete, escaped, and true to the records it shows."""

from __future__ import annotations

import base64
import html.parser
import itertools
import json
import os
import re
import xml.dom.minidom
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import FormatError, ModelError, ShapeError
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord, Trajectory
from symbody.show.report import animation
from symbody.show.report.mathml import to_mathml
from symbody.show.report.model_report import write_report
from symbody.show.report.page import Section, page
from symbody.show.report.readable_equations import _drawn, broken, equations
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.latex_form import to_latex
from symbody.symbolic.expr.node import SOLVE
from symbody.symbolic.expr.walk import at, free_symbols, topological

NASTY = "<script>alert('x')</script>&\"'`]]>--><img src=x onerror=alert(1)>"


def swing(mech: sb.Mechanism, n: int = 30, **fields: Any) -> Trajectory:
    t = np.linspace(0, 3, n)
    q = np.sin(np.outer(t, 1 + np.arange(mech.nq)))
    given: dict[str, Any] = dict(
        labels={"q": tuple(f"c{k}" for k in range(mech.nq))}, units={"q": "rad"}, model=mech.name, method="rk4"
    )
    return Trajectory(t, {"q": q}, **{**given, **fields})


class Reader(html.parser.HTMLParser):
    """Collects elements, their attributes and the text of headings; complains of nothing."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [a for t, a in self.elements if t == tag]


@pytest.fixture(scope="module")
def pendulum() -> sb.Mechanism:
    return sb.load("pendulum2")


@pytest.fixture(scope="module")
def report(pendulum: sb.Mechanism, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "pendulum.html"
    trajectory = swing(
        pendulum, events=(EventRecord(1.5, "top", "highest point"),), statistics={"steps": 321}, outcome=Outcome.STOPPED
    )
    state = np.array([[0.0, 1.0], [-4.0, -0.4]])
    written = write_report(
        pendulum, path, trajectory, certificate=True, linear=SimpleNamespace(A=state), others={"Remarks": "by hand"}
    )
    assert written == path
    return path.read_text(encoding="utf-8")


def test_report_shows_every_record(report: str, pendulum: sb.Mechanism) -> None:
    titles = re.findall(r"<h2>(.*?)</h2>", report)
    assert titles == [
        "Motion", "Model", "Simulation", "Parameters", "Equations", "Operation counts", "Certificate", "Linear model",
        "Remarks",
    ]  # fmt: skip
    contents = re.findall(r'<li><a href="#(.*?)">(.*?)</a></li>', report)
    assert [t for _, t in contents] == titles
    assert all(f'<section id="{key}">' in report for key, _ in contents)
    assert Outcome.STOPPED.value in report
    assert "highest point" in report
    assert "321" in report
    assert "pendulum2.yaml:8" in report  # where m1 stands
    count = sb.inverse_dynamics(pendulum, formalism="base").count()
    row = f"<td>inverse dynamics</td><td>base</td><td class=num>{count.mul}</td><td class=num>{count.add}</td>"
    assert row in report
    assert "certified at 20 random states" in report


def test_eigenvalues_of_an_oscillator_are_its_frequency_and_damping(report: str) -> None:
    """s^2 + 0.4 s + 4: natural frequency 2 rad/s, damping ratio 0.1."""
    assert f"<td class=num>{2 / (2 * np.pi):.5g}</td><td class=num>0.1</td>" in report


def test_linear_models_and_modes_of_a_pendulum_are_shown(pendulum: sb.Mechanism, tmp_path: Path) -> None:
    """Of two equal uniform rods that hang from each other: omega^2 = (3 -+ 6/sqrt(7)) g/l."""
    linear, path = sb.linearize(pendulum), tmp_path / "modes.html"
    write_report(pendulum, path, linear=linear, modes=sb.modes(linear), formalisms=(), equations=None, animation=False)
    text = path.read_text(encoding="utf-8")
    for sign in (-1, 1):
        frequency = np.sqrt(9.81 * (3 + sign * 6 / np.sqrt(7))) / (2 * np.pi)
        assert f"<td class=num>{frequency:.6g}</td>" in text
    assert "K: factor of the increments of q, 2 x 2" in text


def test_report_loads_nothing_and_closes_itself(report: str) -> None:
    reader = Reader(report)
    addresses = [v for _, a in reader.elements for k, v in a.items() if k in ("src", "href", "data", "action") and v]
    assert addresses
    assert all(a.startswith(("data:", "#")) for a in addresses)
    assert not reader.all("iframe")
    policy = next(a["content"] for a in reader.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert len(reader.all("h1")) == 1


def test_report_is_the_same_every_time(pendulum: sb.Mechanism, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report(pendulum, tmp_path / name, swing(pendulum), formalisms=("base",))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_text_from_files_never_becomes_markup(tmp_path: Path) -> None:
    builder = sb.Mechanism.builder(NASTY, source=NASTY)
    length = builder.parameter("l", default=1.0, unit="m")
    builder.body(NASTY, mass=1.0, com=(0, 0, -length), inertia=(0.1, 0.1, 0.1))
    builder.joint(f"j{NASTY}", "revolute", "world", NASTY, axis="y")
    mech = builder.done().replace(notes=(NASTY,))
    trajectory = swing(mech, labels={"q": (NASTY,)}, events=(EventRecord(1, NASTY, NASTY),), model=NASTY, method=NASTY)
    path = write_report(mech, tmp_path / "nasty.html", trajectory, certificate=True, others={NASTY: NASTY}, title=NASTY)
    text = path.read_text(encoding="utf-8")
    reader = Reader(text)
    ours = len(animation.make_animation(mech, trajectory).scripts) if animation.viewer_script() else 0  # type: ignore[union-attr]
    scripts = [a for a in reader.all("script") if a.get("type") != "application/json"]
    assert len(scripts) == ours
    assert not any(k.startswith("on") for _, a in reader.elements for k in a)
    assert not [a for a in reader.all("img") if a.get("src") == "x"]
    assert "<script>alert" not in text


def test_json_and_scripts_cannot_end_their_own_elements() -> None:
    text = page("t", "", [Section("a", "A", "")], ["let a = '</script><b>';"], [("d", json.dumps("</script><b>"))])
    reader = Reader(text)
    assert not reader.all("b")
    stored = re.search(r'<script type="application/json" id="d">(.*?)</script>', text)
    assert stored is not None
    assert json.loads(stored[1]) == "</script><b>"


def test_report_without_the_viewer_is_still_written(
    pendulum: sb.Mechanism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(animation, "find_spec", lambda name: None)
    text = write_report(pendulum, tmp_path / "plain.html", swing(pendulum), formalisms=()).read_text(encoding="utf-8")
    assert "pip install &quot;symbody[report]&quot;" in text
    assert "<h2>Simulation</h2>" in text
    assert "<script>" not in text


def test_wrong_arguments_are_refused_before_anything_is_written(pendulum: sb.Mechanism, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="expected a Mechanism"):
        write_report("pendulum2", tmp_path / "x.html")  # type: ignore[arg-type]
    with pytest.raises(FormatError, match=r"expected \.html"):
        write_report(pendulum, tmp_path / "x.pdf")
    with pytest.raises(ModelError, match="no parameter 'm9'"):
        write_report(pendulum, tmp_path / "x.html", parameters={"m9": 1})
    with pytest.raises(ShapeError, match="nq 2"):
        write_report(pendulum, tmp_path / "x.html", swing(sb.load("pendulum3")))
    with pytest.raises(FormatError, match="no folder"):
        write_report(pendulum, tmp_path / "none" / "x.html", formalisms=(), equations=None, animation=False)
    assert os.listdir(tmp_path) == []


def test_models_without_values_or_with_everything_locked_have_reports(tmp_path: Path) -> None:
    builder = sb.Mechanism.builder("rod")
    length = builder.parameter("l")
    builder.body("rod", mass=1.0, com=(0, 0, -length), inertia=(1, 1, 1))
    builder.joint("pivot", "revolute", "world", "rod", axis="y")
    text = write_report(builder.done(), tmp_path / "rod.html", formalisms=("base",)).read_text(encoding="utf-8")
    assert "has no default" in text
    builder = sb.Mechanism.builder("post")
    builder.body("post", mass=1.0, inertia=(1, 1, 1))
    builder.joint("foot", "fixed", "world", "post")
    write_report(builder.done(), tmp_path / "post.html", formalisms=("newton_euler",))


# -- equations


@pytest.mark.parametrize("name", ["pendulum2", "puma560", "satellite_arm"])
def test_equations_that_are_shown_give_the_values_of_the_system(name: str) -> None:
    """Evaluated line after line, as a reader would, they give M and c of the interpreted program."""
    mech = sb.load(name)
    system = sb.semi_explicit(mech, formalism="base")
    rng = np.random.default_rng(5)
    point = {s: rng.uniform(0.3, 1.3) if s.data.default is None else s.data.default for s in _symbols(system)}
    known: dict[Any, float] = dict(point)
    shown: dict[str, float] = {}
    for e in equations(system):
        value = float(evaluate(e.value, known))
        if e.symbol is not None:
            known[e.symbol] = value
        shown[e.left] = value
    names = {"M": (2, lambda i: i[0] <= i[1]), "c": (1, lambda i: True)}
    for output, (_, listed) in names.items():
        for index in np.ndindex(*system.outputs[output].shape):
            exact = float(evaluate(system.outputs[output][index], point))
            digits = [str(k + 1) for k in index]
            left = f"{output}_{{{''.join(digits) if max(map(len, digits)) == 1 else ','.join(digits)}}}"
            if listed(index) and left in shown:
                assert shown[left] == pytest.approx(exact, rel=1e-9, abs=1e-9)
            elif listed(index):
                assert exact == 0


def _symbols(system: sb.System) -> list[Any]:
    return free_symbols(system.expressions())


def test_equations_of_a_closed_mechanism_hold_at_the_solution_of_its_loops() -> None:
    """Dependent coordinates, which are written as any other, stand for the values that close the loops."""
    mech = sb.load("four_bar")
    system = sb.semi_explicit(mech, formalism="base")
    point = {s: s.data.default if s.data.default is not None else 0.1 for s in _symbols(system)}
    known: dict[Any, float] = dict(point)
    for block in (n for n in topological(list(system.expressions())) if n.op is SOLVE):
        known |= {u: float(evaluate(at(block, u), point)) for u in block.data.unknowns}
    shown: dict[str, float] = {}
    for e in equations(system):
        assert r"\right|" not in e.latex()
        shown[e.left] = float(evaluate(e.value, known))
        if e.symbol is not None:
            known[e.symbol] = shown[e.left]
    assert shown["M_{11}"] == pytest.approx(float(evaluate(system.outputs["M"][0, 0], point)), rel=1e-9)
    assert shown["c_{1}"] == pytest.approx(float(evaluate(system.outputs["c"][0], point)), rel=1e-9)


def test_equations_of_a_pendulum_are_those_of_the_textbook() -> None:
    """A uniform rod: M = m l^2 / 3, c = m g l / 2 sin q."""
    builder = sb.Mechanism.builder("rod")
    m, l = builder.parameter("m", default=1.0), builder.parameter("l", default=1.0)
    builder.body("rod", mass=m, com=(0, 0, -l / 2), inertia=(m * l * l / 12, m * l * l / 12, 0))
    builder.joint("pivot", "revolute", "world", "rod", axis="y")
    shown = [e.latex() for e in equations(sb.semi_explicit(builder.done(), formalism="newton_euler"))]
    assert shown == [r"M_{11} = \frac{m\,l^{2}}{3}", r"c_{1} = 4.905\,m\,l\,\sin\left(q_{1}\right)"]


def test_long_sums_are_broken_between_terms_only() -> None:
    names = sb.symbols("a1:40")
    total = sum(x * sb.sin(x + y) for x, y in itertools.pairwise(names))
    shown = equations(sb.System("f", inputs={n.data.name: n for n in names}, outputs={"f": total}))[0]
    latex = to_latex(shown.value)
    lines = broken(latex, 60)
    assert len(lines) > 3
    assert " ".join(lines) == latex
    assert shown.latex().count(r"\\") >= 3
    assert all(line.count("{") == line.count("}") and line.count(r"\left") == line.count(r"\right") for line in lines)


def test_a_wide_term_is_broken_inside_its_parentheses() -> None:
    names = sb.symbols("b1:30")
    total = names[0] * sum(x * sb.sin(y + 1) for x, y in itertools.pairwise(names))
    shown = equations(sb.System("f", inputs={n.data.name: n for n in names}, outputs={"f": total}))[0]
    latex = to_latex(shown.value)
    lines = broken(latex, 40)
    assert len(lines) > 3
    plain = str.maketrans("", "", " ")
    assert "".join(lines).translate(plain) == latex.replace(r"\left(b_{1}", "(b_{1}")[:-7].translate(plain) + ")"
    for line in lines:
        assert line.count(r"\left") == line.count(r"\right")
        xml.dom.minidom.parseString(to_mathml(line))


@pytest.mark.parametrize("name", ["multi_link_suspension", "stewart"])
def test_equations_of_large_mechanisms_are_complete_and_fit_the_page(name: str) -> None:
    system = sb.semi_explicit(sb.load(name), formalism="base")
    for e in equations(system):
        latex = e.latex()
        assert r"\ldots" not in latex
        assert max(_drawn(row) for row in latex.split(r" \\ ")) < 110


@pytest.mark.parametrize(
    "text",
    [
        "(x + 1)/(y*sqrt(z))", "x^3 + x^0.5", "sin(x)^2*atan2(y, x)", "select(x < y, abs(x), floor(y))",
        "exp(-x)*theta1d", "min(x, y)", "qdd2 + omega_x*I_xx", "1e-20*x + 3/7",
    ],
)  # fmt: skip
def test_mathml_of_every_kind_of_expression_is_well_formed(text: str) -> None:
    latex = to_latex(sb.parse(text))
    document = xml.dom.minidom.parseString(to_mathml(latex))
    note = document.getElementsByTagName("annotation")[0]
    assert note.firstChild is not None
    assert note.firstChild.nodeValue == latex
    shown = "".join(n.nodeValue for n in _texts(document.getElementsByTagName("mrow")[0]))
    assert "\\" not in shown  # no command is left over


def _texts(node: Any) -> list[Any]:
    if node.nodeType == node.TEXT_NODE:
        return [node]
    return [t for child in node.childNodes for t in _texts(child)]


def test_mathml_escapes_names() -> None:
    name = sb.symbol("<b>&")
    document = xml.dom.minidom.parseString(to_mathml(to_latex(name)))
    assert not document.getElementsByTagName("b")


# -- poses of the animation


@pytest.mark.parametrize("name", ["puma560", "satellite_arm", "human"])
def test_poses_are_those_of_the_skeleton(name: str) -> None:
    """One batch of compiled kinematics against the body-by-body walk of `model.show`."""
    from symbody.model.record.coordinates import neutral
    from symbody.show.drawing.show import body_poses

    mech = sb.load(name)
    rng = np.random.default_rng(2)
    q = neutral(mech) + 0.3 * rng.normal(size=(4, mech.nq))
    free = [k for k, j in enumerate(mech.joints) if j.kind == "free"]
    if free:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    motion = animation.make_motion(mech, Trajectory(np.arange(4.0), {"q": q}))
    for i in range(4):
        expected = body_poses(mech, q[i])
        for k, body in enumerate(motion.bodies):
            np.testing.assert_allclose(motion.position[i, k], expected[body][1], atol=1e-12)
            turned = animation._rotation(motion.quaternion[i, k][None])[0]
            np.testing.assert_allclose(turned, expected[body][0], atol=1e-12)


def test_a_model_at_rest_is_shown_assembled() -> None:
    from scipy.spatial.transform import Rotation

    mech = sb.load("stewart")
    motion = animation.make_motion(mech)
    platform = motion.bodies.index("platform")
    turn = Rotation.from_quat(motion.quaternion[0, platform]).as_matrix()
    for k in range(6):
        piston = motion.bodies.index(f"piston{k + 1}")
        angle = np.radians((-45, 45, 75, 165, 195, 285)[k])  # of the ball joint on the platform, radius 0.6 m
        ball = motion.position[0, platform] + turn @ [0.6 * np.cos(angle), 0.6 * np.sin(angle), 0]
        np.testing.assert_allclose(motion.position[0, piston], ball, atol=1e-6)
    made = animation.make_animation(mech)
    assert made is None or made.notes == ()


def test_quaternions_of_all_turns_give_the_rotation_back() -> None:
    from scipy.spatial.transform import Rotation

    turns = Rotation.random(200, rng=np.random.default_rng(0))
    half = Rotation.from_rotvec(np.pi * np.eye(3))  # half turns, where the scalar part vanishes
    for rotations in (turns, half, Rotation.identity(1)):
        found = animation.to_quaternion(rotations.as_matrix())
        same = np.abs(np.sum(found * rotations.as_quat(), axis=-1))
        np.testing.assert_allclose(same, 1, atol=1e-12)


def test_a_long_trajectory_is_thinned_and_bad_instants_are_left_out() -> None:
    mech = sb.load("pendulum2")
    trajectory = swing(mech, n=5000)
    trajectory.values["q"][4000:] = np.nan
    motion = animation.make_motion(mech, trajectory)
    assert len(motion.t) <= animation.MAX_FRAMES
    assert motion.t[0] == 0
    assert motion.t[-1] == trajectory.t[3999]
    assert np.isfinite(motion.position).all()


def test_a_run_that_diverges_is_shown_as_long_as_it_can_be_seen(tmp_path: Path) -> None:
    builder = sb.Mechanism.builder("sled")
    builder.body("sled", mass=1.0, inertia=(1, 1, 1))
    builder.joint("slide", "prismatic", "world", "sled", axis="x")
    mech = builder.done()
    q = np.array([0, 1, 2, 1e30, 1e200, 1e308])[:, None]
    trajectory = Trajectory(np.arange(6.0), {"q": q}, outcome=Outcome.NOT_FINITE)
    motion = animation.make_motion(mech, trajectory)
    np.testing.assert_array_equal(motion.t, [0, 1, 2])
    np.testing.assert_array_equal(motion.position[:, 0, 0], [0, 1, 2])
    assert Outcome.NOT_FINITE.value in write_report(mech, tmp_path / "x.html", trajectory).read_text(encoding="utf-8")


def test_of_a_batch_the_first_motion_is_shown() -> None:
    mech = sb.load("pendulum2")
    q = np.random.default_rng(0).normal(size=(3, 5, 2))
    batch = Trajectory(np.arange(5.0), {"q": q}, outcomes=np.zeros(3, int))
    first = Trajectory(np.arange(5.0), {"q": q[0]})
    np.testing.assert_array_equal(
        animation.make_motion(mech, batch).position, animation.make_motion(mech, first).position
    )


def test_player_gets_the_poses_in_single_precision(pendulum: sb.Mechanism) -> None:
    from symbody.show.report.scene import make_scene

    motion = animation.make_motion(pendulum, swing(pendulum))
    data = json.loads(json.dumps(animation.player_data(pendulum, motion, make_scene(pendulum)), allow_nan=False))
    poses = np.frombuffer(base64.b64decode(data["poses"]), "<f4").reshape(30, 2, 7)
    np.testing.assert_allclose(poses[..., :3], motion.position, atol=1e-6)
