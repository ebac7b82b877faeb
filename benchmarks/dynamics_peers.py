"""Pinocchio and MuJoCo on the robots of the benchmarks: looped in C or C++ where that builds, else from Python."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import time
from importlib import metadata, util
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.dynamics_models import INPUTS, Robot
from benchmarks.timing import TooSlow, limited

HERE = Path(__file__).resolve().parent
BUILT = HERE / "out" / "built"  # libraries that took minutes to build are kept
# as pinocchio's own CMake files ask; templates are instantiated here, for this processor
PINOCCHIO_FLAGS = (
    "-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-fvisibility=hidden", "-fno-gnu-unique", "-Wl,-Bsymbolic",
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip

Values = dict[str, np.ndarray]


class Timed(Protocol):
    """One quantity of one robot: values of states, and seconds of one state."""

    def __call__(self, values: Values) -> np.ndarray: ...
    def seconds(self) -> float: ...


def outputs(robot: Robot, quantity: str) -> int:
    return robot.n * robot.n + robot.n if quantity == "semi_explicit" else robot.n


class Looped:
    """A native loop `function(*head, inputs..., out, states, *tail)`; `owner` keeps alive what head points to."""

    def __init__(self, function: Any, head: tuple[int, ...], robot: Robot, quantity: str, owner: Any = None) -> None:
        self._function, self._head, self._owner = function, head, owner
        self._ports, self._size, self._n = INPUTS[quantity], outputs(robot, quantity), robot.n
        self._upper = False
        self.tail: tuple[int, ...] = ()
        function.restype = None

    def prepare(self, values: Values) -> None:
        self.given = [np.ascontiguousarray(values[p]) for p in self._ports]
        self.states = len(self.given[0])
        self.result = np.zeros((self.states, self._size))

    def seconds(self) -> float:
        words = [ctypes.c_void_p(p) for p in (*self._head, *(a.ctypes.data for a in self.given))]
        out, states = ctypes.c_void_p(self.result.ctypes.data), ctypes.c_longlong(self.states)
        tail = [ctypes.c_int(x) for x in self.tail]
        start = time.perf_counter()
        self._function(*words, out, states, *tail)
        return (time.perf_counter() - start) / self.states

    def __call__(self, values: Values) -> np.ndarray:
        self.prepare(values)
        self.seconds()
        n = self._n
        if self._size == n or not self._upper:
            return self.result
        mass = self.result[:, : n * n].reshape(-1, n, n).transpose(0, 2, 1)  # by columns
        mass = np.triu(mass) + np.triu(mass, 1).transpose(0, 2, 1)
        return np.concatenate([mass.reshape(-1, n * n), self.result[:, n * n :]], axis=1)


def built(source: str, package: str, flags: tuple[str, ...], includes: list[Path], limit: float) -> ctypes.CDLL:
    """The shared library of a source file beside this one, made once for its text, flags and package version."""
    compiler = "g++" if source.endswith("cpp") else "gcc"
    found = shutil.which(compiler)
    if found is None:
        raise TooSlow(f"{compiler} is not installed")
    text = (HERE / source).read_text(encoding="utf-8")
    key = hashlib.sha256(
        "\n".join((text, *flags, metadata.version(package), *map(str, includes))).encode()
    ).hexdigest()[:16]
    library = BUILT / f"{Path(source).stem}_{key}.so"
    if not library.is_file():
        BUILT.mkdir(parents=True, exist_ok=True)
        unfinished = library.with_suffix(".part")
        order = [found, *(f"-I{p}" for p in includes), "-fPIC", "-shared", str(HERE / source), "-o", str(unfinished)]
        status, _, errors = limited([*order, *flags], limit)
        if status:
            line = next((e for e in errors.splitlines() if "error: " in e), errors[-100:])
            raise TooSlow(f"{source} does not build: {line.partition('error: ')[2][:100] or line}")
        unfinished.rename(library)
    return ctypes.CDLL(str(library))


# -- Pinocchio


def has_pinocchio() -> bool:
    return util.find_spec("pinocchio") is not None


def pinocchio_native(limit: float) -> ctypes.CDLL:
    """Pinocchio's headers of the installed wheel, with Eigen's from the wheel `cmeel-eigen` or from the system."""
    if not has_pinocchio():
        raise TooSlow("pin is not installed")
    import pinocchio as pin

    prefix = next(p for p in Path(pin.__file__).parents if (p / "include" / "pinocchio").is_dir())
    includes = [prefix / "include"]
    includes += [p for p in (prefix / "include" / "eigen3", Path("/usr/include/eigen3")) if p.is_dir()][:1]
    return built("dynamics_pinocchio.cpp", "pin", PINOCCHIO_FLAGS, includes, limit)


def pinocchio_looped(library: ctypes.CDLL, robot: Robot, quantity: str) -> Looped:
    def words(values: Any, kind: Any) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=kind)

    numbers = [_pinocchio_row(b) for b in robot.bodies]
    arrays = [
        words([b.parent for b in robot.bodies], np.int64), words([b.axis for b in robot.bodies], np.int64),
        words([b.armature for b in robot.bodies], float), words(numbers, float), words(robot.gravity, float),
    ]  # fmt: skip
    library.robot.restype = ctypes.c_void_p
    made = library.robot(ctypes.c_int(robot.n), *(ctypes.c_void_p(a.ctypes.data) for a in arrays))
    looped = Looped(library[quantity], (made,), robot, quantity)
    looped._upper = True
    return looped


def _pinocchio_row(body: Any) -> list[float]:
    i = body.inertia
    tensor = [i[0, 0], i[0, 1], i[1, 1], i[0, 2], i[1, 2], i[2, 2]]
    return [*body.rotation.ravel(), *body.position, body.mass, *body.com, *tensor]


class PinocchioPython:
    """Pinocchio's functions called from Python, state by state.

    `seconds` includes the binding; `overhead` is a clock of the same function on a model without joints, where nothing
    but the binding remains: checking and wrapping three arrays and the result does not depend on their sizes.
    """

    def __init__(self, robot: Robot, quantity: str) -> None:
        self.model, self.robot, self.quantity = pinocchio_model(robot), robot, quantity
        self.data = self.model.createData()
        import pinocchio as pin

        self._pin = pin
        self._bare = pin.Model()
        self._bare_data = self._bare.createData()

    def prepare(self, values: Values) -> None:
        self._rows = list(zip(*(list(np.ascontiguousarray(values[p])) for p in INPUTS[self.quantity])))

    def __call__(self, values: Values) -> np.ndarray:
        self.prepare(values)
        return np.array([self._one(*row) for row in self._rows])

    def _one(self, *row: np.ndarray) -> np.ndarray:
        pin, model, data = self._pin, self.model, self.data
        if self.quantity == "inverse":
            return np.array(pin.rnea(model, data, *row))
        if self.quantity == "forward":
            return np.array(pin.aba(model, data, *row))
        mass = np.triu(pin.crba(model, data, row[0]))
        mass = mass + np.triu(mass, 1).T
        return np.concatenate([mass.ravel(), pin.nonLinearEffects(model, data, *row)])

    def seconds(self) -> float:
        return self._timed(self.model, self.data, self._rows)

    def overhead(self) -> float:
        nothing = np.zeros(0)
        return self._timed(self._bare, self._bare_data, [(nothing,) * len(row) for row in self._rows])

    def _timed(self, model: Any, data: Any, rows: list[Any]) -> float:
        pin = self._pin
        if self.quantity == "semi_explicit":
            crba, bias = pin.crba, pin.nonLinearEffects
            start = time.perf_counter()
            for q, qd in rows:
                crba(model, data, q)
                bias(model, data, q, qd)
        else:
            function = pin.rnea if self.quantity == "inverse" else pin.aba
            start = time.perf_counter()
            for q, qd, x in rows:
                function(model, data, q, qd, x)
        return (time.perf_counter() - start) / len(rows)


def pinocchio_model(robot: Robot) -> Any:
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = robot.gravity
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for k, b in enumerate(robot.bodies):
        placement = pin.SE3(b.rotation, b.position)
        index = model.addJoint(b.parent + 1, kinds[b.axis](), placement, f"joint{k + 1}")
        model.appendBodyToJoint(index, pin.Inertia(b.mass, b.com, b.inertia), pin.SE3.Identity())
    model.armature = np.array([b.armature for b in robot.bodies])
    return model


# -- MuJoCo


def has_mujoco() -> bool:
    return util.find_spec("mujoco") is not None


def mujoco_looped(robot: Robot, quantity: str, limit: float) -> Looped:
    """The stages of MuJoCo that the quantity needs."""
    if not has_mujoco():
        raise TooSlow("mujoco is not installed")
    import mujoco

    folder = Path(mujoco.__file__).parent
    shared = next(folder.glob("libmujoco*"))
    flags = ("-O2", str(shared), f"-Wl,-rpath,{folder}")
    library = built("dynamics_mujoco.c", "mujoco", flags, [folder / "include"], limit)
    model = mujoco_model(robot)
    data = mujoco.MjData(model)
    looped = Looped(library[quantity], (model._address, data._address), robot, quantity, (model, data))
    if quantity == "inverse":
        looped.tail = (int(not _rne_has_armature()),)
    return looped


def _rne_has_armature() -> bool:
    """Whether mj_rne of this version adds the inertia of rotors."""
    import mujoco

    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(mass=1.0, inertia=[1.0, 1.0, 1.0], explicitinertial=True)
    body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1], armature=1.0)
    model = spec.compile()
    data, out = mujoco.MjData(model), np.zeros(1)
    mujoco.mj_forward(model, data)
    data.qacc[0] = 1.0
    mujoco.mj_rne(model, data, 1, out)
    return bool(out[0] > 1.5)


def mujoco_model(robot: Robot, motors: bool = False) -> Any:
    """motors: one actuator for each joint, whose control is its torque."""
    import mujoco

    def quaternion(rotation: np.ndarray) -> np.ndarray:
        out = np.zeros(4)
        mujoco.mju_mat2Quat(out, np.ascontiguousarray(rotation).ravel())
        return out

    spec = mujoco.MjSpec()
    made: list[Any] = []
    for b in robot.bodies:
        parent = made[b.parent] if b.parent >= 0 else spec.worldbody
        body = parent.add_body(pos=b.position, quat=quaternion(b.rotation))
        body.explicitinertial, body.mass, body.inertia = True, 1.0, [1.0, 1.0, 1.0]
        name = f"joint{len(made) + 1}"
        body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=np.eye(3)[b.axis], armature=b.armature)
        if motors:
            spec.add_actuator(target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        made.append(body)
    model = spec.compile()
    model.opt.gravity[:] = robot.gravity
    # after compiling, which refuses published tensors that no rigid body has
    for k, b in enumerate(robot.bodies, start=1):
        moments, axes = np.linalg.eigh(b.inertia)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        model.body_mass[k], model.body_ipos[k] = b.mass, b.com
        model.body_inertia[k], model.body_iquat[k] = moments, quaternion(axes)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model
