"""The composition root: settings in, everything wired, nothing else."""
