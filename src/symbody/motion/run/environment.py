"""sb.environment: many copies of a model stepped together, in the form that Gymnasium's vector interface has.

On the processor arrays are NumPy's; with device="cuda" they are PyTorch tensors that never leave the device: states are
marched there, and reward and end of an episode are one kernel. Episodes that end begin again in the same step
(`AutoresetMode.SAME_STEP`): `info["final_obs"]` has the observation before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import (
    DefinitionError,
    DeviceError,
    ModelError,
    Named,
    NameLookupError,
    ShapeError,
    nearest,
    real_argument,
    record_argument,
    whole_argument,
)
from symbody.model.record.followers import completed
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.connect import connect
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.flow.initial_state import initial_values
from symbody.motion.flow.signals import InputSignals
from symbody.motion.flow.sources import Assignment, Constant, find_input
from symbody.motion.march.method_tables import METHODS, RungeKutta, Splitting
from symbody.motion.march.run import Signals
from symbody.motion.methods.native_stepper import march_of
from symbody.motion.run.on_device import read_device
from symbody.motion.run.run_equations import open_flow
from symbody.symbolic.system.names import components
from symbody.symbolic.system.system import System

Reset = Mapping[str, Any] | Callable[[np.random.Generator, int], Mapping[str, Any]]


@declared
def environment(
    model: Mechanism,
    reward: str,
    reset: Reset,
    *,
    step: float,
    actions: Sequence[str] | Mapping[str, tuple[float, float]],
    count: int = 64,
    substeps: int = 1,
    terminate: str | None = None,
    observe: Sequence[str] = (),
    limit: int = 1000,
    method: str = "rk4",
    parameters: Mapping[str, Any] | None = None,
    device: str | None = None,
    precision: str = "double",
    seed: int = 0,
) -> Environment:
    """`count` copies of a model as one environment.

    reward      an expression of t, q.<joint>, qd.<joint>, inputs and parameters, after each step
    reset       state or component -> a number, or (low, high) of which each copy draws its own; or a function of
                (generator, number of copies) to such values (n, ...). What is not named is as in `simulate`
    step        s between actions; substeps: steps of the method in it
    actions     inputs that are set in each step, such as "tau.cart" or "cart"; a mapping gives their bounds, to which
                actions are cut
    terminate   an expression that is positive (or true) where an episode ends; limit: steps after which it is truncated
    observe     outputs to observe, such as "p.<frame>" or {"name": "expression"}; none: all states
    parameters  name -> value, or (count,) values
    device      "cuda": states live on a GPU, arrays are PyTorch tensors
    """
    record_argument("environment", model, Mechanism, "a Mechanism (sb.load)")
    real_argument("step", step, "a positive number of seconds", above=0.0)
    whole_argument("count", count, 1)
    whole_argument("substeps", substeps, 1)
    whole_argument("limit", limit, 1)
    where = read_device(device, precision, ())
    table = METHODS.get(method)
    if table is None or (isinstance(table, Splitting) and table.substeps):
        raise NameLookupError(f"there is no method {method!r} for environments. {nearest(method, METHODS)}")
    outputs: list[Any] = [*observe, {"reward": reward}, {"terminate": "0" if terminate is None else terminate}]
    flow = open_flow(model, None, outputs, None, False, None)
    places = _action_places(flow, actions)
    bounds = _bounds(actions, places)
    assigned = [Assignment(n, p, Constant(np.zeros(len(p))), key) for key, (n, p) in places.items()]
    connected = connect(flow, assigned)
    if connected.flow.guards is not None or connected.flow.events is not None or connected.flow.impact is not None:
        raise DefinitionError(f"{flow.name} has events, which environments do not follow. Take a model without them.")
    signals = InputSignals(connected, 0.0, step, None)
    columns = _columns(connected, places)
    names = [next(iter(o)) if isinstance(o, Mapping) else o for o in observe]
    values = dict(parameters or {})
    if isinstance(model, Mechanism):  # and what follows these, as far as the motion depends on it
        known = model.parameters
        values = {n: v for n, v in completed(model, values).items() if n in flow.parameters or n not in known}
    setting = EnvironmentSetting(connected.flow, signals, tuple(columns), bounds, step, substeps, limit, method, names,
                      values)  # fmt: skip
    return Environment(setting, reset, count, where, precision, seed)


@dataclass(frozen=True, eq=False)
class EnvironmentSetting:
    """What an environment is made of. columns: of u that actions set; bounds (2, na)."""

    flow: Flow
    signals: InputSignals
    columns: tuple[int, ...]
    bounds: np.ndarray
    step: float
    substeps: int
    limit: int
    method: str
    observed: list[str]
    parameters: Mapping[str, Any]


def _action_places(flow: Flow, actions: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    if isinstance(actions, str):
        actions = [actions]
    found = {str(key): find_input(flow, key) for key in actions}
    if not found:
        raise DefinitionError(
            "an environment needs actions: names of inputs, such as ", Named("actions", "['tau.cart']")
        )
    return found


def _bounds(actions: Any, places: Mapping[str, tuple[str, tuple[int, ...]]]) -> np.ndarray:
    pairs = []
    for key, (_, where) in places.items():
        low, high = actions[key] if isinstance(actions, Mapping) else (-np.inf, np.inf)
        if not low < high:
            raise DefinitionError(f"action {key!r} has bounds ({low}, {high}); expected the lower one first.")
        pairs += [(low, high)] * len(where)
    return np.array(pairs, dtype=float).T


def _columns(connected: Any, places: Mapping[str, Any]) -> list[int]:
    by_key = {line.text: line for line in connected.lines}
    return [int(c) for key in places for c in by_key[key].columns]


class Environment:
    """Copies of a model, stepped together; a `gymnasium.vector.VectorEnv` by its interface."""

    metadata: dict[str, Any]

    def __init__(
        self, setting: EnvironmentSetting, reset: Reset, count: int, device: str | None, precision: str, seed: int
    ) -> None:
        self.setting, self.num_envs, self.device = setting, count, device
        self._reset, self._rng = reset, np.random.default_rng(seed)
        self._copies: Copies = (
            OnProcessor(setting, count) if device is None else OnGpu(setting, count, device, precision)
        )
        self.metadata = {"autoreset_mode": _same_step(), "render_modes": []}
        self.render_mode = None
        self.closed = False
        self._ready = False

    # -- spaces

    @property
    def single_observation_space(self) -> Any:
        return _box(np.full(self._copies.observed, -np.inf), np.full(self._copies.observed, np.inf))

    @property
    def single_action_space(self) -> Any:
        return _box(*self.setting.bounds)

    @property
    def observation_space(self) -> Any:
        from gymnasium.vector.utils import batch_space

        return batch_space(self.single_observation_space, self.num_envs)

    @property
    def action_space(self) -> Any:
        from gymnasium.vector.utils import batch_space

        return batch_space(self.single_action_space, self.num_envs)

    @property
    def unwrapped(self) -> Environment:
        return self

    def close(self, **more: Any) -> None:
        self.closed = True

    # -- episodes

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """All copies at the start of an episode: (observations (n, k), {})."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._copies.put(self._drawn(), None)
        self._ready = True
        return self._copies.observation(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Observations (n, k), rewards (n,), terminated (n,), truncated (n,), info."""
        if not self._ready:
            raise DefinitionError("reset the environment before its first step.")
        expected = (self.num_envs, len(self.setting.columns))
        if tuple(actions.shape) != expected:
            raise ShapeError(f"actions has shape {tuple(actions.shape)}; expected {expected}.")
        copies = self._copies
        reward, terminated, truncated = copies.step(actions)
        ended = terminated | truncated
        info: dict[str, Any] = {}
        if bool(ended.any()):
            info = {"final_obs": copies.observation(), "_final_obs": ended}
            copies.put(self._drawn(), ended)
        return copies.observation(), reward, terminated, truncated, info

    @property
    def states(self) -> Any:
        """(n, nx) states of all copies, in the order of the model."""
        return self._copies.x

    def _drawn(self) -> np.ndarray:
        """(n, nx) states at the start of episodes."""
        flow, n = self.setting.flow, self.num_envs
        given = self._reset(self._rng, n) if callable(self._reset) else self._reset
        values: dict[str, np.ndarray] = {}
        for key, value in given.items():
            name, where = _state_places(flow, key)
            slot = flow.layout.slices[name]
            size = slot.stop - slot.start
            base = values.setdefault(name, np.broadcast_to(_rest(flow)[slot], (n, size)).copy())
            if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 0:
                base[:, where] = self._rng.uniform(value[0], value[1], (n, len(where)))
            else:
                base[:, where] = np.asarray(value, dtype=float).reshape(-1, 1) if np.ndim(value) == 1 else value
        x = np.broadcast_to(_rest(flow), (n, flow.nx)).copy()
        for name, columns in values.items():
            x[:, flow.layout.slices[name]] = columns
        if flow.project is not None:
            x = FlowKernels(flow, self._copies.shared).project(
                np.asarray(0.0), x, np.zeros((n, self.setting.signals.size))
            )
            if not np.isfinite(x).all():
                raise ModelError(f"the starts of {flow.name} cannot be corrected: its loops do not close from there.")
        return x


def _rest(flow: Flow) -> np.ndarray:
    values, _ = initial_values(flow, {})
    return np.asarray(flow.layout.vector(values, None))


def _state_places(flow: Flow, key: str) -> tuple[str, list[int]]:
    """State and components that a name means: <state>, or <state>.<label>."""
    name, _, part = str(key).partition(".")
    if name in flow.layout.slices:
        slot = flow.layout.slices[name]
        size = slot.stop - slot.start
        if not part:
            return name, list(range(size))
        found = components(flow.labels.get(name, ()), size, part)
        if found:
            return name, list(found)
    known = [*flow.layout.slices, *(f"{n}.{label}" for n in flow.layout.slices for label in flow.labels.get(n, ()))]
    raise NameLookupError(f"{flow.name} has no state {key!r}. {nearest(str(key), known)}")


def _same_step() -> Any:
    try:
        from gymnasium.vector import AutoresetMode
    except ImportError:
        return "SameStep"
    return AutoresetMode.SAME_STEP


def _box(low: np.ndarray, high: np.ndarray) -> Any:
    from gymnasium.spaces import Box

    return Box(low.astype(np.float64), high.astype(np.float64), dtype=np.float64)


# -- the copies, on the processor and on a device


class Copies(ABC):
    """States, times and what is seen of them."""

    x: Any

    def __init__(self, setting: EnvironmentSetting, count: int) -> None:
        self.setting, self.count = setting, count
        flow = setting.flow
        self.shared = {n: v for n, v in setting.parameters.items() if n in flow.parameters}
        for name in setting.parameters:
            if name not in flow.parameters:
                raise NameLookupError(f"{flow.name} has no parameter {name!r}. {nearest(name, flow.parameters)}")
        self.look = _look(flow, setting.observed)
        sizes = [self.look.outputs[n].size for n in setting.observed]
        self.observed = sum(sizes) if sizes else flow.nx
        self.steps = setting.substeps
        self.h = setting.step / setting.substeps

    @abstractmethod
    def put(self, x: np.ndarray, where: Any) -> None:
        """States (n, nx) of copies where the flags (n,) are set; None: of all. Their episodes begin."""

    @abstractmethod
    def step(self, actions: Any) -> tuple[Any, Any, Any]:
        """(rewards, terminated, truncated), each (n,)."""

    @abstractmethod
    def observation(self) -> Any:
        """(n, k)"""


def _look(flow: Flow, observed: Sequence[str]) -> System:
    """Reward, end and observations as a System of states, time and signals."""
    record = flow.record
    assert record is not None
    names = [*observed, "reward", "terminate"]
    for n in names:
        if n not in record.outputs:
            raise NameLookupError(f"{flow.name} records no {n!r}. {nearest(n, record.outputs)}")
    inputs = {n: a for n, a in record.inputs.items() if n not in flow.rated}
    try:
        return System(
            f"{flow.name}_look",
            inputs=inputs,
            outputs={n: record.outputs[n] for n in names},
            parameters=record.parameters,
            defaults=record.defaults,
        )
    except DefinitionError as error:
        raise DefinitionError(
            f"reward, terminate and observe read states and inputs, no accelerations: {error}"
        ) from None


class OnProcessor(Copies):
    def __init__(self, setting: EnvironmentSetting, count: int) -> None:
        super().__init__(setting, count)
        flow, table = setting.flow, METHODS[setting.method]
        self.table = table
        self.march = march_of(flow, isinstance(table, Splitting), False, None)
        self.kernel = self.look.compile()
        self.x = np.zeros((count, flow.nx))
        self.t = np.zeros(count)
        self.age = np.zeros(count, dtype=np.int64)
        self.u = np.zeros((count, setting.signals.size))
        self.seen: dict[str, np.ndarray] = {}

    def put(self, x: np.ndarray, where: Any) -> None:
        flags = np.ones(self.count, dtype=bool) if where is None else where
        self.x = np.where(flags[:, None], x, self.x)
        self.t, self.age = np.where(flags, 0.0, self.t), np.where(flags, 0, self.age)
        self._look()

    def _look(self) -> None:
        named = self.setting.flow.layout.named(self.t, self.x, self.u)
        own = {n: v for n, v in self.shared.items() if n in self.look.parameters}
        self.seen = self.kernel.call_named(*(named[n] for n in self.look.inputs), parameters=own or None)

    def observation(self) -> Any:
        if not self.setting.observed:
            return self.x.copy()
        parts = [
            np.broadcast_to(self.seen[n], (self.count, *self.look.outputs[n].shape)) for n in self.setting.observed
        ]
        return np.concatenate([p.reshape(self.count, -1) for p in parts], axis=1)

    def step(self, actions: Any) -> tuple[Any, Any, Any]:
        s = self.setting
        self.u[:, list(s.columns)] = np.clip(np.asarray(actions, dtype=float), *s.bounds)
        signals = Signals([0.0], self.u[:, None, :]) if s.signals.size else None
        run = self.march.fixed(self.table, self.x, self.t, np.full(self.count, self.h), self.steps, self.steps,
                               signals=signals, parameters=self.shared or None)  # fmt: skip
        self.x, self.t, self.age = np.array(run.x_end), self.t + s.step, self.age + 1
        self._look()
        failed = np.asarray(run.status) != 0
        terminated = failed | np.broadcast_to(self.seen["terminate"] > 0, (self.count,))
        return np.array(np.broadcast_to(self.seen["reward"], (self.count,))), terminated, self.age >= s.limit


class OnGpu(Copies):
    def __init__(self, setting: EnvironmentSetting, count: int, device: str, precision: str) -> None:
        super().__init__(setting, count)
        try:
            import torch
        except ImportError:
            raise DeviceError(
                "an environment on a device gives PyTorch tensors, and torch is not here; install it, or leave ",
                Named("device"),
                " out.",
            ) from None
        from symbody.codegen.compile import compile_system
        from symbody.motion.march.device_march import DeviceMarch, even_schedule
        from symbody.motion.methods.device_stepper import equations_of

        self.torch = torch
        flow, table = setting.flow, METHODS[setting.method]
        ordinal = int(device.partition(":")[2] or 0)
        self.place = torch.device("cuda", ordinal)
        self.dtype = torch.float64 if precision == "double" else torch.float32
        assert isinstance(table, RungeKutta | Splitting)
        equations = equations_of(flow, setting.signals, splitting=isinstance(table, Splitting))
        self.march = DeviceMarch(equations, table, precision, ordinal)
        self.schedule = even_schedule(0.0, self.h, self.steps)
        self.kernel = compile_system(self.look, "cuda", precision=precision, device=ordinal)
        new: dict[str, Any] = {"dtype": self.dtype, "device": self.place}
        self.x = torch.zeros((count, flow.nx), **new)
        self.u = torch.zeros((count, max(setting.signals.size, 1)), **new)
        self.t = torch.zeros(count, dtype=torch.float64, device=self.place)
        self.age = torch.zeros(count, dtype=torch.int64, device=self.place)
        self.columns = torch.tensor(setting.columns, device=self.place)
        self.bounds = [torch.tensor(b, **new) for b in setting.bounds]
        self.sampled = {
            n: torch.tensor(np.asarray(v, dtype=float), **new) if np.ndim(v) else float(v)
            for n, v in self.shared.items()
        }
        self.seen: dict[str, Any] = {}

    def put(self, x: np.ndarray, where: Any) -> None:
        torch = self.torch
        fresh = torch.tensor(x, dtype=self.dtype, device=self.place)
        if where is None:
            self.x, self.t, self.age = fresh, torch.zeros_like(self.t), torch.zeros_like(self.age)
        else:
            self.x = torch.where(where[:, None], fresh, self.x)
            self.t, self.age = self.t.masked_fill(where, 0.0), self.age.masked_fill(where, 0)
        self._look()

    def _look(self) -> None:
        flow, n = self.setting.flow, self.count
        given = []
        for name, symbols in self.look.inputs.items():
            if name == "t":
                given.append(self.t.to(self.dtype))
                continue
            source, slices = (
                (self.x, flow.layout.slices) if name in flow.layout.slices else (self.u, flow.layout.columns)
            )
            given.append(source[:, slices[name]].reshape(n, *symbols.shape).contiguous())
        own = {k: v for k, v in self.sampled.items() if k in self.look.parameters}
        found = self.kernel(*given, parameters=own or None)
        self.seen = dict(zip(self.look.outputs, found))

    def observation(self) -> Any:
        if not self.setting.observed:
            return self.x.clone()
        parts = [self.seen[n].reshape(self.count, -1) for n in self.setting.observed]
        return self.torch.cat(parts, dim=1)

    def step(self, actions: Any) -> tuple[Any, Any, Any]:
        torch, s = self.torch, self.setting
        given = torch.as_tensor(actions, dtype=self.dtype, device=self.place)
        self.u[:, self.columns] = torch.maximum(torch.minimum(given, self.bounds[1]), self.bounds[0])
        signals = self.u if s.signals.size else None
        run = self.march.fixed(self.x, self.schedule, signals, parameters=self.sampled or None, begin=self.t)
        self.x, self.t, self.age = run.x_end, self.t + s.step, self.age + 1
        self._look()
        terminated = (run.status != 0) | (self.seen["terminate"] > 0)
        return self.seen["reward"], terminated, self.age >= s.limit
