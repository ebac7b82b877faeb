"""Linear systems over any scalar: with Nodes the result is an expression, with floats a number, with Fractions exact.

The public list of `ldlt.py`, `lu.py`, `triangular.py` and `small_matrices.py`. Zeros make no operations.
"""

from symbody.expr.ldlt import (
    Symmetric,
    cholesky,
    cholesky_count,
    ldlt,
    ldlt_count,
    solve_cholesky,
    solve_ldlt,
    symmetric_factors,
)
from symbody.expr.lu import LU, LUStep, lu, lu_count, solve_lu
from symbody.expr.small_matrices import (
    determinant_2x2,
    determinant_3x3,
    inverse_3x3,
    inverse_symmetric_3x3,
    solve_2x2,
    solve_3x3,
    solve_symmetric_3x3,
)
from symbody.expr.triangular import solve_lower, solve_upper

__all__ = [
    "Symmetric", "ldlt", "cholesky", "solve_ldlt", "solve_cholesky", "symmetric_factors",
    "ldlt_count", "cholesky_count",
    "LU", "LUStep", "lu", "solve_lu", "lu_count",
    "solve_lower", "solve_upper",
    "determinant_2x2", "determinant_3x3", "inverse_3x3", "inverse_symmetric_3x3",
    "solve_2x2", "solve_3x3", "solve_symmetric_3x3",
]  # fmt: skip
