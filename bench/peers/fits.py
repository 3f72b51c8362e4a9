"""Run a peer: fit a case once for each seed, and count seconds and memory.

    python -m bench.peers.fits TASK

TASK is JSON: peer, case (a file), settings, seeds, out. Saves the draws as OUT.SEED.npz: phi
(chain, draw, group, 3), mu and sigma (chain, draw, 3) and delta (chain, draw, group - 1, metric).
Writes seconds and memory to OUT.json: standard output is left to the programs.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .common import Case, Settings, metrics


def fit_all(task: dict[str, Any]) -> dict[str, Any]:
    """Return seconds of sampling and of metrics, and divergences, of each fit; and memory."""
    prepare = importlib.import_module(f".peer_{task['peer']}", __package__).prepare
    with np.load(task["case"]) as saved:
        case = Case(**{name: x if x.ndim else x.item() for name, x in saved.items()})
    fit, fits = prepare(case, Settings(**task["settings"])), []
    for seed in task["seeds"]:
        times = [cpu_seconds()]
        draws = fit(seed)
        times.append(cpu_seconds())
        theta = metrics(draws, case)
        times.append(cpu_seconds())
        kept = {"phi": draws.phi, "mu": draws.mu, "sigma": draws.sigma}
        np.savez(f"{task['out']}.{seed}.npz", **kept, delta=theta[:, :, 1:] - theta[:, :, :1])
        sampling, counting = np.diff(times)
        fits.append({"sampling": sampling, "metrics": counting, "divergences": draws.divergences})
    return {"fits": fits, "megabytes": megabytes()}


def megabytes() -> float:
    """Peak memory of this process, or of a child if that had more.

    From /proc: the peak of `getrusage` starts at that of the process that started this one.
    """
    (own,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1.024e-3 * max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def cpu_seconds() -> float:
    """User and system seconds of this process, its threads, and its children, ended or not."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used) + _living(os.getpid())


def _living(process: int) -> float:
    """CPU seconds of living descendants, and of what they have waited for."""
    total = 0.0
    try:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            for child in children.read_text().split():
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                ticks = sum(map(int, fields[11:15]))
                total += ticks / os.sysconf("SC_CLK_TCK") + _living(int(child))
    except OSError:  # it has just ended
        pass
    return total


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    Path(f"{task['out']}.json").write_text(json.dumps(fit_all(task)))
