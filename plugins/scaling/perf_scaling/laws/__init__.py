"""Scaling laws of thousands of call paths: generic terms, averaged by how well each explains the data."""
