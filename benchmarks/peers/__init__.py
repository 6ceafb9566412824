"""Passway beside other tools, on one real API server with the same load, in one run."""
