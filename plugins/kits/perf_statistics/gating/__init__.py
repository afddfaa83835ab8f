"""Slower or not: tests of paired rounds, of blocks in known order and of sessions, in three verdicts."""
