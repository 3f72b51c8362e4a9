"""Rows of several models: checked, and paired where those of all models are stacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.data import columns
from ..core.data.logit import Ints
from ..core.data.messages import level_name, missing_rows, row_list, show
from ..core.data.rows import ScoreData, is_several, score_data

LEAST, MOST = 2, 4  # models

ROWS = (  # arguments of `score_data` that all models share
    *("sensitive_features", "sample_weight", "label_prob"),
    *("positive_label", "unlabeled", "missing", "bins"),
)


def check_rows(
    scores: Any, y_true: Any, threshold: Any, rows: dict[str, Any], model: Any, row_id: Any
) -> dict[str, ScoreData]:
    """Return the checked rows of each model; arguments as in `compare_models`."""
    if model is not None:
        at = unstacked(y_true, model, row_id)
        scores, y_true, rows = _of_models(scores, y_true, rows, at)
    pairs = list(scores.items()) if isinstance(scores, Mapping) else columns.frame_columns(scores)
    if pairs is None:
        got = type(scores).__name__
        raise ValueError(f"scores must be a dict or frame of a column for each model; got {got}")
    given = [(level_name(name), score) for name, score in pairs]
    names = [name for name, _ in given]
    if not LEAST <= len({*names}) == len(names) <= MOST:
        got = f"{len(names)}: {', '.join(names) or 'none'}"
        raise ValueError(f"scores must hold {LEAST} to {MOST} models of different names; got {got}")
    cuts, checked = check_thresholds(threshold, names), {}
    for name, score in given:
        try:
            checked[name] = score_data(y_true, score, threshold=cuts[name], **rows)
        except ValueError as error:
            raise ValueError(str(error).replace("y_score", f"scores[{name!r}]")) from None
    columns.check_indexes([(f"scores[{name!r}]", score) for name, score in given])
    return checked


def unstacked(y_true: Any, model: Any, row_id: Any) -> dict[str, Ints]:
    """Return the rows of each model, in the order of their ids; each id comes once in a model."""
    codes, names = columns.factorize("model", model)
    ids, values = columns.factorize("row_id", row_id)
    given = {"y_true": columns.column("y_true", y_true), "model": codes, "row_id": ids}
    columns.check_lengths(given)
    if (codes < 0).any():
        raise ValueError(f"model has {missing_rows(codes < 0)}; name the model of each row")
    found = {}
    for code, name in enumerate(names):
        at = np.flatnonzero(codes == code)
        found[level_name(name)] = at = at[np.argsort(ids[at], kind="stable")]
        times = np.bincount(ids[at] + 1, minlength=len(values) + 1)  # missing first
        wrong = np.flatnonzero(times != [0] + [1] * len(values))
        if wrong.size:
            got = f"not so for {show([None, *values][wrong[0]])} in {name}"
            raise ValueError(f"row_id must pair rows: each once in each model; {got}")
    return found


def _of_models(
    scores: Any, y_true: Any, rows: dict[str, Any], at: dict[str, Ints]
) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """Return scores by model, and what their rows share: labels, and arguments of `score_data`."""
    values = columns.column("scores", scores)
    columns.check_lengths({"y_true": columns.column("y_true", y_true), "scores": values})
    y_true = _shared("y_true", y_true, at)
    features = columns.attribute_columns(rows["sensitive_features"])
    rows = rows | {"sensitive_features": {k: _shared(where, v, at) for k, where, v in features}}
    weights = {name: rows.get(name) for name in ("sample_weight", "label_prob")}
    rows |= {name: _shared(name, one, at) for name, one in weights.items() if one is not None}
    return {name: values[own] for name, own in at.items()}, y_true, rows


def _shared(name: str, values: Any, at: dict[str, Ints]) -> npt.NDArray[Any]:
    """Return the column of the first model; raise ValueError unless the others have the same."""
    codes, _ = columns.factorize(name, values)
    first = next(iter(at.values()))
    columns.check_lengths({"y_true": range(len(at) * len(first)), name: codes})
    wrong = np.concatenate([own[codes[own] != codes[first]] for own in at.values()])
    if wrong.size:
        rule = f"{name} must be the same in all models for a row_id"
        raise ValueError(f"{rule}; not so in {row_list(wrong)}")
    return np.asarray(columns.column(name, values)[first])


def check_thresholds(threshold: Any, models: Sequence[str]) -> dict[str, Any]:
    """Return the threshold of each model; raise ValueError unless it is one number for each."""
    given = threshold if isinstance(threshold, Mapping) else dict.fromkeys(models, threshold)
    cuts = {level_name(name): cut for name, cut in given.items()}
    if {*cuts} != {*models} or any(
        is_several(cut) or isinstance(cut, str) for cut in cuts.values()
    ):
        names = ", ".join(models)
        raise ValueError(f"threshold must be one number for each of {names}; got {show(threshold)}")
    return cuts
