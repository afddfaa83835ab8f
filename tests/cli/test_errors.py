"""Errors are short lines: what is wrong and where, then what mends it, with at most five names."""

import re

import pytest

FILES = {
    "runs.csv": "p,time_s\n1,8\n2,4.2\n4,2.3\n8,1.4\n",
    "twice.csv": "p,time_s\n1,8\n2,4.2\n4,2.3\n" + "1,8\n2,4.2\n4,2.3\n",
    "word.csv": "p,time_s\n1,8\n2,many\n4,2.3\n", "cut.csv": "p,time_s\n1,8\n2\n4,2.3\n",
    "none.csv": "alpha,beta,gamma,delta,epsilon,zeta\n1,2,3,4,5,6\n1,2,3,4,5,6\n",
    "numbers.csv": "1,2,3\n4,5,6\n", "thousands.csv": "p;time_s\n1;10.200\n2;5.300\n4;860\n",
    "several.csv": "p,n,time_s\n" + "".join(f"{p},{n},{n / p}\n" for p in (1, 2, 4) for n in (10, 20, 40)),
    "codes.csv": "code,p,time_s\n" + "".join(f"code{k},{p},{k / p}\n" for k in range(1, 12) for p in (1, 2, 4, 8)),
    "trace.csv": "start_us,end_us,location,state\n0,40,c0,run\n10,90,c0,odd\n",
    "wide.csv": ",".join(f"c{k}" for k in range(40)) + "\n" + ",".join("1" * 40) + "\n",
    "broken.json": '{"traceEvents": [{"ph": "X"',
    "words.txt": "Nothing here is a table.\nIt is prose, of several lines.\n",
}  # fmt: skip
MISTAKES = [
    "fitt runs.csv", "fit", "fit nosuch.csv", "fit runs.csv --fitter nosuch", "fit runs.csv --valu time_s",
    "fit runs.csv --value nosuch", "fit runs.csv --at p=x", "fit runs.csv --at q=4", "fit runs.csv --where 'q=4'",
    "fit runs.csv --functions '1/q'", "fit runs.csv -r nosuch=1", "fit runs.csv --reader nosuch", "fit twice.csv",
    "fit word.csv", "fit cut.csv", "fit none.csv", "fit numbers.csv", "fit thousands.csv",
    "fit several.csv --parameter p", "fit wide.csv --value nosuch", "fit codes.csv --fitter individual --value nosuch",
    "overheads trace.csv", "overheads runs.csv", "profile runs.csv", "info broken.json", "info words.txt",
    "info runs.csv --reader otf2", "gate runs.csv", "gate runs.csv none.csv", "compare runs.csv none.csv",
    "plugins check nosuch", "predict runs.csv", "convert runs.csv -o runs.otf2", "stochastic summarize none.csv",
    "stochastic summarize runs.csv --column nosuch",
]  # fmt: skip


@pytest.mark.parametrize("line", MISTAKES)
def test_errors_are_short_lines_with_at_most_five_names(perf, folder, line):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", line)]
    lines = perf(*words, status=2).err.splitlines()
    lines = [text for text in lines if not re.match(r"perf: (?!error)", text)]  # notes that come before
    assert lines[0].startswith("perf: error: ")
    assert len(lines) <= 4, "\n".join(lines)
    assert all(len(text) <= 100 or text.startswith("  perf ") for text in lines), "\n".join(lines)
    said = " ".join(text.strip() for text in lines)
    assert not re.search(r"(?:[\w.-]+, ){6}", said), said
