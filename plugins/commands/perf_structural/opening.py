"""Files that ``perf predict``, ``perf validate`` and ``perf explore`` open: structural models, predictions to judge."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_structural.options import JudgingOptions, PredictionOptions, ValidationOptions
from perf_views.contents import Opener
from perfcore.base.errors import OptionError, PerfError

if TYPE_CHECKING:
    from perf_structural.judging import Judgement, Recalibration
    from perf_structural.prediction import Prediction
    from perf_structural.structural_model import StructuralModel

_HEAD = 65536  # bytes within which a prediction says what it is: a model or a long trace is not decoded to find out
_SIGNS = (b'"representation"', b'"lower"', b'"upper"')


class StructuralOpener(Opener):
    """Opens structural models in TOML."""

    Options = PredictionOptions
    predicts = True

    def sniff(self, path: Path) -> float:
        """Every TOML file that is named is meant as a structural model."""
        return 1.0

    def open(self, path: str, options: Any, data: str | None = None) -> StructuralModel:
        from perf_structural.structural_model import StructuralModel

        return StructuralModel.read(path)

    def predict(self, path: str, options: Any) -> Prediction:
        from perf_structural.inputs import given_quantities
        from perf_structural.structural_model import StructuralModel

        chosen = asdict(options)
        inputs = given_quantities(chosen.pop("with_"))
        return StructuralModel.read(path).with_inputs(inputs).predict(**chosen)


class PredictionsOpener(Opener):
    """Opens predictions in JSON with the table of what then happened."""

    Options = JudgingOptions
    Validation = ValidationOptions
    takes_data = True

    def sniff(self, path: Path) -> float:
        from perf_structural.prediction_files import first_prediction

        if not _may_be_predictions(path):
            return 0.0
        try:
            first_prediction(path)
        except PerfError:
            return 0.0
        return 0.9

    def open(self, path: str, options: Any, data: str | None = None) -> Judgement:
        from perf_structural.judging import judge

        if data is None:
            raise OptionError(f"{path} holds predictions; give the table of what happened after it")
        return judge(path, data, column=options.column, at=options.at)

    def validate(self, path: str, data: str, options: Any, output: str | None) -> Judgement | Recalibration:
        """The predictions, judged by what happened; or what that teaches."""
        from perf_structural.judging import judge, recalibrate

        if not options.recalibrate:
            if output is not None:
                raise OptionError("-o writes what --recalibrate learned; give --recalibrate with it")
            chosen = asdict(options)
            del chosen["recalibrate"]
            return judge(path, data, **chosen)
        for name in ("recalibration", "at", "quantile"):
            if getattr(options, name) is not None:
                raise OptionError(f"--{name} judges, and --recalibrate learns: give one of them")
        learned = recalibrate(path, data, column=options.column)
        if output is not None:
            learned.save(output)
        return learned


def _may_be_predictions(path: Path) -> bool:
    """Whether the beginning of a file is a number or has a key of a value."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n[")
    except OSError:
        return False
    return head[:1].isdigit() or head[:1] == b"-" or any(sign in head for sign in _SIGNS)
