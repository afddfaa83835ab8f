"""Lost cycles: models of overheads by category, and of the application as their sum."""

from pathlib import Path

__all__ = ["STANDARD_MODELS"]

STANDARD_MODELS = str(Path(__file__).with_name("default_models.toml"))
