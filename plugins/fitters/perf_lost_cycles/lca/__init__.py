"""Models over one factor: every default model of every category (Lost Cycles Analysis)."""
