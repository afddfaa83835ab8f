"""Messages and collectives of a run, and its replay under other conditions.

A reader gives `perf_traces.messages.communication.Communication`; `perf_traces.messages.replay.Replay` computes from
it how long the
run takes on another network or with other computation; `perf_traces.messages.bursts` what POP's factors are.
"""
