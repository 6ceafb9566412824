"""The machine below a node: its files as a value (`tree`), and how they are read (`reader`).

`reader` is the only module that touches the host's files. Everything that judges them takes the
value, so that a tree from a test, a dump or another machine is judged by the same code.
"""
