"""The table of options: help, errors, and values."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields

import pytest

from lightfair.cli.main import make_parsers
from lightfair.cli.options import COMMANDS, METRICS, OPTIONS, options_of
from lightfair.core.metrics.definitions import METRICS as DEFINED
from lightfair.core.settings import Settings

PARSERS = make_parsers()[1]


@pytest.mark.parametrize("columns", [None, "200", "60"])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_examples_and_fits(command, columns, run, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    code, out, err = run(*[command] * bool(command), "--help")
    assert (code, err) == (0, "")
    options = [line for line in out.splitlines() if line.startswith(" " * 8)]
    assert max(map(len, out.splitlines())) <= 80
    assert columns != "60" or max(map(len, options), default=0) <= 80
    assert ("examples:\n" if command else "first steps:\n") in out
    assert "SUPPRESS" not in out and "None" not in out


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_parse(command, ask):
    out = ask("help", command).partition("examples:\n")[2].partition("\n\n")[0]
    lines = re.sub(r"\\\n\s*", "", out).splitlines()
    assert len(lines) >= 2
    for line in lines:
        first, name, *words = shlex.split(line.partition(" > ")[0])
        assert first == "lightfair"
        PARSERS[name].parse_args(words)
        assert {w[2:].partition("=")[0] for w in words if w.startswith("--")} <= {*options_of(name)}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained_and_known(command):
    parsed = {name for action in PARSERS[command]._actions for name in action.option_strings}
    assert {f"--{name}" for name in options_of(command)} == parsed - {"-h", "--help", "-o"}
    assert all(action.help for action in PARSERS[command]._actions)
    assert all({*o.commands.split()} <= {*COMMANDS} for of in OPTIONS.values() for o in of)


def test_options_of_the_model_set_what_assess_is_asked():
    names = {field.name for field in fields(Settings)}
    for heading in ("what to report", "model and sampler"):
        assert {option.dest for option in OPTIONS[heading]} <= names | {"alpha", "rng"}


def test_the_help_lists_the_metrics():
    listed = {*re.findall(r"[a-z][a-z0-9_]+", METRICS.partition(", cost")[0])}
    words = {"one", "or", "more", "of", "the", "default", "is", "these", "four"}
    assert listed == {*DEFINED} | words


def test_help_of_the_whole_and_of_a_command(run, ask):
    assert ask("help") == ask("--help") == ask("-h")
    assert ask("help", "plan") == ask("plan", "-h")
    assert run() == (2, "", ask("--help"))
    files = [" ".join(ask("help", command).split()) for command in ("assess", "monitor")]
    assert ["several are added up" in text for text in files] == [True, False]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("asses", "there is no command asses (did you mean 'assess'?); see lightfair --help"),
        ("--vresion", "(did you mean '--version'?)"),
        ("assess x.csv --thresh 0.4", "unrecognized arguments: --thresh 0.4; see"),  # no short form
        ("plan x.csv --simultaneous", "unrecognized arguments: --simultaneous; see lightfair plan"),
        ("assess x.csv --missing dorp", "argument --missing: invalid choice: 'dorp' (choose"),
        ("assess x.csv --prob x\\n\x1b", "--prob: invalid float value: 'x\\\\n\\x1b'"),
        ("assess x.csv --chains 99999999999999999999", "--chains: must be a whole number"),
        ("assess x.csv --nested --no-hierarchical", "not allowed with argument --nested"),
        ("assess x.csv --bins age=x", "--bins: must be COL=EDGE,EDGE or COL=COUNT; got 'age=x'"),
        ("assess x.csv --bins age=3,x", "--bins: must be COL=EDGE,EDGE or COL=COUNT"),
        ("assess", "the following arguments are required: FILE; see lightfair assess --help"),
    ],
)
def test_bad_usage(arguments, message, fail):
    assert message in fail(*arguments.split(" "))


def test_files_may_follow_a_repeated_option():
    arguments = PARSERS["assess"].parse_args(["--group", "g", "x.csv", "y.csv", "--group=h"])
    assert (arguments.file, arguments.sensitive_features) == (["x.csv", "y.csv"], ["g", "h"])


def test_what_follows_two_hyphens_is_a_file(fail):
    for name in ("--label", "--width"):
        given = ["--label", "y", "--score", "s", "--group", "g", "--", name]
        assert f"{name}: no such file or directory" in fail("assess", *given)
