"""Programs that advance a model by steps of fixed length: symbody's own, and those that it is compared with."""

from __future__ import annotations

import contextlib
import ctypes
import io
import sys
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.dynamics_models import Robot
from benchmarks.dynamics_peers import (
    built,
    has_mujoco,
    mujoco_looped,
    mujoco_model,
    pinocchio_looped,
    pinocchio_native,
)
from benchmarks.timing import TooSlow
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.flow_kernels import kernels
from symbody.motion.flow.of_mechanism import mechanism_flow
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.march.march import March, Signals
from symbody.motion.methods.native_stepper import drift_of

EULER, RK4 = "semi_implicit_euler", "rk4"
LIMIT = 600.0  # s, of a build that is then kept

Rates = Callable[[float, np.ndarray], np.ndarray]


class Program(Protocol):
    """`end(x, steps)`: state (nx,), or states (b, nx), after so many steps; x is left as it is."""

    def end(self, x: np.ndarray, steps: int) -> np.ndarray: ...


def version(package: str) -> str:
    """Of an installed package, else ""."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


# -- symbody


class Symbody:
    """The native march of a Mechanism, all efforts zero."""

    def __init__(self, mechanism: Mechanism, method: str, step: float) -> None:
        self.flow = mechanism_flow(mechanism)
        made = kernels(self.flow)
        for kernel in made.values():
            kernel.wait()
        self.march = March(
            made["rates"], dict(self.flow.rates.states), second=self.flow.second, project=made.get("project"),
            drift=drift_of(self.flow) if method == EULER else None,
        )  # fmt: skip
        size = sum(self.flow.rates.inputs[n].size for n in self.flow.signals)
        self.efforts = np.zeros(size)
        self.signals = Signals([0.0], self.efforts) if size else None
        self.method, self.step = method, step

    def end(self, x: np.ndarray, steps: int) -> np.ndarray:
        run = self.march.fixed(self.method, x, 0.0, self.step, steps, steps, signals=self.signals, threads=1)
        if np.any(run.status):
            raise AssertionError(f"{self.flow.name} by {self.method}: status {np.max(run.status)}")
        return np.asarray(run.x_end)

    def adaptive(self, x: np.ndarray, seconds: float, tolerance: float) -> np.ndarray:
        """By dopri8."""
        run = self.march.adaptive(
            "dopri8", x, 0.0, seconds, [seconds], rtol=tolerance, atol=tolerance, signals=self.signals, threads=1
        )
        if np.any(run.status):
            raise AssertionError(f"{self.flow.name} by dopri8: status {np.max(run.status)}")
        return np.asarray(run.x_end)

    def field(self) -> VectorField:
        """The same rates as a Python function."""
        return VectorField(self.flow, signals=self.efforts)


class Stepped:
    """A method written with NumPy over rates (t, x) that are called from Python."""

    def __init__(self, rates: Rates, method: str, step: float, project: Rates | None = None) -> None:
        self.rates, self.project = rates, project
        self.advance = self._rk4 if method == RK4 else self._euler
        self.step = step

    def end(self, x: np.ndarray, steps: int) -> np.ndarray:
        for k in range(steps):
            x = self.advance(k * self.step, x)
            if self.project is not None:
                x = self.project((k + 1) * self.step, x)
        return x

    def _rk4(self, t: float, x: np.ndarray) -> np.ndarray:
        f, h = self.rates, self.step
        k1 = f(t, x)
        k2 = f(t + h / 2, x + h / 2 * k1)
        k3 = f(t + h / 2, x + h / 2 * k2)
        k4 = f(t + h, x + h * k3)
        return np.asarray(x + h / 6 * (k1 + 2 * (k2 + k3) + k4))

    def _euler(self, t: float, x: np.ndarray) -> np.ndarray:
        n = len(x) // 2
        v = x[n:] + self.step * self.rates(t, x)[n:]
        return np.concatenate([x[:n] + self.step * v, v])


# -- loops in C


class Looped:
    """A C function over `(*head, x, states, steps)`; `owner` keeps alive what head points to."""

    def __init__(self, function: Any, head: list[Any], owner: Any) -> None:
        self._function, self._head, self._owner = function, head, owner
        function.restype = None

    def end(self, x: np.ndarray, steps: int) -> np.ndarray:
        x = np.array(x, dtype=float, order="C")
        states = x.size // x.shape[-1]
        words = (ctypes.c_void_p(x.ctypes.data), ctypes.c_longlong(states), ctypes.c_longlong(steps))
        self._function(*self._head, *words)
        return x


def pinocchio_steps(robot: Robot, method: str, step: float, limit: float) -> Looped:
    """Pinocchio's aba under an integrator in C."""
    looped = pinocchio_looped(pinocchio_native(limit), robot, "forward")
    return _integrated(looped, robot, method, step)


def mujoco_stages(robot: Robot, method: str, step: float) -> Looped:
    """The stages of MuJoCo that accelerations of a tree need, under the same integrator: less than mj_step does."""
    return _integrated(mujoco_looped(robot, "forward", LIMIT), robot, method, step)


def _integrated(forward: Any, robot: Robot, method: str, step: float) -> Looped:
    library = built("simulation_loops.c", "numpy", ("-O3", "-march=native"), [], LIMIT)
    address = ctypes.cast(forward._function, ctypes.c_void_p)
    first, second = (*forward._head, None)[:2]
    objects = [ctypes.c_void_p(first), ctypes.c_void_p(second)]
    numbers = [ctypes.c_int(robot.n), ctypes.c_int(method == RK4), ctypes.c_double(step)]
    return Looped(library.rollout, [address, *objects, *numbers], forward)


def mujoco_steps(robot: Robot, method: str, step: float) -> Looped:
    """mj_step, with all that this model does not need switched off."""
    if not has_mujoco():
        raise TooSlow("mujoco is not installed")
    import mujoco

    folder = Path(mujoco.__file__).parent
    flags = ("-O2", str(next(folder.glob("libmujoco*"))), f"-Wl,-rpath,{folder}")
    library = built("simulation_mujoco.c", "mujoco", flags, [folder / "include"], LIMIT)
    model = mujoco_model(robot)
    model.opt.timestep = step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4 if method == RK4 else mujoco.mjtIntegrator.mjINT_EULER
    off = [b for name, b in mujoco.mjtDisableBit.__members__.items() if name not in ("mjDSBL_GRAVITY", "mjNDISABLE")]
    model.opt.disableflags = sum(int(b) for b in off)
    data = mujoco.MjData(model)
    head = [ctypes.c_void_p(model._address), ctypes.c_void_p(data._address)]
    return Looped(library.rollout, head, (model, data))


# -- Exudyn


class Exudyn:
    """ObjectKinematicTree, explicit RK44, without range checks."""

    def __init__(self, robot: Robot, method: str, step: float) -> None:
        if util.find_spec("exudyn") is None:
            raise TooSlow("exudyn is not installed")
        if method != RK4:
            raise TooSlow("Exudyn has no semi-implicit Euler method")
        exu, items = _exudyn()
        self._exu, n = exu, robot.n
        self._container = exu.SystemContainer()
        self._mbs = mbs = self._container.AddSystem()
        zero = [0.0] * n
        self._node = mbs.AddNode(
            items.NodeGenericODE2(
                referenceCoordinates=zero, initialCoordinates=zero, initialCoordinates_t=zero, numberOfODE2Coordinates=n
            )
        )
        joints = (exu.JointType.RevoluteX, exu.JointType.RevoluteY, exu.JointType.RevoluteZ)
        matrices, offsets, tensors, centres = (
            exu.Matrix3DList(), exu.Vector3DList(), exu.Matrix3DList(), exu.Vector3DList(),
        )  # fmt: skip
        for b in robot.bodies:
            matrices.Append(b.rotation)
            offsets.Append(b.position)
            tensors.Append(b.inertia)
            centres.Append(b.com)
        mbs.AddObject(
            items.ObjectKinematicTree(
                nodeNumber=self._node,
                jointTypes=[joints[b.axis] for b in robot.bodies],
                linkParents=[b.parent for b in robot.bodies],
                jointTransformations=matrices,
                jointOffsets=offsets,
                linkInertiasCOM=tensors,
                linkCOMs=centres,
                linkMasses=[b.mass for b in robot.bodies],
                gravity=list(robot.gravity),
            )
        )
        rotors = np.diag([b.armature for b in robot.bodies])
        if rotors.any():
            # a kinematic tree has no rotors; an object beside it adds their inertia to the mass matrix
            mbs.AddObject(items.ObjectGenericODE2(nodeNumbers=[self._node], massMatrix=rotors))
        self._n, self._step = n, step
        self._assembled = b""

    def end(self, x: np.ndarray, steps: int) -> np.ndarray:
        exu, mbs, n = self._exu, self._mbs, self._n
        if x.tobytes() != self._assembled:
            mbs.SetNodeParameter(self._node, "initialCoordinates", list(x[:n]))
            mbs.SetNodeParameter(self._node, "initialCoordinates_t", list(x[n:]))
            mbs.Assemble()
            self._assembled = x.tobytes()
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.endTime = steps * self._step
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.explicit.computeEndOfStepAccelerations = False
        settings.solution.file.write = False
        settings.parallel.numberOfThreads = 1
        settings.linearSolver.solverType = exu.LinearSolverType.EigenDense
        mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)
        data = mbs.systemData
        return np.concatenate([data.GetODE2Coordinates(), data.GetODE2Coordinates_t()])


def _exudyn() -> tuple[Any, Any]:
    """The module compiled without range checks, which is asked for by a flag in sys; it announces itself."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(io.StringIO()):
        import exudyn
        import exudyn.itemInterface
    return exudyn, exudyn.itemInterface


# -- PyDy


def pydy_rates(robot: Robot) -> Rates:
    """Kane's equations of sympy.physics.mechanics, solved symbolically by L U; cse and C by PyDy, built by Cython."""
    for module in ("pydy", "Cython"):
        if util.find_spec(module) is None:
            raise TooSlow(f"{module} is not installed")
    import sympy as sp
    from pydy.codegen.ode_function_generators import CythonODEFunctionGenerator

    from benchmarks.dynamics_sympy import equations

    mass, forcing, q, u = equations(robot)
    mass = mass + sp.diag(*(b.armature for b in robot.bodies))
    generator = CythonODEFunctionGenerator(
        forcing, q, u, (sp.Symbol("unused"),),  # without constants its functions cannot be called
        mass_matrix=mass, coordinate_derivatives=sp.Matrix(u), linear_sys_solver="sympy:LU",
        constants_arg_type="array",
    )  # fmt: skip
    rates, constants = generator.generate(), np.ones(1)

    def function(t: float, x: np.ndarray) -> np.ndarray:
        return np.array(rates(x, t, constants))  # which are written to the same place at each call

    return function
