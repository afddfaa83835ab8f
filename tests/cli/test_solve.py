"""``perf stochastic solve``: what is printed, as JSON too, and what is refused."""

import json

import pytest


@pytest.mark.usefixtures("folder")
def test_solve(perf, refused):
    words = [
        "stochastic",
        "solve",
        "t/n",
        "--for",
        "n=1..32",
        "--below",
        "1",
        "--with",
        "t=normal:10,1",
        "--samples",
        "1024",
    ]
    lines = perf(*words).lines
    assert lines[0].startswith(
        "n=13 is the least that keeps the result at or below 1 with 0.99 probability (reached: 0.99"
    )
    assert [line.split()[1] for line in lines if line.startswith("*")] == ["13"]
    assert lines[-1] == "Next: perf stochastic eval t/n --with n=13 --with t=normal:10,1 --below 1"
    content = json.loads(perf(*words, "--json").out)
    assert (content["kind"], content["value"], content["probability"]) == ("solution", 13, 0.99)
    assert "--for 'n=9..1': NAME=LOW..HIGH is expected" in refused(*words[:4], "n=9..1", *words[5:])
    assert "the probability is 2; a number between 0 and 1" in refused(*words, "--probability", "2")
