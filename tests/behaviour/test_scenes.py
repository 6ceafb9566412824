"""The scenes that the real scheduler judges on the bench, judged without it.

The bench says that what each scene must come to is true; here the same is asked in a moment, with
the few fields that the API server and the controllers fill in.
"""

import json
import re
from copy import deepcopy

import pytest
from tests.builders import cluster, kubevirt, machine, obj
from tests.controlplane.scenes import NS, OTHER, SCENES, WORLD, Scene

from passway.model.reasons import render
from passway.preflight.eviction import evictions
from passway.preflight.placement import place
from passway.preflight.walk import ask, check

PRIORITIES = {item["metadata"]["name"]: item["value"] for item in WORLD if "value" in item}
NAMESPACES = [
    obj("v1", "Namespace", "ns"), obj("v1", "Namespace", "other", meta={"labels": {"team": "x"}}),
]  # fmt: skip


def here(item):
    text = re.sub(rf"\b{NS}\b", "ns", json.dumps(item))
    return json.loads(re.sub(rf"\b{OTHER}\b", "other", text))


def filled(item, scene: Scene):
    """The object as it would be after all that act on it."""
    made, name = deepcopy(item), item["metadata"]["name"]
    kind = made["kind"]
    if name in scene.gone or (f"pvc/{name}" in scene.gone and kind == "PersistentVolumeClaim"):
        made["metadata"]["deletionTimestamp"] = "2026-06-12T09:00:00Z"
    if kind == "Pod":
        made["status"]["phase"] = scene.ended.get(name, made["status"]["phase"])
        made["spec"]["priority"] = PRIORITIES.get(made["spec"].get("priorityClassName"), 0)
    if kind == "PersistentVolume":
        made["status"] = {"phase": "Bound" if "claimRef" in made["spec"] else "Available"}
    if kind == "PersistentVolumeClaim" and "volumeName" in made["spec"]:
        made["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return made


def snapshot(scene: Scene):
    objects = [filled(item, scene) for item in (*scene.nodes, *scene.pods, *scene.objects)]
    return cluster(kubevirt(), *NAMESPACES, *WORLD, *here(objects))


@pytest.mark.parametrize("scene", SCENES, ids=[scene.name for scene in SCENES])
def test_the_nodes_that_are_left(scene: Scene):
    made, spec = snapshot(scene), machine(here(scene.machine))
    found = place(ask(spec, made, 1), expand=True)
    assert {item.name for item in found.feasible} == scene.expected, found.nodes
    verdict = check(spec, made)
    assert verdict.fits == ("yes" if scene.expected else "no")
    for issue in verdict.issues:
        assert "{" not in render(issue).message
    preempts = found.scene.priority.preempts
    evicted = {
        victim.name
        for item in (evictions(made, found.scene, found) if preempts else ())
        for victim in item.victims
    }
    if scene.evicts is not None:
        assert evicted == scene.evicts


def test_every_scene_has_a_name_of_its_own():
    names = [scene.name for scene in SCENES]
    assert len(set(names)) == len(names) >= 25
