"""The command line: what it reads, what it prints, how it fails."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lightfair as lf
from lightfair.cli.main import main
from lightfair.cli.terminal import Progress

COLUMNS = ["--label", "y", "--score", "s", "--group", "g"]
QUICK = ["--draws", "4", "--warmup", "10"]


def as_text(rows):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["y", "s", "g", "d", "w"])
    for y, s, g in zip(rows.y_true, rows.y_score, rows.group, strict=True):
        writer.writerow(["" if np.isnan(y) else int(y), repr(float(s)), g, int(s > 0.3), 2])
    return out.getvalue()


@pytest.fixture(scope="module")
def text(rows):
    return as_text(rows)


@pytest.fixture
def path(text, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(text)
    return str(file)


@pytest.fixture
def ask(capsys):
    """Run the command in this process; return what it printed."""

    def run(*arguments):
        assert main([*map(str, arguments)]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run


@pytest.fixture
def fail(capsys):
    """Run a command that must fail in one line; return the line."""

    def run(*arguments):
        try:
            code = main([*map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert err.startswith("lightfair: error: ") and err.count("\n") == 1
        assert "Traceback" not in err
        return err

    return run


def child(env, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "lightfair", *arguments],
        env=env,
        capture_output=True,
        timeout=60,
        **options,
    )


# what it reads


def test_it_prints_the_report_of_assess(rows, path, ask):
    result = lf.assess(
        rows.y_true,
        rows.y_score,
        sensitive_features={"g": rows.group},
        draws=4,
        warmup=10,
        rng=0,
    )
    assert ask("assess", path, *COLUMNS, *QUICK) == f"{result}\n"
    values = json.loads(ask("assess", path, *COLUMNS, *QUICK, "--json"))
    assert values == json.loads(json.dumps(result.to_dict()))


def test_gzip_is_recognised_whatever_the_name(text, path, tmp_path, ask):
    plain = ask("assess", path, *COLUMNS, *QUICK)
    for name in ("rows.csv.gz", "noname"):
        file = tmp_path / name
        file.write_bytes(gzip.compress(text.encode()))
        assert ask("assess", file, *COLUMNS, *QUICK) == plain


def test_a_plain_file_may_be_called_gz(text, tmp_path, ask):
    file = tmp_path / "plain.gz"
    file.write_text(text)
    ask("assess", file, *COLUMNS, *QUICK)


def test_byte_order_mark_carriage_returns_and_blank_lines(text, path, tmp_path, ask):
    file = tmp_path / "windows.csv"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\r\n", "\r\n\r\n").encode())
    assert ask("assess", file, *COLUMNS, *QUICK) == ask("assess", path, *COLUMNS, *QUICK)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_stdin(text, path, ask, child_env, pack):
    done = child(child_env, "assess", "-", *COLUMNS, *QUICK, input=pack(text.encode()))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == ask("assess", path, *COLUMNS, *QUICK).splitlines()


def test_same_seed_same_bytes_in_two_processes(path, child_env):
    runs = [child(child_env, "assess", path, *COLUMNS, *QUICK, "--json") for _ in range(2)]
    assert runs[0].returncode == 0
    assert runs[0].stdout == runs[1].stdout
    json.loads(runs[0].stdout)


def test_another_seed_is_another_result(path, ask):
    one, two = (ask("assess", path, *COLUMNS, *QUICK, "--seed", seed) for seed in (0, 1))
    assert one != two


def test_options_reach_the_settings(path, ask):
    options = ["--metric", "tpr", "ppv", "--metric", "f1", "--reference", "B", "--prob", "0.8"]
    options += ["--target", "expected", "--epsilon", "0.1", "--family", "llo", "--alpha", "2"]
    options += ["--no-hierarchical", "--clip", "0.02", "--chains", "2", "--seed", "7"]
    options += ["--threshold", "A=0.3", "--threshold", "B=0.6"]
    settings = json.loads(ask("assess", path, *COLUMNS, *QUICK, *options, "--json"))["settings"]
    wanted = {
        "metrics": ["tpr", "ppv", "f1"],
        "reference": "B",
        "prob": 0.8,
        "target": "expected",
        "epsilon": 0.1,
        "family": "llo",
        "hierarchical": False,
        "clip": 0.02,
        "chains": 2,
        "seed": 7,
        "threshold": {"A": 0.3, "B": 0.6},
        "prior": lf.Prior().scaled(2.0).to_dict(),
    }
    assert {key: settings[key] for key in wanted} == wanted


def test_decisions_and_weights(path, ask):
    values = json.loads(
        ask("assess", path, *COLUMNS, *QUICK, "--pred", "d", "--weight", "w", "--json")
    )
    assert values["settings"]["threshold"] is None


def test_crossed_groups(path, ask):
    out = ask("assess", path, *COLUMNS, "--group", "d", *QUICK, "--json")
    names = [group["name"] for group in json.loads(out)["data"]["groups"]]
    assert names == ["A, 0", "A, 1", "B, 0", "B, 1"]


def test_one_group_only_is_no_error(path, ask):
    columns = ["--label", "y", "--score", "s", "--group", "w"]
    values = json.loads(ask("assess", path, *columns, *QUICK, "--json"))
    assert values["settings"]["reference"] is None
    assert all(metric["differences"] == [] for metric in values["metrics"].values())
    assert "there is only one group, 2" in ask("assess", path, *columns, *QUICK)


def test_subsampled_labels_print_the_truth(rows, tmp_path, ask):
    file = tmp_path / "all.csv"
    file.write_text(as_text(rows._replace(y_true=rows.y_all.astype(float))))
    arguments = ["assess", file, *COLUMNS, *QUICK, "--subsample-labels", "50"]
    values = json.loads(ask(*arguments, "--json"))
    assert values["data"]["labeled"] == 50
    for index, name in enumerate("AB"):
        mine = rows.group == name
        share = (rows.y_score[mine & (rows.y_all == 1)] >= 0.5).mean()
        assert values["metrics"]["tpr"]["groups"][index]["truth"] == pytest.approx(share)
    assert "truth" in ask(*arguments)
    assert "truth" not in ask("assess", file, *COLUMNS, *QUICK)


def test_demo(ask):
    arguments = ["demo", "--rows", "600", "--labeled", "60", "--metric", "tpr", *QUICK]
    out = ask(*arguments)
    assert "600 rows, 60 labeled, 540 unlabeled; 2 groups by group" in out
    assert "truth" in out and "\ndiagnostics\n" in out
    assert out == ask(*arguments)


@pytest.mark.parametrize("arguments", [["--help"], ["assess", "--help"], ["--version"]])
def test_help_and_version(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert "lightfair" in capsys.readouterr().out


def test_a_closed_pipe_is_no_error(path, child_env):
    process = subprocess.Popen(
        [sys.executable, "-m", "lightfair", "assess", path, *COLUMNS, *QUICK],
        env=child_env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_disk_is_said_in_one_line(path, tmp_path, child_env):
    table = ["summarize", path, *COLUMNS, "-o"]
    for arguments, what in (
        ([*table, "-"], b"standard output: no space left on device"),
        (["--help"], b"standard output: no space left on device"),
        ([*table, "/dev/full"], b"/dev/full: no space left on device"),
    ):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "lightfair", *arguments],
                env=child_env,
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=60,
            )
        assert (done.returncode, done.stderr) == (2, b"lightfair: error: " + what + b"\n")


@pytest.mark.skipif(not Path("/bin/sh").exists(), reason="no shell")
@pytest.mark.parametrize("closed, what", [("<&-", "standard input is"), (">&-", "standard output")])
def test_closed_streams_are_said_in_one_line(closed, what, child_env):
    command = f"exec '{sys.executable}' -m lightfair assess - {' '.join(COLUMNS)} {closed}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], env=child_env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"lightfair: error: {what}") and done.stderr.count("\n") == 1


def test_names_of_groups_that_the_terminal_cannot_show(text, tmp_path, child_env):
    file = tmp_path / "rows.csv"
    file.write_text(text.replace(",A,", ",größer,"), encoding="utf-8")
    env = {**child_env, "PYTHONIOENCODING": "ascii"}
    done = child(env, "assess", str(file), *COLUMNS, *QUICK)
    assert (done.returncode, done.stderr) == (0, b"")


# tables


@pytest.fixture
def halves(text, tmp_path):
    """Two files of rows, one of them gzipped."""
    lines = text.splitlines(keepends=True)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv.gz"
    first.write_text("".join(lines[:250]))
    second.write_bytes(gzip.compress("".join([lines[0], *lines[250:]]).encode()))
    return str(first), str(second)


def report(out):
    """Numbers of a report, without those that the order of sums can change."""
    return [part for part in out.split("\n\n") if not part.startswith("diagnostics\n")]


def test_a_table_is_assessed_as_its_rows(path, tmp_path, ask):
    table = tmp_path / "table.json"
    said = ask("summarize", path, *COLUMNS, "-o", table)
    rows = "400 rows, 60 labeled, 340 unlabeled; 2 groups by g; threshold 0.5"
    assert said == f"{table}: {rows}\n"
    assert ask("assess", table, *QUICK) == ask("assess", path, *COLUMNS, *QUICK)
    assert ask("assess", table, *QUICK, "--json") == ask("assess", path, *COLUMNS, *QUICK, "--json")
    assert lf.load_table(table).rows == 400
    assert ask("summarize", path, *COLUMNS, "-o", "-") == table.read_text()


def test_files_and_tables_are_added_up(path, halves, tmp_path, ask):
    first, second = halves
    one, both = tmp_path / "one.json", tmp_path / "both.json"
    ask("summarize", first, *COLUMNS, "-o", one)
    whole = report(ask("assess", path, *COLUMNS, *QUICK))
    for files in ([first, second], [one, second], [second, one]):
        assert report(ask("assess", *files, *COLUMNS, *QUICK)) == whole
        ask("summarize", *files, *COLUMNS, "-o", both)
        assert report(ask("assess", both, *QUICK)) == whole
    two = tmp_path / "two.json"
    ask("summarize", second, *COLUMNS, "-o", two)
    assert "400 rows, 60 labeled" in ask("summarize", one, two, "-o", both)
    assert report(ask("assess", two, one, *QUICK)) == whole


def test_a_table_on_stdin(path, tmp_path, ask, child_env):
    table = ask("summarize", path, *COLUMNS, "-o", "-")
    done = child(child_env, "assess", "-", *QUICK, input=table.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == ask("assess", path, *COLUMNS, *QUICK).splitlines()


def test_options_of_rows_reach_the_table(path, tmp_path, ask):
    file = tmp_path / "table.json"
    options = ["--group", "d", "--weight", "w", "--clip", "0.02"]
    options += ["--threshold", "A, 0=0.3", "--threshold", "A, 1=0.4"]
    options += ["--threshold", "B, 0=0.5", "--threshold", "B, 1=0.6"]
    assert "weighted; 4 groups by g and d; thresholds A, 0 0.3," in ask(
        "summarize", path, *COLUMNS, *options, "-o", file
    )
    table = lf.load_table(file)
    assert (table.clip, table.weighted, table.attributes) == (0.02, True, ("g", "d"))
    settings = json.loads(ask("assess", file, *QUICK, "--json"))["settings"]
    assert (settings["clip"], settings["threshold"]) == (0.02, table.threshold)
    assert ask("assess", file, *QUICK, "--clip", "0.02") == ask("assess", file, *QUICK)


def test_what_was_dropped_is_said(tmp_path, ask):
    file = tmp_path / "rows.csv"
    file.write_text("y,s,g\n1,.5,A\n0,.2,\n,.2,B\n")
    said = ask("summarize", file, *COLUMNS, "--missing", "drop", "-o", tmp_path / "table.json")
    assert "warning (dropped_rows): rows dropped, sensitive_features is missing: 1\n" in said
    assert "warning (ties_with_threshold)" in said


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columnar_files(kind, rows, path, tmp_path, ask):
    pytest.importorskip("pyarrow")
    frame = pytest.importorskip("pandas").DataFrame(
        {"y": rows.y_true, "s": rows.y_score, "g": rows.group}
    )
    file = tmp_path / f"rows.{kind}"
    getattr(frame, f"to_{kind}")(file)
    assert ask("assess", file, *COLUMNS, *QUICK) == ask("assess", path, *COLUMNS, *QUICK)
    many = ["--subsample-labels", "30"]
    assert ask("assess", file, *COLUMNS, *QUICK, *many) == ask(
        "assess", path, *COLUMNS, *QUICK, *many
    )


def test_labels_of_several_files_are_subsampled(path, halves, ask):
    options = [*COLUMNS, *QUICK, "--subsample-labels", "30"]
    assert ask("assess", *halves, *options) == ask("assess", path, *options)


def test_a_line_on_a_terminal_while_reading():
    stream = io.StringIO()
    progress = Progress(stream)
    progress.read(10)
    progress.clear()
    assert stream.getvalue() == ""
    progress.begun -= 10.0
    progress.read(1234)
    assert stream.getvalue() == "\r\x1b[Krows read: 1,234"
    progress.clear()
    progress("draws", 1, 2)
    progress("draws", 2, 2)
    assert stream.getvalue().endswith("draws: 2 of 2\r\x1b[K")


# how it fails


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "is empty; it must have a header line and rows"),
        ("y,s,g\n", "has a header but no rows"),
        ("y,s,g\n1,1.5,A\n", "--score s must lie in [0, 1]; got 1.5 at row 0"),
        ("y,s,g\n1,inf,A\n", "--score s must lie in [0, 1]; got inf at row 0"),
        ("y,s,g\n1,high,A\n0,low,A\n", "column s must hold numbers; got 'high' at row 0"),
        ("y,s,g\n1,.5,A\n0,nan,A\n0,,A\n", "--score s has 2 missing values (rows 1, 2)"),
        ("y,s,g\n1,.5,A\n2,.5,A\n3,.5,A\n", "--label y must hold two classes; got 3 values"),
        ("y,s,g\nyes,.5,A\nno,.5,A\n", "pass --positive-label"),
        ("y,s,g\n1,.5,A\n0,.5,\n", "--group g has 1 missing value (row 1)"),
        (
            "y,s,g\n1,.5,A\n0,.5\n",
            "as many cells in each line as in its header, 3; got 2 in line 3",
        ),
        ("y,s,g\n1,.5,A,9\n", "as many cells in each line as in its header, 3; got 4 in line 2"),
        ("y,s,g,s\n1,.5,A,.6\n", "has more than one column s; its columns are y, s, g, s"),
        ("y:s:g\n1:.5:A\n", "its columns are y:s:g; cells must be separated by"),
        ('y,s,g\n1,.5,"A\n0,.5,B\n', "unexpected end of data"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe\x00\x01", "is not UTF-8 text"),
        ("y,s,g\n1,.5,größer\n".encode("latin-1"), "is not UTF-8 text"),
        (b"\x1f\x8b not gzip at all, nor long", "is not a whole gzip file"),
        (gzip.compress(b"y,s,g\n1,.5,A\n" * 99)[:-12], "is not a whole gzip file"),
        (gzip.compress(gzip.compress(b"y,s,g\n1,.5,A\n")), "was gzipped twice; gunzip it once"),
        ("y,s,g\n1,51.2%,A\n", "got '51.2%' at row 0; write them as 0.25, without percent signs"),
        ("y,s,g\n1,0_1,A\n0,0.5,A\n", "must hold numbers; got '0_1' at row 0"),
        ('y,s,g\n1,.5,"A"x\n', "at line 2; look for a quote that is not closed, from row 0 on"),
        ("y,s,g\n1,.5,größer\n".encode("latin-1"), "save it as UTF-8"),
        (gzip.compress(b"y,s,g\n")[:10] + b"\xff" * 20, "is not a whole gzip file"),
    ],
)
def test_bad_files(content, message, tmp_path, fail):
    file = tmp_path / "rows.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message in fail("assess", file, *COLUMNS)


def test_a_corrupt_block_of_gzip(text, tmp_path, fail):
    packed = bytearray(gzip.compress(text.encode()))
    middle = len(packed) // 2
    packed[middle : middle + 200] = bytes(200)
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(packed)
    assert "is not a whole gzip file" in fail("assess", file, *COLUMNS)


def test_null_bytes(tmp_path, fail):
    file = tmp_path / "rows.csv"
    file.write_bytes(b"y,s,g\n1,0.5,A\n\x00\x00\x00\n")
    fail("assess", file, *COLUMNS)


def test_a_cell_without_end(tmp_path, fail):
    file = tmp_path / "rows.csv"
    file.write_text('y,s,g\n1,0.5,"' + "A" * 200_000)
    fail("assess", file, *COLUMNS)


@pytest.mark.parametrize(
    "options, message",
    [
        (COLUMNS, "no FILE holds rows, only tables; leave out --label, --score, --group"),
        (["--missing", "drop"], "no FILE holds rows, only tables; leave out --missing"),
        (["--clip", "0.02"], "clip must be that of the tables, 0.01, or be left out; got 0.02"),
        (["--threshold", "0.4"], "--threshold must be that of the tables, 0.5, or be left out"),
        (["--threshold", "A=0.5"], "--threshold must be that of the tables, 0.5, or be left out"),
        (["--subsample-labels", "5"], "--subsample-labels needs rows: give --label, --score and"),
        ([*COLUMNS, "--subsample-labels", "5"], "holds a table, not rows; give the rows that"),
        (["--label", "y"], "rows need --label, --score and --group; got no --score and no --gro"),
    ],
)
def test_options_that_tables_do_not_take(options, message, path, tmp_path, ask, fail):
    table = tmp_path / "table.json"
    ask("summarize", path, *COLUMNS, "-o", table)
    assert message in fail("assess", table, *options)


def test_tables_that_do_not_add(path, tmp_path, ask, fail):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    ask("summarize", path, *COLUMNS, "-o", one)
    ask("summarize", path, *COLUMNS, "--threshold", "0.4", "-o", two)
    message = "tables add only when their threshold is the same; got 0.5 and 0.4; build both"
    assert f"two.json: {message}" in fail("assess", one, two)
    message = fail("assess", two, path, *COLUMNS)
    assert "the rows: tables add only when their threshold is the same; got 0.4 and 0.5" in message
    assert f"{one} is given twice; its rows would count twice" in fail("assess", one, two, one)
    broken = tmp_path / "broken.json"
    broken.write_text(one.read_text()[:1000])
    assert "broken.json: a table must be JSON, one object; " in fail("assess", broken)
    broken.write_text(one.read_text().replace('"version": 1', '"version": 9'))
    assert "broken.json: version must be 1; got 9" in fail("assess", broken)


def test_nothing_but_a_table_is_written_over(path, tmp_path, ask, fail):
    before = Path(path).read_bytes()
    message = fail("summarize", path, *COLUMNS, "-o", path)
    assert "rows.csv is there and is no table; it would be overwritten" in message
    assert Path(path).read_bytes() == before
    table = tmp_path / "table.json"
    for threshold in ("0.4", "0.5"):
        ask("summarize", path, *COLUMNS, "--threshold", threshold, "-o", table)
    assert lf.load_table(table).threshold == 0.5
    assert "is not a folder; make it first" in fail(
        "summarize", path, *COLUMNS, "-o", tmp_path / "absent" / "table.json"
    )
    assert "is a folder; give the name" in fail("summarize", path, *COLUMNS, "-o", tmp_path)
    assert "the following arguments are required: -o" in fail("summarize", path, *COLUMNS)


def test_a_bad_row_of_several_files_is_found(halves, tmp_path, fail):
    bad = tmp_path / "bad.csv"
    bad.write_text("y,s,g\n1,.5,A\n0,1.5,A\n")
    assert "bad.csv: --score s must lie in [0, 1]; got 1.5 at row 1" in fail(
        "summarize", *halves, bad, *COLUMNS, "-o", tmp_path / "table.json"
    )
    assert not (tmp_path / "table.json").exists()


def test_rows_without_columns(path, fail):
    message = fail("assess", path)
    there = "its columns are y, s, g, d, w\n"
    assert (
        f"rows.csv holds rows, not a table; give --label, --score and --group; {there}" in message
    )
    message = fail("assess", path, "--label", "y", "--score", "s")
    assert f"got no --group; {there}" in message


def test_missing_file_and_folder(tmp_path, fail):
    assert "no such file or directory" in fail("assess", tmp_path / "absent.csv", *COLUMNS)
    assert "is a folder; give a CSV file" in fail("assess", tmp_path, *COLUMNS)


def test_a_missing_column_lists_those_that_exist(path, fail):
    message = fail("assess", path, "--label", "label", "--score", "s", "--group", "g")
    assert "has no column label; its columns are y, s, g, d, w" in message
    assert "has no column p;" in fail("assess", path, *COLUMNS, "--pred", "p")


@pytest.mark.parametrize(
    "options, message",
    [
        (["--threshold", "0"], "threshold must be a number in (0, 1)"),
        (["--threshold", "1.5"], "threshold must be a number in (0, 1)"),
        (["--threshold", "half"], "--threshold must be a number in (0, 1); got 'half'"),
        (["--threshold", "0.2", "--threshold", "A=0.3"], "takes numbers, or GROUP=NUMBER for"),
        (["--threshold", "A=0.5"], "threshold must name every group; not given: 'B'"),
        (["--prob", "95"], "prob must lie in (0, 1); got 95.0; 0.95 is 95 %"),
        (["--prob", "x"], "--prob: must be a number; got 'x'"),
        (["--epsilon", "0"], "epsilon must lie in (0, 1)"),
        (
            ["--metric", "recall"],
            "unknown metric 'recall' (did you mean 'tpr'?); known: accuracy, tpr",
        ),
        (["--reference", "C"], "reference must be one of the groups "),
        (["--family", "platt"], "family must be one of beta, llo, temperature"),
        (["--target", "all"], "target must be one of expected, sample, population"),
        (["--alpha", "0"], "must be a finite number above 0"),
        (["--clip", "0.7"], "clip must lie in [0, 0.5)"),
        (["--chains", "0"], "chains must be a whole number of at least 1"),
        (["--draws", "1"], "draws must be a whole number of at least 4"),
        (["--seed", "-1"], "--seed must be at least 0; got -1"),
        (["--seed", "x"], "--seed: must be a whole number; got 'x'"),
        (["--subsample-labels", "-1"], "--subsample-labels must lie in [0, 60]"),
        (["--subsample-labels", "61"], "--subsample-labels must lie in [0, 60]"),
        (["--subsample-labels", "x"], "--subsample-labels: must be a whole number; got 'x'"),
        (["--pred", "w"], "--pred w must hold 0 and 1"),
        (["--weight", "g"], "a column has one role; g is --group, too"),
        (["--positive-label", "yes"], "--positive-label must be a value of --label; got 'yes'"),
        (["--missing", "ignore"], "argument --missing: invalid choice: 'ignore'"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
    ],
)
def test_bad_options(options, message, path, fail):
    assert message in fail("assess", path, *COLUMNS, *options)


@pytest.mark.parametrize("arguments", [["asses"], ["assess"], ["assess", "x.csv"]])
def test_bad_usage(arguments, fail):
    fail(*arguments)


def test_options_may_not_be_shortened(path, fail):
    """An option added later must not change what a script means."""
    assert "unrecognized arguments: --thresh" in fail(
        "assess", path, *COLUMNS, *QUICK, "--thresh", "0.4"
    )


@pytest.mark.parametrize("options", [["--rows", "0"], ["--labeled", "20000"], ["--labeled", "-1"]])
def test_bad_demo(options, fail):
    fail("demo", *options)


def test_failures_of_a_process(tmp_path, child_env):
    done = child(child_env, "assess", str(tmp_path / "absent.csv"), *COLUMNS)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1 and b"Traceback" not in done.stderr
    done = child(child_env, "assess", "-", *COLUMNS, input=b"")
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


def test_a_wrong_switch_of_compilation_is_said_in_one_line(path, fail, monkeypatch):
    monkeypatch.setenv("LIGHTFAIR_JIT", "yes")
    assert "LIGHTFAIR_JIT must be 0, 1 or unset; got 'yes'" in fail("assess", path, *COLUMNS)


@pytest.mark.parametrize("roles", [("y", "y", "g"), ("y", "s", "s"), ("y", "s", "y")])
def test_a_column_has_one_role(roles, path, fail):
    label, score, group = roles
    message = fail("assess", path, "--label", label, "--score", score, "--group", group)
    assert "a column has one role" in message


def test_cells_are_stripped_and_na_is_unlabeled(tmp_path, ask):
    file = tmp_path / "rows.csv"
    file.write_text("y,s,g\n1,.9, A\nNA, .2 ,A \nnan,.3,B\n ,.4,B\n0,.1,B\n")
    values = json.loads(ask("assess", str(file), *COLUMNS, *QUICK, "--json"))
    assert [g["name"] for g in values["data"]["groups"]] == ["A", "B"]
    assert values["data"]["labeled"] == 2


@pytest.mark.parametrize(
    "options, message",
    [
        (["--labeled", "20000"], "--labeled must lie in [0, --rows]; got 20000 and 10000"),
        (["--rows", "0", "--labeled", "0"], "--labeled must lie in [0, --rows]"),
        (["--seed", "-1"], "--seed must be at least 0; got -1"),
    ],
)
def test_bad_demos(options, message, fail):
    assert message in fail("demo", *options)


def test_errors_speak_of_options(tmp_path, fail):
    file = tmp_path / "rows.csv"
    file.write_text("y,s,g\nyes,.9,A\nno,.2,\n")
    assert "pass --positive-label" in fail("assess", str(file), *COLUMNS)
    message = fail("assess", str(file), *COLUMNS, "--positive-label", "yes")
    assert message.endswith("pass --missing drop or --missing group\n")


def test_subsampling_to_nothing_warns(path, ask):
    assert "no_labels" in ask("assess", path, *COLUMNS, *QUICK, "--subsample-labels", "0")
