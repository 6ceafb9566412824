"""Plans: what would be written, as values. Nothing here writes."""
