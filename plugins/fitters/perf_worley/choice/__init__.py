"""How many phases, and of which degree: the rule ``auto``."""
