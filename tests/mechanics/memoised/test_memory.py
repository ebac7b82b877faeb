"""One memory: what follows from a record is made once, shared, freed with it, and never depends on what came before."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import symbody as sb
from helpers.simulation_models import crank
from symbody.basics.memory import Memory, memory_of
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.partition.branches import branch_of
from symbody.mechanics.loops.partition.counted import cheapest_partition
from symbody.mechanics.loops.partition.partition import choose_partition
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.closed_problem import closed_problem
from symbody.mechanics.verbs.problem import problem_of
from symbody.symbolic.system.save import fingerprint

WATCHED: tuple[Callable[..., Any], ...] = (
    build_tree, constraints, branch_of, cheapest_partition, choose_partition, kernel_of,
)  # fmt: skip


@contextmanager
def calls() -> Iterator[Counter[str]]:
    """Counts the calls of the functions in WATCHED."""
    codes = {f.__code__: f.__name__ for f in WATCHED}
    found: Counter[str] = Counter()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in codes:
            found[codes[frame.f_code]] += 1

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def all_verbs(mech: sb.Mechanism) -> None:
    """Many verbs, in an order that no other test uses."""
    sb.energy(mech)
    sb.inverse_dynamics(mech, "newton_euler")
    sb.kinematics(mech, loops=False)
    sb.semi_explicit(mech, "base")
    sb.linearize(mech)


# -- once


def test_a_closed_mechanism_is_taken_apart_once_for_simulation_verbs_and_report(tmp_path):
    mech = sb.load("four_bar")
    with calls() as found:
        trajectory = sb.simulate(mech, 0.1, q0={"crank": 0.4})
        all_verbs(mech)
        sb.write_report(mech, tmp_path / "report.html", trajectory, formalisms=("base",), animation=False)
        sb.simulate(mech, 0.2, q0={"crank": 0.5})
    once = {name: found[name] for name in ("build_tree", "constraints", "branch_of", "cheapest_partition")}
    assert once == dict.fromkeys(once, 1)


def test_the_branch_of_a_start_is_searched_once():
    mech = sb.load("bricard")
    q = sb.assemble(mech)
    derived = derived_of(mech)
    with calls() as found:
        first = derived.branch_at(q, {}, (), 0.0)
        assert derived.branch_at(q.copy(), None, (), 0.0) is first
        assert derived.branch() is derived.branch()
    assert found["branch_of"] == 2


@pytest.mark.parametrize("name", ["pendulum2", "slider_crank"])
def test_a_verb_gives_the_same_system_again(name):
    mech = sb.load(name)
    made = sb.forward_dynamics(mech, "base")
    assert sb.forward_dynamics(mech, "base") is made
    assert sb.forward_dynamics(mech, "newton_euler") is not made
    assert sb.forward_dynamics(mech, "base", parameters="runtime") is not made
    assert sb.energy(mech) is sb.energy(mech)
    assert kernel_of(made) is kernel_of(made)
    assert kernel_of(made, "python") is not kernel_of(made)


def test_what_fails_fails_again_with_the_same_sentence():
    mech = sb.load("four_bar")
    told = []
    for _ in range(2):
        with pytest.raises(sb.SymbodyError) as error:
            sb.forward_dynamics(mech, "base", partition=["no_such_joint"])
        told.append(str(error.value))
    assert told[0] == told[1]


def test_the_oldest_value_of_a_kind_gives_way():
    memory, made = Memory(0), []

    def get(key: int) -> int:
        return memory.get("square", key, lambda: made.append(key) or key * key, most=2)

    assert [get(k) for k in (1, 2, 2, 3, 3, 2)] == [1, 4, 4, 9, 9, 4]
    assert made == [1, 2, 3]
    assert get(1) == 1
    assert made == [1, 2, 3, 1]


# -- parameters are part of keys


def test_a_partition_belongs_to_the_numbers_that_it_was_chosen_with():
    mech = sb.load("four_bar")
    q = sb.assemble(mech, {"crank": 0.3})
    derived = derived_of(mech)
    name = next(iter(mech.parameters))
    value = mech.parameters[name].data.default
    plain = derived.partition_from(q, ["crank"], None)
    assert derived.partition_from(q, ["crank"], {}) is plain
    assert derived.partition_from(q, ["crank"], {name: 1.01 * value}) is not plain
    assert derived.branch_at(q, {name: 1.01 * value}, (), 0.0) is not derived.branch_at(q, {}, (), 0.0)


def test_runs_with_other_parameters_do_not_see_each_other():
    def length(mech: sb.Mechanism, **given: float) -> np.ndarray:
        return sb.simulate(mech, 0.05, step=0.01, q0={"crank": 0.4}, parameters=given).values["q"]

    mech = sb.load("four_bar")
    name = next(n for n, s in mech.parameters.items() if s.data.unit == "m")
    longer = 1.001 * mech.parameters[name].data.default
    alone = length(sb.load("four_bar"), **{name: longer})
    before = length(mech)
    np.testing.assert_array_equal(length(mech, **{name: longer}), alone)
    np.testing.assert_array_equal(length(mech), before)
    assert not np.array_equal(before, alone)


# -- freed


@pytest.mark.parametrize("name", ["pendulum2", "four_bar"])
def test_all_that_was_derived_is_freed_with_the_mechanism(name):
    mech = sb.load(name)
    sb.simulate(mech, 0.05)
    all_verbs(mech)
    parts = [mech, derived_of(mech), derived_of(mech).partition() if mech.cuts else sb.energy(mech)]
    refs = [weakref.ref(x) for x in parts]
    del mech, parts
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3


def test_a_copy_of_a_mechanism_derives_its_own():
    mech = sb.load("four_bar")
    system = sb.energy(mech)
    for twin in (copy.copy(mech), copy.deepcopy(mech), pickle.loads(pickle.dumps(mech))):
        assert derived_of(twin) is not derived_of(mech)
        assert derived_of(twin).constraints().tree.mechanism is twin
        assert fingerprint(sb.energy(twin)) == fingerprint(system)
    assert sb.energy(mech) is system


# -- threads


def test_two_threads_get_one_result():
    mech = sb.load("four_bar")
    found: list[Any] = []
    start = threading.Barrier(4)

    def work(k: int) -> None:
        start.wait()
        verbs = [lambda: sb.forward_dynamics(mech, "base"), lambda: sb.energy(mech), lambda: memory_of(mech)]
        found.append({j: verbs[j]() for j in ((k + i) % 3 for i in range(3))})

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    with calls() as _:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(found) == 4
    assert all(one[j] is found[0][j] for one in found for j in range(3))
    alone = sb.forward_dynamics(sb.load("four_bar"), "base")
    assert fingerprint(found[0][0]) == fingerprint(alone)


# -- history


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "satellite_arm"])
def test_programs_do_not_depend_on_what_was_made_before(name):
    mech, fresh = sb.load(name), sb.load(name)
    all_verbs(mech)
    for verb in (sb.forward_dynamics, sb.inverse_dynamics, sb.semi_explicit):
        assert fingerprint(verb(mech, "base")) == fingerprint(verb(fresh, "base"))
    assert fingerprint(sb.reactions(mech)) == fingerprint(sb.reactions(sb.load(name)))


RUN = """
import json, symbody as sb
mech = sb.load("slider_crank")
run = sb.simulate(mech, 0.2, step=0.01, q0={mech.joints[0].name: 0.3}, outputs=["energy"])
print(json.dumps({n: v.tolist() for n, v in run.values.items()}))
"""


def test_a_run_after_other_verbs_is_that_of_a_fresh_process():
    mech = sb.load("slider_crank")
    all_verbs(mech)
    run = sb.simulate(mech, 0.2, step=0.01, q0={mech.joints[0].name: 0.3}, outputs=["energy"])
    path = os.pathsep.join(sys.path)
    told = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    for name, values in json.loads(told.stdout).items():
        np.testing.assert_array_equal(run.values[name], np.array(values), err_msg=name)


@pytest.mark.parametrize("make", [lambda: sb.load("four_bar"), crank])
def test_verbs_write_nothing_into_the_graph_of_a_mechanism(make):
    mech = make()
    size = len(mech.graph)
    sb.simulate(mech, 0.05, step=0.01)
    sb.forward_dynamics(mech, "base")
    sb.linearize(mech)
    sb.energy(mech)
    sb.equilibrium(mech)
    assert len(mech.graph) == size


def test_nothing_is_written_into_what_copies_are_taken_of():
    mech = sb.load("four_bar")
    found = derived_of(mech).constraints()
    size = len(found.tree.graph)
    sb.simulate(mech, 0.1, q0={"crank": 0.3})
    all_verbs(mech)
    assert len(found.tree.graph) == size


# -- records


def test_records_do_not_change():
    mech = sb.load("four_bar")
    for record, name in ((problem_of(mech), "inputs"), (closed_problem(mech), "wanted"), (problem_of(mech).tree, "q")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, name, None)
