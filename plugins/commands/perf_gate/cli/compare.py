"""``perf compare``: two models, or two versions of a program by models of the same kind."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perf_traces.reading import HowToReadTraces
from perfcore.cli.output import print_findings, print_json, reporting
from perfcore.cli.parameters import At, FitterOfKind, Json, Picture
from perfcore.cli.signature import OptionsOfSelected


def command(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A model file (.json), or data, which are fitted.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Likewise.")],
    how: HowToReadTraces,
    at: At = None,
    fitter: FitterOfKind = None,
    picture: Picture = None,
    as_json: Json = False,
    **options: Annotated[Any, OptionsOfSelected("fitters", "fitter")],
) -> int:
    """Compare FIRST and SECOND: models that `perf fit -o` wrote (.json), or data, which are fitted.

    Says where they cross along the first parameter that varies, their ratio and how sure it is, and for models by
    category or path which of these make the difference. Phases of two runs are matched in order, without --at.

    Exit status: 0; 2 a mistake; 3 something could not be fitted. For verdicts use `perf gate`.

    \b
    perf compare old.json new.json --at P=16..4096*2 --at D=256
    perf compare old.csv new.csv --fitter modgen --parameter P,D --at P=16..1024*2,D=256
    """
    with reporting():
        from perf_gate.api import compare, names_of
        from perf_gate.comparison import Comparison

        # What is wrong with the options is said before long files are read.
        from perf_views.picture import check_files, plot
        from perfcore.hooks.registry import registry
        from perfcore.models.fitting import resolve, types_to_read
        from perfcore.models.model import is_model_file

        check_files(picture)
        if fitter is not None:
            resolve(registry().entry("fitters", fitter), options)
        names = names_of(first, second)
        one, other = (
            path if how.reader is None and is_model_file(path) else how.read_file(path, types_to_read(fitter))
            for path in (first, second)
        )
        comparison: Any = compare(one, other, at=at or (), fitter=fitter, names=names, **options)
        if picture is not None:
            plot(comparison, None, picture)
    if as_json:
        content: Any = comparison
        print_json("comparison", content.to_dict())
    else:
        print_findings(comparison, picture=picture)
    return 3 if isinstance(comparison, Comparison) and any(comparison.left_out) else 0
