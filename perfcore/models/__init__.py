"""What every model can do, its file, how it is fitted and ranked."""
