"""Fixtures that every test may use."""

import gc
import os
from pathlib import Path

import pytest
import thorough_tests
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program has it; read when numpy is imported
os.environ.pop("COLUMNS", None)  # lines are wrapped to this width, whatever the caller's terminal has

# The same examples in every run, so that a failure says something of the change and not of luck; new ones are searched
# with HYPOTHESIS_PROFILE=search, and more of them.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=32)  # tests are not timed
settings.register_profile("search", derandomize=False, deadline=None, print_blob=True, max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.hookimpl(tryfirst=True)  # before marks choose tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark those that `make quick` leaves out."""
    thorough = thorough_tests.names()
    root = Path(__file__).parents[1]
    for item in items:
        path, *within = item.nodeid.split("::")
        module = ".".join([*(root / path).relative_to(root).with_suffix("").parts, *within[:-1]])
        if thorough_tests.name_of(module, within[-1]) in thorough:
            item.add_marker("thorough")


def pytest_collection() -> None:
    """Collect no garbage while modules are imported."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again; it is not frozen, since Hypothesis asks what refers to a source of random numbers."""
    gc.enable()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real inputs: the variable PERFCORE_DATA, or ``shared/data`` beside the checkout."""
    named = os.environ.get("PERFCORE_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder of real data here; set PERFCORE_DATA to one")
    return folder
