"""Equations of motion with loops: reduced to independent joints, or augmented by multipliers."""
