"""Pictures of models and data by matplotlib: files, time axes, colours and legends that all pictures share."""
