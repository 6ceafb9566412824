"""Text to MachineSpec: YAML and JSON that remember line and column, and all faults at once."""
