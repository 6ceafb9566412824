"""Typed views on a VMI spec: CPU, memory, networks, volumes, claims.

Each view holds what is written, never a default of KubeVirt's. Wrong types read as absent. The
only faults found here are names that occur twice in a list, which no schema says.
"""

from passway.manifest.cursor import Cursor
from passway.manifest.findings import Findings
from passway.manifest.spec import ClaimReference, Cpu, Interface, Memory, Volume


def cpu(vmi: Cursor) -> Cpu:
    """`domain.cpu`."""
    section = vmi.at("domain", "cpu")
    return Cpu(
        sockets=section.at("sockets").whole(),
        cores=section.at("cores").whole(),
        threads=section.at("threads").whole(),
        dedicated=section.at("dedicatedCpuPlacement").flag(),
        isolate_emulator=section.at("isolateEmulatorThread").flag(),
        numa_passthrough=section.at("numa", "guestMappingPassthrough").present,
        model=section.at("model").text(),
    )


def memory(vmi: Cursor) -> Memory:
    """`domain.memory`."""
    section = vmi.at("domain", "memory")
    return Memory(section.at("guest").quantity(), section.at("hugepages", "pageSize").text())


def interfaces(vmi: Cursor, findings: Findings) -> tuple[Interface, ...]:
    """The interfaces, each with what its network says."""
    entries = vmi.at("domain", "devices", "interfaces")
    networks = vmi.at("networks")
    findings.require_unique_names(entries.items(), "interfaces")
    findings.require_unique_names(networks.items(), "networks")
    by_name = {entry.at("name").text(): entry for entry in networks.items()}
    nowhere = Cursor(None)
    return tuple(
        _interface(entry, by_name.get(entry.at("name").text(), nowhere))
        for entry in entries.items()
    )


def _interface(entry: Cursor, network: Cursor) -> Interface:
    attachment = network.at("multus", "networkName")
    claim = network.at("resourceClaim")
    claim_name, request_name = claim.at("claimName").text(), claim.at("requestName").text()
    return Interface(
        name=entry.at("name").text() or "",
        path=entry.path,
        sriov=entry.at("sriov").present,
        attachment=attachment.text(),
        attachment_path=attachment.path if attachment.text() else "",
        claim=(claim_name, request_name) if claim_name and request_name else None,
    )


def volumes(vmi: Cursor, findings: Findings) -> tuple[Volume, ...]:
    """The volumes; names must also be unique among the disks."""
    entries = vmi.at("volumes")
    findings.require_unique_names(entries.items(), "volumes")
    findings.require_unique_names(vmi.at("domain", "devices", "disks").items(), "disks")
    return tuple(_volume(entry) for entry in entries.items())


def _volume(entry: Cursor) -> Volume:
    source = next((key for key in entry.keys() if key != "name"), "")  # noqa: SIM118  (a cursor)
    return Volume(
        name=entry.at("name").text() or "",
        source=source,
        path=entry.path,
        claim_name=_claim_name(entry, source),
    )


def _claim_name(entry: Cursor, source: str) -> str | None:
    """The PersistentVolumeClaim; that of a data volume has the data volume's name."""
    match source:
        case "persistentVolumeClaim":
            return entry.at(source, "claimName").text()
        case "dataVolume":
            return entry.at(source, "name").text()
        case "ephemeral":
            return entry.at(source, "persistentVolumeClaim", "claimName").text()
        case _:
            return None


def claims(vmi: Cursor, findings: Findings) -> tuple[ClaimReference, ...]:
    """The entries of `resourceClaims`."""
    entries = vmi.at("resourceClaims")
    findings.require_unique_names(entries.items(), "resourceClaims")
    return tuple(
        ClaimReference(
            name=entry.at("name").text() or "",
            path=entry.path,
            claim_name=entry.at("resourceClaimName").text(),
            template_name=entry.at("resourceClaimTemplateName").text(),
        )
        for entry in entries.items()
    )
