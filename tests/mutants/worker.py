"""What happens in a process of its own: a copy of the sources is imported, its outputs compared, models certified."""

from __future__ import annotations

import gc
import json
import os
import pickle
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from mutants.outputs import CLOSED_COSTLY, COSTLY, Arrays, Point, differences, make_point, run_task, task_names
from mutants.panel import PANEL

MEMORY = 6 << 30  # bytes
MANY = 1000  # calls of a function after which its lines are known
CANDIDATES = 3  # programs that a search compares
FEW_COSTLY = 3  # models whose costly tasks are run, where the cheap ones show nothing


class TimeLimit(BaseException):
    """The processor time of a mutant is spent."""


@dataclass
class Baseline:
    """Of the unchanged sources: states, outputs and their lines, by model and task, and seconds of each certificate."""

    points: dict[str, Point]
    outputs: dict[str, dict[str, Arrays]]
    lines: dict[str, dict[str, dict[str, set[int]]]]  # model -> task -> file -> lines that ran
    certificates: dict[str, float]


def in_child(job: Callable[[], Any], source: Path, cache: Path, result: Path, seconds: float) -> int:
    """Fork, and run the job on the sources in `source`; its answer is written as JSON. Returns the process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.environ["XDG_CACHE_HOME"] = str(cache)
        for name in [n for n in sys.modules if n.split(".")[0] == "symbody"]:
            del sys.modules[name]
        sys.path.insert(0, str(source))
        sys.dont_write_bytecode = True
        limit = int(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
        room = _mapped() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        signal.signal(signal.SIGXCPU, _out_of_time)
        warnings.simplefilter("ignore")
        out = os.open(os.devnull, os.O_WRONLY)
        os.dup2(out, 1)
        os.dup2(out, 2)
        try:
            answer = job()
        except TimeLimit:
            answer = {"end": "time"}
        except MemoryError:
            answer = {"end": "memory"}
        if isinstance(answer, bytes):
            result.write_bytes(answer)
        else:
            result.write_text(json.dumps(answer))
        code = 0
    except BaseException:
        result.with_suffix(".log").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def _mapped() -> int:
    """Bytes of address space that the process began with: some libraries reserve much of it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0


def _out_of_time(signum: int, frame: FrameType | None) -> None:
    raise TimeLimit


def quicken() -> None:
    """Search less for the smallest program: it takes nine tenths of a certificate, and the judgement is the same."""
    from symbody.mechanics.verbs import closed_dynamics as loops
    from symbody.mechanics.verbs.smallest import quick

    assert min(quick.WORK, quick.MOST, quick.SEVERAL, loops.COUNTED, loops.FINALISTS) > 0
    quick.WORK, quick.MOST, quick.SEVERAL, loops.COUNTED, loops.FINALISTS = 1, CANDIDATES, 1, CANDIDATES, 1


# -- the unchanged sources


def baseline_of(model: str, folder: Path, tasks: Sequence[str] | None = None) -> bytes:
    """(states, task -> outputs, task -> file -> lines) of a model, pickled; of some tasks, or of all that it has."""
    mech = PANEL[model]()
    point = make_point(mech)
    outputs, lines = {}, {}
    for task in tasks or task_names(mech):
        fresh = PANEL[model]()
        tracer = Lines(folder)
        with tracer:
            outputs[task] = run_task(task, fresh, point)
        lines[task] = tracer.lines
    return pickle.dumps((point, outputs, lines))


class Lines:
    """Lines of the files below a folder that run while it is entered.

    A function is no longer watched when all its lines have run, or after MANY calls.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder) + "/"
        self.lines: dict[str, set[int]] = {}
        self.left: dict[CodeType, int] = {}  # calls that are still watched
        self.missing: dict[CodeType, set[int]] = {}

    def __enter__(self) -> Lines:
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        for code, missing in self.missing.items():
            name = code.co_filename[len(self.folder) :]
            ran = {n for _, _, n in code.co_lines() if n is not None} - missing
            self.lines.setdefault(name, set()).update(ran)

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        left = self.left.get(code)
        if left is None:
            left = self.left[code] = MANY if code.co_filename.startswith(self.folder) else 0
            if left:
                self.missing[code] = {n for _, _, n in code.co_lines() if n is not None}
        if not left:
            return None
        missing = self.missing[code]
        self.left[code] = left - 1 if missing else 0
        missing.discard(frame.f_lineno)

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            missing.discard(frame.f_lineno)
            return line

        return line


def certificate_of(model: str) -> dict[str, Any]:
    """Whether `sb.verify` certifies a model, in words otherwise, and the seconds of processor time."""
    import symbody as sb
    from symbody.basics.errors import SymbodyError

    quicken()
    start = time.process_time()
    verdict = "certified"
    try:
        found = sb.verify(PANEL[model]())
        if not found.passed:
            verdict = "refused: " + "; ".join(f"{c.text} ({c.error:.1e})" for c in found.checks if not c.passed)[:300]
    except SymbodyError as error:
        verdict = f"refused by a sentence: {error}"[:300]
    except (TimeLimit, MemoryError):
        raise
    except Exception as error:
        verdict = f"crashed: {type(error).__name__}: {error}"[:300]
    return {"verdict": verdict, "seconds": time.process_time() - start}


# -- changed sources


def judge(reached: dict[str, list[str]], base: Baseline) -> dict[str, Any]:
    """What becomes of a changed source.

    reached  model -> tasks that ran the changed lines, in the order in which they are tried

    end: "import" (it does not), "raises" (somewhere, and no number changed), "no effect", "refused", "survived"; with
    `changed` {model: {task: {output: size}}}, `raised` and `verdicts` {model: text}.
    """
    answer: dict[str, Any] = {"end": "no effect", "changed": {}, "raised": {}, "verdicts": {}, "crashed": False}
    try:
        import symbody as sb

        for verb in ("verify", "load", "linearize", "closure", "reactions", "kinematics", "regressor"):
            getattr(sb, verb)
    except Exception as error:
        return {**answer, "end": "import", "raised": {"import": f"{type(error).__name__}: {error}"}}
    gc.collect()
    gc.freeze()
    costly = {**COSTLY, **CLOSED_COSTLY}
    first = None
    for dear in (False, True):
        models = list(reached)[: FEW_COSTLY if dear else None]
        for model in models:
            tasks = [t for t in reached[model] if (t in costly) == dear]
            if tasks and _changed(model, tasks, base, answer):
                first = model
                break
        if first is not None:
            break
    if first is None:
        if answer["raised"]:
            answer["end"] = "raises"
        return answer
    order = [
        first,
        *(m for m in sorted(base.certificates, key=base.certificates.__getitem__) if m in reached and m != first),
    ]
    answer["end"] = "survived"
    for model in order:
        verdict = certificate_of(model)["verdict"]
        answer["verdicts"][model] = verdict
        if verdict != "certified":
            answer["end"] = "refused"
            answer["crashed"] = verdict.startswith("crashed")
            if not answer["crashed"]:
                break
    if answer["end"] == "survived":
        for model in reached:
            if model != first:
                _changed(model, [t for t in reached[model] if t not in costly], base, answer)
    return answer


def _changed(model: str, tasks: list[str], base: Baseline, answer: dict[str, Any]) -> bool:
    """Whether an output of some task differs; all tasks are run until one does."""
    try:
        mech = PANEL[model]()
    except Exception as error:
        answer["raised"][model] = f"{type(error).__name__}: {error}"[:200]
        return False
    found = False
    for task in tasks:
        try:
            sizes = differences(base.outputs[model][task], run_task(task, mech, base.points[model]))
        except Exception as error:
            answer["raised"][f"{model}, {task}"] = f"{type(error).__name__}: {error}"[:200]
            continue
        if sizes:
            answer["changed"].setdefault(model, {})[task] = sizes
            found = True
            break
    return found
