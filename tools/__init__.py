"""Developers' scripts: they write files that tests compare with the code."""
