"""What runs of one version say about the machine: its noise, false alarms, and the rounds that a limit needs."""
