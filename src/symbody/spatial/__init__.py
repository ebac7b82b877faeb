"""Rotations, dual numbers, screws, displacements and inertias over any scalar."""
