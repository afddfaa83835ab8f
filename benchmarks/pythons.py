"""The core suites on other Pythons, and with the lowest version that is declared of every dependency.

python benchmarks/pythons.py 3.12 3.13 lowest    # make pythons lowest
python benchmarks/pythons.py --smoke             # what CI runs of it: tables, plugins, a fit and its file

Each has a virtual environment of its own, .venv-NAME, in which perfcore is installed as users install it. Caches are
there, too: machine code of one version of numba is never that of another. A Python that is not here is left out.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOWEST = "3.11"  # the Python that the lowest versions are tested with
EXTRAS = ("design", "formats", "sample", "view", "test")
HEARTS = (
    *("tests/core", "tests/contracts", "tests/worley/test_segmenters.py", "tests/stochastic/test_kernels.py"),
    *("tests/timing/test_kernels.py", "tests/scaling/test_internals.py", "tests/whatif/test_whatif.py"),
    *("tests/gate/test_kernels.py", "tests/regression/test_regression.py", "tests/cli/test_plugins.py"),
    "tests/io/test_interval_tables.py",
)
SMOKE = ("tests/core/test_model.py", "tests/core/test_registry.py", "tests/core/test_observations.py")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)")


def lowest_versions() -> list[str]:
    """Of every dependency that is declared, as constraints."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    every = [*project["dependencies"], *(each for extra in EXTRAS for each in project["optional-dependencies"][extra])]
    return sorted("{}=={}".format(*match.groups()) for each in every if (match := _REQUIREMENT.match(each)))


def python_of(version: str) -> str | None:
    """A Python of a version, in the path or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python{version}")))]
    for each in filter(None, found):
        if not subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode:
            return each
    return None


def tested(name: str, tests: tuple[str, ...], must_install: bool) -> bool:
    """Whether the tests pass in the environment of that name; a Python that is not here is left out."""
    python = python_of(LOWEST if name == "lowest" else name)
    if python is None:
        print(f"pythons: {name}: this Python is not here; left out", flush=True)
        return True
    began = time.monotonic()
    folder = ROOT / f".venv-{name}"
    uv = [sys.executable, "-m", "uv"]
    cache = str(folder / "cache")
    environment = os.environ | {
        "NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": cache, "XDG_CACHE_HOME": cache,
        "HYPOTHESIS_STORAGE_DIRECTORY": f"{cache}/hypothesis", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if not folder.exists():
        subprocess.run([*uv, "venv", "-q", "-p", python, str(folder)], check=True)
    install = [*uv, "pip", "install", "-q", "-p", str(folder), "--reinstall-package", "perfcore", f"{ROOT}[test]"]
    if name == "lowest":
        constraints = folder / "lowest.txt"
        constraints.write_text("\n".join(lowest_versions()))
        install += ["-c", str(constraints)]
    if subprocess.run(install, check=must_install).returncode:
        print(f"pythons: {name}: its packages cannot be installed here; left out", flush=True)
        return True
    installed = time.monotonic() - began
    pytest = [f"{folder}/bin/pytest", "-q", "-n0", "-p", "no:cacheprovider", "--tb=short", *tests]
    done = subprocess.run(pytest, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    took = time.monotonic() - began - installed
    print(f"pythons: {name}: {'passed' if not done.returncode else 'failed'}, {took:.0f} s after {installed:.0f} s")
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:])
    return not done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["3.13", "lowest"], help="versions of Python, and lowest")
    parser.add_argument("--smoke", action="store_true", help="a few tests only")
    given = parser.parse_args()
    tests = SMOKE if given.smoke else HEARTS
    passed = [tested(name, tests, must_install=not given.smoke) for name in given.names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
