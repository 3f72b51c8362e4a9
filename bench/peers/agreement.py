"""Do the programs draw from the same posterior? Means of all quantities against a long reference.

The reference is kept in reference.json: long runs of Stan, nutpie and BlackJAX, pooled. Effective
draws, R-hat and Monte Carlo errors are those of `lightfair.diagnostics`, for all programs alike.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import METRICS, load_case
from programs import PROGRAMS

from lightfair.diagnostics import diagnose, mcse_mean

REFERENCE = Path(__file__).resolve().parent / "reference.json"
TRUSTED = ("Stan", "nutpie", "BlackJAX")
LONG = {"warmup": 1000, "draws": 5000, "target_accept": 0.95}


class Summary(NamedTuple):
    """Of one fit: names of the quantities, and float64 (quantity,) for each of the rest."""

    names: list[str]
    draws: int
    ess_bulk: np.ndarray
    rhat: np.ndarray
    mean: np.ndarray
    mcse: np.ndarray


def summary(path: Path) -> Summary:
    """Read the draws of a fit, and delete them."""
    with np.load(path) as saved:
        draws = {name: saved[name] for name in ("phi", "mu", "sigma", "delta")}
    path.unlink()
    groups = draws["phi"].shape[2]
    curve = ("log a", "log b", "c")
    names = [f"{word}, group {g + 1}" for g in range(groups) for word in curve]
    names += [f"{scale} of {word}" for scale in ("mu", "sigma") for word in curve]
    names += [f"delta {word}, group {g + 1}" for g in range(1, groups) for word in METRICS]
    shape = draws["phi"].shape[:2]
    values = np.concatenate([part.reshape(*shape, -1) for part in draws.values()], axis=-1)
    found = diagnose(values)
    mean = values.mean(axis=(0, 1))
    return Summary(names, shape[0] * shape[1], found.ess_bulk, found.rhat, mean, mcse_mean(values))


def worst(summaries: list[Summary], reference: dict[str, Any] | None) -> dict[str, Any]:
    """Return the fewest effective draws, the largest R-hat (medians over fits), the largest |z|."""
    names = summaries[0].names
    deltas = [i for i, name in enumerate(names) if name.startswith("delta")]
    found = {
        "ess_bulk": float(np.median([s.ess_bulk.min() for s in summaries])),
        "ess_bulk_delta": float(np.median([s.ess_bulk[deltas].min() for s in summaries])),
        "ess_quantity": names[int(np.argmin(np.median([s.ess_bulk for s in summaries], axis=0)))],
        "rhat": float(np.median([s.rhat.max() for s in summaries])),
    }
    if reference is not None:
        mean, mcse = pooled(summaries)
        spread = np.hypot(mcse, reference["mcse"])
        z = np.abs(mean - np.array(reference["mean"])) / spread
        found.update(z=float(z.max()), z_quantity=names[int(np.argmax(z))])
    return found


def pooled(summaries: list[Summary]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over fits and its Monte Carlo error."""
    mean = np.mean([s.mean for s in summaries], axis=0)
    error = np.sqrt(np.sum([s.mcse**2 for s in summaries], axis=0)) / len(summaries)
    return mean, error


def known(name: str, case: Path) -> dict[str, Any] | None:
    """Return the reference of a case; None where there is none for these very data."""
    if not REFERENCE.exists():
        return None
    entry: dict[str, Any] | None = json.loads(REFERENCE.read_text()).get(name)
    return entry if entry is not None and entry["data"] == digest(case) else None


def digest(case: Path) -> str:
    """Return a fingerprint of the labelled rows and the sums over the others."""
    data = load_case(case)
    totals = [data.free_up.sum(), data.free_down.sum()]
    numbers = np.concatenate([data.up, data.down, data.positive, data.known.ravel(), totals])
    return hashlib.sha256(np.round(numbers, 4).tobytes()).hexdigest()[:16]


def make_reference(cases: dict[str, Path], bench: Any) -> None:
    """Run the trusted programs for long, check that they agree, and write the file."""
    found = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    for name, case in cases.items():
        summaries = []
        for trusted in TRUSTED:
            answer = bench.fit(PROGRAMS[trusted], name, LONG, [1])
            summaries.append(summary(answer["files"][0]))
            print(name, trusted, summaries[-1].ess_bulk.min(), answer["fits"], flush=True)
        means, errors = (
            np.array([getattr(s, part) for s in summaries]) for part in ("mean", "mcse")
        )
        mean, mcse = pooled(summaries)
        spread = np.abs(means - mean) / np.sqrt(errors**2 + mcse**2)
        print(name, "largest |z| of a program against the pool", spread.max())
        found[name] = {
            "data": digest(case),
            "quantities": summaries[0].names,
            "mean": mean.tolist(),
            "mcse": mcse.tolist(),
        }
        REFERENCE.write_text(json.dumps(found) + "\n")
