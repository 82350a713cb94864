"""Benchmark: settings, peers, comparison, ablation."""
