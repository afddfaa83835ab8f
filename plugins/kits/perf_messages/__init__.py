"""Messages and collectives of a run, and its replay under other conditions.

A reader gives `perf_messages.communication.Communication`; `perf_messages.replay.Replay` computes from it how long the
run takes on another network or with other computation; `perf_messages.pop_factors` what POP's factors are.
"""
