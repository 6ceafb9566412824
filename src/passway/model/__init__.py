"""Values every other layer speaks in: quantities, names, devices, reasons, verdicts, errors."""
