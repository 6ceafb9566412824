"""`passway render`: what KubeVirt would make of a VM, before it does.

Owns the layout: elements as readable XML, the launcher pod as a manifest, its overhead as a table.
`render xml` asks no cluster: the launcher's variables
and files are given by options, and what is missing is the launcher's own failure, told as such.
"""

from dataclasses import replace
from xml.etree import ElementTree as ET

import click

from passway.cli import words
from passway.cli.lazy import ExampleGroup
from passway.cli.options import Source, Usage, command, manifests, namespaced, sourced
from passway.cli.output import Output, View, as_yaml, printing, show
from passway.cli.sources import answer, namespaces_of, open_backend, read_manifest
from passway.cli.surroundings import only_one_stdin, read_env, read_metadata, read_network_info
from passway.cli.table import Column, Table
from passway.kubevirt.hostdev import Environment
from passway.model.errors import EXIT_NO, EXIT_OK
from passway.model.quantity import quantity
from passway.preflight.references import refers
from passway.service.documents import HostDevices, LauncherPod, OverheadPart, RenderError
from passway.service.manifests import one_machine
from passway.service.rendering import host_devices, variables


@click.group(
    "render",
    cls=ExampleGroup,
    examples=(
        "passway render xml -f vm.yaml --env launcher.env",
        "passway render pod -f vm.yaml --demo --overhead",
    ),
)
def render() -> None:
    """What KubeVirt would make of a VM."""


@command(
    "xml",
    examples=(
        "passway render xml -f vm.yaml --env launcher.env",
        "kubectl exec POD -c compute -- env | passway render xml -f vm.yaml --env -",
        "passway render xml -f vm.yaml --metadata dra-device-attributes/ -o json",
    ),
)
@manifests
@click.option(
    "--env",
    "env",
    metavar="FILE",
    type=click.Path(),
    help="The launcher's variables: lines NAME=VALUE, or a JSON or YAML mapping.",
)
@click.option(
    "--metadata",
    metavar="DIR",
    type=click.Path(),
    help="The claims' device metadata: a copy of /var/run/kubernetes.io/dra-device-attributes.",
)
@click.option(
    "--network-info", metavar="FILE", type=click.Path(),
    help="The networks' devices: a copy of /etc/podinfo/network-info.",
)  # fmt: skip
@namespaced
@printing("xml", default="xml")
def xml(
    files: tuple[str, ...],
    env: str | None,
    metadata: str | None,
    network_info: str | None,
    namespace: str,
    output: Output,
) -> int:
    """The libvirt <hostdev> elements that the launcher would make.

    Exits with 1 if the launcher would fail on a device.
    """
    name = _one(files, "xml")
    only_one_stdin(name, env, network_info)
    text, file = read_manifest(name)
    spec = one_machine(text, file, namespace)
    environment = Environment(
        {} if env is None else read_env(env),
        {} if metadata is None else read_metadata(metadata),
        None if network_info is None else read_network_info(network_info),
    )
    found = output.sorted(host_devices(spec, environment))
    show(_view(found), output)
    if refers(spec):
        words.complain(
            "no cluster is asked, so devices of the instance type are left out", severity="note"
        )
    if found.error is None:
        return EXIT_OK
    _complain(found.error)
    if env is None and (wanted := variables(spec)):
        words.complain(f"no --env was given; it would hold {' or '.join(wanted)}", severity="note")
    return EXIT_NO


@command(
    "pod",
    examples=(
        "passway render pod -f vm.yaml --demo",
        "passway render pod -f vm.yaml --from dumps/ --overhead",
        "passway render pod -f vm.yaml --demo -o jsonpath={.requests.memory}",
    ),
)
@manifests
@click.option("--overhead", is_flag=True, help="Show what adds to the guest's memory: -o table.")
@namespaced
@sourced
@printing("manifest", default="manifest")
def pod(
    files: tuple[str, ...], overhead: bool, namespace: str, source: Source, output: Output
) -> int:
    """The launcher pod that the scheduler would see, as a manifest.

    Exits with 1 if KubeVirt would not create it.
    """
    if overhead:
        if output.format not in {"manifest", "table"}:
            raise Usage("--overhead is -o table; keep one of them")
        output = replace(output, format="table")
    text, file = read_manifest(_one(files, "pod"))
    backend = open_backend(source, namespaces=namespaces_of([(text, file)], namespace))
    found = output.sorted(answer(backend.render_pod(text, file, namespace=namespace)))
    show(_pod_view(found), output)
    if found.unread:
        words.complain(
            f"defaults stand in for what was not read: {', '.join(found.unread)}",
            severity="warning",
        )
    if found.error is None:
        return EXIT_OK
    _complain(found.error)
    return EXIT_NO


def _pod_view(found: LauncherPod) -> View:
    total = OverheadPart(
        part="total", bytes=found.overhead_total, why="what KubeVirt adds to the guest's memory"
    )
    return View(
        found,
        names=[f"pod/{found.pod['metadata']['generateName']}"],
        table=Table(
            (
                Column("PART", lambda item: item.part),
                Column("AMOUNT", lambda item: quantity(item.bytes, "BinarySI")),
                Column("BYTES", lambda item: item.bytes, wide=True),
                Column("WHY", lambda item: item.why),
            ),
            (*found.overhead, total),
        ),
        special=lambda _: as_yaml(found.pod),
    )


def _one(files: tuple[str, ...], what: str) -> str:
    if len(files) != 1:
        raise Usage(f"render {what} takes one manifest", "-f FILE")
    return files[0]


def _view(found: HostDevices) -> View:
    return View(
        found,
        names=[item.device or "" for item in found.elements],
        table=Table(
            (Column("DEVICE", lambda item: item.device), Column("XML", lambda item: item.xml)),
            found.elements,
        ),
        special=lambda _: "\n".join(_readable(item.xml) for item in found.elements),
    )


def _readable(text: str) -> str:
    """An element over several lines."""
    element = ET.XML(text)
    ET.indent(element)
    return words.xml_safe(ET.tostring(element, encoding="unicode"))


def _complain(error: RenderError) -> None:
    words.complain(f"{error.code}: {error.message}", error.hint)


render.add_command(xml)
render.add_command(pod)
