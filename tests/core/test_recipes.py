"""What recipes need is what `pyproject.toml` says."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOWEST = {
    name: version
    for wanted in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["view"])
    for name, version in [re.match(r"([\w-]+)>=([\d.]+)", wanted).groups()]
}
OTHER_NAMES = {"python-duckdb": "duckdb", "matplotlib-base": "matplotlib"}  # of conda-forge


def test_conda():
    recipe = yaml.safe_load((ROOT / "recipes" / "conda" / "recipe.yaml").read_text())
    needed = dict(re.match(r"([\w-]+) >=([\d.]+)", line).groups() for line in recipe["requirements"]["run"][1:])
    needed = {OTHER_NAMES.get(name, name): version for name, version in needed.items()}
    assert needed == {name: LOWEST[name] for name in LOWEST if name not in ("starlette", "uvicorn")}
    assert recipe["context"] == {
        "version": PROJECT["version"],
        "python_min": PROJECT["requires-python"].removeprefix(">="),
    }


def test_spack():
    recipe = (ROOT / "recipes" / "spack" / "package.py").read_text()
    needed = re.findall(r'depends_on\("(?:py-)?([\w-]+)(?:\+\w+)?@([\d.]+):', recipe)
    assert dict(needed) == {**LOWEST, "python": PROJECT["requires-python"].removeprefix(">="), "hatchling": "1.24"}
    assert f'version("{PROJECT["version"]}")' in recipe


@pytest.mark.parametrize(
    "path", re.findall(r"/opt/source/(\S+)", (ROOT / "recipes/apptainer/perfcore.def").read_text())
)
def test_what_a_container_copies_is_there(path):
    assert (ROOT / path).exists()
