"""The program, run within this process."""

from collections.abc import Callable

import pytest

from perfcore.__main__ import main

Program = Callable[..., int]


@pytest.fixture
def perf(monkeypatch: pytest.MonkeyPatch) -> Program:
    """Run ``perf`` with words; its exit status."""

    def run(*words: object) -> int:
        monkeypatch.setattr("sys.argv", ["perf", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return run
