"""Causality by exact elimination, strokes, causal loops, and graphs that follow from them."""
