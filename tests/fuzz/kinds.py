"""What is attacked: for each kind of input a good one, its damage, and what reads it."""

from __future__ import annotations

import functools
import io
import json
import random
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from fuzz.mutators import damaged_bytes, damaged_text, damaged_value
from symbody.model.files import urdf_writer, yaml_writer
from symbody.model.load import FOLDER
from symbody.run import checkpoint
from symbody.system import save
from symbody.trajectory.array_file import npz_bytes, read_arrays

EXPRESSIONS = (
    "m*l^2/3 + 0.5*sin(q1)*cos(q2 - q1)", "if(x < 0, -x, x)", "sqrt(x^2 + y^2)", "atan2(y, x) + exp(-t/2)*min(a, b)",
    "(a + b)*(a - b)/(c^3 - 1)", "abs(x)*sign(v)", "2^0.5 * pi", "x and y or not z", "max(0, x - 1)^1.5", "-x^-2",
)  # fmt: skip
MODELS = ("pendulum2", "four_bar", "puma560", "whipple_bicycle", "slider_crank")
MJCF = """<mujoco model="m"><compiler angle="radian"/><default><joint damping="0.1"/><geom density="500"/></default>
<worldbody><body name="a" pos="0 0 1"><joint name="j1" type="hinge" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/><body name="b" pos="0 0 0.3"><joint name="j2" axis="1 0 0"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02"/></body></body></worldbody>
<equality><joint joint1="j2" joint2="j1" polycoef="0 1 0 0 0"/></equality>
<actuator><motor joint="j1" gear="10"/></actuator></mujoco>
"""
MBS = """<mbs_robotran name="m"><base><bodyname>base</bodyname><gravity><x>0</x><y>0</y><z>-9.81</z></gravity></base>
<bodytree><body><bodyname>b</bodyname><parent><bodyname>base</bodyname></parent><mass>1</mass>
<com><x>0</x><y>0</y><z>0.1</z></com><inertia><Ixx>1</Ixx><Iyy>1</Iyy><Izz>1</Izz></inertia>
<joint><jointname>j</jointname><type>R2</type><nature>independent</nature></joint></body></bodytree></mbs_robotran>
"""
LOOPS = "cuts:\n  c:\n    kind: ball\n    points: [upper.tip, world]\n"


@dataclass(frozen=True)
class Kind:
    """suffix of the file; make(rng): a damaged input; read(path): what may raise nothing but a SymbodyError."""

    suffix: str
    make: Callable[[random.Random], bytes]
    read: Callable[[Path], Any]


def text(*goods: str) -> Callable[[random.Random], bytes]:
    return lambda rng: damaged_text(rng.choice(goods), rng).encode("utf-8", errors="surrogatepass")


@functools.cache
def bundled(name: str) -> str:
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def _yaml(rng: random.Random) -> bytes:
    name = rng.choice(MODELS)
    good = bundled(name) if rng.random() < 0.5 else _written(name)
    return damaged_text(good, rng).encode("utf-8", errors="surrogatepass")


@functools.cache
def _written(name: str) -> str:
    return yaml_writer.to_yaml(sb.load(name))


@functools.cache
def _urdf() -> str:
    return urdf_writer.to_urdf(sb.load("ur5"))


def read_expression(path: Path) -> None:
    with sb.Graph():
        sb.parse(path.read_bytes().decode("utf-8", errors="replace"))


def read_loops(path: Path) -> None:
    sb.load("pendulum2", loops=path)


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


# -- checkpoints: the same


@functools.cache
def _checkpoint() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.npz")
        sb.simulate(sb.load("pendulum2"), 0.05, 0.01, q0=[0.3, 0.1], checkpoint=path)
        arrays = read_arrays(path, 1 << 30)
    return json.loads(bytes(arrays.pop("meta")).decode()), arrays


def _run(rng: random.Random) -> bytes:
    meta, arrays = _checkpoint()
    arrays = dict(arrays)
    if rng.random() < 0.3:
        whole = npz_bytes({**arrays, "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})
        return damaged_bytes(whole, rng)
    if rng.random() < 0.7:
        meta = damaged_value(meta, rng)
    else:
        name = rng.choice(sorted(arrays))
        shapes = ((), (0,), (1,), (3,), (2, 2), (6, 4), (1, 0))
        arrays[name] = rng.choice((np.zeros, np.ones))(rng.choice(shapes)) * rng.choice((1.0, -1.0, np.nan, 1e308))
    if isinstance(meta, dict):
        meta.pop("checksum", None)
        meta["checksum"] = checkpoint._checksum(meta, arrays)
    return npz_bytes({**arrays, "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})


# -- trajectories


@functools.cache
def _trajectory(suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"run{suffix}")
        sb.simulate(sb.load("pendulum2"), 0.05, 0.01, q0=[0.3, 0.1]).save(path)
        return path.read_bytes()


def _csv(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return damaged_bytes(_trajectory(".csv"), rng)
    return damaged_text(_trajectory(".csv").decode(), rng).encode("utf-8", errors="surrogatepass")


def _npz(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return damaged_bytes(_trajectory(".npz"), rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.npz")
        path.write_bytes(_trajectory(".npz"))
        arrays = read_arrays(path, 1 << 30)
    record = damaged_value(json.loads(arrays["description"].tobytes()), rng)
    arrays["description"] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    memory = io.BytesIO()
    np.savez_compressed(memory, **arrays)  # type: ignore[arg-type]  # names as options
    return memory.getvalue()


def quietly(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def call(path: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(path)

    return call


KINDS: dict[str, Kind] = {
    "expression": Kind(".txt", text(*EXPRESSIONS), read_expression),
    "yaml": Kind(".yaml", _yaml, sb.load),
    "loops": Kind(".yaml", text(LOOPS), read_loops),
    "urdf": Kind(".urdf", lambda rng: text(_urdf())(rng), sb.load),
    "mjcf": Kind(".xml", text(MJCF), sb.load),
    "mbs": Kind(".mbs", text(MBS), sb.load),
    "system": Kind(".json", _system, quietly(sb.System.load)),
    "checkpoint": Kind(".npz", _run, quietly(lambda path: sb.resume(path, 0.02))),
    "csv": Kind(".csv", _csv, quietly(sb.Trajectory.load)),
    "npz": Kind(".npz", _npz, quietly(sb.Trajectory.load)),
}
