"""Audits from the command line: the record of each against its schema, and what profiles need."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from lightfair.audit import record

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = json.loads(Path(record.__file__).with_name("record.schema.json").read_text())


def faults(values):
    return [one.message for one in jsonschema.Draft202012Validator(SCHEMA).iter_errors(values)]


@pytest.mark.parametrize(
    "words, code, statuses",
    [
        ("--label y --score s --group g --check selection_rate<=0.001", 1, ["fail"]),
        ("--label y --score s --group g --metric tpr --selection-odds 2", 0, []),
        ("--label y --pred d --group g --check tpr<=0.1 --metric tpr", 3, ["insufficient"]),
        ("--pred d --group g,h --profile nyc-ll144 --hazard x --data-source all", 0, []),
        ("--pred d --group h --profile four-fifths --audit-date 2026-01-02", 0, ["pass"]),
    ],
)
def test_a_record_is_as_its_schema_says(words, code, statuses, run):
    quick = ["--seed", "7", "--record", "-"]
    quick += ["--chains", "4", "--draws", "4", "--warmup", "10"] * ("--profile" not in words)
    found, out, _ = run("assess", "rows.csv", *words.split(), *quick)
    record = json.loads(out)
    assert (found, [one["status"] for one in record["verdicts"]]) == (code, statuses)
    assert not faults(record) and record["numbers"] and record["seed"] == 7
    digest = hashlib.sha256(Path("rows.csv").read_bytes()).hexdigest()
    assert record["data"]["files"] == [{"name": "rows.csv", "sha256": digest}]
    if "--score" in words:
        out = run("summarize", "rows.csv", *words.split()[:6], "-o", "-")[1]
        assert json.loads(out)["sha256"] == record["data"]["digest"]
    assert record.pop("hazard") == ("x" if "hazard" in words else None)
    wrong = {"version": 2, "seed": "7", "more": 1, "data": {**record["data"], "digest": ""}}
    assert len(faults({**record, **wrong})) == 5


OF_THE_MODEL = ["--epsilon 0.1", "--target population", "--min-rows 9", "--family llo", "--nested"]
OF_THE_MODEL += ["--no-hierarchical", "--no-trust", "--alpha 2", "--chains 4", "--draws 4"]
OF_THE_MODEL += ["--warmup 5"]


@pytest.mark.parametrize(
    "words, message",
    [
        ("--pred d --profile four-fifths", "rows need --group, too"),
        ("--group g --profile four-fifths", "rows need --score or --pred, too"),
        ("--pred d --group g --profile nyc-ll144", "two attributes, sex and race or ethnicity"),
        ("--pred d --group g --profile four-fifths --metric tpr", "--metric does not go with --pr"),
        *[
            (f"--profile four-fifths {words}", f"error: {words.split()[0]} does not go with --pro")
            for words in OF_THE_MODEL
        ],
        ("--profile four-fifths --reference A", "--reference does not go with --profile; leave"),
        ("--profile four-fifths --subsample-labels 5", "--subsample-labels does not go with --pro"),
        ("--score s --group g --profile four-fifths --threshold 0.1 --threshold 0.5", "one number"),
        ("--pred d --group g --profile four-fifths --hazard x", "--hazard needs --record; leave"),
        ("--pred d --group g --profile four-fifths --min-share 0.9", "less than --min-share, 0.9"),
        ("--label y --score s --group g --selection-odds 0.5", "--selection-odds must be a finite"),
        ("--selection-odds 2 --within h", "--selection-odds does not go with --within; leave one"),
        ("--within h --min-rows 9", "--min-rows does not go with --within; leave one of them out"),
        ("--min-share 0.1", "--min-share needs --profile; leave it out"),
        ("--within h --audit-date x", "--audit-date needs --profile or --record; leave it out"),
        ("--strata-weights both", "--strata-weights needs --within; leave it out"),
        ("--pred d --group g --profile four-fifths --weight w", "equal weight; leave out --weight"),
    ],
)
def test_a_profile_without_what_it_needs(words, message, fail):
    assert message in fail("assess", "rows.csv", *words.split())


@pytest.mark.parametrize(
    "words, message",
    [
        ("0.02", "--label-error must be two rates, each a number in [0, 1), or low and high"),
        ("0.02 0.1:x", "--label-error must be two rates"),
        ("0.02 0.05 --metric auc", "--label-error is for metrics of decisions at one threshold"),
        ("0.9 0.05", "--label-error must explain the labels: at a false positive rate of 0.9"),
        ("0.1 0.1 --profile nyc-ll144", "--label-error does not go with --profile"),
    ],
)
def test_rates_of_wrong_labels(words, message, run):
    common = "assess rows.csv --label y --score s --group g --draws 4 --warmup 10"
    base = common.split()
    if "profile" not in words:
        base += ["--metric", "tpr"]
    code, _, error = run(*base, "--label-error", *words.split())
    assert code == 2 and message in error
    code, out, _ = run(*base, "--metric", "tpr", "--label-error", "0.02", "0:0.1", "--json")
    assert code == 0 and json.loads(out)["settings"]["label_error"] == [[0.02, 0.02], [0, 0.1]]
