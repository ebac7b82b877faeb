"""Bounded expansion: try each move once where it may pay, keep what lowers the cost."""

from __future__ import annotations

from symbody.symbolic.rewrite.moves import can_expand, expand, open_in_users, open_products
from symbody.symbolic.rewrite.network import PRODUCT, SUM, Network
from symbody.symbolic.rewrite.settle import settle
from symbody.symbolic.rewrite.trigonometry import use_identities

FEW = 4  # users of a shared value that is opened
MOST = 20_000  # places that are tried


def expand_where_cheaper(net: Network) -> None:
    """Products over sums, squares of sums, shared sums and products: opened where the cost falls after settling."""
    _expand(net, True)


def expand_unshared(net: Network) -> None:
    """As `expand_where_cheaper`, without products over a sum that something else needs too.

    Such a sum stays, so that expanding it seldom pays: in programs of thousands of operations these are two trials of
    three, and next to none is kept.
    """
    _expand(net, False)


def _expand(net: Network, shared: bool) -> None:
    for v in net.order()[:MOST]:
        if net.kind[v] == SUM:
            try_opening_products(net, v)
        if net.kind[v] == PRODUCT:
            for f in can_expand(net, v):
                if not shared and net.refs[f] > 1:
                    continue
                if net.kind[v] == PRODUCT and net.kind[f] == SUM and f in net.body[v]:
                    mark, before = net.mark(), net.total
                    if expand(net, v, f):
                        settle(net, mark)
                    judge(net, mark, before)
        if net.kind[v] in (SUM, PRODUCT) and 1 < len(net.parents[v]) <= FEW:
            mark, before = net.mark(), net.total
            if open_in_users(net, v):
                settle(net, mark)
            judge(net, mark, before)


def try_opening_products(net: Network, v: int) -> None:
    """Open all products in the terms of the sum v: terms may cancel, merge or form an angle sum."""
    mark, before = net.mark(), net.total
    if open_products(net, v):
        net.clean()
        use_identities(net, v)
        settle(net, mark)
    judge(net, mark, before)


def judge(net: Network, mark: int, before: int) -> bool:
    """Keep a trial that lowered the cost, undo any other."""
    net.clean()
    if net.total < before:
        return True
    net.undo(mark)
    return False
