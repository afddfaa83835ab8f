"""Mistakes in the options of every command: one line that says what is wrong, and nothing is written."""

import shlex

import pytest

import perfcore

# Words of the command line, and what is said of them. Files of a fit are asked for, and appear only if all is well.
MISTAKES = r"""
plot curve.csv -o x.gif | cannot draw 'x.gif': the ending must be one of
plot curve.csv curve.csv | the first of two files must be a model
plot curve.csv -o no/x.png | there is no folder 'no'
plot curve.csv -o plot.xyz | cannot draw 'plot.xyz': the ending must be one of
plot curve.csv --panels nosuch | there is no panel 'nosuch'; there are data
plot curve.csv --size 0in | size '0in': half an inch to 60 inches is accepted
plot curve.csv --size 3.4em | size '3.4em': a width such as 3.4in
plot curve.csv --font 500 | no room for its panels; choose some, a larger size or smaller text
plot curve.csv --font 0 | Invalid value for '--font'
plot none.json | none.json: there is no such file
plot none.csv | none.csv: there is no such file
plot | Missing argument 'SUBJECT'
explore curve.csv -o x.pdf | cannot write 'x.pdf': the ending must be .html
explore curve.csv -o no/x.html | there is no folder 'no'
explore none.csv -o x.html | none.csv: there is no such file
explore curve.csv -o x.html --port 8000 | --port and --no-browser are of the page
explore curve.csv --views 2 | --views belongs to -o FILE
explore | Missing argument 'FILES'
convert curve.csv -o x.docx | cannot write 'x.docx': the ending must be one of .json, .csv
convert none.csv -o x.docx | cannot write 'x.docx'
convert none.csv -o x.csv | none.csv: there is no such file
convert curve.csv --curve -o x.csv | --curve belongs to traces
convert curve.csv | Missing option '--output'
explore none.csv | none.csv: there is no such file
explore none.json | none.json: there is no such file
explore curve.csv --port 0 | --port
explore curve.csv --reader nope | unknown reader 'nope'
experiment sample cpu | Missing option '--output'
experiment sample disk -o x.csv | 'disk' is not one of 'cpu', 'network'
experiment sample cpu -o x.jpg | cannot write 'x.jpg': the ending must be one of
experiment sample cpu -o x.csv --for soon | duration 'soon': a positive number with one of
experiment sample cpu -o x.csv --every 1ms | at least 10 ms are needed
experiment sample cpu -o x.csv --for 1s --every 2s | 0 samples would be taken
experiment design | Missing option '--factor'
experiment design -f p -o d.toml | NAME=LEVEL,LEVEL
experiment design -f p=1 -f p=2 -o d.toml | --factor p is given twice
experiment design -f p=1 -c 'q > 1' -o d.toml | constraint 'q > 1': unknown factor 'q': choose from cores, p
experiment design -f p=1 -c 'p > 1' -o d.toml | no point is left to measure: p > 1 refuses 1
experiment design -f p=1 --kind all -o d.toml | 'all' is not one of
experiment design -f p=1 --kind sobol -o d.toml | needs the number of its points (--points N)
experiment design -f p=1 --points 3 -o d.toml | --points belongs to latin-hypercube and sobol
experiment design -f p=1 --fraction 3 -o d.toml | --fraction belongs to fractional
experiment design -f p=1 --budget 2h -o d.toml | --budget needs the time of a run
experiment design -f p=1 --budget soon --runs x.db -o d.toml | duration 'soon'
experiment design -f p=1 --runs x.db -o d.toml | x.db: there is no such store
experiment design -f p=1 --runs x.db --model m.json -o d.toml | give one
experiment design -f p=1,2 --kind one-at-a-time --centre p=3 -o d.toml | unknown level of p for the centre '3'
fit curve.csv -o n.json --fitter worly | unknown fitter 'worly': did you mean 'worley'? Choose from
fit curve.csv -o n.json --segmenter gredy | did you mean 'greedy'?
fit curve.csv -o n.json --segmenter minimax | --segmenter 'minimax': unknown value 'minimax': choose from
fit curve.csv -o n.json --fitter worley --segmenter greedy | No such option '--segmenter'
fit curve.csv -o n.json --fases 3 | --phases
fit curve.csv -o n.json --phases 0 | phases: --phases '0': the number of phases must be at least 1
fit curve.csv -o n.json --phases -3 | the number of phases must be at least 1
fit curve.csv -o n.json --phases 5..2 | the range must not decrease
fit curve.csv -o n.json --phases many | expected a number (9), a range (1..20) or auto
fit curve.csv -o n.json --phases | '--phases' requires an argument
fit curve.csv -o n.json --degree 4 | phases: --degree '4': unknown value '4': choose from 0, 1, 2, 3, auto
fit curve.csv -o n.json --rule knie | did you mean 'knee'?
fit curve.csv -o n.json --fitter worley --functions exp,lg | did you mean 'log'?
fit curve.csv -o n.json --fitter worley --scale 0 | worley: --scale '0': must be greater than 0
fit curve.csv -o n.json --fitter worley --scale nan | worley: --scale 'nan': expected a finite number
fit curve.csv -o n.json --begin equal | No such option '--begin'
fit curve.csv -o n.json --degree mixed | unknown value 'mixed': choose from 0, 1, 2, 3, auto
fit curve.csv -o n.json --busy run | --busy and --idle belong to traces
fit curve.csv -o n.json --plot phases.jpg | cannot draw 'phases.jpg': the ending must be one of .png, .svg, .pdf, .html
fit curve.csv -o n.json --reader cvs | unknown reader 'cvs': did you mean 'csv'?
fit curve.csv -o n.json -r valu=x | unknown option of csv 'valu': did you mean 'value'?
fit curve.csv -o n.json -r value | --read 'value': KEY=VALUE is expected
fit curve.csv -o n.json -o . | .: cannot be written: it is a folder; name a file
predict model.json --at p=1 | unknown variable 'p'
predict none.json --at t=1 | none.json: there is no such file
predict curve.csv --at t=1 | curve.csv: not a model file
predict model.json --at t=1 --interval 1 | interval 1.0: the coverage must be above 0 and below 1
predict model.json --at t=1 --interval x | Invalid value for '--interval'
experiment next none.json --target p=1 | none.json: there is no such file
experiment next m.json --target p=1,2 | --target p: one level is expected, not 2
experiment next m.json --target q=1 | unknown variable 'q': choose from p
experiment next m.json --target p | --target p=p: NAME=VALUE,... is expected
experiment next m.json --target p=1 -c q=1,2 | unknown variable 'q': choose from p
experiment next m.json --target p=1 -c p=1..4 | --candidates p=1..4: NAME=VALUE,... is expected
experiment next m.json --target p=1 --constraint 'p > 1' | --constraint needs --candidates
experiment next m.json --target p=1 -c p=2 -c d.toml | one design, or levels of each variable
experiment next m.json --target p=1 --precision 2% | --precision is for a run database
experiment next m.json --target p=1 --most 3 | --most is for a run database
""".strip().splitlines()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data and models that stay as they are, since no mistake writes anything."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "curve.csv").write_text("start,end,value\n0,25,1\n25,40,1\n40,70,5\n70,100,5\n")
    (folder / "runs.csv").write_text("p,time_s\n1,8.1\n2,4.3\n4,2.5\n8,1.7\n16,1.2\n32,1.05\n")
    perfcore.fit(folder / "curve.csv", phases=2, degree=0).save(folder / "model.json")
    perfcore.fit(folder / "runs.csv", fitter="individual", functions="all", terms=2).save(folder / "m.json")
    return folder


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_named_and_nothing_is_written(refused, files, monkeypatch, line):
    words, _, message = line.partition(" | ")
    monkeypatch.chdir(files)
    before = {path: path.stat().st_mtime_ns for path in files.iterdir()}
    assert message in refused(*shlex.split(words))
    assert {path: path.stat().st_mtime_ns for path in files.iterdir()} == before
