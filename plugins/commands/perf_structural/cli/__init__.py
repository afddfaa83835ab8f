"""The commands eval, value, schedule and judge."""
