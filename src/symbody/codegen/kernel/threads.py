"""A range of states shared among threads; native code runs without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from symbody.basics.errors import whole_argument

# Starting a thread's share costs some 50 us: not worth it for fewer operations times states (0.1 ms of vector code).
SHARE = 2_000_000
# Shares begin at multiples of it, so that vectors are full.
GRAIN = 64

_pool: ThreadPoolExecutor | None = None
CORES = os.cpu_count() or 1  # asked once: on some systems that takes as long as a short call


def run_ranges(call: Callable[[int, int], None], states: int, operations: int, threads: int | None) -> None:
    """`call(begin, end)` over ranges that cover 0 .. states, on at most `threads` threads (None: all cores)."""
    if states <= GRAIN:
        if threads is not None:
            check_threads(threads)
        call(0, states)
        return
    limit = CORES if threads is None else check_threads(threads)
    count = min(limit, states * max(operations, 1) // SHARE, -(-states // GRAIN)) if threads is None else limit
    if count <= 1:
        call(0, states)
        return
    size = -(-states // (count * GRAIN)) * GRAIN
    ranges = [(b, min(b + size, states)) for b in range(0, states, size)]
    pool = _executor()
    waiting: list[Future[None]] = []
    try:
        for b, e in ranges[1:]:
            try:
                waiting.append(pool.submit(call, b, e))
            except RuntimeError:  # the main thread has ended, and no pool takes work any more
                call(b, e)
        call(*ranges[0])
    finally:
        _await(waiting)
    for failure in (f.exception() for f in waiting):
        if failure is not None:
            raise failure


def _await(waiting: list[Future[None]]) -> None:
    """Until the last thread is done, also where the user interrupts: the caller frees what they write to."""
    interrupt = None
    while True:
        try:
            wait(waiting)
            break
        except KeyboardInterrupt as error:
            interrupt = error
            for future in waiting:
                future.cancel()  # those that no thread has begun
    if interrupt is not None:
        raise interrupt


def check_threads(threads: Any) -> int:
    """A number of threads, a whole one from 1."""
    return whole_argument("threads", threads, 1, ", or None for all cores")


def _executor() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=CORES, thread_name_prefix="symbody")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # threads do not survive a fork
