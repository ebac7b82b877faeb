"""What a drawing of a Mechanism shows: by what is in it and where, not by pixels."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.build.builder import Builder
from symbody.model.load import bundled_names
from symbody.model.record.mechanism import Force
from symbody.show.drawing.closed_coordinates import closed_coordinates
from symbody.show.drawing.curves import dashpot, helix, outline, zigzag
from symbody.show.drawing.labels import Label, place_labels
from symbody.show.drawing.numeric_poses import numbers
from symbody.show.drawing.planar import plane_of
from symbody.show.drawing.show import show
from symbody.show.drawing.skeleton import bond_kind, skeleton

PLANAR = [
    "andrews_squeezer", "four_bar", "n_four_bar", "pendulum3", "slider_crank", "three_loops", "three_rrr_1",
]  # fmt: skip
SPATIAL = ["bogie", "bricard", "car", "delta", "human", "motorcycle", "multi_link_suspension", "puma560", "stewart"]
TWINS = ("car_", "pendulum2", "pendulum4", "pendulum5", "three_rrr_2", "three_rrr_3", "delta_", "stewart_")
MODELS = [name for name in bundled_names() if not name.startswith(TWINS)]


def marks(figure: Any) -> Counter[str]:
    """How many artists there are of each sort: body, joint, cut, spring, ground, wheel, ..."""
    artists = [*figure.axes[0].lines, *figure.axes[0].patches, *figure.axes[0].collections]
    return Counter(str(a.get_gid()).split(" ")[0] for a in artists if a.get_gid())


def named(figure: Any, what: str) -> set[str]:
    """Names of the artists of one sort."""
    return {g.split(" ", 1)[1] for a in figure.axes[0].lines if (g := str(a.get_gid())).startswith(f"{what} ")}


def texts(figure: Any) -> list[str]:
    return [t.get_text() for t in figure.axes[0].texts]


# -- which drawing


def plane(mech: sb.Mechanism) -> np.ndarray | None:
    made = numbers(mech)
    return plane_of(skeleton(made, closed_coordinates(made)))


def test_planar_mechanisms_are_drawn_in_their_plane_and_others_in_space() -> None:
    assert [name for name in (*PLANAR, *SPATIAL) if plane(sb.load(name)) is not None] == PLANAR
    flat, deep = (sb.load(name).show().axes[0] for name in ("four_bar", "puma560"))
    assert (flat.name, flat.get_aspect(), deep.name) == ("rectilinear", 1.0, "3d")


def test_up_is_against_gravity_in_the_plane() -> None:
    def arm(gravity: tuple[float, float, float], axis: str) -> np.ndarray | None:
        com = [0.0 if letter in axis else 0.5 for letter in "xyz"]
        return plane(
            Builder("arm", gravity).body("a", mass=1, com=com).joint("j", "revolute", "world", "a", axis=axis).done()
        )

    np.testing.assert_allclose(arm((0, -9.81, 0), "z"), [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(arm((0, 0, -9.81), "y"), [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(arm((0, 0, -9.81), "z"), [[1, 0, 0], [0, 1, 0]])  # seen from above
    np.testing.assert_allclose(arm((9.81, 0, 0), "-z"), [[0, 1, 0], [-1, 0, 0]])
    np.testing.assert_allclose(arm((0, 0, 0), "x"), [[0, 1, 0], [0, 0, 1]])


def test_hinges_in_one_direction_but_far_apart_along_it_are_spatial() -> None:
    mech = Builder("legs")
    for k, y in enumerate((-1, 1)):
        mech = mech.body(f"leg{k}", mass=1, com=[0, 0, -0.3])
        mech = mech.joint(f"hip{k}", "revolute", "world", f"leg{k}", axis="y", position=[0, y, 0])
    assert plane(mech.done()) is None


# -- what is in it


def test_a_four_bar_linkage_has_three_bars_two_stands_and_a_cut() -> None:
    figure = sb.load("four_bar").show()
    assert named(figure, "body") == {"crank", "coupler", "rocker"}
    assert named(figure, "joint") == {"crank", "coupler", "rocker"}
    assert marks(figure)["cut"] == 2  # two points, here at one place
    assert marks(figure)["ground"] == 4  # a triangle and a line each
    assert {"crank", "coupler", "rocker", "loop"} <= set(texts(figure))


def test_bars_reach_from_joint_to_joint() -> None:
    figure = sb.load("four_bar").show()
    bars = {a.get_gid(): a.get_xydata() for a in figure.axes[0].lines if str(a.get_gid()).startswith("body")}
    lengths = {name: np.linalg.norm(ends[1] - ends[0]) for name, ends in bars.items()}
    # those of the model file
    assert lengths == pytest.approx({"body crank": 0.1, "body coupler": np.sqrt(0.2), "body rocker": 0.3})


def test_a_slider_is_a_block_on_hatched_ground() -> None:
    figure = sb.load("slider_crank").show()
    assert marks(figure)["slide"] == 1
    assert {"crank", "rod", "slider"} <= set(texts(figure))


def test_springs_and_plates_of_the_squeezer_are_drawn() -> None:
    figure = sb.load("andrews_squeezer").show()
    assert named(figure, "spring") == {"spring"}
    (spring,) = (a.get_xydata() for a in figure.axes[0].lines if a.get_gid() == "spring spring")
    np.testing.assert_allclose(spring[0], [0.014, 0.072])  # the fixed point C of the literature
    assert len(spring) > 10  # teeth
    assert named(figure, "body") == {"K1", "K2", "K3", "K4", "K5", "K6", "K7"}
    assert "delta, epsilon" in texts(figure)  # two hinges at one place share a label


def test_a_car_has_wheels_struts_rods_and_all_its_bodies() -> None:
    mech = sb.load("car")
    figure = mech.show()
    count = marks(figure)
    assert count["wheel"] == 8  # two rims each
    assert len(named(figure, "rod")) == 4
    struts = [f.name for f in mech.forces if bond_kind(f) == "strut"]
    assert len(struts) >= 4
    assert named(figure, "strut") == set(struts) == named(figure, "damper")
    wheels = {b.name for b in mech.bodies if b.name.endswith("wheel")}
    assert named(figure, "body") >= {b.name for b in mech.bodies if "bar" in b.name or "carrier" in b.name}
    assert not named(figure, "body") & wheels


def test_what_a_force_looks_like_follows_from_its_law() -> None:
    points = (("a", ""), ("b", ""))
    kinds = [
        bond_kind(Force("f", kind, points, values))
        for kind, values in (
            ("spring_damper", {"stiffness": 3.0}),
            ("spring_damper", {"stiffness": 0, "damping": 2.0}),
            ("spring_damper", {"stiffness": 3.0, "damping": 2.0}),
            ("actuator", {}),
        )
    ]
    assert kinds == ["spring", "damper", "strut", "link"]


def test_a_damper_and_a_strut_are_drawn_in_the_plane() -> None:
    mech = (
        Builder("cart", (0, 0, -9.81)).body("cart", mass=1, frames={"hook": [0.5, 0, 0]})
        .body("arm", mass=1, com=[0, 0, -0.2]).body("wall", frames={"hook": [-1, 0, 0]})
        .joint("weld", "fixed", "world", "wall").joint("slide", "prismatic", "world", "cart", axis="x")
        .joint("hinge", "revolute", "cart", "arm", axis="y").done()
    )  # fmt: skip
    ends = (("wall", "hook"), ("cart", "hook"))
    forces = (
        Force("both", "spring_damper", ends, {"stiffness": 1.0, "damping": 1.0}),
        Force("oil", "spring_damper", ends, {"damping": 1.0}),
    )
    figure = show(mech.replace(forces=forces))
    assert figure.axes[0].name == "rectilinear"
    assert marks(figure)["damper"] == 4  # two for the cup, two for the piston
    assert marks(figure)["strut"] == 4 + 1 + 4  # ends, a zigzag and a dashpot


def test_a_base_with_mass_is_drawn_and_stands_on_the_ground() -> None:
    mech = (
        Builder("robot").body("base", mass=5, com=[0, 0, 0.1]).body("arm", mass=1, com=[0.3, 0, 0])
        .joint("weld", "fixed", "world", "base").joint("pan", "revolute", "base", "arm", position=[0, 0, 0.4]).done()
    )  # fmt: skip
    body = skeleton(numbers(mech), np.zeros(1))
    base = next(p for p in body.pieces if p.name == "base")
    assert base.fixed
    np.testing.assert_allclose(base.points, [[0, 0, 0], [0, 0, 0.4]])
    assert not body.pivots[0].grounded


def test_a_mechanism_without_motion_is_still_drawn() -> None:
    mech = Builder("block").body("a", mass=1).joint("weld", "fixed", "world", "a").done()
    assert len(mech.show().axes) == 1


# -- closed loops


@pytest.mark.parametrize("name", [n for n in MODELS if sb.load(n).cuts])
def test_loops_are_closed_in_the_picture(name: str) -> None:
    """Judged by the constraints of the equations, not by those of the picture."""
    mech = sb.load(name)
    made = numbers(mech)
    body = skeleton(made, closed_coordinates(made))
    for bond in body.bonds:
        if bond.kind == "cut" and next(c for c in mech.cuts if c.name == bond.name).kind == "ball":
            np.testing.assert_allclose(bond.start, bond.end, atol=1e-5)
    np.testing.assert_allclose(closed_coordinates(made), sb.assemble(mech), atol=0.02)  # and in the same branch


def test_given_coordinates_are_taken_as_they_are_and_open_loops_are_seen() -> None:
    mech = sb.load("four_bar")
    figure = mech.show([0.5, 0, 0])
    rings = [a.get_xydata()[0] for a in figure.axes[0].lines if a.get_gid() == "cut loop"]
    assert np.linalg.norm(rings[1] - rings[0]) > 0.01


def test_driven_joints_stand_where_their_law_puts_them() -> None:
    mech = (
        Builder("crank").body("a", mass=1, com=[0.5, 0, 0])
        .joint("j", "revolute", "world", "a", mode="driven", value="0.3 + t").done()
    )  # fmt: skip
    np.testing.assert_allclose(closed_coordinates(numbers(mech)), [0.3])


# -- lines


def test_outline_of_points_is_a_segment_a_polygon_or_a_polyhedron() -> None:
    line = np.array([[0, 0, 0], [1, 1, 0], [3, 3, 0]], dtype=float)
    faces, edges = outline(line)
    assert (len(faces), len(edges)) == (0, 1)
    assert np.linalg.norm(edges[0][1] - edges[0][0]) == pytest.approx(np.sqrt(18))
    square = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0.5, 0.5, 1]], dtype=float)
    faces, edges = outline(square)
    assert [len(f) for f in faces] == [4]
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=float)
    faces, edges = outline(corners)
    assert (len(faces), len(edges)) == (12, 12)  # triangles, and the edges of a cube without diagonals
    assert outline(np.zeros((1, 3))) == ([], [])


def test_springs_and_dampers_join_their_ends() -> None:
    a, b = np.array([1.0, 2.0]), np.array([4.0, 6.0])
    coil = zigzag(a, b, 0.5)
    np.testing.assert_allclose([coil[0], coil[-1]], [a, b])
    parts = dashpot(a, b, 0.5)
    np.testing.assert_allclose([parts[0][0], parts[-1][-1]], [a, b])
    start, end = np.array([0.0, 0, 1]), np.array([0.0, 2, 1])
    turn = helix(start, end, 0.1)
    np.testing.assert_allclose([turn[0], turn[-1]], [start, end])
    away = np.linalg.norm(
        turn[2:-2] - np.stack([0 * turn[2:-2, 1], turn[2:-2, 1], 1 + 0 * turn[2:-2, 1]], axis=1), axis=1
    )
    np.testing.assert_allclose(away, 0.1)


# -- names


def test_names_do_not_cover_each_other_and_are_left_out_where_it_is_full() -> None:
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(3, 3))
    axes = figure.add_axes((0, 0, 1, 1))
    crowd = [Label(f"name{k}", np.array([100.0, 100.0]), "k") for k in range(40)]
    written = place_labels(axes, crowd, np.zeros((0, 2)), np.array([[0.0, 0.0], [216.0, 216.0]]))
    assert 3 <= len(written) < 40
    figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in written]
    overlaps = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert overlaps == 0


@pytest.mark.parametrize("name", MODELS)
def test_every_bundled_model_is_drawn_inside_its_figure(name: str) -> None:
    figure = sb.load(name).show()
    figure.savefig(io.BytesIO(), format="svg")
    width, height = figure.get_size_inches() * figure.dpi
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -2, text.get_text()


def test_dollar_signs_in_names_are_no_formula() -> None:
    mech = Builder("a$b$").body("$x", mass=1, com=[1, 0, 0]).joint("$j", "revolute", "world", "$x").done()
    mech.show().savefig(io.BytesIO(), format="svg")


@pytest.mark.parametrize(
    ("given", "said"), [({"nosuch": 1.0}, "nosuch"), ({"a": float("nan")}, "finite"), ({"a": 0}, "nonzero")]
)
def test_values_are_checked_as_everywhere(given, said):
    with pytest.raises(sb.SymbodyError, match=said):
        sb.load("four_bar").show(parameters=given)


def test_a_mechanism_too_large_for_a_drawing_is_refused_in_a_sentence():
    b = Builder("far")
    b.body("a", 1, frames={"f": (1e50, 1e50, 1e50)}).joint("j", "revolute", "world", "a").sensor("s", "a", "f")
    b.body("c", 1).joint("k", "revolute", "a", "c", position=(1e50, 1e50, 1e50), axis="x")
    with pytest.raises(ModelError, match=r"far reaches 1e\+50 m; expected less"):
        show(b.done())


def test_an_open_loop_whose_joints_are_all_driven_is_drawn_open():
    b = Builder("driven")
    b.body("a", 1, frames={"tip": (1, 0, 0)})
    b.joint("j", "revolute", "world", "a", axis="y", mode="driven", value=0.1)
    b.cut("c", "ball", ("a", "tip"), ("world", ""))
    assert show(b.done()).axes
