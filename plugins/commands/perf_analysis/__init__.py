"""Commands about traces: where time is lost, the time of each function, messages, what-if replay, summaries."""
