"""The functions behind the commands of experiments."""
