"""Programs in a process of their own."""

import subprocess
import sys
from typing import Any


def output_of(program: str, *args: object, **kwargs: Any) -> str:
    """Run a Python program that must succeed, and return what it prints."""
    command = [sys.executable, "-c", program, *map(str, args)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, **kwargs)
    assert ended.returncode == 0, ended.stdout[-300:] + ended.stderr
    return ended.stdout
