"""Write a file as a whole or not at all.

Text goes to a temporary file in the same folder, which then replaces the target. So a full disk, an
exception or Ctrl-C leaves the old file as it was. A new file gets the permissions that the umask
leaves, an existing one keeps its own; a symbolic link stays one. Anything other than a plain file,
such as a named pipe or a device, is written to directly.
"""

from __future__ import annotations

import errno
import os
import shutil

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
        target = check_target(path)
        if _is_special(target):
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
    if _is_special(name):
        return name
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise ValueError(f"{folder} is not a folder; make it first")
    if os.path.isdir(target) or name.endswith(os.sep):
        raise ValueError(f"{name} is a folder; give the name of a file")
    exists = os.path.isfile(target)
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it must not be written to", name)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "its folder must not be written to", name)
    return target


def _is_special(name: str) -> bool:
    """Whether a file exists and is a pipe or a device."""
    return os.path.exists(name) and not (os.path.isfile(name) or os.path.isdir(name))


def _write(target: str, data: bytes, mode: str = "wb") -> None:
    with open(target, mode) as file:
        file.write(data)
