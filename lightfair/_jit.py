"""Whether a piece of work is worth compiling.

numba costs about half a second to import, and several seconds more where the compiled functions are
not cached yet. Small work runs on NumPy alone. The environment variable LIGHTFAIR_JIT forces
one way: 0 never compiles, 1 always does. The choice depends on the work alone, never on the clock.
"""

from __future__ import annotations

import os

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
