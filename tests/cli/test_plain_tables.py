"""Tables for other programs: CSV that a reader gives back, and LaTeX in which nothing is a command by accident."""

import csv
import io

import pytest

from perfcore.cli.output import print_result
from perfcore.report import Column, Report, Result, Table

HEADER = ["path", "time", "note"]
NASTY = 'a,b "c"\nd'


def declared(title, header, rows):
    return Table([Column(name, k, key=name) for k, name in enumerate(header)], rows, title, drops_empty=False)


class Tables(Result):
    def __init__(self, *tables):
        self.given = [declared(*each) for each in tables]

    def report(self, data=None):
        return Report("Tables", "Some.", tables=self.given)


def printed(capsys, table_format, *tables):
    print_result(Tables(*tables), False, table_format)
    return capsys.readouterr().out


def test_csv_is_what_a_reader_gives_back(capsys):
    rows = [[NASTY, "1.5", ""], ["ü -> ß", "-2", "#1"]]
    text = printed(capsys, "csv", ("", HEADER, rows))
    assert list(csv.reader(io.StringIO(text))) == [HEADER, *rows]


def test_latex_aligns_numbers_and_words(capsys):
    text = printed(capsys, "latex", ("A title", HEADER, [["f", "1.5", ""], ["g", "2 .. 3", ""]]))
    assert text.splitlines() == [
        r"\begin{table}",
        r"  \centering",
        r"  \caption{A title}",
        r"  \begin{tabular}{lrl}",
        r"    \toprule",
        r"    path & time & note \\",
        r"    \midrule",
        r"    f & 1.5 &  \\",
        r"    g & 2 .. 3 &  \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]


@pytest.mark.parametrize(("text", "escaped"), [
    ("50 %", r"50 \%"), ("a_b & c#d $e", r"a\_b \& c\#d \$e"), ("{x}", r"\{x\}"), (r"C:\n", r"C:\textbackslash{}n"),
    ("p^(2/3)*log2(p)", r"p\textasciicircum{}(2/3)*log2(p)"), ("~main", r"\textasciitilde{}main"),
    ("<root>", r"\textless{}root\textgreater{}"), ("a->b", r"a-\textgreater{}b"), ("a|b", r"a\textbar{}b"),
    ("a---b", r"a-{}-{}-b"), ("1 ± 2 µs", r"1 \(\pm\) 2 \(\mu\)s"), ("two\nlines", "two lines"),
    (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
])  # fmt: skip
def test_latex_prints_every_sign_as_it_is(capsys, text, escaped):
    lines = printed(capsys, "latex", (text, [text], [[text]])).splitlines()
    assert lines[2] == rf"  \caption{{{escaped}}}"
    assert lines[5] == lines[7] == rf"    {escaped} \\"
