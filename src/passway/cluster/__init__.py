"""The cluster as values: wire records, a state fed by events, immutable snapshots."""
