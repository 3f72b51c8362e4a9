"""Files are written as a whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
import threading

import pytest

from lightfair.io import writing
from lightfair.io.writing import check_target, write_text

pytest.importorskip("resource", reason="files are as those of POSIX systems")


@pytest.mark.parametrize("text", ["é\r\nb\n", "shorter", "", "x\udc80"])
def test_text_is_written_as_it_is(text, tmp_path):
    path = tmp_path / "größe.txt"
    path.write_text("something longer than that")
    write_text(path, text)
    assert path.read_bytes() == text.encode("utf-8", "backslashreplace")
    assert os.listdir(tmp_path) == ["größe.txt"]


@pytest.mark.parametrize("mask, mode", [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_permissions_that_the_umask_leaves(mask, mode, tmp_path):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_permissions_and_symbolic_links_are_kept(tmp_path):
    path, link, dangling = tmp_path / "a", tmp_path / "link", tmp_path / "dangling"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to("a")
    dangling.symlink_to("later")
    for target in (link, dangling):
        write_text(target, "new")
        assert target.is_symlink() and target.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(27, "File too large")])
def test_the_old_file_stays_after_an_error(error, tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")

    def fail(part, target):
        assert len(os.listdir(tmp_path)) == 2
        raise error

    monkeypatch.setattr(writing.os, "replace", fail)
    with pytest.raises(type(error), match="File too large: '.*/a'|^$"):
        write_text(path, "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a"]


def test_pipes_and_devices_are_written_to(tmp_path):
    path, received = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    write_text(path, "through")
    reader.join(30)
    assert received == [b"through"] and stat.S_ISFIFO(path.stat().st_mode)
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
            write_text("/dev/full", "x")


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="/dev/stdout does not exist")
def test_standard_output_that_is_a_pipe(python):
    code = "from lightfair.io.writing import write_text; write_text('/dev/stdout', 'text')"
    assert python(code) == "text"


@pytest.mark.parametrize("function", [check_target, lambda path: write_text(path, "x")])
def test_bad_targets(function, tmp_path):
    for bad, message in (
        (tmp_path / "absent" / "a", "absent is not a folder; make it first"),
        (tmp_path, "is a folder; give the name of a file"),
        (f"{tmp_path}/new/", "/new/ is a folder"),
        ("", "the file to write must have a name"),
    ):
        with pytest.raises(ValueError, match=message):
            function(bad)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name, reason",
    [("a", "it must not be written to"), ("folder/b", "its folder must not be written to")],
)
def test_permissions_are_checked_before_writing(name, reason, python):
    """Root may write anywhere, so a child gives that up."""
    code = """
import os, sys
from lightfair.io.writing import check_target
if os.getuid() == 0:
    os.setuid(65534)
try:
    check_target(sys.argv[1])
except PermissionError as error:
    print(error.strerror, error.filename)
"""
    with tempfile.TemporaryDirectory() as top:  # folders of pytest are closed to others
        os.chmod(top, 0o755)
        os.mkdir(f"{top}/folder", 0o555)
        os.close(os.open(f"{top}/a", os.O_CREAT, 0o444))
        assert python(code, name, cwd=top) == f"{reason} {name}\n"
