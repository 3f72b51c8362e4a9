"""Small linear systems, many at once.

The rows and columns of a matrix are the leading axes, the batch is all the rest, so that each NumPy
call serves the whole batch. For matrices of up to ten rows that is several times faster than
`numpy.linalg`, which calls LAPACK matrix by matrix.
"""

from __future__ import annotations

import numpy as np

from ..data.logit import Floats


def eliminate(system: Floats) -> None:
    """Factor [A | B], float64 (size, columns, batch), in place by Gauss elimination.

    A is symmetric and positive definite, and only its upper half is read. With A = L L', [A | B]
    becomes [L' | L^-1 B]; entries below the diagonal of L' are not meaningful.
    """
    size = len(system)
    for k in range(size):
        row = system[k, k:]
        row *= 1.0 / np.sqrt(row[0])
        if k + 1 < size:
            system[k + 1 :, k + 1 :] -= row[1 : size - k, None] * row[None, 1:]


def back_solve(factor: Floats, right: Floats) -> None:
    """Solve L' x = right in place: factor as from `eliminate`, right (size, ...)."""
    for k in range(len(right) - 1, -1, -1):
        right[k] /= factor[k, k]
        if k > 0:
            right[:k] -= factor[:k, k] * right[k]


def gram(left: Floats, right: Floats) -> Floats:
    """Multiply left' right: (k, rows, batch) and (k, columns, batch) -> (rows, columns, batch)."""
    product = left.transpose(2, 1, 0) @ right.transpose(2, 0, 1)
    return np.ascontiguousarray(np.moveaxis(product, 0, -1))


def log_diagonal(factor: Floats) -> Floats:
    """Log of the product of the diagonal of L', half the log determinant of A."""
    return np.asarray(np.log(diagonal(factor)).sum(axis=0))


def diagonal(system: Floats) -> Floats:
    """The diagonal of a system, a view that can be written to: (size, batch)."""
    return np.asarray(np.einsum("kk...->k...", system[:, : len(system)]))
