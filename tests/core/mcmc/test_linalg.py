"""Batches of small systems against numpy.linalg, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from lightfair.core.mcmc.linalg import back_solve, diagonal, eliminate, gram, log_diagonal


def systems(seed, size, wide, batch):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(batch, size, size))
    matrix = root @ np.swapaxes(root, 1, 2) + 0.5 * np.eye(size)
    return matrix, rng.normal(size=(batch, size, wide))


def first(values):
    return np.moveaxis(values, 0, -1).copy()


@pytest.mark.parametrize("size, wide, batch", [(1, 1, 1), (3, 4, 7), (8, 9, 300)])
def test_elimination_is_a_cholesky_factor(size, wide, batch):
    matrix, right = systems(1, size, wide, batch)
    system = first(np.concatenate([matrix, right], axis=2))
    eliminate(system)
    factor = np.linalg.cholesky(matrix)
    upper = np.triu(np.moveaxis(system[:, :size], -1, 0))
    np.testing.assert_allclose(upper, np.swapaxes(factor, 1, 2), rtol=1e-9, atol=1e-10)
    half = np.linalg.solve(factor, right)
    np.testing.assert_allclose(np.moveaxis(system[:, size:], -1, 0), half, rtol=1e-8, atol=1e-9)
    wanted = 0.5 * np.linalg.slogdet(matrix)[1]
    np.testing.assert_allclose(log_diagonal(system), wanted, rtol=1e-9, atol=1e-10)
    noise = np.random.default_rng(2).normal(size=(batch, size))
    solved = first(noise)
    back_solve(system, solved)
    wanted = np.linalg.solve(np.swapaxes(factor, 1, 2), noise[..., None])[..., 0]
    np.testing.assert_allclose(solved.T, wanted, rtol=1e-8, atol=1e-9)


def test_gram_and_diagonal():
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(3, 2, 6)), rng.normal(size=(3, 5, 6))
    got = gram(left, right)
    assert got.flags.c_contiguous
    np.testing.assert_allclose(got, np.einsum("kin,kjn->ijn", left, right), rtol=1e-12)
    square = rng.normal(size=(3, 4, 6))
    before = square.copy()
    diagonal(square)[...] += 1.0
    for i in range(3):
        before[i, i] += 1.0
    np.testing.assert_array_equal(square, before)
