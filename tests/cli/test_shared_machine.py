"""The experiment of Schopf's section 4.1 in four commands, as the example's README prints them."""

import re
import shlex
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_commands_of_the_readme_run_and_say_what_it_says(perf, tmp_path, monkeypatch):
    for name in ("sor", "shared_machine"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / "shared_machine")
    readme = Path("README.md").read_text()
    commands = [shlex.split(line)[1:] for line in readme.splitlines() if line.startswith("perf ")]
    assert len(commands) == 4
    first = [perf(*command, short=True).lines for command in commands]
    assert all(lines[-2].startswith("Next: perf stochastic eval 120/share --with share=cpu-") for lines in first[:2])
    median, low, high = map(float, re.search(r"median ([\d.]+) s \[([\d.]+), ([\d.]+)\]", first[2][0]).groups())
    assert 0.7 < low < median < high < 3.0
    expected = re.search(r"```text\n(.*)\n```", readme)[1]
    assert " ".join(first[3][:2]).startswith(expected)
    assert Path("validated.png").stat().st_size > 10_000
