"""What a call of a Kernel cannot use is refused in a sentence, by every target alike."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import combinations

import llvmlite.binding as llvm
import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError
from symbody.codegen.kernel import kernel_arrays as arguments
from symbody.codegen.kernel.passport import Kernel
from symbody.codegen.kernel.threads import run_ranges

HUGE = 10**12
STATE = [0.1, 0.2]


@pytest.fixture(scope="module", params=["native", "python", "c"])
def kernel(request) -> Kernel:
    return sb.semi_explicit(sb.load("pendulum2")).compile(request.param)


def test_results_need_arrays_of_their_own(kernel):
    room = np.zeros(6)
    with pytest.raises(ShapeError, match="'M' and for 'c' share memory"):
        kernel(STATE, STATE, out=[room[:4].reshape(2, 2), room[:2]])
    side_by_side = np.zeros((2, 3))  # one begins inside the other, and no element is in both
    mass, bias = kernel(STATE, STATE, out=[side_by_side[:, :2], side_by_side[:, 2]])
    expected = kernel(STATE, STATE)
    assert np.array_equal(mass, expected.M)
    assert np.array_equal(bias, expected.c)


def test_shared_memory_is_found_as_by_comparing_all_pairs():
    random = np.random.default_rng(3)
    room = np.zeros((12, 9))
    for _ in range(300):
        views = []
        for k in range(4):
            a, b = np.sort(random.integers(0, 13, 2)), np.sort(random.integers(0, 10, 2))
            view = room[slice(*a), slice(*b)][:: random.choice([-2, -1, 1, 2]), :: random.choice([-1, 1, 3])]
            views.append((str(k), view))
        expected = any(np.shares_memory(a, b) for (_, a), (_, b) in combinations(views, 2))
        assert (arguments.shared([v for v in views if v[1].size]) is not None) == expected


def test_results_side_by_side_are_not_compared_in_pairs(monkeypatch):
    """48 results in one buffer took three times as long as the call itself."""
    compared = []
    monkeypatch.setattr(arguments, "_overlap", lambda a, b: compared.append((a, b)))
    names = [f"f{k}" for k in range(48)]
    arguments.targets_of(names, list(np.zeros((48, 3))))
    assert not compared


@pytest.mark.parametrize("out", [0.5, abs, object(), {0.1, 0.2}])
def test_results_go_to_arrays(kernel, out):
    with pytest.raises(ShapeError, match=r"out is a \w+; expected an array, or a list or mapping of arrays"):
        kernel(STATE, STATE, out=out)


@pytest.mark.parametrize("dtype", ["f4", "i8", "M8[s]"])
def test_results_are_not_rounded_into_what_is_too_small(kernel, dtype):
    with pytest.raises(ShapeError, match=r"type .*; expected (a )?float64"):
        kernel(STATE, STATE, out={"c": np.zeros(2, dtype)})


@pytest.mark.parametrize("name", ["threads", "lanes"])
@pytest.mark.parametrize("value", [0, -1, 2.7, True, "2", float("nan"), np.ones(2), int])
def test_threads_and_lanes_are_whole_numbers(kernel, name, value):
    with pytest.raises(DefinitionError, match=f"{name}=.*expected a whole number from 1"):
        kernel(np.zeros((100, 2)), STATE, **{name: value})


def test_names_are_texts(kernel):
    with pytest.raises(NameLookupError, match="no parameter '1'"):
        kernel(STATE, STATE, parameters={1: 0.5})
    with pytest.raises(NameLookupError, match="no output '1'"):
        kernel(STATE, STATE, out={1: np.zeros(2)})


def test_masked_elements_are_no_numbers(kernel):
    given = np.ma.array(STATE, mask=[False, True])
    with pytest.raises(ShapeError, match="'q' has masked elements"):
        kernel(given, STATE)
    assert np.array_equal(kernel(given.filled(0.2), STATE).M, kernel(STATE, STATE).M)


@pytest.mark.parametrize("one", [np.float64(0.5), np.float32(0.5), 1, True, None])
def test_views_that_no_memory_holds_are_refused(kernel, one):
    wide = np.lib.stride_tricks.as_strided(np.array(one), (HUGE, 2), (0, 0))
    for given in ((wide, STATE), (STATE, wide)):
        with pytest.raises(ShapeError, match=r"memory|native code takes real floats"):
            kernel(*given)
    with pytest.raises(ShapeError, match=r"memory|native code takes real floats"):
        kernel(STATE, STATE, parameters={"m1": wide[:, 0]})


def test_numbers_beyond_all_doubles_and_all_dimensions(kernel):
    with pytest.raises(sb.SymbodyError):
        kernel([10**400, 1], STATE)
    with pytest.raises(ShapeError, match="62 dimensions; expected at most 32"):
        kernel(np.zeros((1,) * 61 + (2,)), STATE)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="interrupts the main thread after a time")
def test_an_interrupt_waits_for_the_threads():
    """They write to arrays that are freed when the call has ended."""
    running = []

    def share(begin: int, end: int) -> None:
        running.append(begin)
        if begin:
            time.sleep(0.3)
        running.remove(begin)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_ranges(share, 1000, 1, 4)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not running


def test_a_thread_that_outlives_the_main_one_still_gets_its_results():
    script = """
import threading, numpy as np, symbody as sb
x = sb.symbols("x")
kernel = sb.System("s", {"x": x}, {"f": 2 * x}).compile()
def late():
    main.join()
    print(kernel(np.ones(1000), threads=2).sum())
main = threading.main_thread()
threading.Thread(target=late).start()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "2000.0", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_process_may_fork_where_llvmlite_has_no_lock():
    """It is none that llvmlite tells others of: where it was missing, whatever was compiled after a fork waited."""
    script = """
import os, signal
import llvmlite.binding as llvm
class Renamed:
    def __init__(self, lib): self.lib = lib
    def __getattr__(self, name):
        if name == "_lock": raise AttributeError(name)
        return getattr(self.lib, name)
llvm.ffi.lib = Renamed(llvm.ffi.lib)
import symbody as sb
x = sb.symbols("x")
system = sb.System("s", {"x": x}, {"f": 2 * x})
system.compile()
child = os.fork()
signal.alarm(20)  # ends those that wait
print(system.compile()(1.5), flush=True)
if not child: os._exit(0)
os.waitpid(child, 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["3.0", "3.0"], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_of_a_process_that_compiles_can_compile():
    """The lock of LLVM is held by a thread that the child does not have."""
    held = threading.Event()

    def compiling() -> None:
        with llvm.ffi.lib._lock:
            held.set()
            time.sleep(0.3)

    x = sb.symbols("x")
    system = sb.System("s", {"x": x}, {"f": sb.sin(x)})
    system.compile()
    thread = threading.Thread(target=compiling)
    thread.start()
    assert held.wait(10)
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits
        os._exit(int(system.compile(cache=False)(0.5) != math.sin(0.5)))
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
