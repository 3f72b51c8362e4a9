"""Compiling: whether a fit is worth it, and where compiled functions are cached.

numba costs about half a second to import, and several seconds more if the compiled functions are
not cached yet, so small fits run on NumPy alone. The environment variable LIGHTFAIR_JIT forces one
way: 0 never compiles, 1 always does. The choice depends on the size of the fit, never on the clock.

numba caches compiled functions beside their module, or in the user's cache folder if that cannot be
written. Where neither can be written, functions are compiled in each process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

WORTHWHILE = 3.0  # seconds of NumPy; a fit of 2 groups takes less, one of 20 with trust more


def jit(function: F) -> F:
    """Compile a function at its first call, or load it from the cache."""
    from numba import njit
    from numba.core.caching import FunctionCache

    compiled: Any = njit(nogil=True, error_model="numpy")(function)
    with suppress(Exception):  # no folder can be written
        cache: Any = FunctionCache(function)
        load, save = cache.load_overload, cache.save_overload

        def try_load(*arguments: Any) -> Any:
            try:
                return load(*arguments)
            except Exception:  # unpickling a truncated file raises any exception
                with suppress(Exception):
                    cache.flush()
                return None

        def try_save(*arguments: Any) -> None:
            with suppress(Exception):  # a full disk
                save(*arguments)

        cache.load_overload, cache.save_overload = try_load, try_save
        compiled._cache = cache
    result: F = compiled
    return result


def compiles(seconds: float) -> bool:
    """Return whether to use the compiled functions.

    Parameters
    ----------
    seconds
        Time that the fit would take on NumPy, estimated from its size.

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
    if forced == "1" and not available():
        raise ImportError("LIGHTFAIR_JIT is 1 but numba is not installed; install it or unset it")
    return available()


def available() -> bool:
    """Return whether numba can be imported; an installed one may be broken."""
    return version() is not None


def version() -> str | None:
    """Return the version of numba; None if it cannot be imported."""
    try:
        from numba import __version__
    except Exception:
        return None
    return str(__version__)
