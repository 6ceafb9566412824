"""Passway against the real KubeVirt and the real scheduler, on clusters that a generator makes."""
