"""The record of an audit: what was asked of which data, how, and what came out, for programs.

It is a JSON object, described by `record.schema.json` beside this file (JSON Schema 2020-12):

    format, version     "lightfair.audit", 1
    hazard              what could go wrong for whom, as given
    profile, limits     the audit profile (name, min_share, median, unknown); checked limits
    metrics, groups     names; each group with its levels and its numbers of rows
    data                files (name, sha256), source, rows, labeled, digest: the sha256 of the table
                        of all rows, which `lightfair summarize` writes at the end of its file
    dates               of the audit and of the data, as given
    versions, seed      of what computed the numbers; null: the seed is not known
    settings            all options, defaults included
    numbers             the rows of `lightfair.tidy` without empty cells; "inf" is infinite
    verdicts            check, status (pass, fail, insufficient), reason
    warnings            code and message
"""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from ..core import __version__
from ..core.assessment import Assessment
from ..core.mcmc.jit import version
from ..core.values import framed
from .profiles import AuditProfile, plain_texts

FORMAT, VERSION = "lightfair.audit", 1

KEPT = ("estimate", "exact")  # keys of a number that may be empty


def audit_record(
    result: Assessment | AuditProfile,
    numbers: Iterable[Mapping[str, Any]],
    digest: str,
    *,
    hazard: str | None = None,
    files: Sequence[str] = (),
    data_source: str | None = None,
    data_dates: date | str | None = None,
    audit_date: date | str | None = None,
) -> dict[str, Any]:
    """Return the record of an audit as plain values, ready for JSON.

    Parameters
    ----------
    result
        The assessment, or the profile.
    numbers
        Its tidy rows.
    digest
        SHA-256 of the table.
    hazard
        What could go wrong, for whom.
    files
        Names of the files that were read; "-" is standard input.
    data_source, data_dates, audit_date
        Source and dates of the data, and date of the audit. Default: those of the profile.
    """
    import scipy

    profile = result if isinstance(result, AuditProfile) else None
    base = result.assessment if isinstance(result, AuditProfile) else result
    values, rows, verdicts = framed(base, {}), list(numbers), verdicts_of(result)
    dates = {"data_dates": data_dates, "audit_date": audit_date}
    texts = plain_texts(data_source=data_source, hazard=hazard, **dates)
    texts = {name: text or getattr(profile, name, None) for name, text in texts.items()}
    names = ("profile", "min_share", "median", "unknown")
    return {
        "format": FORMAT,
        "version": VERSION,
        "hazard": hazard,
        "profile": profile and {name: getattr(profile, name) for name in names},
        "limits": [verdict["check"] for verdict in verdicts],
        "metrics": list(dict.fromkeys(row["metric"] for row in rows)),
        "groups": values["data"]["groups"],
        "data": {
            "files": [{"name": name, "sha256": _digest(name)} for name in files],
            "source": texts["data_source"],
            "rows": values["data"]["rows"],
            "labeled": values["data"]["labeled"],
            "digest": digest,
        },
        "dates": {"audit": texts["audit_date"], "data": texts["data_dates"]},
        "versions": {
            "lightfair": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "numba": version(),
        },
        "seed": base.settings.seed,
        "settings": values["settings"],
        "numbers": [
            {k: _finite(v) for k, v in row.items() if v is not None or k in KEPT} for row in rows
        ],
        "verdicts": verdicts,
        "warnings": values["warnings"],
    }


def verdicts_of(result: Assessment | AuditProfile) -> list[dict[str, Any]]:
    """Return check, status and reason of each verdict."""
    if isinstance(result, AuditProfile):
        rule = f"{result.rate} ratio>=0.8 by"
        found = [(f"{rule} {t.attribute}", t.status, t.sentence(tests=True)) for t in result.checks]
    else:
        found = [(one.check.text, one.status, one.basis) for one in result.checks]
    return [dict(zip(("check", "status", "reason"), values, strict=True)) for values in found]


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _digest(name: str) -> str | None:
    """SHA-256 of the bytes of a file; None for standard input, which has been read."""
    if name == "-":
        return None
    digest = hashlib.sha256()
    with open(name, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
