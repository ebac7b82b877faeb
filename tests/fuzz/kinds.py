"""What is attacked: for each kind of input a good one, its damage, and what reads it."""

from __future__ import annotations

import functools
import json
import os
import random
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from fuzz.mutators import damaged_bytes, damaged_text, damaged_value, damaged_xml, damaged_yaml
from fuzz.run_files import (
    RUNS,
    checkpoint_bytes,
    damaged_checkpoint,
    damaged_measurement,
    damaged_stream,
    damaged_trajectory,
    measured_bytes,
    stream_bytes,
    trajectory_bytes,
)
from fuzz.samples import EXPRESSIONS, LOOPS, MBS, MJCF, MJCF_MORE, MODEL, PARTS, SDF, URDF, USD, XACRO
from symbody.bondgraph.graph.graph_files import FOLDER as GRAPHS
from symbody.model.files import mjcf_writer, sdf_writer, urdf_writer, yaml_writer
from symbody.model.files.loop_file import close_loops
from symbody.model.files.mesh_file import read_mesh
from symbody.model.load import FOLDER
from symbody.show.cli.assignments import read_table
from symbody.studies.identification.data_files import read_series
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system import save

OPEN = ("pendulum2", "puma560", "ur5", "stanford_arm")  # trees, which every format can hold
FILES = [s for s, package in ((".parquet", "pyarrow"), (".h5", "h5py")) if find_spec(package) is not None]
MODELS = ("pendulum2", "four_bar", "puma560", "whipple_bicycle", "slider_crank")


@dataclass(frozen=True)
class Kind:
    """suffix of the file; make(rng): a damaged input; read(path): what may raise nothing but a SymbodyError.

    whole: inputs of a whole run.
    """

    suffix: str
    make: Callable[[random.Random], bytes]
    read: Callable[[Path], Any]
    whole: int = 100_000


def text(*goods: str) -> Callable[[random.Random], bytes]:
    return lambda rng: _encoded(damaged_text(rng.choice(goods), rng))


def xml(*goods: str) -> Callable[[random.Random], bytes]:
    """Half of it well-formed, so that what reads elements is reached."""
    return lambda rng: _encoded((damaged_text if rng.random() < 0.5 else damaged_xml)(rng.choice(goods), rng))


def yaml(*goods: str) -> Callable[[random.Random], bytes]:
    return lambda rng: _encoded((damaged_text if rng.random() < 0.5 else damaged_yaml)(rng.choice(goods), rng))


def _encoded(damaged: str) -> bytes:
    return damaged.encode("utf-8", errors="surrogatepass")


@functools.cache
def bundled(name: str) -> str:
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def _yaml(rng: random.Random) -> bytes:
    name, kind = rng.choice(MODELS), rng.random()
    return yaml(MODEL if kind < 0.3 else bundled(name) if kind < 0.6 else _written(name))(rng)


@functools.cache
def _written(name: str) -> str:
    return yaml_writer.to_yaml(sb.load(name))


@functools.cache
def _robot() -> str:
    return urdf_writer.to_urdf(sb.load("ur5"))


def _urdf(rng: random.Random) -> bytes:
    return xml(URDF if rng.random() < 0.7 else _robot())(rng)


def read_expression(path: Path) -> None:
    with sb.Graph():
        str(sb.parse(path.read_bytes().decode("utf-8", errors="replace")))


def read_formula(path: Path) -> None:
    """As `read_expression`; then made smaller, counted, differentiated and evaluated."""
    with sb.Graph():
        node = sb.parse(path.read_bytes().decode("utf-8", errors="replace"))
        symbols = free_symbols([node])
        if not symbols:
            return
        system = sb.System("f", inputs={"x": symbols}, outputs={"y": node})
        for made in (system.optimize("standard"), system.jacobian("y", "x")):
            made.count()
            with np.errstate(all="ignore"):
                made.compile("python")(np.linspace(-1, 2, len(symbols)))


@functools.cache
def _two_arms() -> sb.Mechanism:
    make = sb.Mechanism.builder("arms")
    for k, (upper, lower) in enumerate((("thigh", "shank"), ("upper_arm", "hand"))):
        make.body(upper, 1.0, inertia=(0.1, 0.1, 0.1), frames={"left": (0, 0.1, 0)})
        make.body(lower, 1.0, inertia=(0.1, 0.1, 0.1))
        make.joint(("hip", "shoulder")[k], "revolute", "world", upper, axis="y")
        make.joint(("knee", "elbow")[k], "revolute", upper, lower, axis="y", position=(0, 0, -1))
    return make.done()


def read_loops(path: Path) -> None:
    close_loops(_two_arms(), path)


@functools.cache
def _written_xml(kind: str, name: str) -> str:
    return (sdf_writer.to_sdf if kind == "sdf" else mjcf_writer.to_mjcf)(sb.load(name))


def _sdf(rng: random.Random) -> bytes:
    return xml(SDF if rng.random() < 0.5 else _written_xml("sdf", rng.choice(OPEN)))(rng)


def _mjcf(rng: random.Random) -> bytes:
    kind = rng.random()
    return xml(MJCF if kind < 0.4 else MJCF_MORE if kind < 0.8 else _written_xml("mjcf", rng.choice(OPEN)))(rng)


@functools.cache
def _graph(name: str) -> str:
    return (GRAPHS / f"{name}.bond.yaml").read_text(encoding="utf-8")


def _bond_graph(rng: random.Random) -> bytes:
    return yaml(_graph(rng.choice(("rlc", "robot_joint", "gear_train", "three_tanks", "dc_motor"))))(rng)


@functools.cache
def _crate() -> bytes:
    """The arm in USD's binary form."""
    from pxr import Sdf

    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder, "arm.usda"), Path(folder, "arm.usdc")
        text.write_text(USD)
        Sdf.Layer.OpenAsAnonymous(str(text)).Export(str(binary))
        return binary.read_bytes()


# -- files that others name


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def _part(name: str) -> Kind:
    """A damaged file in the place where a good one names it."""
    main, around, good = PARTS[name]
    suffix = main.removeprefix("main")

    def read(path: Path) -> Any:
        folder = Path(_folder().name)
        (folder / main).write_text(around)
        (folder / f"part{suffix}").write_bytes(path.read_bytes())
        return (sb.BondGraph.load if name == "bond_part" else sb.load)(folder / main)

    return Kind(suffix, (yaml if suffix.endswith(".yaml") else xml)(good), read)


# -- meshes and measured records


@functools.cache
def _mesh(suffix: str) -> bytes:
    """A tetrahedron."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    if suffix == ".obj":
        lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
        return "\n".join(lines).encode()
    if suffix == ".msh":
        return np.array([4, 0, 0, 4], dtype="<i4").tobytes() + corners.tobytes() + np.array(faces, "<i4").tobytes()
    triangles = b"".join(bytes(12) + corners[list(face)].tobytes() + bytes(2) for face in faces)
    return bytes(80) + len(faces).to_bytes(4, "little") + triangles


def _damaged_mesh(suffix: str) -> Callable[[random.Random], bytes]:
    return lambda rng: damaged_bytes(_mesh(suffix), rng)


@functools.cache
def _records() -> str:
    rows = [f"{0.01 * k:g},{np.sin(0.1 * k):.6f},{np.cos(0.1 * k):.6f},{0.3 * k:g}" for k in range(40)]
    return "\n".join(["t,q.a,q.b,tau.a", *rows]) + "\n"


# -- saved Systems: damaged as bytes, and as records whose checksum is right again


@functools.cache
def _record() -> dict[str, Any]:
    with sb.Graph():
        x, y = sb.symbols("x y")
        block = sb.solve([y**3 + y - x], [y], [0.5], name="cubic")
        nodes = [block.x[0], sb.table(x, [0, 1, 2], [0, 1, 0]) / 3, sb.select(x < 1, sb.sin(x), 2 * x)]
        return save.record(sb.System("s", inputs={"x": x}, outputs={"f": nodes}, units={"x": "m"}))


def _system(rng: random.Random) -> bytes:
    good = _record()
    if rng.random() < 0.3:
        return damaged_bytes(json.dumps(good).encode(), rng)
    data = damaged_value(good, rng)
    if isinstance(data, dict):
        data.pop("checksum", None)
        data = {"checksum": save._checksum(save._canonical(data)), **data}
    return json.dumps(data).encode()


# -- trajectories as text


def _csv(rng: random.Random) -> bytes:
    good = trajectory_bytes(".csv", rng.choice((0, 3)))
    if rng.random() < 0.5:
        return damaged_bytes(good, rng)
    return _encoded(damaged_text(good.decode(), rng))


def quietly(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def call(path: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(path)

    return call


KINDS: dict[str, Kind] = {
    "expression": Kind(".txt", text(*EXPRESSIONS), read_expression, 1_000_000),
    "formula": Kind(".txt", text(*EXPRESSIONS), read_formula),
    "yaml": Kind(".yaml", _yaml, sb.load),
    "loops": Kind(".yaml", yaml(LOOPS), read_loops),
    "urdf": Kind(".urdf", _urdf, sb.load),
    "mjcf": Kind(".xml", _mjcf, sb.load),
    "sdf": Kind(".sdf", _sdf, sb.load),
    "bondgraph": Kind(".bond.yaml", _bond_graph, sb.BondGraph.load),
    **{name: _part(name) for name in PARTS},
    **{s: Kind(f".{s}", _damaged_mesh(f".{s}"), lambda path: read_mesh(path, "")) for s in ("stl", "obj", "msh")},
    "series": Kind(".csv", lambda rng: text(_records())(rng), quietly(read_series)),
    "mbs": Kind(".mbs", xml(MBS), sb.load),
    "table": Kind(".csv", lambda rng: text(_records())(rng), lambda path: read_table(path, "tau", 1)),
    "system": Kind(".json", _system, quietly(sb.System.load)),
    "csv": Kind(".csv", _csv, quietly(sb.Trajectory.load)),
    **{
        name: Kind(".npz", functools.partial(damaged_checkpoint, name), quietly(lambda path: sb.resume(path, 0.02)))
        for name in RUNS
    },
    **{
        suffix[1:]: Kind(suffix, functools.partial(damaged_trajectory, suffix), quietly(sb.Trajectory.load))
        for suffix in (".npz", *FILES)
    },
    **{
        f"measured_{suffix[1:]}": Kind(suffix, functools.partial(damaged_measurement, suffix), quietly(read_series))
        for suffix in (".npz", ".mat", *FILES)
    },
    **({"stream": Kind(".parquet", damaged_stream, quietly(sb.Trajectory.load))} if ".parquet" in FILES else {}),
    **(
        {
            "usd": Kind(".usda", text(USD), sb.load),
            "usdc": Kind(".usdc", lambda rng: damaged_bytes(_crate(), rng), sb.load),
        }
        if find_spec("pxr") is not None
        else {}
    ),
    **({"xacro": Kind(".xacro", xml(XACRO), sb.load)} if find_spec("xacro") is not None else {}),
}
# what is read by a process of its own -> the package, and what can be done once for all such processes
APART = {
    "xacro": ("xacro", "import xacro"),
    "usdc": ("pxr", "from pxr import Sdf; Sdf.FileFormat.FindByExtension('usdc')"),
}
GOOD: dict[str, Callable[[], str | bytes]] = {
    "expression": lambda: EXPRESSIONS[0],
    "formula": lambda: EXPRESSIONS[0],
    "yaml": lambda: _written("four_bar"),
    "loops": lambda: LOOPS,
    "urdf": lambda: URDF,
    "mjcf": lambda: MJCF,
    "sdf": lambda: _written_xml("sdf", "puma560"),
    "bondgraph": lambda: _graph("robot_joint"),
    **{name: functools.partial(str, good) for name, (_, _, good) in PARTS.items()},
    **{s: functools.partial(_mesh, f".{s}") for s in ("stl", "obj", "msh")},
    "series": _records,
    "mbs": lambda: MBS,
    "system": lambda: json.dumps(_record()),
    **{name: functools.partial(checkpoint_bytes, name) for name in RUNS},
    **{suffix[1:]: functools.partial(trajectory_bytes, suffix) for suffix in (".csv", ".npz", *FILES)},
    **{f"measured_{suffix[1:]}": functools.partial(measured_bytes, suffix) for suffix in (".npz", ".mat", *FILES)},
    "table": _records,
    "stream": stream_bytes,
    "usd": lambda: USD,
    "usdc": _crate,
    "xacro": lambda: XACRO,
}  # what is damaged, as it is before
