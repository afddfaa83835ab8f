"""What does tasks elsewhere: processes of this machine, a cluster of Dask's, or jobs of Slurm's."""

__all__: list[str] = []
