"""Options from a file."""

from __future__ import annotations

import json
import shlex

import pytest

from lightfair.cli.config import expand
from lightfair.cli.main import make_parsers

COLUMNS = 'label = "y"\nscore = "s"\ngroup = "g"\n'
QUICK = f"{COLUMNS}chains = 4\ndraws = 4\nwarmup = 10\n"
RUN = f"{QUICK}json = true\n"


@pytest.fixture
def configured(run, folder):
    """Run a command with a config file of some text, in a folder beside rows.csv."""

    def run_with(text, *arguments, command="assess"):
        (folder / "conf").mkdir(exist_ok=True)
        (folder / "conf" / "lightfair.toml").write_text(text)
        return run(command, *arguments, "--config", "conf/lightfair.toml")

    return run_with


@pytest.fixture
def settings(configured):
    def settings(*arguments):
        code, out, err = configured(*arguments)
        assert (code, err) == (0, "")
        return json.loads(out)["settings"]

    return settings


def test_a_file_is_as_good_as_the_command_line(run, configured):
    given = "--label y --score s --group g --metric tpr fpr --check tpr<=0.5 --no-trust"
    want = run(
        "assess", "rows.csv", *given.split(), "--chains", "4", "--draws", "4", "--warmup", "10"
    )
    assert want[0] == 3
    text = f"""{QUICK}
[assess]
files = "../rows.csv"          # relative to this file
metric = ["tpr", "fpr"]
check = "tpr<=0.5"
no-trust = true
json = false
"""
    assert configured(text) == want
    assert configured(text.replace("no-t", "no_t").replace('"../rows.csv"', '["../rows.csv"]')) == (
        want
    )


def test_the_command_line_wins(ask, folder):
    text = f"{RUN}files = 'absent.csv'\nprob = 0.9\nseed = 1\nnested = true\n"
    text += "metric = ['tpr', 'fpr']\nthreshold = [0.2, 0.4]\n"
    given = "--prob 0.8 --metric ppv --threshold=0.6 --no-hierarchical -- rows.csv"
    (folder / "conf.toml").write_text(text)
    found = json.loads(ask("assess", "--config", "conf.toml", *given.split()))["settings"]
    assert (found["prob"], found["seed"], found["metrics"]) == (0.8, 1, ["ppv"])
    assert found["threshold"] == 0.6 and found["hierarchical"] is False


def test_a_table_of_a_command_wins_over_options_for_all(settings, configured, folder):
    text = f"""{QUICK}files = "../rows.csv"
prob = 0.9
width = 0.2                 # of plan only
output = "table.json"
[assess]
prob = 0.8
json = true
[plan]
prob = 0.7
"""
    assert settings(text)["prob"] == 0.8
    table = folder / "conf" / "table.json"
    code, out, err = configured(text, command="summarize")
    assert (code, err) == (0, "") and out.startswith("conf/table.json: 400 rows")
    code, out, err = configured(text, "-o", "-", command="summarize")
    assert (code, out, err) == (0, table.read_text(), "")


def test_required_options_may_stand_in_the_file(configured):
    text = f'{COLUMNS}[sql]\ndialect = "duckdb"\ntable = "scores"\n'
    assert configured(text, command="sql")[0] == 0
    assert "required: --dialect, --table" in configured(COLUMNS, command="sql")[2]
    assert "required: FILE" in configured(COLUMNS)[2]


@pytest.mark.parametrize(
    "text, message",
    [
        ('lable = "y"', "unknown key 'lable' (did you mean 'label'?)"),
        ('[assess]\nlable = "y"', "[assess]: unknown key 'lable' (did you mean 'label'?)"),
        ("[assess]\nwidth = 1", "[assess]: unknown key 'width'"),
        ("json = 1", "json must be true or false; got 1"),
        ('label = ["y", "z"]', "label must be text or a number; got"),
        ("label = ", "is not TOML: "),
        # values are checked as on the command line
        ('prob = "much"', "--prob: must be a number; got 'much'"),
    ],
)
def test_errors_in_a_file(text, message, configured):
    code, out, err = configured(text, "rows.csv")
    assert (code, out) == (2, "") and err.count("\n") == 1 and message in err
    assert err.startswith("lightfair: error: conf/lightfair.toml") or "argument" in err


def test_files_that_cannot_be_read(folder, fail):
    (folder / "latin.toml").write_bytes(b'label = "\xff"')
    for name, message in (
        ("absent.toml", "absent.toml: no such file or directory"),
        (".", "is a directory"),
        ("latin.toml", "latin.toml is not TOML: "),
    ):
        assert message in fail("assess", "--config", name)
    assert "argument --config: expected one argument" in fail("assess", "rows.csv", "--config")


@pytest.mark.parametrize(
    "command, text, wanted",
    [
        (
            "assess",
            "nested = true\nno-trust = true\nsimultaneous = false\nthreshold = ['-A=.3', 'B=.6']",
            {"hierarchical": "nested", "trust": False, "threshold": [("-A", 0.3), ("B", 0.6)]},
        ),
        (
            "assess",
            "metric = ['tpr', 'fpr']\ncheck = 'tpr<=0.05'\nprob = 0.9\nseed = 7\nalpha = 2",
            {"metrics": ["tpr", "fpr"], "checks": ["tpr<=0.05"], "prob": 0.9, "rng": 7, "alpha": 2},
        ),
        ("plan", "extra = [10, 20]\nreference = '-B x'", {"extra": [10, 20], "reference": "-B x"}),
        ("summarize", "output = '-t'\nthreshold = 0.4", {"output": "./-t", "threshold": [0.4]}),
    ],
)
def test_the_words_of_a_file_are_a_command_line(command, text, wanted, folder):
    (folder / "-a.toml").write_text(f"{COLUMNS}files = ['a b.csv', '-c.csv']\n{text}")
    parser = make_parsers()[1][command]
    words = expand(parser, command, ["--config=-a.toml"])
    arguments = vars(parser.parse_args(shlex.split(shlex.join(words))))
    wanted = {**wanted, "file": ["./a b.csv", "./-c.csv"], "y_true": "y", "config": None}
    assert {name: arguments[name] for name in wanted} == wanted
    assert not arguments.get("simultaneous")


def test_a_report_shows_a_command_line_that_makes_it_again(configured, ask):
    code, out, err = configured(f"{QUICK}files = '../rows.csv'\nmetric = 'tpr'\nmarkdown = '-'\n")
    assert (code, err) == (0, "")
    command = out.split("```sh\n")[1].split("\n```")[0]
    assert "--config" not in command and ask(*shlex.split(command)[1:]) == out
