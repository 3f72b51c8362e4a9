"""Make an environment for each peer, and report failures.

    python bench/peers/install.py --into FOLDER

Each peer gets a virtual environment of its own, FOLDER/NAME, from the Python that runs this
script, with the newest releases that pip finds for it. FOLDER/status.json records for each whether
it was made, its versions, its size in MB over an empty environment, and the error.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from programs import ENVIRONMENTS  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, required=True, help="folder of the environments")
    parser.add_argument("--only", nargs="+", choices=list(ENVIRONMENTS), default=list(ENVIRONMENTS))
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    path = arguments.into / "status.json"
    status = json.loads(path.read_text()) if path.exists() else {}
    for name in dict.fromkeys(["empty", *arguments.only]):
        status[name] = install(name, arguments.into / name)
        status[name]["megabytes"] = round(size(arguments.into / name), 1)
        path.write_text(json.dumps(status, indent=1) + "\n")
        print(name, "made" if status[name]["ok"] else f"NOT made: {status[name]['error']}")
    return 0


def install(name: str, folder: Path) -> dict:
    """Make one environment from scratch; return its status entry."""
    if folder.exists():
        shutil.rmtree(folder)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    if ENVIRONMENTS[name]:
        command = [python, "-m", "pip", "install", "--quiet", *ENVIRONMENTS[name]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return {"ok": False, "error": _last(done.stderr)}
    if name == "jags" and shutil.which("jags") is None:
        return {"ok": False, "error": "jags is not installed; it is in Debian's package jags"}
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True, text=True
    )
    versions = {entry["name"]: entry["version"] for entry in json.loads(listed.stdout)}
    return {"ok": True, "python": sys.version.split()[0], "versions": versions}


def size(folder: Path) -> float:
    """Return the size of the files in a folder, in MB."""
    return sum(p.lstat().st_size for p in folder.rglob("*") if not p.is_dir()) / 1e6


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["pip failed"])[-1]


if __name__ == "__main__":
    raise SystemExit(main())
