"""Probabilities of being labeled on the command line."""

from __future__ import annotations

import json

import numpy as np

import lightfair as lf
from lightfair.cli.main import main


def test_they_are_read_and_used(tmp_path, capsys):
    rows = lf.simulate(300, 60, rng=2)
    prob = np.random.default_rng(0).uniform(0.05, 0.9, 300)
    lines = ["y,s,g,p"]
    for y, s, g, p in zip(rows.y_true, rows.y_score, rows.group, prob, strict=True):
        lines.append(f"{'' if np.isnan(y) else int(y)},{s},{g},{'NA' if np.isnan(y) else p}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    columns = ["--label", "y", "--score", "s", "--group", "g", "--label-prob", "p"]
    assert main(["summarize", str(path), *columns, "-o", str(tmp_path / "t.json")]) == 0
    data = lf.score_data(rows.y_true, rows.y_score, sensitive_features=rows.group, label_prob=prob)
    design = lf.load_table(tmp_path / "t.json").design
    np.testing.assert_allclose(design, lf.score_table(data).design, rtol=1e-12)
    capsys.readouterr()
    for keep in ([], ["--subsample-labels", "50"]):
        quick = ["--draws", "4", "--warmup", "10", "--json", *keep]
        assert main(["assess", str(path), *columns, *quick]) == 0
        codes = [note["code"] for note in json.loads(capsys.readouterr().out)["warnings"]]
        assert "label_prob" in codes
    path.write_text("y,s,g,p\n1,0.5,a,1.5\n")
    assert main(["assess", str(path), *columns]) == 2
    assert "must be probabilities in [1e-40, 1]" in capsys.readouterr().err
    sql = ["sql", "--dialect", "duckdb", "--table", "t", *columns]
    assert main(sql) == 2
    assert "summarize the labeled rows with it, and add" in capsys.readouterr().err
