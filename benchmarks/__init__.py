"""Measurements behind docs/benchmarks.md."""
