"""The cache of compiled functions: damage, full disks and folders without permission do no harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lightfair.core.mcmc.jit import available

resource = pytest.importorskip("resource")

needs_numba = pytest.mark.skipif(not available(), reason="numba is not installed")


class full_disk:
    """Files of this process cannot grow."""

    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, self.before[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A function that compiles a kernel with an empty cache, and the folder of the cache."""
    numba = pytest.importorskip("numba")
    from lightfair.core.mcmc import jit, kernels

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def make():
        return jit.jit(kernels._eliminate.py_func)

    return make, tmp_path


def factor(function):
    value = function(np.array([[4.0, 2.0], [2.0, 3.0]]), 2, 2)
    assert value == pytest.approx(0.5 * np.log(8.0))
    return sum(function.stats.cache_hits.values())


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def zeros(path):
    path.write_bytes(bytes(path.stat().st_size))


@needs_numba
@pytest.mark.parametrize("kind, damage", [("*.nbi", cut), ("*.nbc", zeros), ("*.nbc", Path.unlink)])
def test_a_damaged_cache_is_compiled_and_written_again(kind, damage, kernel):
    make, folder = kernel
    assert factor(make()) == 0
    (path,) = folder.rglob(kind)
    damage(path)
    assert factor(make()) == 0
    assert factor(make()) == 1


@needs_numba
def test_a_full_disk(kernel):
    make, folder = kernel
    with full_disk():
        assert factor(make()) == 0
    assert not list(folder.rglob("*.nbc"))
    assert factor(make()) == 0
    assert factor(make()) == 1


@needs_numba
def test_a_folder_that_cannot_exist(kernel, monkeypatch):
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "/dev/null/cache")
    factor(kernel[0]())  # another folder, or none, is used
