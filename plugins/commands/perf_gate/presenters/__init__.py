"""How the verdicts are shown."""
