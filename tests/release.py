"""Builds the package, installs it where nothing else is, and runs it: `make release-check`.

    python tests/release.py [--tag v0.1.0]

Leaves the checked files in `dist/`. With `--tag`, the tag must be the version, and the changelog
must no longer say that it is unreleased.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def run(*command, **kwargs):
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **kwargs)


def python_of(environment):
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def check_version(tag):
    """Return the version, which must be the same wherever it is written."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = project["version"]
    written = {
        "CITATION.cff": re.search(r"^version: (.+)$", cited, re.MULTILINE)[1],
        "CHANGELOG.md": re.search(r"^## (\S+)", changes, re.MULTILINE)[1],
    }
    for file, other in written.items():
        if other != version:
            sys.exit(f"{file} says {other}, pyproject.toml says {version}")
    if tag and tag != f"v{version}":
        sys.exit(f"the tag is {tag}, but the version is {version}")
    if tag and f"## {version} (unreleased)" in changes:
        sys.exit("CHANGELOG.md calls this version unreleased: give it a date")
    return version


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tag", help="the tag that is to be released")
    version = check_version(parser.parse_args().tag)
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        venv.create(folder / "tools", with_pip=True)
        tools = python_of(folder / "tools")
        run(tools, "-m", "pip", "install", "--quiet", "build", "twine", "uv")

        def environment(name, *packages):
            run(tools, "-m", "uv", "venv", "--quiet", "--python", sys.executable, folder / name)
            python = python_of(folder / name)
            run(tools, "-m", "uv", "pip", "install", "--quiet", "--python", python, *packages)
            return python

        run(tools, "-m", "build", "--installer", "uv", "--outdir", DIST, ROOT)
        (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
        run(tools, "-m", "twine", "check", "--strict", wheel, source)
        names = zipfile.ZipFile(wheel).namelist()
        for needed in ("boostrank/py.typed", "licenses/LICENSE", "boostrank/lab/report.html"):
            if not any(name.endswith(needed) for name in names):
                sys.exit(f"{wheel.name} lacks {needed}")

        # The core alone: from the source, without any host.
        core = environment("core", source)
        gradient = "boostrank.RankNet().grad_hess([0.0, 0.0], [1, 0], [2])"
        run(core, "-c", f"import boostrank; print({gradient})", cwd=folder)

        # Both hosts and the command line; then what a reader of the README pastes.
        host = "xgboost" if sys.platform == "darwin" else "xgboost-cpu"
        whole = environment("whole", f"{wheel}[cli,lightgbm]", host)
        shown = f"import boostrank; assert boostrank.__version__ == {version!r}"
        run(whole, "-c", shown, cwd=folder)
        run(whole, "-c", "from boostrank.lab.cli import main; main()", "--version", cwd=folder)
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        script = folder / "readme.py"
        script.write_text("\n".join(blocks), encoding="utf-8")
        run(whole, script, cwd=folder)
    print(f"boostrank {version} can be released: {wheel.name}, {source.name}")


if __name__ == "__main__":
    main()
