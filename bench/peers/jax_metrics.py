"""The metrics step in JAX: half the seconds of NumPy's, given enough rows to compile it.

JAX is imported only when needed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .common import Case

MANY = 100_000  # unlabeled rows from which compiling pays


def counter(case: Case) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return what `common.expected_positives` computes as a function of phi; None for few rows."""
    if len(case.free_up) < MANY:
        return None
    import jax
    import jax.numpy as jnp

    @jax.jit
    def stratum(curves, up, down, weight):
        def one(phi):
            odds = phi[2] + jnp.exp(phi[0]) * up + jnp.exp(phi[1]) * down
            return jnp.sum(weight / (1.0 + jnp.exp(-odds)))

        return jax.lax.map(one, curves)

    def count(phi: np.ndarray) -> np.ndarray:
        flat = phi.reshape(-1, case.groups, 3)
        cuts = zip(case.free_start[:-1], case.free_start[1:], strict=True)
        sums = [
            stratum(flat[:, s // 2], case.free_up[i:j], case.free_down[i:j], case.free_weight[i:j])
            for s, (i, j) in enumerate(cuts)
        ]
        return np.stack(sums, axis=-1).reshape(*phi.shape[:2], -1)

    return count
