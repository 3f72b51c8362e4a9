"""When to compile with numba, and where compiled functions are cached.

numba takes about half a second to import, and several seconds more if the compiled functions are
not cached yet, so small fits run on NumPy. The environment variable LIGHTFAIR_JIT forces one form:
0 never compiles, 1 always does. The choice depends on the size of the work alone, never on time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

WORTHWHILE = 1.5  # seconds of NumPy; a fit of 2 groups takes less, one of 20 with trust more


def compiles(seconds: float) -> bool:
    """Decide whether to use the compiled functions.

    Parameters
    ----------
    seconds
        Estimated time of the work in NumPy.

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
    if not available() and forced == "1":
        raise ImportError("LIGHTFAIR_JIT is 1 but numba is not installed; install it or unset it")
    return available()


def available() -> bool:
    """Return whether numba can be imported; an installed one may be broken."""
    return version() is not None


def version() -> str | None:
    """Return the version of numba, or None if it cannot be imported."""
    try:
        from numba import __version__
    except Exception:
        return None
    return str(__version__)


def jit(function: F) -> F:
    """Compile a function when it is first called, or load it from numba's cache.

    Without a writable folder the function is compiled in each process. numba raises on damaged
    cache files and full disks; here a damaged cache is discarded and a failed write is ignored.
    """
    import numba

    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    with suppress(Exception):  # "no locator available", and unusual folder names
        compiled.enable_caching()
        cache = compiled._cache
        load, save = cache.load_overload, cache.save_overload

        def load_or_discard(*arguments: Any) -> Any:
            try:
                return load(*arguments)
            except Exception:  # unpickling raises any
                with suppress(Exception):
                    cache.flush()
                return None

        def try_to_save(*arguments: Any) -> None:
            with suppress(Exception):
                save(*arguments)

        cache.load_overload, cache.save_overload = load_or_discard, try_to_save
    result: F = compiled
    return result
