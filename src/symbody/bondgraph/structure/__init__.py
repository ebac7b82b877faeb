"""Structural properties of bond graphs: what holds for almost all values of the parameters."""
