"""Names of files that a user or a file gives: whatever they lead to, a sentence says so, and nothing else is opened."""

import io
from contextlib import nullcontext
from pathlib import Path

import pytest

import symbody as sb
from symbody.basics import regular_file
from symbody.basics.errors import FormatError, SymbodyError
from symbody.show.cli.assignments import _rows

ARM = """
bodies: {{a: {{mass: 1, shapes: [{{kind: mesh, file: {}}}]}}}}
joints: {{j: {{kind: fixed, parent: world, child: a}}}}
"""
MESH = '<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'


@pytest.mark.parametrize(
    "name", ["é" * 200 + ".yaml", "a" * 300 + "/arm.yaml", "a/" * 3000 + "arm.urdf", "\0.yaml", "\0.bond.yaml"]
)
def test_a_name_that_no_file_can_have(name):
    with pytest.raises(SymbodyError):
        sb.load(name)


@pytest.mark.parametrize("suffix", [".yaml", ".urdf", ".bond.yaml"])
def test_links_in_a_circle(suffix, tmp_path):
    link = tmp_path / f"arm{suffix}"
    link.symlink_to(link)
    with pytest.raises(SymbodyError, match="symbolic links"):
        sb.load(link)


def test_an_include_of_links_in_a_circle(tmp_path):
    (tmp_path / "b.sdf").symlink_to(tmp_path / "b.sdf")
    world = tmp_path / "world.sdf"
    world.write_text('<sdf version="1.9"><model name="m"><include><uri>b.sdf</uri></include></model></sdf>')
    with pytest.raises(SymbodyError, match="not found"):
        sb.load(world)


def test_a_mesh_with_a_long_name_is_not_shown(tmp_path):
    model = tmp_path / "arm.yaml"
    model.write_text(ARM.format("b" * 300 + ".stl"))
    assert sb.load(model).bodies[0].shapes[0].file == "b" * 300 + ".stl"


@pytest.mark.parametrize(
    "reference", ["package://{}/secret.stl", "package://../secret.stl", "package://./../secret.stl"]
)
def test_a_package_without_a_name_leads_nowhere(reference, tmp_path):
    """`package:///x` begins at the root of the system, `package://..` above the folders that the user names."""
    (tmp_path / "secret.stl").write_text("solid a")
    folder = tmp_path / "models"
    folder.mkdir()
    model = folder / "arm.urdf"
    model.write_text(MESH.format(reference.format(tmp_path)))
    file = sb.load(model, packages=[folder]).bodies[0].shapes[0].file
    assert not file.startswith("/")


def test_a_file_of_the_kernel_with_nothing_to_read(tmp_path, monkeypatch):
    """As /proc/kmsg, which is a regular file to its status, and would be waited for."""

    class Silent(io.BytesIO):
        def read(self, size=-1):
            return None

        def fileno(self):
            return file.fileno()

    path = tmp_path / "arm.urdf"
    path.write_text("<robot/>")
    with path.open("rb") as file:
        monkeypatch.setattr(regular_file, "open_regular", lambda path: nullcontext(Silent()))
        with pytest.raises(SymbodyError, match="nothing to read"):
            sb.load(path)


@pytest.mark.skipif(not Path("/proc/self/pagemap").is_file(), reason="a file of the kernel of Linux")
def test_a_table_of_inputs_that_does_not_end_is_refused(tmp_path):
    """Its status says that it is a regular file of no bytes."""
    path = tmp_path / "table.csv"
    path.symlink_to("/proc/self/pagemap")
    with pytest.raises(FormatError, match="expected at most"):
        _rows(path)
