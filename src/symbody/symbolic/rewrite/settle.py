"""Settle: run the cheap local passes on what a trial has changed, until nothing moves. Then the trial is judged."""

from __future__ import annotations

from collections.abc import Callable

from symbody.symbolic.rewrite.factor import factor_sum
from symbody.symbolic.rewrite.flatten import flatten_vertex
from symbody.symbolic.rewrite.group_parameters import collect_cofactors, distribute
from symbody.symbolic.rewrite.network import PRODUCT, SUM, Network
from symbody.symbolic.rewrite.share import share_common_part, share_doubles

ROUNDS = 4
WIDE = 64  # trials that touch more vertices than this are cut short


def settle(net: Network, mark: int, pick: Callable[[], float] | None = None) -> None:
    """Flatten, collect, factor and share around everything that changed since `mark`."""
    kinds, refs = net.kind, net.refs
    net.clean()
    for _ in range(ROUNDS):
        here = net.mark()
        todo = net.changed(mark)[:WIDE]
        for v in todo:
            kind = kinds[v]
            if kind != SUM and kind != PRODUCT:
                continue
            # a part that is now used once merges into its user
            if flatten_vertex(net, v):
                net.clean()
                kind = kinds[v]
            if refs[v] == 1:
                (p,) = net.parents[v]
                if kinds[p] == kind and flatten_vertex(net, p):
                    net.clean()
            if kinds[v] == PRODUCT:
                distribute(net, v)
            if kinds[v] == SUM:
                collect_cofactors(net, v)
            if kinds[v] == SUM:
                factor_sum(net, v, pick)
            if kinds[v] == SUM or kinds[v] == PRODUCT:
                share_common_part(net, v, pick)
            if kinds[v] == SUM:
                share_doubles(net, v)
        net.clean()
        if net.mark() == here:
            return
        mark = here
