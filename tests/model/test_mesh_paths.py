"""Mesh files are found in the folder of the model file; a path that leads elsewhere opens nothing."""

import pytest

import symbody as sb

YAML = """
bodies:
  arm: {{mass: 1, com: [0, 0, 1], inertia: [1, 1, 1], shapes: [{{kind: mesh, file: '{file}'}}]}}
joints:
  hinge: {{kind: revolute, axis: x, parent: world, child: arm}}
"""
URDF = """<robot name="r"><link name="base"/><link name="arm"><visual><geometry><mesh filename="{file}"/></geometry>
</visual><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/></joint></robot>"""


def mesh_of(folder, suffix, text, file):
    path = folder / f"model{suffix}"
    path.write_text(text.format(file=file), encoding="utf-8")
    (shape,) = (s for b in sb.load(path).bodies for s in b.shapes)
    return shape.file


@pytest.mark.parametrize(("suffix", "text"), [(".yaml", YAML), (".urdf", URDF)])
def test_a_mesh_beside_the_model_is_found(tmp_path, suffix, text):
    (tmp_path / "meshes").mkdir()
    mesh = tmp_path / "meshes" / "arm.stl"
    mesh.write_bytes(b"solid")
    assert mesh_of(tmp_path, suffix, text, "meshes/arm.stl") == str(mesh.resolve())


@pytest.mark.parametrize(("suffix", "text"), [(".yaml", YAML), (".urdf", URDF)])
def test_a_path_that_leads_out_of_the_folder_opens_nothing(tmp_path, suffix, text):
    inner = tmp_path / "inner"
    inner.mkdir()
    secret = tmp_path / "secret.stl"
    secret.write_bytes(b"solid")
    for file in (str(secret), "../secret.stl", f"file://{secret}"):
        found = mesh_of(inner, suffix, text, file)
        assert not found.startswith(("/", str(tmp_path)))
