"""Help, and what is said of misspelt commands, options and names."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from lightfair.cli.main import _parser, main
from lightfair.cli.options import METRICS as LISTED
from lightfair.core.metrics.definitions import METRICS

COMMANDS = tuple(_parser().commands)


def helped(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    out, err = capsys.readouterr()
    assert (stop.value.code, err) == (0, "")
    return out


def failed(capsys, *arguments):
    try:
        code = main([*arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("lightfair: error: ") and err.count("\n") == 1
    return err


@pytest.mark.parametrize("columns", [None, "200", "60"])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_examples_and_fits(command, columns, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    out = helped(capsys, *[command] * bool(command), "--help")
    # usage and examples are laid out for 80 columns; the options for what there is
    options = [line for line in out.splitlines() if line.startswith(" " * 8)]
    assert max(map(len, out.splitlines())) <= 80
    assert columns != "60" or max(map(len, options)) <= 80
    assert ("examples:" if command else "first steps:") in out
    assert "==SUPPRESS==" not in out


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_understood(command, capsys):
    """Every example of a help is a command line that the parser takes."""
    out = helped(capsys, command, "--help").partition("examples:\n")[2].partition("\n\n")[0]
    lines = re.sub(r"\\\n\s*", "", out).splitlines()
    assert lines
    for line in lines:
        words = re.findall(r'"[^"]*"|\S+', line.partition(" > ")[0])
        assert words[0] == "lightfair"
        given = [word.strip('"') for word in words[1:]]
        if "--config" not in given:
            _parser().parse_args(given)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command):
    parser = _parser().commands[command]
    for action in parser._actions:
        assert action.help, action


def test_the_help_lists_the_metrics():
    names = re.findall(r"[a-z][a-z0-9_]+", LISTED.partition(", cost")[0])
    assert {*METRICS} <= {*names}
    assert {*names} - {*METRICS} == {"one", "or", "more", "of", "these", "four", "where", "none",
                                     "is", "named"}  # fmt: skip


def test_commands_may_be_asked_for_help(capsys):
    assert helped(capsys, "help") == helped(capsys, "--help") == helped(capsys, "-h")
    assert helped(capsys, "help", "plan") == helped(capsys, "plan", "-h")


def test_without_arguments_it_helps_and_nothing_was_done(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err == helped(capsys, "--help")


def test_the_version_is_that_of_the_package(capsys):
    import lightfair

    assert helped(capsys, "--version") == f"lightfair {lightfair.__version__}\n"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["asses"], "argument COMMAND: invalid choice: 'asses' (did you mean 'assess'?); there"),
        (["plann"], "(did you mean 'plan'?)"),
        (["frobnicate"], "invalid choice: 'frobnicate'; there are assess, plan, compare,"),
        (["--vresion"], "unrecognized arguments: --vresion (did you mean '--version'?)"),
        (["assess", "x.csv", "--lable", "y"], "unrecognized arguments: --lable (did you mean '--l"),
        (["assess", "--lable=y"], "(did you mean '--label'?); see lightfair assess --help"),
        (["assess", "x.csv", "--labelprob", "y"], "(did you mean '--label-prob'?)"),
        (["plan", "x.csv", "--widht", "1"], "(did you mean '--width'?); see lightfair plan --help"),
        (["summarize", "x.csv", "--outptu", "t"], "--outptu (did you mean '--output'?)"),
        (["assess", "x.csv", "--frobnicate"], "unrecognized arguments: --frobnicate; see"),
        (["assess", "x.csv", "--missing", "dorp"], "'dorp' (did you mean 'drop'?); there are rai"),
        (["assess", "x.csv", "--color", "no"], "invalid choice: 'no'; there are auto, always, nev"),
        (["assess", "x\n.csv\x1b[31m", "--prob", "x\n\x1b"], "must be a number; got 'x\\n\\x1b'"),
        (["assess", "x.csv", "-x"], "unrecognized arguments: -x; see lightfair"),
    ],
)
def test_what_was_likely_meant_is_said(arguments, message, capsys):
    assert message in failed(capsys, *arguments)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "scores.csv"
    file.write_text("id,label,score,race\n1,1,.5,A\n2,0,.4,A\n3,,.3,B\n")
    return str(file)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--label", "lable"], "scores.csv has no column lable (did you mean 'label'?); its colum"),
        (
            ["--group", "Race"],
            "no column Race (did you mean 'race'?); its columns are id, label,",
        ),
        (["--score", "income"], "has no column income; its columns are id, label, score, race"),
        (["--metric", "tprr"], "unknown metric 'tprr' (did you mean 'tpr'?); known: accuracy, "),
        (["--metric", "precision"], "unknown metric 'precision' (did you mean 'ppv'?); known"),
        (["--check", "equal_odds<=0.1"], "(did you mean 'equalized_odds'?)"),
        (["--reference", "a"], "got 'a' (did you mean 'A'?)"),
    ],
)
def test_names_of_the_data_are_told_too(options, message, path, capsys):
    given = {"--label": "label", "--score": "score", "--group": "race"}
    given |= dict(zip(options[::2], options[1::2], strict=True))
    assert message in failed(capsys, "assess", path, *[x for pair in given.items() for x in pair])


def test_the_names_of_many_columns_are_cut(tmp_path, capsys):
    file = tmp_path / "wide.csv"
    names = [f"feature_{i}" for i in range(300)]
    file.write_text(",".join(names) + "\n" + ",".join("0" * 300) + "\n")
    err = failed(capsys, "assess", str(file), "--label", "y", "--score", "s", "--group", "g")
    assert "its columns are feature_0, feature_1, " in err and "feature_299" not in err
    assert "and 280 more" in err


def test_control_characters_of_a_name_are_escapes(tmp_path, capsys):
    file = tmp_path / "rows.csv"
    file.write_text("a\x1b[31m,b\u202e\n1,2\n")
    err = failed(capsys, "assess", str(file), "--label", "y", "--score", "s", "--group", "g")
    assert "its columns are 'a\\x1b[31m', 'b\\u202e'" in err


def test_a_module_run_is_called_by_the_name_of_the_command(child_env):
    done = subprocess.run(
        [sys.executable, "-m", "lightfair", "assess", "--help"],
        env={**child_env, "PYTHONWARNDEFAULTENCODING": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stdout.startswith("usage: lightfair assess FILE")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--alpha", "-1"], "--alpha must be a finite number above 0; got -1.0"),
        (["--metric", "tpr2"], "--metric: unknown metric 'tpr2' (did you mean 'tpr'?)"),
        (["--check", "tpr<=2"], "--check tpr<=2: its limit must be below 1, the range of tpr"),
        (["--prob", "abc"], "argument --prob: must be a number; got 'abc'"),
        (["--seed", "1.5"], "argument --seed: must be a whole number; got '1.5'"),
        (
            ["--chains", "100000"],
            "--chains must be a whole number of at least 1 and at most 10,000",
        ),
        (["--weight", "s"], "--weight: a column has one role; s is --score, too"),
        (["--weight", "g"], "--weight: a column has one role; g is --group, too"),
        (["--positive-label", "yes"], "got 'yes'; the column holds 0, 1"),
    ],
)
def test_errors_are_about_what_was_given(options, said, tmp_path, capsys):
    file = tmp_path / "rows.csv"
    file.write_text("y,s,g\n1,0.9,a\n0,0.2,b\n")
    columns = ["--label", "y", "--score", "s", "--group", "g"]
    assert said in failed(capsys, "assess", str(file), *columns, *options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--group-to-move", "a"], "--group-to-move must differ from the reference, a"),
        (["--group-to-move", "bb"], "--group-to-move: no group 'bb'"),
        (["--metric", "auc"], "--metric: auc does not depend on the threshold; threshold takes"),
        (["--score", "g"], "--group: a column has one role; g is --score, too"),
    ],
)
def test_errors_of_a_search_are_about_its_options(options, said, tmp_path, capsys):
    file = tmp_path / "rows.csv"
    file.write_text("y,s,g\n1,0.9,a\n0,0.2,b\n1,0.8,a\n0,0.3,a\n")
    columns = ["--label", "y", "--score", "s", "--group", "g"]
    assert said in failed(capsys, "threshold", str(file), *columns, "--draws", "20", *options)
