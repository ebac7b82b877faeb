"""Run passes one after the other; what makes the program dearer is undone. The Report says what each pass saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.rewrite.cost import Cost, cost
from symbody.symbolic.rewrite.network import Network
from symbody.symbolic.rewrite.network_of_nodes import load, store
from symbody.symbolic.rewrite.stages import CANONICAL, verify

Rank = Callable[[Cost], tuple[int, ...]]
CALL_WEIGHT = 8  # operations that a sine or an exponential takes, about


@dataclass(frozen=True, slots=True)
class Pass:
    """A named rewriting. It works on expressions (`on_nodes`) or on their Network (`on_network`)."""

    name: str
    title: str
    on_network: Callable[[Network], None] | None = None
    on_nodes: Callable[[list[Node]], list[Node]] | None = None

    def apply(self, roots: Sequence[Node]) -> list[Node]:
        """The rewritten roots, whatever they cost."""
        if self.on_nodes is not None:
            return self.on_nodes(list(roots))
        if not roots or self.on_network is None:
            return list(roots)
        with quiet_collector():
            net = load(roots)
            self.on_network(net)
            net.clean()
            return store(net)


@dataclass(slots=True)
class PassRun:
    """One run of one pass: operations before and after, whether the result was kept, seconds."""

    title: str
    before: int
    after: int
    kept: bool
    seconds: float


@dataclass(slots=True)
class Report:
    """What a run did. `before` and `after` are the costs of the whole."""

    steps: list[PassRun] = field(default_factory=list)
    before: Cost = field(default_factory=Cost)
    after: Cost = field(default_factory=Cost)
    seconds: float = 0.0

    @property
    def saved(self) -> int:
        return self.before.total + self.before.body - self.after.total - self.after.body

    def extend(self, other: Report) -> None:
        """Take over the steps of a further run. The result is that run's, if it is the cheapest so far."""
        self.steps += other.steps
        self.seconds += other.seconds
        if other.after.rank <= self.after.rank:
            self.after = other.after

    def __str__(self) -> str:
        rows = [f"{'pass':<52} {'before':>7} {'after':>7} {'ms':>8}"]
        for s in self.steps:
            note = "" if s.kept else "  undone"
            rows.append(f"{s.title:<52} {s.before:>7} {s.after:>7} {1e3 * s.seconds:>8.1f}{note}")
        rows.append(f"{'all':<52} {self.before.total:>7} {self.after.total:>7} {1e3 * self.seconds:>8.1f}")
        rows.append(f"now {self.after}")
        return "\n".join(rows)


def run(
    roots: Iterable[Node],
    passes: Sequence[Pass],
    accept: str = "cheaper",
    rounds: int = 1,
    call_weight: int = 0,
    debug: bool = False,
    known: Cost | None = None,
) -> tuple[list[Node], Report]:
    """Apply the passes in turn, the whole chain again while it gains, at most `rounds` times.

    accept: "cheaper" undoes a pass that raises the cost, "calls" compares with functions counted as several operations,
    "always" keeps every result. call_weight: operations that a new sine or cosine must save.
    debug: check after each step that the graph is in canonical form. known: the cost of the roots, where it is known.
    """
    start = perf_counter()
    best = list(roots)
    report = Report()
    report.before = report.after = cost(best) if known is None else known
    if not best or not passes:
        return best, report
    always = accept == "always"
    rank = _rank_with_calls if accept == "calls" else _rank
    with quiet_collector():
        for _ in range(rounds):
            now, after = best, report.after
            for group in _groups(passes):
                if group[0].on_network is not None:
                    new = _run_on_network(now, group, report, always, call_weight)
                    # counting walks the whole graph: not again for the same roots
                    now, after = new, after if new == now else cost(new)
                else:
                    now, after = _run_on_nodes(now, after, group[0], report, None if always else rank)
                if debug:
                    verify(now, CANONICAL)
            if always or rank(after) <= rank(report.after):
                gained = rank(after) < rank(report.after)
                best, report.after = now, after
            else:
                gained = False
            if not gained:
                break
    report.seconds = perf_counter() - start
    return best, report


def _groups(passes: Sequence[Pass]) -> list[list[Pass]]:
    """Neighbouring passes that work on a Network share one."""
    groups: list[list[Pass]] = []
    for p in passes:
        if p.on_network is not None and groups and groups[-1][0].on_network is not None:
            groups[-1].append(p)
        else:
            groups.append([p])
    return groups


def _run_on_network(
    roots: list[Node], passes: Sequence[Pass], report: Report, always: bool, call_weight: int
) -> list[Node]:
    net = load(roots)
    net.call_weight = call_weight
    for p in passes:
        assert p.on_network is not None
        start = perf_counter()
        mark, before, trig = net.mark(), net.total, net.trig
        p.on_network(net)
        net.clean()
        after = net.total
        kept = always or (after, net.trig if after == before else trig) <= (before, trig)
        if kept:
            net.journal.clear()
        else:
            net.undo(mark)
        report.steps.append(PassRun(p.title, before, after, kept, perf_counter() - start))
    return store(net)


def _run_on_nodes(
    roots: list[Node], before: Cost, p: Pass, report: Report, rank: Rank | None
) -> tuple[list[Node], Cost]:
    start = perf_counter()
    new = p.apply(roots)
    after = before if new == roots else cost(new)
    kept = rank is None or rank(after) <= rank(before)
    report.steps.append(PassRun(p.title, before.total, after.total, kept, perf_counter() - start))
    return (new, after) if kept else (roots, before)


def _rank(c: Cost) -> tuple[int, ...]:
    return c.rank


def _rank_with_calls(c: Cost) -> tuple[int, ...]:
    return (c.total + c.body + CALL_WEIGHT * (c.trig + c.other), *c.rank)
