"""The benchmark of the models still runs, and says what it says it says."""

import re

from benchmarks import models


def test_it_prints_a_line_for_each_figure(monkeypatch, capsys):
    monkeypatch.setattr(models, "WINDOW_S", 1e-9)
    models.main(1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "translate, one PCI GPU",
        "translate, 2011 vectors (1025 end in an error)",
        "admit, a GPU VMI with three disks",
        "admit, 769 vectors (528 refused)",
        "launcher, the GPU VM of benchmarks.scale",
    ]
    assert all(re.search(r": \d+ a second \(", line) for line in lines[:4])
    assert "reference loop" in lines[4]
