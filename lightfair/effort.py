"""Effort: what a fit costs in NumPy, and how many chains it gets.

A sweep in NumPy costs about as much for 16 chains as for 4, as the calls cost more than their work.
So a fit that NumPy does in a few seconds gets 16 short chains. A larger one gets 4 long ones, which
the compiled form runs, and which meet the gate on R-hat with fewer draws where mixing is slow.
The choice depends on the size of the work alone, so that the same seed gives the same draws
everywhere.
"""

from __future__ import annotations

from ._jit import WORTHWHILE

MANY = (16, 80)  # chains, and sweeps of warm-up
FEW = (4, 200)
NESTED_RUN = (16, 120)  # of the nested prior, which has no compiled form
DRAWS = 3200  # of all chains together
TRUSTED = 5  # deviations of a curve, a typical number


def numpy_seconds(sets: int, groups: int, nodes: int, coordinates: int, chains: int) -> float:
    """Estimate what a whole fit takes the NumPy form.

    Parameters
    ----------
    sets, groups
        Data sets of the batch, groups in each.
    nodes
        Labeled nodes of all data sets.
    coordinates
        Of a curve: 3, and the deviations.
    chains
        In each data set.
    """
    calls = 1.45 + 0.08 * coordinates  # milliseconds of a sweep
    work = chains * (2.5e-3 * coordinates * groups * sets + 1.8e-4 * nodes)
    return 1e-3 * (DRAWS / chains + usual_warmup(chains)) * (calls + work)


def usual(groups: int, labeled: int, trust: bool) -> tuple[int, int]:
    """Choose chains, and sweeps of warm-up, for a table of some groups and labeled rows."""
    nodes = min(labeled, 100 * groups)
    coordinates = 3 + TRUSTED * trust
    seconds = numpy_seconds(1, groups, nodes, coordinates, MANY[0])
    return MANY if seconds < WORTHWHILE else FEW


def usual_warmup(chains: int) -> int:
    """Choose sweeps of warm-up for a number of chains: more chains learn from each other."""
    return (MANY if chains >= MANY[0] else FEW)[1]
