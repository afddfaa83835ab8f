"""The reader of summaries."""

from __future__ import annotations

from perf_traces.summaries.run import is_summary
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.summaries.summary_file import load
from perfcore.contracts import Reader
from perfcore.data.trace import Trace
from perfcore.hooks.options import NoOptions
from perfcore.reading.source import Source


class SummaryReader(Reader):
    """Summaries that ``perf summarize`` writes."""

    def sniff(self, source: Source) -> float:
        """Sure by the first member of the zip."""
        return 1.0 if is_summary(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Trace:
        """Read the whole summary."""
        with source.plain_file() as path:
            summary, _ = load(path, source.name)
        return SummarizedTrace(summary, source.name)
