"""Linear systems over any scalar: with Nodes the result is an expression, with floats a number, with Fractions exact.

The public list of `ldlt.py`, `lu.py` and `small_matrices.py`. Zeros make no operations.
"""

from symbody.symbolic.expr.ldlt import Symmetric, ldlt, solve_ldlt
from symbody.symbolic.expr.lu import LU, LUStep, lu, lu_count, solve_lu
from symbody.symbolic.expr.small_matrices import determinant_2x2, determinant_3x3, inverse_3x3, solve_2x2, solve_3x3

__all__ = [
    "LU", "LUStep", "Symmetric", "determinant_2x2", "determinant_3x3", "inverse_3x3", "ldlt", "lu", "lu_count",
    "solve_2x2", "solve_3x3", "solve_ldlt", "solve_lu",
]  # fmt: skip
