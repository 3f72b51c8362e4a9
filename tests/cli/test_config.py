"""`--config`: options from a file."""

from __future__ import annotations

import json
import shlex
import sys

import numpy as np
import pytest

from lightfair.cli.main import _arguments, _parser, main

COLUMNS = 'label = "y"\nscore = "s"\ngroup = "g"\n'
QUICK = "draws = 4\nwarmup = 10\n"


@pytest.fixture
def folder(rows, tmp_path):
    """A folder of its own with rows, beside the one where the command runs."""
    folder = tmp_path / "conf"
    folder.mkdir()
    lines = ["y,s,g,h"]
    for i, (y, s, g) in enumerate(zip(rows.y_true, rows.y_score, rows.group, strict=True)):
        lines.append(f"{'' if np.isnan(y) else int(y)},{float(s)!r},{g},{'uv'[i % 2]}")
    (folder / "rows.csv").write_text("\n".join([*lines, ""]))
    return folder


@pytest.fixture
def ask(folder, capsys):
    """Run a command with a config file of some text; return its exit code and what it printed."""

    def run(text, *arguments, command="assess"):
        path = folder / "lightfair.toml"
        path.write_text(text)
        try:
            code = main([command, *map(str, arguments), "--config", str(path)])
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    return run


def settings(found):
    code, out, err = found
    assert (code, err) == (0, "")
    return json.loads(out)["settings"]


def test_the_file_is_as_good_as_the_command_line(ask, folder, capsys):
    path = str(folder / "rows.csv")
    given = ["--label", "y", "--score", "s", "--group", "g", "--metric", "tpr", "fpr"]
    given += ["--check", "tpr<=0.5", "--no-trust", "--draws", "4", "--warmup", "10"]
    code = main(["assess", path, *given])
    want = (code, *capsys.readouterr())
    text = f"""{COLUMNS}{QUICK}
[assess]
files = "rows.csv"          # relative to this file
metric = ["tpr", "fpr"]
check = "tpr<=0.5"
no-trust = true
"""
    assert ask(text) == want
    assert ask(text.replace("no-trust", "no_trust").replace('"rows.csv"', '["rows.csv"]')) == want


def test_every_kind_of_option(ask):
    text = f"""{COLUMNS}{QUICK}
files = ["rows.csv"]
json = true
simultaneous = false
threshold = ["A=0.3", "B=0.6"]
prob = 0.9
epsilon = 0.1
seed = 7
missing = "drop"
alpha = 2
"""
    found = settings(ask(text))
    assert found["threshold"] == {"A": 0.3, "B": 0.6}
    assert (found["prob"], found["epsilon"], found["seed"]) == (0.9, 0.1, 7)
    assert found["simultaneous"] is False
    assert found["prior"]["mu_a_sd"] == pytest.approx(0.8)
    found = settings(ask(text.replace('["A=0.3", "B=0.6"]', "0.4")))
    assert found["threshold"] == 0.4


def test_the_command_line_wins(ask, folder):
    text = COLUMNS + QUICK + 'json = true\nfiles = "absent.csv"\nprob = 0.9\nseed = 1\n'
    text += 'metric = ["tpr", "fpr"]\nthreshold = [0.2, 0.4]\nnested = true\n'
    given = [folder / "rows.csv", "--prob", "0.8", "--metric", "ppv", "--threshold", "0.6"]
    found = settings(ask(text, *given, "--no-hierarchical"))
    assert (found["prob"], found["seed"], found["metrics"]) == (0.8, 1, ["ppv"])
    assert found["threshold"] == 0.6 and found["hierarchical"] is False
    found = settings(ask(text, folder / "rows.csv", "--metric", "tpr", "fpr", "--threshold", "0.2"))
    assert (found["metrics"], found["threshold"]) == (["tpr", "fpr"], 0.2)


def test_the_table_of_a_command_wins_over_what_is_for_all(ask, folder):
    text = (
        COLUMNS
        + QUICK
        + """files = "rows.csv"
prob = 0.9
width = 0.2                 # of plan alone
output = "table.json"
[assess]
prob = 0.8
json = true
[plan]
prob = 0.7
"""
    )
    assert settings(ask(text))["prob"] == 0.8
    code, out, err = ask(text, command="summarize")
    assert (code, err) == (0, "")
    assert out.startswith(f"{folder / 'table.json'}: 400 rows")
    assert (folder / "table.json").exists()


def test_an_option_may_be_a_list_for_one_command_and_none_for_another(ask, folder):
    text = 'label = "y"\ngroup = "g"\nfiles = "rows.csv"\n' + QUICK
    text += 'nested = true\n[assess]\nscore = "s"\njson = true\n[compare]\nscore = ["s", "t"]\n'
    assert settings(ask(text))["metrics"][0] == "accuracy"
    code, _, err = ask(text, command="compare")
    assert code == 2 and "has no column t; its columns are y, s, g, h" in err
    both = text.replace("nested = true", "nested = true\nno-nested = true")  # of two commands
    assert settings(ask(both))["metrics"][0] == "accuracy"


def test_the_name_of_a_command_may_be_that_of_an_option(ask):
    text = COLUMNS + QUICK + 'files = "rows.csv"\njson = true\n'
    assert settings(ask("threshold = 0.4\n" + text))["threshold"] == 0.4
    found = ask(text + "[threshold]\nthreshold = 0.3\nreach = 0.5\n", command="threshold")
    assert found[0] == 0 and json.loads(found[1])["target"] == 0.5
    assert settings(ask(text + "[threshold]\nreach = 0.5\n"))["threshold"] == 0.5


def test_required_options_may_stand_in_the_file(ask):
    text = COLUMNS + '[sql]\ndialect = "duckdb"\ntable = "scores"\n'
    code, out, err = ask(text, command="sql")
    assert (code, err) == (0, "") and "GROUP BY" in out.upper()
    code, _, err = ask(COLUMNS, command="sql")
    assert code == 2 and "the following arguments are required: --dialect, --table" in err
    code, _, err = ask(COLUMNS)
    assert code == 2 and "the following arguments are required: FILE" in err


@pytest.mark.parametrize(
    "text, message",
    [
        ('lable = "y"', "unknown key 'lable' (did you mean 'label'?)"),
        ('[assess]\nlable = "y"', "[assess] unknown key 'lable' (did you mean 'label'?)"),
        ('[asses]\nlabel = "y"', "unknown key 'asses' (did you mean 'assess'?)"),
        ("[plan]\nwidht = 1", "[plan] unknown key 'widht' (did you mean 'width'?)"),
        ("[assess]\nwidth = 1", "[assess] width is no option of assess, only of plan"),
        ('config = "a.toml"', "unknown key 'config'"),
        ("[plan]\nwidth = true", "[plan] width must be a number; got true"),
        ('prob = "0.9"', "prob must be a number; got '0.9'"),
        ("seed = 1.5", "seed must be a whole number; got 1.5"),
        ("seed = true", "seed must be a whole number; got true"),
        ("json = 1", "json must be true or false; got 1"),
        ('nested = "yes"', "nested must be true or false; got 'yes'"),
        ("label = true", "label must be text or a number; got true"),
        ("label = 2020-01-01", "label must be text or a number; got 2020-01-01"),
        ('label = ["y", "z"]', "label must be one value, not a list"),
        ("metric = []", "metric must hold at least one value; leave it out for the default"),
        ("metric = [true]", "metric must be text or a number; got true"),
        (
            'missing = "dorp"',
            "missing must be one of raise, drop, group; got 'dorp' (did you",
        ),
        ("nested = true\nno-hierarchical = true", "nested and no-hierarchical exclude each other"),
        ('label_prob = "a"\nlabel-prob = "b"', "label_prob and label-prob exclude each other"),
        ("assess = 1", "assess is a command; write [assess] and its options"),
        ("label = ", "lightfair.toml is not TOML: "),
    ],
)
def test_what_is_wrong_in_the_file_is_said_in_one_sentence(text, message, ask, folder):
    code, out, err = ask(text, folder / "rows.csv")
    assert (code, out) == (2, "")
    assert err.startswith(f"lightfair: error: {folder / 'lightfair.toml'}") and err.count("\n") == 1
    assert message in err


def test_files_that_cannot_be_read(folder, capsys):
    bad = folder / "latin.toml"
    bad.write_bytes(b'label = "\xff"')
    for path, message in (
        (folder / "absent.toml", "no such file or directory"),
        (folder, "is a directory"),
        (bad, "is not TOML: "),
    ):
        assert main(["assess", "--config", str(path)]) == 2
        err = capsys.readouterr().err
        assert message in err and err.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["assess", "rows.csv", "--config"])
    assert "argument --config: expected one argument" in capsys.readouterr().err


def test_without_a_reader_of_toml(ask, monkeypatch):
    monkeypatch.setitem(sys.modules, "tomllib", None)
    monkeypatch.setitem(sys.modules, "tomli", None)
    code, out, err = ask(COLUMNS)
    assert (code, out) == (2, "")
    assert err == (
        "lightfair: error: --config needs Python 3.11 or newer, or tomli; install it: pip install "
        "tomli\n"
    )


def test_tomli_is_as_good(ask, monkeypatch):
    pytest.importorskip("tomli")
    monkeypatch.setitem(sys.modules, "tomllib", None)
    assert settings(ask(COLUMNS + QUICK + 'files = "rows.csv"\njson = true'))["seed"] == 0


# the command that reports print


def typed(text, *arguments, command="assess", folder):
    """The command line that a report of options from a file prints."""
    path = folder / "lightfair.toml"
    path.write_text(text)
    parser = _parser()
    return _arguments(parser, [command, *map(str, arguments), "--config", str(path)])


@pytest.mark.parametrize(
    "command, text, given",
    [
        ("assess", "", []),
        ("assess", "nested = true\nno-trust = true\nthreshold = ['-A=0.3', 'B=0.6']", []),
        ("assess", "metric = ['tpr', 'fpr']\ncheck = 'tpr<=0.05'\njson = true", ["--seed", "3"]),
        ("assess", "prob = 0.9\nreference = '-B x'\nepsilon = 0.1", ["--prob", "0.8"]),
        ("plan", "extra = [10, 20]\nwidth = 0.1", ["--metric", "tpr"]),
        ("compare", "score = ['s', 't']\nno-hierarchical = true", ["--metric", "tpr", "fpr"]),
        ("summarize", "output = 'table.json'", []),
    ],
)
def test_a_report_says_the_options_of_the_file(command, text, given, folder):
    text = 'label = "y"\ngroup = ["g", "h"]\nfiles = ["a b.csv", "c.csv"]\n' + text
    text += "" if command == "compare" else "\nscore = 's'"
    arguments = typed(text, *given, command=command, folder=folder)
    again = shlex.split(arguments.typed)
    assert again[:2] == ["lightfair", command] and "--config" not in arguments.typed
    repeated = vars(_parser().parse_args(again[1:]))
    wanted = vars(arguments)
    del wanted["typed"], wanted["written"]
    assert repeated == {**wanted, "config": None}


def test_the_command_in_a_report_makes_it_again(ask, capsys):
    text = f"{COLUMNS}{QUICK}files = 'rows.csv'\nmetric = 'tpr'\nmarkdown = '-'\n"
    code, out, err = ask(text)
    assert (code, err) == (0, "")
    command = out.split("```sh\n")[1].split("\n```")[0]
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == out


def test_nan_of_a_file_is_said_to_be_of_the_file(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("y,s,g\n1,0.9,a\n0,0.2,b\n")
    config = tmp_path / "c.toml"
    config.write_text('files = ["rows.csv"]\nlabel = "y"\nscore = "s"\ngroup = "g"\nprob = nan\n')
    assert main(["assess", "--config", str(config)]) == 2
    assert "c.toml: prob must lie in (0, 1); got nan" in capsys.readouterr().err
