"""The reasons of what KubeVirt's admission refuses, beside those that `reasons` has from before.

One reason often stands for several rules that a reader need not tell apart (a request above its
limit, for CPU or memory); which rule has which reason is `preflight.refusals`' to know.
"""

from typing import Final

from passway.model.reason import Reason

_DEVICES: Final = (
    Reason(
        "BootDisplaysMany",
        "More than one GPU shows the boot screen",
        "{count:GPU} have a display with a boot framebuffer; one may",
        "Set virtualGPUOptions.display.ramFB.enabled to false, or display.enabled to false, on all "
        "but one.",
    ),
    Reason(
        "ClaimNameInvalid",
        "A claim of the VM has no usable name",
        "an entry of resourceClaims needs a name that is a DNS label",
        "Name the entry with lower-case letters, digits and hyphens; devices refer to that name.",
        (("claim", '; "{claim}" is none'),),
    ),
    Reason(
        "ClaimNameDuplicate",
        "Two claims of the VM share a name",
        'the name "{claim}" is used twice in resourceClaims',
        "Give each claim its own name.",
    ),
    Reason(
        "ClaimReferenceCount",
        "A claim of the VM names not exactly one object",
        'the claim "{claim}" needs either resourceClaimName or resourceClaimTemplateName',
        "Set exactly one of the two.",
    ),
    Reason(
        "ClaimReferenceInvalid",
        "A claim of the VM names no possible object",
        '"{name}" is no name that a resource claim or template can have',
        "Write the name of an existing ResourceClaim or ResourceClaimTemplate of the namespace.",
    ),
    Reason(
        "GraceMachine",
        "A Grace GPU needs another machine",
        "passthrough of a Grace GPU needs architecture arm64, machine type virt and dedicated CPUs",
        "Set architecture, domain.machine.type and domain.cpu.dedicatedCpuPlacement accordingly.",
        (
            ("architecture", "; this VM has architecture {architecture}"),
            ("machine", "; this VM has machine type {machine}"),
        ),
    ),
    Reason(
        "GraceAnnotation",
        "An annotation that a Grace GPU does not stand",
        "{annotation} is set, and passthrough of a Grace GPU needs it unset",
        "Remove the annotation.",
    ),
    Reason(
        "GraceSelectorAmbiguous",
        "A wildcard where a Grace GPU may be meant",
        '"{resource}" is permitted by a wildcard of NVIDIA devices, which GraceIOVirtualization '
        "does not accept",
        "Permit the resource with vendor and device id of the GPU.",
    ),
)

_CPU_AND_MEMORY: Final = (
    Reason(
        "AmountNegative",
        "A negative amount",
        "{amount} is below zero",
        "Ask for a positive amount.",
    ),
    Reason(
        "RequestAboveLimit",
        "A request is above its limit",
        "the request of {amount} is above the limit of {limit}",
        "Lower the request or raise the limit.",
    ),
    Reason(
        "MemoryRequestTooSmall",
        "The memory request is too small",
        "the request of {amount} is below 1M",
        "Ask for more; a missing unit is the usual cause.",
    ),
    Reason(
        "MemoryMissing",
        "The VM asks for no memory",
        "the VM has no guest memory, no hugepages and no memory request",
        "Set domain.memory.guest.",
    ),
    Reason(
        "GuestMemoryAboveLimit",
        "Guest memory is above the memory limit",
        "the guest gets {amount}, but the limit is {limit}, and the cluster does not update VMs "
        "live",
        "Raise the limit (with some room for overhead), or lower domain.memory.guest.",
    ),
    Reason(
        "DedicatedCpuFractional",
        "Dedicated CPUs need whole numbers",
        "{amount} is no whole number of CPUs",
        "Use whole CPUs, or set the topology in domain.cpu instead.",
    ),
    Reason(
        "DedicatedAmountsDiffer",
        "Dedicated CPUs need requests that equal the limits",
        "the request is {amount} and the limit is {limit}",
        "Make them equal, or leave one out.",
    ),
    Reason(
        "DedicatedCpuTopologyConflict",
        "The CPU amount is not that of the topology",
        "the topology has {vcpus:vCPU}, the resources say {amount}",
        "Leave the CPU request and limit out; the topology is enough.",
    ),
    Reason(
        "ThreadsTooMany",
        "Too many threads a core",
        "{threads:thread} a core, where dedicated CPUs allow at most {most}",
        "Lower domain.cpu.threads and use more cores.",
    ),
    Reason(
        "EmulatorThreadNeedsDedicatedCpus",
        "A CPU for the emulator needs dedicated CPUs",
        "isolateEmulatorThread is set but dedicatedCpuPlacement is not",
        "Set domain.cpu.dedicatedCpuPlacement to true, or remove isolateEmulatorThread.",
    ),
    Reason(
        "RealtimeIncomplete",
        "Real time needs more settings",
        "realtime is set without {field}",
        "Set domain.cpu.dedicatedCpuPlacement and domain.cpu.numa.guestMappingPassthrough.",
    ),
    Reason(
        "SocketsAboveMaximum",
        "More sockets than the most there may be",
        "{sockets:socket}, and maxSockets is {most}",
        "Raise maxSockets or leave it out.",
    ),
    Reason(
        "CpuFeaturePolicyUnsupported",
        "A policy that CPU features do not have",
        'the feature {feature} has the policy "{policy}"',
        "Use require, optional, force, disable or forbid.",
    ),
)

_NETWORKS: Final = (
    Reason(
        "PodNetworkTwice",
        "More than one network is the pod's own",
        "the VM may have one pod network, or one Multus network as default, not more",
        "Keep one of them.",
    ),
    Reason(
        "NetworkTypeCount",
        "A network has not exactly one type",
        'the network "{network}" needs one of pod, multus and resourceClaim',
        "Set exactly one.",
        (("types", "; it has {types}"),),
    ),
    Reason(
        "MultusNetworkNameMissing",
        "A Multus network names no attachment",
        'the network "{network}" has no networkName',
        "Set multus.networkName to a NetworkAttachmentDefinition ([namespace/]name).",
    ),
    Reason(
        "NetworkWithoutInterface",
        "A network without an interface",
        'no interface is named "{network}"',
        "Add an interface of that name, or remove the network.",
    ),
    Reason(
        "InterfaceWithoutNetwork",
        "An interface without a network",
        'no network is named "{interface}"',
        "Add a network of that name, or remove the interface.",
    ),
    Reason(
        "NetworkClaimIncomplete",
        "A network of a claim is incomplete",
        'the network "{network}" needs both claimName and requestName',
        "Name the claim and the request inside it.",
    ),
    Reason(
        "NetworkClaimNotDeclared",
        "A network names a claim that the VM does not list",
        'the network "{network}" names the claim "{claim}", which is not in resourceClaims',
        "Add the claim to resourceClaims of the VMI, or correct claimName.",
    ),
    Reason(
        "NetworkClaimWithMultus",
        "Claims and Multus do not go together",
        "the VM has networks of claims and networks of Multus",
        "Use one of the two for all secondary networks.",
    ),
    Reason(
        "NetworkClaimNeedsSriov",
        "A network of a claim needs an SR-IOV interface",
        'the interface of network "{network}" is neither sriov nor a binding plugin',
        "Give the interface the binding sriov.",
    ),
    Reason(
        "InterfaceBindingCount",
        "An interface has not exactly one binding",
        "the interface has {count:binding}",
        "Set exactly one of bridge, masquerade, sriov, passtBinding and binding.",
        (("given", ": {given}"),),
    ),
    Reason(
        "BindingDiscontinued",
        "A binding that KubeVirt has removed",
        "the binding {binding} does not exist any more",
        "Use masquerade, bridge, sriov, passtBinding or a binding plugin.",
    ),
    Reason(
        "MasqueradeNeedsPodNetwork",
        "Masquerade needs the pod network",
        'the interface "{interface}" is masqueraded but its network is not the pod network',
        "Use bridge or sriov for a secondary network.",
    ),
    Reason(
        "BridgeNotPermitted",
        "The cluster permits no bridge on the pod network",
        "permitBridgeInterfaceOnPodNetwork is false on this cluster",
        "Use masquerade for the pod network.",
    ),
    Reason(
        "InterfaceStateUnsupported",
        "A state that the interface cannot have",
        "the interface cannot have the state {state}",
        "Leave state out; absent is for bridges on secondary networks, up and down are not for "
        "sriov.",
    ),
    Reason(
        "InterfaceModelUnsupported",
        "A network card that does not exist",
        '"{model}" is no model of a network card',
        "Use virtio, or e1000, e1000e, ne2k_pci, pcnet, rtl8139.",
    ),
    Reason(
        "InterfaceNameInvalid",
        "An interface has no usable name",
        '"{name}" is no name for an interface',
        "Use letters, digits, hyphens and underscores.",
    ),
    Reason(
        "MacAddressInvalid",
        "A hardware address that cannot be used",
        "the address is not six bytes in hexadecimal, or is reserved",
        "Write it as 02:00:00:00:00:01, or leave it out.",
        (("mac", ' ("{mac}")'),),
    ),
    Reason(
        "GuestPciAddressInvalid",
        "A guest PCI address that cannot be read",
        '"{address}" is no PCI address',
        "Write it with its domain: 0000:0a:00.0.",
    ),
    Reason(
        "PortInvalid",
        "A port of an interface is not valid",
        "a port needs a number from 1 to 65535, TCP or UDP, and a port name of its own",
        "Correct the port.",
        (("port", " ({port})"),),
    ),
)

_STORAGE: Final = (
    Reason(
        "BootOrderInvalid",
        "A boot order that cannot be used",
        "the boot order {order} is below 1 or given to another device too",
        "Number bootable devices from 1, each once.",
    ),
    Reason(
        "DiskWithoutVolume",
        "A disk without a volume",
        'no volume is named "{disk}"',
        "Add a volume of that name, or remove the disk.",
    ),
    Reason(
        "VolumeWithoutDisk",
        "A volume without a disk",
        'no disk or filesystem is named "{name}"',
        "Add a disk of that name, or remove the volume.",
    ),
    Reason(
        "DiskNameInvalid",
        "A disk has no usable name",
        '"{name}" is no DNS label',
        "Use lower-case letters, digits and hyphens.",
    ),
    Reason(
        "DiskTargetsMany",
        "A disk is several things at once",
        'the disk "{disk}" is {given}',
        "Keep one of disk, lun and cdrom.",
    ),
    Reason(
        "DiskBusUnsupported",
        "A bus that the disk cannot have",
        "the disk cannot be on this bus",
        "Use virtio, scsi, sata or usb; CD-ROMs are not on virtio, read-only disks not on sata, "
        "and a PCI address or an I/O thread of its own needs virtio.",
        (("bus", " ({bus})"),),
    ),
    Reason(
        "DiskOptionUnsupported",
        "An option that disks do not have",
        "{field} has no such value",
        "Use one of {allowed}.",
    ),
    Reason(
        "BlockSizeInvalid",
        "A block size that cannot be used",
        "block sizes are powers of two from 512 to 2097152, the logical one not above the physical "
        "one",
        "Correct blockSize; matchVolume and custom exclude each other.",
    ),
    Reason(
        "LunNeedsClaim",
        "A LUN needs a claim",
        'the disk "{disk}" is a LUN, but its volume is no PersistentVolumeClaim or DataVolume',
        "Use disk instead of lun, or another volume.",
    ),
    Reason(
        "DownwardMetricsNeedsVirtio",
        "Downward metrics need a virtio disk",
        'the disk "{disk}" holds downward metrics but is no disk on virtio',
        "Set disk.bus to virtio.",
    ),
    Reason(
        "VolumeSourceCount",
        "A volume has not exactly one source",
        'the volume "{name}" has {count:source}',
        "Set exactly one source.",
        (("given", ": {given}"),),
    ),
    Reason(
        "VolumeSourceTwice",
        "A kind of volume that may be there once",
        "the VM has more than one volume of {source}",
        "Keep one.",
    ),
    Reason(
        "VolumeFieldMissing",
        "A volume says not what it holds",
        "{field} is missing",
        "Set {field}.",
    ),
    Reason(
        "CloudInitInvalid",
        "Cloud-init data that cannot be used",
        "user data and network data have at most one source each and are at most 2048 bytes",
        "Put larger data into a Secret and refer to it; write base64 only into the Base64 fields.",
        (("data", "; see {data}"), ("bytes", " ({bytes} bytes)")),
    ),
    Reason(
        "HostDiskInvalid",
        "A host disk that cannot be made",
        "type is Disk or DiskOrCreate, and only DiskOrCreate takes a capacity",
        "Correct type, or remove capacity.",
    ),
    Reason(
        "FilePathInvalid",
        "A path that names no file",
        '"{file}" is not the absolute path of a file',
        "Write an absolute path without . and .. in it.",
    ),
)

_MACHINE: Final = (
    Reason(
        "ArchitectureUnsupported",
        "An architecture that KubeVirt does not have",
        '"{architecture}" is none of {allowed}',
        "Use one of {allowed}.",
    ),
    Reason(
        "ArchitectureLacks",
        "Something that the architecture does not have",
        "{architecture} does not have this {what}",
        "Leave it out, or choose what {architecture} has.",
    ),
    Reason(
        "MachineTypeUnsupported",
        "A machine type that the cluster does not allow",
        '"{machine}" is none of {allowed}',
        "Leave domain.machine.type out, or use an allowed one.",
    ),
    Reason(
        "HostNameInvalid",
        "A host name that DNS does not take",
        '{field} "{name}" is not possible in DNS',
        "Use lower-case letters, digits and hyphens.",
    ),
    Reason(
        "SerialInvalid",
        "A serial number that cannot be used",
        "a serial number has at most 256 letters, digits and _.+- characters",
        "Correct the serial number.",
    ),
    Reason(
        "StartStrategyUnsupported",
        "A start strategy that does not work",
        "startStrategy is Paused or absent, and a paused VM has no liveness probe",
        "Correct startStrategy, or remove the probe.",
    ),
    Reason(
        "InputUnsupported",
        "An input device that does not exist",
        '{field} "{value}" is not supported',
        "Use a tablet on usb or virtio.",
    ),
    Reason(
        "IoThreadsPolicyUnsupported",
        "I/O threads that cannot be made",
        "the policy is shared, auto or supplementalPool, and a pool has at least one thread",
        "Correct ioThreadsPolicy, or set ioThreads.supplementalPoolThreadCount.",
    ),
    Reason(
        "ProbeHandlerCount",
        "A probe does not do exactly one thing",
        "{probe} has {count:handler}",
        "Keep one of httpGet, tcpSocket, exec and guestAgentPing.",
    ),
    Reason(
        "ProbeNeedsPodNetwork",
        "A probe over a network that is not there",
        "{probe} asks over the pod network, which the VM does not have",
        "Use exec or guestAgentPing, or add the pod network.",
    ),
    Reason(
        "BootLoadersBoth",
        "Two boot loaders",
        "the VM has both efi and bios",
        "Keep one.",
    ),
    Reason(
        "SecureBootNeedsSmm",
        "Secure boot needs system management mode",
        "secure boot is on (as it is for efi by default) and features.smm is not",
        "Set domain.features.smm.enabled to true, or efi.secureBoot to false.",
    ),
    Reason(
        "DnsPolicyInvalid",
        "A DNS policy that cannot be used",
        "the DNS policy is unknown, or None without dnsConfig",
        "Use ClusterFirst, ClusterFirstWithHostNet, Default, or None with dnsConfig.",
        (("policy", ' ("{policy}")'),),
    ),
    Reason(
        "EvictionStrategyUnknown",
        "An eviction strategy that does not exist",
        '"{strategy}" is none of {allowed}',
        "Use one of {allowed}; for VMs with devices None or LiveMigrateIfPossible.",
    ),
    Reason(
        "SoundInvalid",
        "A sound card that does not exist",
        "a sound card has a name, and the model ich9 or ac97",
        "Correct domain.devices.sound.",
    ),
    Reason(
        "LabelReserved",
        "A label that only KubeVirt may set",
        "the VM sets {labels}, which KubeVirt keeps to itself",
        "Remove them.",
    ),
    Reason(
        "QuantityUnparsable",
        "An amount that cannot be read",
        "a quantity of the VM is none",
        "Write a number with an optional suffix (500m, 2, 16Gi).",
    ),
)

_PLACEMENT: Final = (
    Reason(
        "RuleFieldEmpty",
        "A placement rule without a field it needs",
        "{field} of the placement rule must not be empty",
        "Give it a value, or remove the rule.",
    ),
    Reason(
        "RuleNumberTooSmall",
        "A number of a spread constraint is too small",
        "{field} is {value}, but must be 1 or more",
        "Use 1 or more.",
    ),
    Reason(
        "RuleDomainsIdle",
        "A spread constraint that counts domains and never refuses",
        "minDomains goes with whenUnsatisfiable: DoNotSchedule only",
        "Remove minDomains, or use DoNotSchedule.",
    ),
    Reason(
        "RuleRepeated",
        "Two spread constraints for the same key",
        "there are two constraints for {key} with {action}",
        "Make one of the two.",
    ),
    Reason(
        "RuleChoiceUnknown",
        "A word that Kubernetes does not know here",
        '{field} is "{value}", but must be one of {known}',
        "Use one of {known}.",
    ),
    Reason(
        "RuleKeyInvalid",
        "What is no label stands where a label is meant",
        '"{key}" can be no label of a node or pod',
        "Use at most 63 letters, digits, '-', '_' and '.', and for keys a domain and a slash "
        "before them if need be.",
    ),
    Reason(
        "RuleKeyNeeded",
        "A toleration without a key",
        "a toleration without a key tolerates everything, and so goes with the operator Exists, "
        "not with {operator}",
        "Give it the key of the taint, or the operator Exists.",
    ),
    Reason(
        "RuleValuesDiffer",
        "An operator with the wrong number of values",
        "the operator {operator} takes {wanted}",
        "Correct the values, or use another operator.",
    ),
    Reason(
        "RuleNameInvalid",
        "A name that no namespace or node can have",
        '"{name}" is no name of an object',
        "Correct the name.",
    ),
    Reason(
        "RuleWeightInvalid",
        "A weight out of range",
        "the weight is {value}, but must be from 1 to 100",
        "Use a weight from 1 to 100.",
    ),
    Reason(
        "RuleSecondsIdle",
        "A toleration with seconds and without NoExecute",
        "tolerationSeconds goes with the effect NoExecute only",
        "Remove tolerationSeconds, or use the effect NoExecute.",
        (("effect", ' (the effect is "{effect}")'),),
    ),
)

ADMISSION: Final = (
    *_DEVICES, *_CPU_AND_MEMORY, *_NETWORKS, *_STORAGE, *_MACHINE, *_PLACEMENT,
)  # fmt: skip
