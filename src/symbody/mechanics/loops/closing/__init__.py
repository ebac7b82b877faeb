"""Positions and velocities that satisfy the loops: assembly, closure by blocks, projection."""
