"""Models over several factors, generated from those over one."""
