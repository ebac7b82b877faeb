"""Symbols of a graph: states, signals and inputs, and the names of states."""

from __future__ import annotations

from symbody.bondgraph.graph.flat import ScalarPort
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node


def state_symbol(graph: Graph, name: str) -> Node:
    return graph.symbol(name, "state")


def signal_symbol(graph: Graph, name: str) -> Node:
    """A detector or a co-energy in an expression: put in when equations are written."""
    return graph.symbol(name, "input", scope="signal")


def input_symbol(graph: Graph, name: str) -> Node:
    return graph.symbol(name, "input")


def state_name(port: ScalarPort) -> str:
    """p_<I> or q_<C>."""
    return f"{'p' if port.kind == 'I' else 'q'}_{port.label}"


def coenergy_name(port: ScalarPort) -> str:
    """f_<I> or e_<C>."""
    return f"{'f' if port.kind == 'I' else 'e'}_{port.label}"
