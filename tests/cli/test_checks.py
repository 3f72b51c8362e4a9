"""`--check`: the verdict of the library, said by exit code, report and values."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import lightfair as lf
from lightfair.cli.main import main

pytestmark = pytest.mark.usefixtures("compiled")

COLUMNS = ["--label", "y", "--score", "s", "--group", "g"]
FAST = ["--chains", "4", "--draws", "400", "--warmup", "200"]
RATES = {"A": 0.5, "B": 0.52, "C": 0.7}  # of rows with a score above 0.5


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """600 rows of three groups with known selection rates, a third of them labeled."""
    rng = np.random.default_rng(0)
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["y", "s", "g"])
        for group, rate in RATES.items():
            above = np.arange(200) < round(200 * rate)
            for i, high in enumerate(above):
                score = round(rng.uniform(0.55, 0.95) if high else rng.uniform(0.05, 0.45), 3)
                label = int(rng.random() < score) if i % 3 == 0 else ""
                writer.writerow([label, score, group])
    return str(file)


def run(capsys, *arguments):
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


@pytest.mark.parametrize(
    "checks, code",
    [
        (["selection_rate<=0.21"], 0),
        (["selection_rate<=0.2"], 0),
        (["selection_rate<=0.19"], 1),
        (["demographic_parity ratio>=0.7"], 0),
        (["selection_rate ratio>=0.8"], 1),
        (["selection_rate<=0.21", "selection_rate<=0.19"], 1),
        (["tpr<=0.05"], 3),
        (["selection_rate<=0.21", "tpr<=0.05"], 3),
        (["tpr<=0.05", "selection_rate<=0.19"], 1),
        (["equalized_odds<=0.99", "selection_rate<=0.21"], 0),
        ([], 0),
    ],
)
def test_exit_codes(path, capsys, checks, code):
    options = [part for check in checks for part in ("--check", check)]
    found, out, err = run(capsys, "assess", path, *COLUMNS, *FAST, *options)
    assert (found, err) == (code, "")
    top = out.split("\n\n")[1].splitlines()
    assert top[0] == ("verdict" if checks else "rows")  # on top of the report
    said = [line.split(maxsplit=1) for line in top[1:] if line[:4].strip()] if checks else []
    assert [why.split(":")[0] for _, why in said] == checks
    words = {0: "pass", 1: "fail", 3: "insufficient"}
    assert not checks or words[code] in [status for status, _ in said]
    values = json.loads(run(capsys, "assess", path, *COLUMNS, *FAST, *options, "--json")[1])
    assert [verdict["check"] for verdict in values["checks"]] == checks


def test_library_and_command_line_agree(path, capsys):
    """F19, F20."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    result = lf.assess(
        [float(row["y"]) if row["y"] else np.nan for row in rows],
        [float(row["s"]) for row in rows],
        sensitive_features={"g": [row["g"] for row in rows]},
        checks=["tpr<=0.3", "ppv ratio>=0.8", "selection_rate<=0.1"],
        simultaneous=True,
        chains=4,
        draws=400,
        warmup=200,
        rng=0,
    )
    options = [
        "--check",
        "tpr<=0.3",
        "--check",
        "ppv ratio >= 0.8",
        "--check",
        "selection_rate<=0.1",
    ]
    options.append("--simultaneous")
    code, out, _ = run(capsys, "assess", path, *COLUMNS, *FAST, *options)
    assert code == 1 and out == f"{result}\n"
    values = json.loads(run(capsys, "assess", path, *COLUMNS, *FAST, *options, "--json")[1])
    assert values == json.loads(json.dumps(result.to_dict()))
    for verdict, said in zip(result.checks, values["checks"], strict=True):
        again = result.check(verdict.check.text)
        assert again == verdict and said == json.loads(json.dumps(again.to_dict()))


def test_one_level_for_intervals_and_verdicts(path, capsys):
    """F17."""
    for prob in ("0.5", "0.99"):
        arguments = [path, *COLUMNS, *FAST, "--check", "tpr<=0.3", "--prob", prob, "--json"]
        values = json.loads(run(capsys, "assess", *arguments)[1])
        (verdict,) = values["checks"]
        assert verdict["prob"] == values["settings"]["prob"] == float(prob)


def test_a_checked_metric_is_assessed(path, capsys):
    arguments = [path, *COLUMNS, *FAST, "--metric", "accuracy", "--check", "npv<=0.9", "--json"]
    values = json.loads(run(capsys, "assess", *arguments)[1])
    assert list(values["metrics"]) == ["accuracy", "npv"]


def test_the_demo_can_be_checked(capsys):
    options = ["--rows", "2000", "--labeled", "500", "--check", "selection_rate<=0.5"]
    code, out, _ = run(capsys, "demo", *options)
    assert code == 0 and "\n  pass  selection_rate<=0.5: B and A within 0.5" in out


@pytest.mark.parametrize(
    "check, message",
    [
        ("tpr", 'check must be a metric, <= and a limit, as in "tpr<=0.05" or "selection_rate'),
        ("tpr>=0.05", 'check tpr>=0.05: a difference is checked with <=, as in "tpr<=0.05"'),
        ("tpr<=five", "check tpr<=five: its limit must be a number, as in "),
        ("tpx<=0.1", "check tpx<=0.1: unknown metric 'tpx' (did you mean 'tpr'?); known: "),
        ("tpr<=2", "check tpr<=2: its limit must be below 1, the range of tpr; got 2"),
        (
            "tpr ratio>=80",
            "check tpr ratio>=80: its limit must lie in (0, 1) for a ratio; got 80.0",
        ),
    ],
)
def test_bad_checks_are_bad_usage(path, capsys, check, message):
    code, out, err = run(capsys, "assess", path, *COLUMNS, "--check", check)
    assert (code, out) == (2, "")
    assert err.startswith(f"lightfair: error: --{message}") and err.count("\n") == 1


def test_one_group_cannot_be_checked(path, tmp_path, capsys):
    file = tmp_path / "one.csv"
    with open(path) as rows:
        file.write_text("".join(line for line in rows if not line.strip().endswith(("B", "C"))))
    code, out, err = run(capsys, "assess", file, *COLUMNS, "--check", "tpr<=0.05")
    assert (code, out) == (2, "")
    assert err.startswith("lightfair: error: there is only one group, A, and nothing to compare")
