"""Written by plugins/stubs/write_stubs.py."""

from perf_analysis.api import messages as messages
from perf_analysis.api import overheads as overheads
from perf_analysis.api import profile as profile
from perf_analysis.api import whatif as whatif
from perf_analysis.summarize import summarize as summarize
from perf_basics.api import formats as formats
from perf_basics.api import info as info
from perf_basics.api import plugins as plugins
from perf_basics.api import predict as predict
from perf_experiments.api import design as design
from perf_experiments.api import next_points as next_points
from perf_experiments.api import run as run
from perf_experiments.api import runs as runs
from perf_experiments.api import sample as sample
from perf_explore.api import explore as explore
from perf_explore.api import view as view
from perf_gate.api import add_to_history as add_to_history
from perf_gate.api import compare as compare
from perf_gate.api import gate as gate
from perf_gate.api import validate as validate
from perf_project.api import project as project
from perf_structural.api import evaluate as evaluate
from perf_structural.api import schedule as schedule
from perf_structural.api import solve as solve
from perf_structural.api import value as value
from perf_structural.composed_models import max_ as max_
from perf_structural.judging import judge as judge
from perf_views.picture import plot as plot
from perf_worley.iterations.api import iterations as iterations
from perfcore.base.errors import PerfError as PerfError
from perfcore.data.curve import UtilizationCurve as UtilizationCurve
from perfcore.data.measurements import Measurements as Measurements
from perfcore.data.series import Series as Series
from perfcore.data.trace import Trace as Trace
from perfcore.hooks.specs import hookimpl as hookimpl
from perfcore.models.fitting import fit as fit
from perfcore.models.fitting import rank as rank
from perfcore.models.model import Model as Model
from perfcore.models.model import load as load
from perfcore.reading.recognise import read as read
from perfcore.reading.recognise import write as write
from perfcore.results import Result as Result

__version__: str
