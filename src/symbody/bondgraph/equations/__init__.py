"""State equations, implicit equations, matrices and inverse models of a bond graph."""
