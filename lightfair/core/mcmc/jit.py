"""Compiling, and where compiled functions are kept from one process to the next.

Importing this module imports numba. numba keeps what it compiled beside the module, or in a folder
of the user where nobody may write there. It knows no such place for modules in an archive, but
for names in .zip and since version 0.61; these get the folder of the user here. Where no folder can
be written the functions are compiled afresh in each process.

Whether a piece of work is worth compiling.

numba costs about half a second to import, and several seconds more where the compiled functions are
not cached yet. Small work runs on NumPy alone. The environment variable LIGHTFAIR_JIT forces
one way: 0 never compiles, 1 always does. The choice depends on the work alone, never on the clock.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numba
from numba.core import caching
from numba.misc.appdirs import AppDirs

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile a function when it is called, or load what was kept of it."""
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    for kind in (caching.FunctionCache, _ArchiveCache):
        with suppress(Exception):  # "no locator available", and others of odd names of folders
            compiled._cache = _forgiving(kind(function))
            break
    kept: F = compiled
    return kept


def _forgiving(cache: Any) -> Any:
    """Let a cache that cannot be read or written be one that is not there.

    numba raises what it meets: a file cut short, a full disk. What was cut short is written anew.
    """
    load, save = cache.load_overload, cache.save_overload

    def forgiving_load(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # unpickling raises any
            with suppress(Exception):
                cache.flush()
            return None

    def forgiving_save(*arguments: Any) -> None:
        with suppress(Exception):
            save(*arguments)

    cache.load_overload, cache.save_overload = forgiving_load, forgiving_save
    return cache


class _ArchiveLocator(caching._CacheLocator):
    """The place of functions whose module is in an archive, renewed when its text changes."""

    def __init__(self, function: Any, path: str) -> None:
        config: Any = numba.config
        root = config.CACHE_DIR or AppDirs("numba", appauthor=False).user_cache_dir
        loader: Any = sys.modules[function.__module__].__loader__
        self._folder: str = os.path.join(root, self.get_suitable_cache_subpath(path))
        self._line: int = function.__code__.co_firstlineno
        self._stamp: str = hashlib.sha256(loader.get_data(path)).hexdigest()

    @classmethod
    def from_function(cls, function: Any, path: str) -> Any:
        if os.path.exists(path):
            return None
        self = cls(function, path)
        self.ensure_cache_path()
        return self

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


class _ArchivePlaces(caching.CompileResultCacheImpl):
    _locator_classes = [_ArchiveLocator]


class _ArchiveCache(caching.FunctionCache):
    _impl_class = _ArchivePlaces


WORTHWHILE = 3.0  # seconds of NumPy; a fit of 2 groups takes less, one of 20 with trust more


def compiles(seconds: float) -> bool:
    """Decide whether to use the compiled functions.

    Parameters
    ----------
    seconds
        What the job would take on NumPy, estimated from its size alone.

    Raises
    ------
    ValueError
        If LIGHTFAIR_JIT is neither 0, 1 nor unset.
    ImportError
        If LIGHTFAIR_JIT is 1 and numba is not installed.
    """
    forced = os.environ.get("LIGHTFAIR_JIT", "")
    if forced not in ("", "0", "1"):
        raise ValueError(f"LIGHTFAIR_JIT must be 0, 1 or unset; got {forced!r}")
    if forced == "0" or (forced == "" and seconds < WORTHWHILE):
        return False
    if available():
        return True
    if forced == "1":
        raise ImportError("LIGHTFAIR_JIT is 1 but numba is not installed; install it or unset it")
    return False


def available() -> bool:
    """Whether numba can be imported; an installed one may be broken."""
    return version() is not None


def version() -> str | None:
    """The version of numba; None where it cannot be imported."""
    try:
        from numba import __version__
    except Exception:
        return None
    return str(__version__)
