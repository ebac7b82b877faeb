"""Mechanism -> Flow: coordinates, velocities and internal states with their rates, driven joints, projections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.basics.memory import memory_of
from symbody.mechanics.formalisms.frame_kinematics import kinematic_map, normalised
from symbody.mechanics.formalisms.prescribed import prescribed
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.loops.partition.measures import watched
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.dynamics import inverse_dynamics
from symbody.model.record.coordinates import (
    neutral,
)
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.chosen_dynamics import flow_dynamics, partition_key
from symbody.motion.flow.coordinate_labels import labels_of, units_of
from symbody.motion.flow.dry_friction import SLOW, with_slope
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_treatment import Augmented
from symbody.motion.flow.recorded_quantities import Quantities, recorded
from symbody.symbolic.expr.arrays import Array, matmul, scalar_array, symbols_in
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System


def mechanism_flow(
    mech: Mechanism,
    formalism: str | None = None,
    outputs: Any = None,
    balance: bool = False,
    partition: Any = "auto",
    slow: float = SLOW,
) -> Flow:
    """States q, qd and those of force elements; signals tau and the other inputs of `sb.forward_dynamics`.

    formalism   of `sb.forward_dynamics`; None: the shipped choice of a bundled model, else the smaller of "base" and
                "order_n"
    outputs     what to record besides states, inputs and qdd; see `quantities`
    balance     whether implicit methods will ask for the equations in their unsolved form
    partition   of the velocities of closed loops, see `sb.forward_dynamics`; or Augmented
    slow        speed below which the dry friction of joints falls off, see `dry_friction`

    Driven joints follow their law of time exactly: law, law' and law'' stand in the equations instead of the states.
    """
    if mech.nv == 0:
        raise ModelError(f"{mech.name} has no joint that moves; there is nothing to simulate.")
    dynamics = flow_dynamics(mech, formalism, partition)
    balance = balance and not (mech.cuts or mech.couplings)
    key = (formalism, _key(outputs), balance, partition_key(partition), slow)
    return derived_of(mech).get("flow", key, lambda: _Building(mech, dynamics, partition, slow).flow(outputs, balance))


def _key(outputs: Any) -> Any:
    if isinstance(outputs, Mapping):
        return tuple((n, v if isinstance(v, (str, Node)) else str(v)) for n, v in outputs.items())
    return tuple(map(str, outputs)) if isinstance(outputs, (list, tuple, set)) else outputs


class _Building:
    """One Flow on its way: everything stands in one new Graph."""

    def __init__(self, mech: Mechanism, dynamics: System, partition: Any, slow: float) -> None:
        self.mech = mech
        # multipliers of all loops, instead of joints that are solved for
        self.whole = bool(mech.cuts or mech.couplings) and "partition" not in dynamics.origins
        self.partition = Augmented() if self.whole and not isinstance(partition, Augmented) else partition
        self.slow = slow
        dynamics = with_slope(mech, dynamics, slow)
        self.dynamics = dynamics
        self.graph = Graph(mech.name)
        copy = {n: symbols_in(self.graph, a) for n, a in dynamics.inputs.items()}
        self.states = {n: copy.pop(n) for n in ("q", "qd", *dynamics.states)}
        self.t = copy.pop("t", scalar_array(self.graph.symbol("t", "time", unit="s")))
        copy.pop("qdd_driven", None)
        self.signals = copy
        self.inputs = {**self.states, "t": self.t, **self.signals}
        # what the equations read: the laws of time instead of the states of driven joints
        self.q, self.qd = self.states["q"].copy(), self.states["qd"].copy()
        self.driven_q, self.driven_qd, self.given = self._driven()

    # -- driven joints

    def _driven(self) -> tuple[dict[int, Node], dict[int, Node], list[Node]]:
        """Laws of driven coordinates and of velocities by place; accelerations in the order of qdd_driven."""
        positions: dict[int, Node] = {}
        speeds: dict[int, Node] = {}
        accelerations: list[Node] = []
        for slot in self.mech.slots:
            joint, iq, iv = slot.joint, slot.iq, slot.iv
            if joint is not None and joint.mode == "driven":
                time = {s: self.t.item() for s in _time_symbols(joint.values)}
                motion = prescribed(joint, transplant(joint.values, time, self.graph))
                for k, law in enumerate(motion.q):
                    self.q[iq + k] = positions[iq + k] = law
                for k, rate in enumerate(motion.qd):
                    self.qd[iv + k] = speeds[iv + k] = rate
                accelerations += motion.qdd
        return positions, speeds, accelerations

    # -- the parts

    def flow(self, outputs: Any, balance: bool) -> Flow:
        mech, dynamics = self.mech, self.dynamics
        given: dict[str, Any] = {**self.inputs, "q": self.q, "qd": self.qd}
        if "qdd_driven" in dynamics.inputs:
            given["qdd_driven"] = np.array(self.given, dtype=object)
        found = _outputs(dynamics, {n: given[n] for n in dynamics.inputs})
        rates = {"q_dot": self._rate_of_q(), "qd_dot": found["qdd"]}
        rates.update({f"{n}_dot": found[dynamics.states[n]] for n in dynamics.states})
        name = identifier(mech.name)
        states = {n: f"{n}_dot" for n in self.states}
        inputs = {**self.inputs, "q": self.q, "qd": self.qd}
        known = Quantities(mech, self.graph, inputs, dynamics, self.partition, self.slow)
        record = recorded(known, None)
        labels, units = labels_of(mech), units_of(mech)
        project = self._project()
        happens, directions = known.events()
        unsolved = self._balance(known) if balance else None
        impact = self._impact(labels, units) if self.whole else None
        watch = self._watch(labels, units) if mech.cuts or mech.couplings else None
        if outputs is not None:  # after all that moves: the order of terms, and so their rounding, is that of making
            record = recorded(known, outputs)
        qdd = {"qdd": known.qdd} if record.reads_qdd else {}
        for n, quantity in record.chosen.items():
            labels.setdefault(n, quantity.labels)
            units.setdefault(n, quantity.unit)
        units.update({n: u for n, u in dynamics.units.items() if n not in units})
        return Flow(
            System(f"{name}_rates", inputs=self.inputs, outputs=rates, states=states),
            project=System(f"{name}_project", inputs=self.inputs, outputs=project) if project else None,
            record=System(
                f"{name}_record",
                inputs={**self.inputs, **qdd},
                outputs={n: quantity.nodes for n, quantity in record.chosen.items()},
            )
            if record.chosen
            else None,
            events=System(
                f"{name}_events",
                inputs=self.inputs,
                outputs=happens,
                modes={f"{n}.direction": way for n, way in directions.items()},
            )
            if happens
            else None,
            second=(("q", "qd"),),
            labels=labels,
            units=units,
            rated={"qdd": "qd_dot"},
            start={"q": neutral(mech), **_closed_switches(mech), **self._element_starts()},
            prescribed={"q": tuple(self.driven_q), "qd": tuple(self.driven_qd)} if self.driven_q else {},
            balance=unsolved,
            impact=impact,
            watch=watch,
            name=mech.name,
        )

    def _element_starts(self) -> dict[str, np.ndarray]:
        """Initial values of states and modes of force elements that do not start at zero."""
        names = [*self.dynamics.states, *(n for n in self.dynamics.modes if n in self.dynamics.inputs)]
        starts = {n: self.dynamics.inputs[n].item().data.default for n in names}
        return {n: np.array(float(x)) for n, x in starts.items() if x}

    def _balance(self, known: Quantities) -> System:
        """M qdd + c - tau, by inverse dynamics."""
        inverse = with_slope(self.mech, inverse_dynamics(self.mech, "base"), self.slow)
        given = {**self.inputs, "q": self.q, "qd": self.qd, "qdd": known.qdd}
        found = _outputs(inverse, {n: given[n] for n in inverse.inputs})["tau"]
        residual = found - self.signals["tau"]
        inputs = {**self.inputs, "qdd": known.qdd}
        return System(f"{identifier(self.mech.name)}_balance", inputs=inputs, outputs={"residual": residual})

    def _rate_of_q(self) -> Array:
        """N(q) qd, with what is driven by its law."""
        tree = derived_of(self.mech).tree()
        n = _carried(kinematic_map(tree), tree, self.q, self.graph)
        return matmul(n, self.qd)

    def _project(self) -> dict[str, Array]:
        """States corrected after a step: unit quaternions, closed loops, driven joints; {} if nothing needs it."""
        mech = self.mech
        q, qd = self.states["q"], self.states["qd"]
        out: dict[str, Array] = {}
        if mech.nq != mech.nv:
            tree = derived_of(mech).tree()
            q = out["q"] = _carried(normalised(tree, tree.q), tree, q, self.graph)
        if self.driven_q:
            q, qd = q.copy(), qd.copy()
            for k, law in self.driven_q.items():
                q[k] = law
            for k, law in self.driven_qd.items():
                qd[k] = law
            out.update(q=q, qd=qd)
        if mech.cuts or mech.couplings:
            out.update(self._closed(q, qd))
        return {**self.states, **out} if out else {}

    def _closed(self, q: Array, qd: Array) -> dict[str, Array]:
        """Coordinates and velocities that satisfy the loops."""
        from symbody.mechanics.verbs.closed_dynamics import closure, projection

        if isinstance(self.partition, Augmented):
            if not self.partition.projects:
                return {}
            system = projection(self.mech, partition=self.partition.branch or "auto")
        else:
            system = closure(self.mech, self.partition)
        given = {**self.inputs, "q": q, "qd": qd}
        found = _outputs(system, {n: given[n] for n in system.inputs})
        return {n: found[n] for n in ("q", "qd") if n in found}

    def _watch(self, labels: dict[str, Any], units: dict[str, Any]) -> System:
        """What closed loops are watched by; labels and units of its rows are added."""
        from symbody.mechanics.loops.partition.partition import Partition

        derived = derived_of(self.mech)
        found = derived.fresh_constraints()
        chosen = kept = None
        if not self.whole:
            wanted: Any = self.partition
            chosen = wanted if isinstance(wanted, Partition) else derived.partition(wanted)
        elif not any(row.switch is not None for row in found.rows):
            kept = derived.independent_rows(self.partition.branch)
        system = watched(found, chosen, kept)
        given = {**self.inputs, "q": self.q, "qd": self.qd}
        outputs = _outputs(system, {n: given[n] for n in system.inputs})
        labels["watch"] = tuple(row.loop for row in found.rows) or ("",)
        units["watch"] = tuple("m" if row.unit == "m^2" else row.unit for row in found.rows) or ("",)
        return System(f"{identifier(self.mech.name)}_watch", inputs=self.inputs, outputs=outputs)

    def _impact(self, labels: dict[str, Any], units: dict[str, Any]) -> System:
        """What the closing of loops follows from; labels and units of its gaps are added."""
        from symbody.mechanics.verbs.closed_dynamics import impact

        system = impact(self.mech)
        given = {**self.inputs, "q": self.q, "qd": self.qd}
        outputs = _outputs(system, {n: given[n] for n in system.inputs})
        rows = derived_of(self.mech).constraints().rows
        labels["gap"] = tuple(row.loop for row in rows)
        units["gap"] = tuple("m" if row.unit == "m^2" else row.unit for row in rows)
        return System(f"{identifier(self.mech.name)}_impact", inputs=self.inputs, outputs=outputs)


class _Formula(_Building):
    """The projection of a Flow with multipliers on its own symbols, as a formula. branch: whose rows it keeps."""

    def __init__(self, mech: Mechanism, flow: Flow, branch: Any) -> None:
        assert flow.project is not None
        self.mech, self.graph, self.branch = mech, flow.project.graph, branch
        self.inputs = dict(flow.project.inputs)
        self.states = {n: self.inputs[n] for n in flow.states}
        self.t = self.inputs["t"]
        self.closed_for_good = {n: a for n, a in flow.start.items() if n not in self.inputs}
        self.q, self.qd = self.states["q"].copy(), self.states["qd"].copy()
        self.driven_q, self.driven_qd, self.given = self._driven()

    def _closed(self, q: Array, qd: Array) -> dict[str, Array]:
        from symbody.mechanics.verbs.closed_dynamics import projection_formula

        system = projection_formula(self.mech, partition=self.branch or "auto")
        given = {**self.closed_for_good, **self.inputs, "q": q, "qd": qd}
        return _outputs(system, {n: given[n] for n in system.inputs})


def projection_written_out(mech: Mechanism, flow: Flow, branch: Any) -> Flow:
    """A Flow with multipliers whose projection is a formula, which can be differentiated.

    branch: Partition whose redundant rows are left out; None: that of the assembled position
    """

    def make() -> Flow:
        assert flow.project is not None
        outputs = _Formula(mech, flow, branch)._project()
        return flow.replace(project=System(f"{flow.project.name}_formula", flow.project.inputs, outputs))

    return memory_of(flow).get("projection_written_out", (branch,), make)


def _outputs(system: System, given: Mapping[str, Any]) -> dict[str, Array]:
    """`System.apply` with its outputs always by name."""
    found = system.apply(**given)
    if len(system.outputs) == 1:
        found = {next(iter(system.outputs)): found}
    return {n: np.asarray(a, dtype=object) if isinstance(a, np.ndarray) else scalar_array(a) for n, a in found.items()}


def _carried(values: Array, tree: Tree, q: Array, graph: Graph) -> Array:
    """Expressions of a Tree's coordinates as expressions of q."""
    nodes = [x if isinstance(x, Node) else tree.graph.number(x) for x in values.flat]
    out = np.empty(values.shape, dtype=object)
    for i, node in enumerate(transplant(nodes, dict(zip(tree.q, q)), graph)):
        out.flat[i] = node
    return out


def _time_symbols(nodes: Sequence[Node]) -> list[Node]:
    return [s for s in free_symbols(nodes) if s.data.role == "time"]


# -- defaults


def _closed_switches(mech: Mechanism) -> dict[str, np.ndarray]:
    """Loops that may open are closed unless an input says otherwise."""
    pieces: Sequence[Any] = (*mech.cuts, *mech.couplings)
    return {f"s_{p.name}": np.ones(()) for p in pieces if p.switched}
