"""Which tests `make quick` leaves out: a tenth of the functions takes three quarters of the time.

After ``pytest --junitxml=times.xml`` of all tests, ``python tests/thorough_tests.py times.xml`` writes the list anew. A
test that is in no list is quick.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
LEAST_S = 1.2  # of all cases of a function, on the machine of the list


def names() -> frozenset[str]:
    """Names of the functions, each after the dotted name of its module and class."""
    return frozenset(LIST.read_text(encoding="utf-8").split())


def name_of(module: str, function: str) -> str:
    """A function without its parameters, which stand in brackets."""
    return f"{module}.{function.partition('[')[0]}"


def main(times: str) -> None:
    """Write the list from a report of how long each test took."""
    total = Counter[str]()
    for case in ElementTree.parse(times).iter("testcase"):
        total[name_of(case.get("classname", ""), case.get("name", ""))] += float(case.get("time", 0))  # type: ignore[assignment]
    LIST.write_text("\n".join(sorted(name for name, took in total.items() if took > LEAST_S)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
