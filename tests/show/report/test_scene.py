"""What bodies look like in the animation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from helpers.robots import descriptions
from symbody.model.load import bundled_names
from symbody.show.report.animation import make_motion, player_data
from symbody.show.report.meshes import LARGEST, LARGEST_TOGETHER, EmbeddedMeshes
from symbody.show.report.scene import make_scene, part_corners

TRIANGLE_OBJ = "mtllib nowhere.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n"

URDF = """<robot name="shapes">
  <material name="half"><color rgba="1 0 0 0.5"/></material>
  <link name="base"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
  <link name="arm">
    <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 0.5" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.1" length="0.7"/></geometry><material name="half"/></visual>
    <visual><geometry><sphere radius="0.2"/></geometry></visual>
    <visual><geometry><mesh filename="part.obj" scale="0.001 0.001 0.001"/></geometry></visual>
  </link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit effort="1" velocity="1" lower="-1" upper="1"/></joint>
</robot>"""


def test_shapes_of_a_file_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "shapes.urdf").write_text(URDF)
    (tmp_path / "part.obj").write_text(TRIANGLE_OBJ)
    scene = make_scene(sb.load(tmp_path / "shapes.urdf"))
    base, arm = scene.bodies["base"], scene.bodies["arm"]
    assert [(p.kind, p.size) for p in base] == [("box", (1.0, 2.0, 3.0))]
    cylinder, sphere, mesh = arm
    assert (cylinder.kind, cylinder.size, cylinder.colour, cylinder.opacity) == ("cylinder", (0.1, 0.7), "#ff0000", 0.5)
    np.testing.assert_allclose(cylinder.matrix[:3, :3] @ [0, 0, 1], [1, 0, 0], atol=1e-12)  # its axis, turned
    np.testing.assert_allclose(cylinder.matrix[:3, 3], [0, 0, 0.5])
    assert (sphere.kind, sphere.size) == ("sphere", (0.2,))
    assert (mesh.kind, mesh.size, mesh.mesh) == ("mesh", (0.001, 0.001, 0.001), 0)
    assert "mtllib" not in scene.meshes.files[0].data  # the viewer would look for it beside the page


def test_a_missing_mesh_is_replaced_by_a_generated_shape_and_noted(tmp_path: Path) -> None:
    (tmp_path / "shapes.urdf").write_text(URDF)
    scene = make_scene(sb.load(tmp_path / "shapes.urdf"))
    assert [p.kind for p in scene.bodies["arm"]] == ["cylinder", "sphere"]
    assert any("part.obj" in note for note in scene.notes)


def test_meshes_are_bounded_embedded_once_and_only_of_known_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(TRIANGLE_OBJ)
    (tmp_path / "big.stl").write_bytes(b"\0" * (LARGEST + 1))
    (tmp_path / "secret.txt").write_text("x")
    meshes = EmbeddedMeshes()
    assert meshes.add(str(tmp_path / "a.obj"))[0] == meshes.add(str(tmp_path / "a.obj"))[0] == 0
    for name in ("big.stl", "secret.txt", "none.stl"):
        assert meshes.add(str(tmp_path / name))[0] == -1
    assert meshes.add("package://robot/a.obj")[0] == -1
    assert len(meshes.files) == 1
    assert len(list(meshes.notes())) == 4


def test_collada_brings_its_unit_and_its_pictures(tmp_path: Path) -> None:
    text = (
        '<COLLADA><asset><unit name="centimetre" meter="0.01"/></asset><library_images><image id="i">'
        "<init_from>skin.png</init_from></image><image id='k'><init_from>../../etc/other.png</init_from></image>"
        "</library_images></COLLADA>"
    )
    (tmp_path / "a.dae").write_text(text)
    (tmp_path / "skin.png").write_bytes(b"\x89PNG")
    meshes = EmbeddedMeshes()
    assert meshes.add(str(tmp_path / "a.dae")) == (0, 0.01)
    pictures = meshes.files[0].pictures
    assert pictures["skin.png"].startswith("data:image/png;base64,")
    assert pictures["../../etc/other.png"].startswith("data:image/gif")  # outside of the folder: a grey dot


def test_pictures_count_among_what_a_report_may_hold(tmp_path: Path) -> None:
    """One picture under many names would fill memory: each name brings its copy."""
    (tmp_path / "skin.png").write_bytes(bytes(4 * 2**20))
    names = "".join(f"<init_from>{'./' * k}skin.png</init_from>" for k in range(30))
    (tmp_path / "a.dae").write_text(f"<COLLADA>{names}</COLLADA>")
    meshes = EmbeddedMeshes()
    meshes.add(str(tmp_path / "a.dae"))
    pictures = meshes.files[0].pictures.values()
    assert 0 < sum(map(len, pictures)) < 1.4 * LARGEST_TOGETHER
    assert len(set(pictures)) == 2


def test_links_without_shapes_reach_from_joint_to_joint() -> None:
    scene = make_scene(sb.load("pendulum2"))
    bar, tip = scene.bodies["rod1"][:2]
    assert (bar.kind, bar.size[1]) == ("cylinder", 1.0)
    np.testing.assert_allclose(bar.matrix @ [0, 0, 0.5, 1], [0, 0, -1, 1], atol=1e-12)  # its end is joint2
    np.testing.assert_allclose(tip.matrix[:3, 3], [0, 0, -1])
    hub = scene.bodies["rod1"][-1]
    np.testing.assert_allclose(hub.matrix[:3, :3] @ [0, 0, 1], [0, 1, 0], atol=1e-12)  # along the axis y


def test_springs_and_rods_join_the_points_of_the_model_file() -> None:
    mech = sb.load("multi_link_suspension")
    strut, rod = make_scene(mech).links
    assert (strut.kind, strut.ends[0][0], strut.ends[1][0]) == ("strut", "ground", "bar1")
    np.testing.assert_allclose(strut.ends[0][1], [0.02, 0.5, 0.42])
    np.testing.assert_allclose(strut.ends[1][1], [0, 0.27, 0])
    assert (rod.kind, rod.ends[1][0]) == ("rod", "carrier")
    data = player_data(mech, make_motion(mech), make_scene(mech))["links"]
    # at rest the strut stands on bar 1, which lies along y from (0.02, 0.36, -0.1)
    assert data[0]["length"] == pytest.approx(np.hypot(0.36 + 0.27 - 0.5, 0.42 + 0.1))


def test_a_body_with_three_points_or_more_is_a_plate_with_bars_along_its_edges() -> None:
    parts = make_scene(sb.load("stewart")).bodies["platform"]
    plate, *bars = (p for p in parts if p.kind in ("plate", "cylinder"))
    corners = np.reshape(plate.size, (-1, 3))
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1).max(), 0.6)  # the circle of the ball joints
    assert (plate.kind, plate.opacity < 1, len(bars)) == ("plate", True, 6)


def test_corners_of_a_part_hold_it() -> None:
    bar = make_scene(sb.load("pendulum2")).bodies["rod1"][0]
    corners = part_corners(bar)
    radius, length = bar.size
    np.testing.assert_allclose(np.ptp(corners, axis=0), [2 * radius, 2 * radius, length], atol=1e-12)
    np.testing.assert_allclose(corners.mean(axis=0), [0, 0, -0.5], atol=1e-12)


def test_a_mechanism_in_a_horizontal_plane_is_seen_from_above() -> None:
    for name, above in (("andrews_squeezer", True), ("four_bar", False), ("puma560", False)):
        mech = sb.load(name)
        assert player_data(mech, make_motion(mech), make_scene(mech))["above"] is above


def test_a_free_body_is_the_box_of_its_inertia() -> None:
    """A homogeneous box of sides 1, 2, 3 has the moments m (b^2 + c^2) / 12."""
    sides = np.array([1.0, 2.0, 3.0])
    moments = 6.0 * (np.sum(sides**2) - sides**2) / 12
    builder = sb.Mechanism.builder("brick")
    builder.body("brick", mass=6.0, com=(2, 0, 0), inertia=tuple(moments))
    builder.joint("base", "free", "world", "brick")
    box = make_scene(builder.done()).bodies["brick"][0]
    assert box.kind == "box"
    np.testing.assert_allclose(np.abs(box.matrix[:3, :3]) @ box.size, sides, rtol=1e-12)
    np.testing.assert_allclose(box.matrix[:3, 3], [2, 0, 0])
    assert np.linalg.det(box.matrix[:3, :3]) == pytest.approx(1)


def test_a_body_with_a_tyre_is_a_wheel_about_its_axis() -> None:
    mech = sb.load("motorcycle")
    wheel = make_scene(mech).bodies["rear_wheel"][0]
    tyre = next(f for f in mech.forces if f.points[0][0] == "rear_wheel")
    assert (wheel.kind, wheel.size[0]) == ("cylinder", tyre.values["radius"].data.default)
    np.testing.assert_allclose(wheel.matrix[:3, 2], [0, 1, 0], atol=1e-12)  # joint rear_spin turns about y


# those with the most bodies take seconds and show nothing new
@pytest.mark.parametrize("name", sorted(set(bundled_names()) - {"car", "car_lane_change", "bogie"}))
def test_every_bundled_model_can_be_seen(name: str) -> None:
    mech = sb.load(name)
    scene = make_scene(mech)
    data = player_data(mech, make_motion(mech), scene)
    assert all(scene.bodies[b.name] for b in mech.bodies)
    for parts in scene.bodies.values():
        for part in parts:
            np.testing.assert_allclose(part.matrix[:3, :3] @ part.matrix[:3, :3].T, np.eye(3), atol=1e-9)
            assert part.kind == "plate" or min(part.size) > 0
            assert np.abs(part_corners(part)).max() < 2.5 * scene.extent
    assert np.all(np.array(data["high"]) > np.array(data["low"]))


def test_up_is_against_gravity() -> None:
    for axis, sign in ((0, 1), (1, -1), (1, 1), (2, -1), (2, 1)):
        gravity = np.zeros(3)
        gravity[axis] = 9.81 * sign
        builder = sb.Mechanism.builder("rod", gravity=gravity.tolist())
        builder.body("rod", mass=1.0, com=(0, 0.5, 0), inertia=(1, 1, 1))
        builder.joint("pivot", "ball", "world", "rod")
        mech = builder.done()
        turn = np.reshape(player_data(mech, make_motion(mech), make_scene(mech))["upright"], (3, 3))
        np.testing.assert_allclose(turn @ gravity, [0, 0, -9.81], atol=1e-12)
        assert np.linalg.det(turn) == pytest.approx(1)


def test_a_robot_with_mesh_files_is_shown_with_them() -> None:
    path = descriptions() / "panda_description/urdf/panda.urdf"
    if not path.is_file():
        pytest.skip("the robot is not among the data")
    scene = make_scene(sb.load(path))
    assert {p.kind for p in scene.bodies["panda_link3"]} == {"mesh"}
    assert len(scene.meshes.files) >= 8
