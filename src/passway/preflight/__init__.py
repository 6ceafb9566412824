"""The walk: one module a stage, and the questions that are asked of it."""
