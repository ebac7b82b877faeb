"""Derived: all that follows from one Mechanism, shared by every verb, simulation, analysis, report and command.

Trees and constraints are handed out as copies in a Graph of their own (`symbolic/expr/fork.py`): whoever writes
equations into one sees the same nodes, in the same order, whatever was written before. Partitions, Branches and Systems
are frozen, and the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from symbody.basics.errors import ModelError
from symbody.basics.memory import MOST, memory_of
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.formalisms.tree import Tree, build_tree
from symbody.mechanics.loops.partition.branches import Branch, branch_of, with_others
from symbody.mechanics.loops.partition.counted import cheapest_partition
from symbody.mechanics.loops.partition.partition import Partition, choose_partition
from symbody.mechanics.memoised.loaded import LoadedTree, loaded, with_constraints
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.system.system import System

T = TypeVar("T")

FEW = 16  # positions whose branches are kept


@dataclass(frozen=True, eq=False)
class _Master:
    """What copies are taken of, with the number of its nodes: none that is written later is copied."""

    made: LoadedTree
    size: int


def _master(made: LoadedTree) -> _Master:
    return _Master(made, made.tree.graph.size)


class Derived:
    """What follows from a Mechanism. Reached by `derived_of`."""

    def __init__(self, mech: Mechanism) -> None:
        self.mech = mech
        self._memory = memory_of(mech)

    def get(self, kind: str, key: Hashable, make: Callable[[], T], most: int = MOST) -> T:
        """Anything else, made once: see `Memory`. The key holds all that it depends on besides the Mechanism."""
        return self._memory.get(kind, key, make, most)

    # -- records to write in: each call gives a copy in a Graph of its own

    def tree(self, parameters: str = "setup", kept: Sequence[str] = ()) -> Tree:
        """The Tree without force elements; arguments as in `build_tree`."""
        return self._forked(self._tree(parameters, tuple(kept))).tree

    def loaded(self, parameters: str = "setup", wrenches: Sequence[str] = (), kept: Sequence[str] = ()) -> LoadedTree:
        """The Tree with force elements, and wrenches from outside on bodies."""
        return self._forked(self._loaded(parameters, tuple(wrenches), tuple(kept)))

    def closed(self, parameters: str = "setup", wrenches: Sequence[str] = (), kept: Sequence[str] = ()) -> LoadedTree:
        """The loaded Tree with the constraints of the loops."""
        return self._forked(self._closed(parameters, tuple(wrenches), tuple(kept)))

    def fresh_constraints(self) -> Constraints:
        """The constraints of the loops, to write equations about them."""
        found = self.closed().constraints
        assert found is not None
        return found

    def _forked(self, master: _Master) -> LoadedTree:
        return master.made.forked(master.size)

    def _tree(self, parameters: str, kept: tuple[str, ...]) -> _Master:
        if parameters not in ("setup", "runtime"):
            build_tree(self.mech, parameters)  # refuses it

        def make() -> _Master:
            with quiet_collector():
                return _master(LoadedTree(build_tree(self.mech, parameters, kept)))

        return self.get("tree", (parameters, kept), make)

    def _loaded(self, parameters: str, wrenches: tuple[str, ...], kept: tuple[str, ...]) -> _Master:
        plain = self._tree(parameters, kept)
        if not self.mech.forces and not wrenches:
            return plain
        return self.get(
            "loaded", (parameters, wrenches, kept), lambda: _master(loaded(self._forked(plain).tree, wrenches))
        )

    def _closed(self, parameters: str, wrenches: tuple[str, ...], kept: tuple[str, ...]) -> _Master:
        return self.get(
            "closed",
            (parameters, wrenches, kept),
            lambda: _master(with_constraints(self._forked(self._loaded(parameters, wrenches, kept)))),
        )

    # -- records to read, the same for all

    def constraints(self) -> Constraints:
        """The constraints of the loops, for their numbers and names; to write equations take `fresh_constraints`."""
        found = self._closed("setup", (), ()).made.constraints
        assert found is not None
        return found

    def branch(self) -> Branch | None:
        """The Branch of the assembled position with all loops closed that are not switched; None without numbers for
        the parameters."""

        def make() -> Branch | None:
            found = self.constraints()
            try:
                Numeric(found)
            except ModelError:
                return None
            return branch_of(found)

        return self.get("branch", (), make)

    def independent_rows(self, chosen: Partition | None = None) -> list[int]:
        """Rows of the constraints without those that a Partition leaves out as redundant; or that are redundant on the
        branch of the assembled position, where none is given."""
        branch = self.branch() if chosen is None else chosen
        redundant = set() if branch is None else set(branch.redundant)
        return [i for i in range(len(self.constraints().rows)) if i not in redundant]

    def branch_at(
        self, q: np.ndarray, parameters: Mapping[str, float] | None, closed: Sequence[str], time: float
    ) -> Branch:
        """The Branch of a position q (nq,), without a look at others; closed: switched loops that are closed there."""
        q = np.asarray(q, dtype=float)
        key = (q.tobytes(), numbers_key(parameters), tuple(sorted(closed)), time)
        found = self.constraints()
        return self.get("branch_at", key, lambda: branch_of(found, q, parameters, closed, time=time, others=False), FEW)

    def _branch_from(self, q: np.ndarray, parameters: Mapping[str, float] | None, time: float) -> Branch | None:
        """The Branch of q with a look at others; None without numbers for the parameters."""

        def make() -> Branch | None:
            try:
                Numeric(self.constraints(), parameters, time)
            except ModelError:
                return None
            return with_others(self.branch_at(q, parameters, (), time))

        return self.get("branch_from", (q.tobytes(), numbers_key(parameters), time), make, FEW)

    def partition(self, wanted: str | Sequence[str] = "auto") -> Partition:
        """The Partition of the Mechanism, the same for every verb, on the branch of its assembled position.

        "auto" counts the programs for forward dynamics of the best choices by predicted operations, and of the one by
        structure ("heuristic"); how many depends on the size of the mechanism.
        """

        def make() -> Partition:
            found, branch = self.fresh_constraints(), self.branch()
            if wanted == "auto":
                return cheapest_partition(found, branch=branch)
            return choose_partition(found, wanted, branch=branch)

        return self.get("partition", _names(wanted), make)

    def partition_on(
        self,
        branch: Branch,
        q: np.ndarray,
        wanted: str | Sequence[str],
        parameters: Mapping[str, float] | None,
        time: float,
    ) -> Partition:
        """A Partition for another branch, that of the position q with these numbers for the parameters.

        It is the same for all positions of the branch: the first that was asked for chooses it.
        """
        key = (_names(wanted), branch.rank, branch.redundant, branch.turned, numbers_key(parameters))
        return self.get("partition_on", key, lambda: self.partition_from(q, wanted, parameters, time))

    def partition_from(
        self, q: np.ndarray, wanted: str | Sequence[str], parameters: Mapping[str, float] | None, time: float = 0.0
    ) -> Partition:
        """A Partition chosen at the closed position q (nq,): rows and pivots are good there."""
        q = np.asarray(q, dtype=float)

        def make() -> Partition:
            found, branch = self.fresh_constraints(), self._branch_from(q, parameters, time)
            if wanted == "auto":
                return cheapest_partition(found, q=q, parameters=parameters, time=time, branch=branch)
            return choose_partition(found, wanted, q=q, parameters=parameters, time=time, branch=branch)

        return self.get("partition_from", (_names(wanted), q.tobytes(), numbers_key(parameters), time), make, FEW)

    def system(self, key: Hashable, make: Callable[[], System]) -> System:
        """A System by its key: the verb with all its arguments."""
        return self.get("system", key, make)


def derived_of(mech: Mechanism) -> Derived:
    """The one Derived of a Mechanism: made at the first call, freed with the Mechanism."""
    if not isinstance(mech, Mechanism):
        raise ModelError(f"a Mechanism was expected, {mech!r} given. Load it first: sb.load(name_or_path).")
    return memory_of(mech).get("derived", (), lambda: Derived(mech))


def _names(wanted: str | Sequence[str]) -> Hashable:
    return wanted if isinstance(wanted, str) else tuple(wanted)


def numbers_key(parameters: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    """Numbers given for parameters, as part of a key."""
    return tuple(sorted((n, float(v)) for n, v in (parameters or {}).items()))


def options_key(options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Options of a verb as part of a key: lists of names as tuples, records by identity."""
    return tuple((n, _option(v)) for n, v in sorted(options.items()))


def _option(value: Any) -> Any:
    """Names in any order of containers; 1, 1.0 and True are different numbers to an expression."""
    return tuple(value) if isinstance(value, (list, tuple)) else (type(value), value)
