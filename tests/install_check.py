"""Runs each install line of README in a fresh environment, and then README's first command.

Run it with ``make install-check``; it downloads what the lines name and takes minutes.
"""

import re
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Check every line, and stop at the first that fails."""
    commands = [
        line.partition("#")[0].strip()
        for block in re.findall(
            r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S
        )
        for line in block.splitlines()
    ]
    installs = [line for line in commands if line.startswith("pip install")]
    first = next(line for line in commands if line.startswith("boostrank"))
    for line in installs:
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            programs = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
            for command in (line, first):
                program, *arguments = shlex.split(command)
                print(f"$ {command}", flush=True)
                started = time.perf_counter()
                where = ROOT if program == "pip" else folder
                subprocess.run([programs / program, *arguments], cwd=where, check=True)
                print(f"({time.perf_counter() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
