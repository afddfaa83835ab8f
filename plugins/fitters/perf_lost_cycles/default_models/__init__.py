"""The formulas that categories are usually fitted with."""

from pathlib import Path

__all__ = ["STANDARD_MODELS"]

STANDARD_MODELS = str(Path(__file__).with_name("standard.toml"))
