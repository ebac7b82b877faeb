"""Settle: run the cheap local passes on what a trial has changed, until nothing moves. Then the trial is judged."""

from __future__ import annotations

from collections.abc import Callable

from symbody.rewrite.factor import factor_sum
from symbody.rewrite.flatten import flatten_vertex
from symbody.rewrite.network import PRODUCT, SUM, Network
from symbody.rewrite.parameters import collect_cofactors, distribute
from symbody.rewrite.share import share_common_part, share_doubles

ROUNDS = 4
WIDE = 64  # trials that touch more vertices than this are cut short


def settle(net: Network, mark: int, pick: Callable[[], float] | None = None) -> None:
    """Flatten, collect, factor and share around everything that changed since `mark`."""
    net.clean()
    for _ in range(ROUNDS):
        here = net.mark()
        todo = net.changed(mark)[:WIDE]
        for v in todo:
            kind = net.kind[v]
            if kind != SUM and kind != PRODUCT:
                continue
            # a part that is now used once merges into its user
            if flatten_vertex(net, v):
                net.clean()
                kind = net.kind[v]
            if net.refs[v] == 1:
                for p in list(net.parents[v]):
                    if net.kind[p] == kind and flatten_vertex(net, p):
                        net.clean()
            if net.kind[v] == PRODUCT:
                distribute(net, v)
            if net.kind[v] == SUM:
                collect_cofactors(net, v)
            if net.kind[v] == SUM:
                factor_sum(net, v, pick)
            if net.kind[v] == SUM or net.kind[v] == PRODUCT:
                share_common_part(net, v, pick)
            if net.kind[v] == SUM:
                share_doubles(net, v)
        net.clean()
        if net.mark() == here:
            return
        mark = here
