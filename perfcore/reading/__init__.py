"""Files to data: sources, recognised formats, many files as one."""
