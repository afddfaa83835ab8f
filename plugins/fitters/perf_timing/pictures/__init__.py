"""What both timing models are drawn with."""
