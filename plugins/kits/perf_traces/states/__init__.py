"""What a location does while it is in a state: the one table of classes that readers and commands ask."""
