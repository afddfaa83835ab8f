"""What monitors of machines print."""
