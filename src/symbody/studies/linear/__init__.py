"""Linear models about a point, of Mechanisms and Systems."""
