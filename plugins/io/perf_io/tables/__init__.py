"""CSV and Parquet: curves, traces, series, tables of measurements."""
