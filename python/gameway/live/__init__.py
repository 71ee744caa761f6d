"""Live runs: the same experiments on one machine, in real time, between network namespaces."""
