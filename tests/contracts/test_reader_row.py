"""Every kind of model file, by its row: read by its suffix, refused with a sentence, written and read back alike."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from symbody import extend
from symbody.basics.errors import DefinitionError, ModelError
from symbody.extend import Format

ROWS = list(extend.formats().values())
PENDULUM = {
    "yaml": """
symbody: 1
name: pendulum
bodies: {bob: {mass: 2, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01]}}
joints: {hinge: {kind: revolute, parent: world, child: bob, axis: y}}
""",
    "urdf": """
<robot name="pendulum"><link name="world"/>
<link name="bob"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="world"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>
""",
    "mjcf": """
<mujoco model="pendulum"><worldbody><body name="bob"><joint name="hinge" axis="0 1 0"/>
<inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.1 0.01"/></body></worldbody></mujoco>
""",
    "sdf": """
<sdf version="1.9"><model name="pendulum"><link name="bob"><inertial><pose>0 0 -0.5 0 0 0</pose><mass>2</mass>
<inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.01</izz></inertia></inertial></link>
<joint name="hinge" type="revolute"><parent>world</parent><child>bob</child><axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>
""",
    "xacro": """
<robot name="pendulum" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="l" value="0.25"/>
<xacro:macro name="bar" params="name m"><link name="${name}"><inertial><origin xyz="0 0 ${-2*l}"/><mass value="${m}"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link></xacro:macro>
<link name="world"/><xacro:bar name="bob" m="2"/>
<joint name="hinge" type="continuous"><parent link="world"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>
""",
    "usd": """
#usda 1.0
(
    defaultPrim = "pendulum"
    metersPerUnit = 0.01
    upAxis = "Z"
)
def Xform "pendulum" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Xform "bob" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 2
        point3f physics:centerOfMass = (0, 0, -50)
        float3 physics:diagonalInertia = (1000, 1000, 100)
    }
    def PhysicsRevoluteJoint "hinge"
    {
        uniform token physics:axis = "Y"
        rel physics:body1 = </pendulum/bob>
    }
}
""",
    "mbs": """
<mbsDescR7><mbsname>pendulum</mbsname>
<base><gravity><coordinates><x>0</x><y>0</y><z>-9.81</z></coordinates></gravity></base>
<bodytree><body><bodyname>bob</bodyname><parent><bodyname>base</bodyname><pointname>origin</pointname></parent>
<joint><jointname>hinge</jointname><type>R2</type><nature>independent</nature></joint>
<mass>2</mass><com><coordinates><x>0</x><y>0</y><z>-0.5</z></coordinates></com>
<inertia><Ixx>0.1</Ixx><Iyy>0.1</Iyy><Izz>0.01</Izz></inertia></body></bodytree></mbsDescR7>
""",
}


def file_of(row: Format, folder: Path, suffix: str = "") -> Path:
    for name, package in (("usd", "pxr"), ("xacro", "xacro")):
        if row.name == name:
            pytest.importorskip(package)
    path = folder / f"pendulum{suffix or row.suffixes[0]}"
    path.write_text(PENDULUM[row.name].strip(), encoding="utf-8")
    return path


def acceleration(mech: sb.Mechanism) -> float:
    """Of the pendulum at 0.3 rad."""
    return float(sb.forward_dynamics(mech, "newton_euler").compile()([0.3], [0.0], [0.0])[0])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_pendulum_falls_as_in_every_format(row, tmp_path):
    """(J + m l^2) qdd = -m g l sin q."""
    wanted = -2 * 9.81 * 0.5 * np.sin(0.3) / (0.1 + 2 * 0.25)
    for suffix in (s for s in row.suffixes if s != ".usdc"):  # which is binary
        mech = sb.load(file_of(row, tmp_path, suffix))
        assert acceleration(mech) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_damaged_file_is_refused_with_its_name(row, tmp_path):
    path = file_of(row, tmp_path)
    for damaged in (b"", b"\x00\xff", path.read_bytes()[:-40]):
        path.write_bytes(damaged)
        with pytest.raises(ModelError, match="pendulum"):
            sb.load(path)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_unknown_option_is_refused_with_the_nearest(row, tmp_path):
    path = file_of(row, tmp_path)
    assert isinstance(row.read, str)
    known = list(inspect.signature(import_module(row.read).read).parameters)[1:]
    for option in known or ["anything"]:
        with pytest.raises(ModelError, match=f"no option '{option}x'.*{option if known else 'no names'}"):
            sb.load(path, **{f"{option}x": 1})


@pytest.mark.parametrize("row", [r for r in ROWS if r.write is not None], ids=lambda row: row.name)
def test_what_is_written_moves_alike(row, tmp_path):
    mech = sb.load("ur5")
    again = sb.load(sb.save(mech, tmp_path / f"copy{row.suffixes[0]}"))
    q, qd, tau = np.linspace(0.1, 0.6, 6), np.linspace(-0.3, 0.2, 6), np.zeros(6)
    first, second = (sb.forward_dynamics(m, "newton_euler").compile()(q, qd, tau) for m in (mech, again))
    assert second == pytest.approx(first, rel=1e-9)


@pytest.mark.parametrize("row", [r for r in ROWS if r.write is None], ids=lambda row: row.name)
def test_what_cannot_be_written_is_said(row, tmp_path):
    with pytest.raises(ModelError, match=r"can be written: \.yaml"):
        sb.save(sb.load("ur5"), tmp_path / f"copy{row.suffixes[0]}")


# -- one row more


@pytest.fixture
def added():
    """Rows that a test adds are gone after it."""
    yield extend.add_format
    for name in set(extend.formats()) - {row.name for row in ROWS}:
        extend.remove_format(name)


def test_a_reader_is_one_row(added, tmp_path):
    """Rods that hang on each other, as a list of lengths in JSON."""

    def read(path: Path, mass: float = 1.0) -> sb.Mechanism:
        make, parent, place = sb.Mechanism.builder(path.stem), "world", 0.0
        for k, length in enumerate(json.loads(path.read_text())):
            make.body(f"rod{k}", mass=mass, com=(0, 0, -length / 2))
            make.joint(f"j{k}", "revolute", parent, f"rod{k}", position=(0, 0, -place), axis="y")
            parent, place = f"rod{k}", length
        return make.done()

    def write(mechanism: sb.Mechanism, path: Path) -> None:
        path.write_text(json.dumps([float(-2 * b.com[2].data) for b in mechanism.bodies if b.name != "world"]))

    added(Format("rods", "rods as lengths", (".rods",), read, write))
    path = tmp_path / "two.rods"
    path.write_text("[1.0, 0.5]")
    mech = sb.load(path, mass=3.0)
    assert (mech.name, mech.nq) == ("two", 2)
    assert sb.save(mech, tmp_path / "copy.rods").read_text() == "[1.0, 0.5]"
    with pytest.raises(ModelError, match="'mass'"):
        sb.load(path, mas=3.0)
    from symbody.show.cli.completion import models

    assert str(path) in models(str(tmp_path / "tw"))


def test_rows_that_are_wrong_are_refused(added):
    with pytest.raises(DefinitionError, match="'urdf' has"):
        added(Format("other", "", (".urdf",), "symbody.model.files.urdf"))
    with pytest.raises(DefinitionError, match="such as"):
        added(Format("other", "", ("urdf2",), "symbody.model.files.urdf"))
    with pytest.raises(DefinitionError, match="'urdf' already"):
        added(Format("urdf", "", (".urdf2",), "symbody.model.files.urdf"))
    added(Format("nothing", "", (".nothing",), lambda path: None))
    with pytest.raises(ModelError, match="there is no file"):
        sb.load("a.nothing")
