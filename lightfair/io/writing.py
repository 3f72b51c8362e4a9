"""Write a file as a whole or not at all.

Text goes to a temporary file in the same folder, which then replaces the target. So a full disk, an
exception or Ctrl-C leaves the old file as it was. A new file gets the permissions that the umask
leaves, an existing one keeps its own; a symbolic link stays one. Anything other than a plain file,
such as a named pipe or /dev/stdout, is written to directly.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys

Path = str | os.PathLike[str]


def write_text(path: Path, text: str) -> None:
    """Write text to a file, as UTF-8, without changing line ends.

    Raises
    ------
    ValueError
        If the path is empty or a folder, or its folder does not exist.
    OSError
        If the file cannot be written; the error names the path. The file is then unchanged.
    """
    data = text.encode("utf-8", "backslashreplace")  # names from data may hold half a surrogate
    try:
        target, number = check_target(path), descriptor(path)
        if number is not None:
            if sys.stdout is not None:  # what was printed before comes first
                sys.stdout.flush()
            _write(os.dup(number), data)
        elif os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device
            _write(target, data)
        else:
            part = os.path.join(os.path.dirname(target), f".{os.urandom(8).hex()}.part")
            try:
                _write(part, data, "xb")
                if os.path.exists(target):
                    shutil.copymode(target, part)
                os.replace(part, target)
            finally:
                if os.path.exists(part):
                    os.unlink(part)
    except OSError as error:  # it names no file, or the temporary one
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def check_target(path: Path) -> str:
    """Return the file to be written, with symbolic links resolved.

    Raises
    ------
    ValueError
        If the path is empty or a folder, or its folder does not exist.
    OSError
        If there is no permission to write the file or to its folder.
    """
    name = os.fspath(path)
    if not name:
        raise ValueError("the file to write must have a name; got none")
    if descriptor(path) is not None:
        return name
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise ValueError(f"{folder} is not a folder; make it first")
    if os.path.isdir(target) or name.endswith(os.sep):
        raise ValueError(f"{name} is a folder; give the name of a file")
    exists = os.path.exists(target)
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it must not be written to", name)
    if (not exists or os.path.isfile(target)) and not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "its folder must not be written to", name)
    return target


def descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as /dev/stdout names, or None."""
    name = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}.get(os.fspath(path), path)
    match = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", os.fspath(name))
    return int(match[1]) if match else None


def _write(target: str | int, data: bytes, mode: str = "wb") -> None:
    with open(target, mode) as file:
        file.write(data)
