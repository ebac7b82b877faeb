"""A run in the hands of CasADi."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbody.motion.derivatives.function import RunFunction, jacobian_by
from symbody.motion.derivatives.run_operators import Operators
from symbody.motion.trajectory.optional_packages import extra


def casadi_function(f: RunFunction, name: str = "run") -> Any:
    """A `casadi.Callback` theta (n) -> y (ny) with its Jacobian and Hessians, for expressions and solvers of CasADi.

    Solvers may take exact Hessians: those of runs are (`hessian_vector`). The caller keeps the object that is returned
    as long as expressions use it.
    """
    casadi = extra("casadi", "learning")
    maps = Operators(f)
    n, ny = maps.n, maps.ny

    class CasadiMap(casadi.Callback):  # type: ignore[name-defined]
        """Dense matrices from vectors. derived: makers of its Jacobian, and of its reverse derivative, or None."""

        def __init__(
            self, title: str, inputs: Sequence[int], outputs: Sequence[tuple[int, int]],
            call: Callable[..., list[np.ndarray]], options: dict[str, Any], jacobian: Any = None, reverse: Any = None,
        ) -> None:  # fmt: skip
            super().__init__()
            self.inputs, self.outputs, self.call_ = list(inputs), list(outputs), call
            self.jacobian_, self.reverse_ = jacobian, reverse
            self.kept: list[Any] = []  # CasADi holds no reference to them
            self.construct(title, options)

        def get_n_in(self) -> int:
            return len(self.inputs)

        def get_n_out(self) -> int:
            return len(self.outputs)

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(self.inputs[i], 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(*self.outputs[i])

        def eval(self, arguments: Any) -> list[Any]:
            found = self.call_(*(np.array(a).reshape(-1) for a in arguments))
            return [casadi.DM(np.reshape(a, shape)) for a, shape in zip(found, self.outputs, strict=True)]

        def has_jacobian(self) -> bool:
            return self.jacobian_ is not None

        def get_jacobian(self, title: str, inputs: Any, outputs: Any, options: Any) -> Any:
            self.kept.append(self.jacobian_(title, options))
            return self.kept[-1]

        def has_reverse(self, count: int) -> bool:
            return self.reverse_ is not None and count == 1

        def get_reverse(self, count: int, title: str, inputs: Any, outputs: Any, options: Any) -> Any:
            self.kept.append(self.reverse_(title, options))
            return self.kept[-1]

    def matrix(theta: np.ndarray) -> np.ndarray:
        return jacobian_by(maps.run(theta), "auto")

    def jacobian(title: str, options: Any) -> Any:
        return CasadiMap(title, [n, ny], [(ny, n)], lambda theta, y: [matrix(theta)], options)

    def hessian(theta: np.ndarray, w: np.ndarray) -> np.ndarray:
        rows = f.products(maps.run(theta), theta, np.eye(n), w).product
        return (rows + rows.T) / 2

    def reverse(title: str, options: Any) -> Any:
        def second(title: str, options: Any) -> Any:
            """Blocks by theta, by y (which nothing reads), by the weights."""
            shapes = [(n, n), (n, ny), (n, ny)]
            return CasadiMap(
                title, [n, ny, ny, n], shapes,
                lambda theta, y, w, g: [hessian(theta, w), np.zeros((n, ny)), matrix(theta).T], options,
            )  # fmt: skip

        return CasadiMap(title, [n, ny, ny], [(n, 1)], lambda theta, y, w: [maps.pull(theta, w)], options, second)

    return CasadiMap(name, [n], [(ny, 1)], lambda theta: [maps.value(theta)], {}, jacobian, reverse)
