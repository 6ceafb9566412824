"""The registry of reasons, and the one function that turns an issue into words.

Every surface (CLI, REST, console, webhook) shows what `render` gives: title, message, remedy and
the place in the documentation. A reason is UpperCamelCase and never reused for anything else.
Templates hold placeholders for an issue's params: `{name}` prints a value (a list as at most five
items and a count), `{near:or}` a choice, `{count:node}` a number with its noun. `extras` are
added only when the issue carries that param.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final

from passway.model.admission_reasons import ADMISSION
from passway.model.override import override
from passway.model.reason import Reason
from passway.model.reference_reasons import REFERENCES
from passway.model.standing_reasons import STANDING
from passway.model.verdict import Issue, Param, Some

SHOWN: Final = 5

_PLURALS: Final = {"is": "are", "has": "have", "stops": "stop", "needs": "need", "it": "they"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """The words for one issue."""

    title: str
    message: str
    remedy: str
    docs: str


def render(issue: Issue, shown: int = SHOWN) -> Rendered:
    """The only place where an issue becomes prose. `shown`: how many items of a list are named."""
    reason = REASONS[issue.reason]
    words = _Words(shown)
    params: dict[str, Param] = {
        "path": issue.path,
        "nodes": issue.nodes,
        "subject": issue.subject or "",
        **issue.params,
    }
    message = words.vformat(reason.message, (), params)
    for param, text in reason.extras:
        value = params.get(param)
        if value.items if isinstance(value, Some) else value:
            message += words.vformat(text, (), params)
    return Rendered(reason.title, message, words.vformat(reason.remedy, (), params), reason.docs)


class _Words(Formatter):
    """str.format for params: lists are cut and joined, `{n:noun}` counts."""

    def __init__(self, shown: int) -> None:
        self._shown = shown

    @override
    def format_field(self, value: Any, format_spec: str) -> str:
        if not format_spec or format_spec == "or":
            return self._text(value, format_spec or "and")
        if isinstance(value, Some):
            value = value.total
        count = len(value) if isinstance(value, tuple) else int(value)
        if format_spec in _PLURALS:
            return format_spec if count == 1 else _PLURALS[format_spec]
        return f"{count} {format_spec if count == 1 else _plural(format_spec)}"

    def _text(self, value: Param, joint: str = "and") -> str:
        if isinstance(value, tuple):
            value = Some(value, len(value))
        if not isinstance(value, Some):
            return str(value)
        items = [self._text(item) for item in value.items[: self._shown]]
        if value.total > len(items):
            return f"{', '.join(items)} and {value.total - len(items)} more (-o wide)"
        first, last = ", ".join(items[:-1]), "".join(items[-1:])
        return f"{first} {joint} {last}" if first else last


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def _table(*reasons: Reason) -> Mapping[str, Reason]:
    return {reason.name: reason for reason in reasons}


_KEPT: Final = (
    "; the list is kept in the HyperConverged object {owner} at {list}, from which KubeVirt's own "
    "is made, so that a direct edit of that is undone; there the selector of a PCI device is "
    "called {selector}"
)
_EXTERNAL: Final = (
    "; its entry says externalResourceProvider, so KubeVirt leaves it to another device plugin, "
    "and none serves it"
)

REASONS: Final[Mapping[str, Reason]] = _table(
    # -- manifest ---------------------------------------------------------------------------
    Reason(
        "InvalidSyntax",
        "The text is not YAML or JSON",
        "{problem}",
        "Correct the syntax at this place.",
    ),
    Reason(
        "NotText",
        "The input is not text",
        "the input is not UTF-8 text ({problem})",
        "Hand in YAML or JSON in UTF-8; convert the file or name another one.",
    ),
    Reason(
        "InputTooLarge",
        "The input is larger than a manifest can be",
        "the input is over the limit of {limit} bytes",
        "Hand in the manifest of the VM alone; a cluster dump goes to --from.",
    ),
    Reason(
        "NestingTooDeep",
        "The text is nested too deeply",
        "more than {limit} levels of nesting",
        "No Kubernetes object is that deep; look for a missing line break or bracket.",
    ),
    Reason(
        "TooManyValues",
        "The text expands to too many values",
        "the text holds or expands to more than {limit} values",
        "Write aliases out, or split the file.",
    ),
    Reason(
        "TooManyDocuments",
        "The text holds too many documents",
        "the text holds more than {limit} documents",
        "Split the file, or leave out the objects that are not VMs.",
    ),
    Reason(
        "DuplicateKey",
        "A key stands twice in one mapping",
        'the key "{field}" stands twice here; the first is in line {first}',
        "Keep one of the two; Kubernetes refuses the object or silently takes the last.",
    ),
    Reason(
        "UnknownField",
        "A field that does not exist",
        'unknown field "{field}"',
        "Remove it or correct its name; the API server drops it or refuses the object.",
        (("near", "; did you mean {near:or}?"),),
    ),
    Reason(
        "MisplacedField",
        "A field in the wrong place",
        '"{field}" does not belong here; it belongs at {right}',
        "Move it to {right}.",
    ),
    Reason(
        "WrongType",
        "A value of the wrong type",
        "{path} must be {wanted}, but this is {found}",
        "Write {wanted} here.",
        (("hint", " ({hint})"),),
    ),
    Reason(
        "MissingField",
        "A required field is missing",
        'required field "{field}" is missing',
        "Add it.",
    ),
    Reason(
        "InvalidValue",
        "A value that Kubernetes refuses",
        "{problem}",
        "Correct the value.",
    ),
    Reason(
        "DuplicateName",
        "Two entries of a list share a name",
        'the name "{name}" is used twice in {list}',
        "Give each entry its own name.",
    ),
    Reason(
        "UnsupportedKind",
        "A kind that holds no VM",
        "{found} holds no virtual machine",
        "Hand in one of: {kinds}.",
    ),
    Reason(
        "NoMachine",
        "Nothing to check",
        "the input holds no object",
        "Hand in a manifest of one of: {kinds}.",
    ),
    Reason(
        "DeviceAndClaim",
        "A device names a resource and a claim",
        'device "{device}" has both deviceName and claimName/requestName',
        "Keep deviceName (device plugin) or the claim (DRA), not both.",
    ),
    Reason(
        "DeviceWithoutSource",
        "A device names neither a resource nor a claim",
        'device "{device}" has neither deviceName nor claimName and requestName',
        "Set deviceName to the resource name that the nodes advertise, or name a claim.",
    ),
    Reason(
        "MixedDeviceSources",
        "GPUs of two kinds in one list",
        "gpus mixes device-plugin entries ({plugin}) and claim entries ({claim})",
        "Use one kind for all GPUs of a VM; KubeVirt refuses a mix.",
    ),
    # -- admission --------------------------------------------------------------------------
    Reason(
        "KubeVirtMissing",
        "KubeVirt is not installed",
        "the cluster has no KubeVirt object",
        "Install KubeVirt, or hand in a dump that contains the KubeVirt object.",
    ),
    Reason(
        "KubeVirtUnreadable",
        "The KubeVirt object could not be read",
        "KubeVirt objects {state}, so {what} could not be checked",
        "Grant `get` and `list` on kubevirts.kubevirt.io, or add the object to the dump "
        "(kubectl get kubevirts -A -o json).",
    ),
    Reason(
        "KubeVirtNewerThanModel",
        "KubeVirt is newer than what is modelled",
        "this cluster runs KubeVirt {version}, and Passway follows {modelled}: it is judged by the "
        "rules and feature gates of {modelled}",
        "Update Passway; until then let the cluster confirm the answer "
        "(kubectl create --dry-run=server).",
    ),
    Reason(
        "KubeVirtReleaseUnknown",
        "KubeVirt names no release",
        'KubeVirt calls itself "{version}" here, which names no release: it is judged by the rules '
        "and feature gates of {modelled}",
        "Look up what the build was made from; where that is not {modelled}, let the cluster "
        "confirm the answer (kubectl create --dry-run=server).",
    ),
    Reason(
        "NamespaceMissing",
        "The namespace does not exist",
        'namespace "{namespace}" does not exist',
        "Create the namespace, or name another one.",
        (("near", "; there is {near}"),),
    ),
    Reason(
        "NumaWithoutDedicatedCpus",
        "NUMA passthrough needs dedicated CPUs",
        "guestMappingPassthrough is set but dedicatedCpuPlacement is not",
        "Set domain.cpu.dedicatedCpuPlacement to true, or remove domain.cpu.numa.",
    ),
    Reason(
        "NumaWithoutHugepages",
        "NUMA passthrough needs hugepages",
        "guestMappingPassthrough is set but the VM has no hugepages",
        "Set domain.memory.hugepages.pageSize (2Mi or 1Gi), or remove domain.cpu.numa.",
    ),
    Reason(
        "InvalidHugepages",
        "Guest memory does not fit the page size",
        'hugepages of "{page_size}" do not make up the memory',
        "Use 2Mi or 1Gi, and a memory size that is a whole number of such pages.",
        (("memory", " of {memory}"),),
    ),
    Reason(
        "FeatureGateOff",
        "A feature gate is off",
        "{field} needs the feature gate {gate}, which is off on this cluster",
        "Add {gate} to spec.configuration.developerConfiguration.featureGates of the KubeVirt "
        "object (on HyperConverged clusters through the HyperConverged object).",
        (
            ("owner", "; {owner} keeps it off, unless its annotation {annotation} says otherwise"),
            ("mistaken", "; {mistaken}, which is listed, is another gate and does not unlock it"),
        ),
    ),
    Reason(
        "ClaimNotDeclared",
        "A device names a claim that the VM does not list",
        'device "{device}" names the claim "{claim}", which is not in resourceClaims',
        "Add the claim to spec.resourceClaims of the VMI, or correct claimName.",
        (("near", "; there is {near}"),),
    ),
    Reason(
        "ClaimIncomplete",
        "A claim device is incomplete",
        'device "{device}" needs both claimName and requestName',
        "Name the claim and the request inside it.",
    ),
    Reason(
        "ClaimRequestReused",
        "Two devices name the same request of a claim",
        'the request "{request}" of claim "{claim}" is named twice',
        "Give each device its own request; a request yields one device.",
    ),
    *ADMISSION,
    *REFERENCES,
    *STANDING,
    # -- permission -------------------------------------------------------------------------
    Reason(
        "DeviceNotPermitted",
        "The device is not on the permitted list",
        '"{resource}" is not in permittedHostDevices',
        "passway permit pci {resource} --selector VENDOR:DEVICE (or mediated, usb), or use a "
        "permitted name.",
        (
            ("empty", "; the list is there but empty, which permits nothing"),
            ("near", "; permitted names close to it: {near}"),
            ("only", "; only {only} {only:is} permitted"),
            ("owner", _KEPT),
        ),
    ),
    Reason(
        "PermittedListMisplaced",
        "A permitted list that is not in force",
        "the KubeVirt object has a list at {found}, where nothing reads it; there is none at "
        "spec.configuration.permittedHostDevices, so KubeVirt checks nothing",
        "Move the list to spec.configuration.permittedHostDevices.",
    ),
    # -- quota ------------------------------------------------------------------------------
    Reason(
        "QuotaExceeded",
        "A quota of the namespace would be exceeded",
        "quota {quota}: {key} needs {requested}, but {used} of {hard} are used",
        "Free some of it, raise {key} in the quota, or ask for less.",
        (
            ("helpers", "; containers that KubeVirt adds count too: {helpers}"),
            ("overhead", "; {overhead} of the request are KubeVirt's own overhead"),
        ),
    ),
    Reason(
        "LimitRangeExceeded",
        "A limit range of the namespace refuses the launcher",
        "limit range {limit_range}: the {rule} of {resource} for a {kind} is {bound}, "
        "but {containers} would have {amount}",
        "Change the limit range, or what the VM asks for; KubeVirt's own containers and overhead "
        "count too.",
        (("overhead", ", of which {overhead} are KubeVirt's own overhead"),),
    ),
    Reason(
        "LimitRangeRatio",
        "A limit range of the namespace wants limits closer to requests",
        "limit range {limit_range}: the limit of {resource} for a {kind} may be {bound} times its "
        "request, but {container} would have a limit of {limit} and a request of {request}",
        "Change the limit range, or give the VM requests and limits of that resource itself.",
    ),
    Reason(
        "QuotaKeyWithoutEffect",
        "A quota key that caps nothing",
        "quota {quota} has the key {key}, which Kubernetes ignores for extended resources",
        "If a cap was meant, use the key requests.{resource}.",
    ),
    Reason(
        "QuotaNotInForce",
        "A quota that is not in force yet",
        "quota {quota} has no status yet for {key}, so nothing enforces it",
        "Wait for kube-controller-manager to set the quota's status, then check again.",
    ),
    Reason(
        "QuotaUndecided",
        "A quota whose scope could not be decided",
        "quota {quota} applies by {scope}, which is not judged",
        "Compare the quota with the VM's priority class by hand.",
    ),
    Reason(
        "KindUnread",
        "A kind of object was not read",
        "{kind} {state}, so {what} could not be checked",
        "Grant `list` on {kind}, or add them to the dump; if the cluster has none, say "
        "--read {kind} (or --complete).",
    ),
    # -- networks ---------------------------------------------------------------------------
    Reason(
        "MultusMissing",
        "Multus is not installed",
        "network {network} needs a NetworkAttachmentDefinition, and the cluster does not have "
        "that CRD",
        "Install Multus (the CRD network-attachment-definitions.k8s.cni.cncf.io).",
    ),
    Reason(
        "AttachmentMissing",
        "The network attachment does not exist",
        'NetworkAttachmentDefinition "{attachment}" does not exist',
        "Create it in that namespace, or correct networkName.",
        (("near", "; there is {near}"),),
    ),
    Reason(
        "AttachmentWithoutPool",
        "The attachment names no pool of virtual functions",
        'NetworkAttachmentDefinition "{attachment}" has no annotation '
        "k8s.v1.cni.cncf.io/resourceName, so no virtual function is requested for it",
        "Add the annotation with the resource name of the SR-IOV pool.",
    ),
    Reason(
        "VfPoolNotAdvertised",
        "No node advertises the pool of virtual functions",
        "attachment {attachment} takes its functions from {resource}, which no node advertises",
        "Check the SR-IOV network device plugin and its configuration on the nodes.",
        (("near", "; nodes advertise {near}"),),
    ),
    Reason(
        "VfPoolExhausted",
        "The pool of virtual functions is used up",
        "attachment {attachment} takes {wanted} of {resource}, of which no node has as many free: "
        "{free}",
        "Free a virtual function, create more of them, or bring the pool back where it is empty.",
        (("holders", "; held by {holders}"),),
    ),
    Reason(
        "InjectorMissing",
        "Nobody asks for the virtual function",
        "the gate ExternalNetResourceInjection leaves the request for {resource} to "
        "network-resources-injector, and no such webhook is installed",
        "Install network-resources-injector, or list ExternalNetResourceInjection under "
        "developerConfiguration.disabledFeatureGates.",
    ),
    # -- claims -----------------------------------------------------------------------------
    Reason(
        "ClaimsNotJudged",
        "Claims are not judged yet",
        "the VM takes {count:device} from resource claims ({claims}), which this version does not "
        "judge",
        "Compare the claims with the ResourceSlices by hand (kubectl get resourceslices).",
    ),
    # -- scheduling -------------------------------------------------------------------------
    Reason(
        "ResourceNotAdvertised",
        "No node advertises the resource",
        'no node advertises "{resource}"',
        "Use the name exactly as the nodes advertise it; if it is right, look at the device "
        "plugin on the nodes (passway drift). KubeVirt's own serves permitted entries without "
        "externalResourceProvider.",
        (
            ("near", "; nodes advertise {near}"),
            ("near_free", " ({near_free})"),
            ("permitted", ", although it is permitted"),
            ("external", _EXTERNAL),
        ),
    ),
    Reason(
        "ResourceNotAdvertisedUndecided",
        "No node advertises the resource, but a claim might provide it",
        'no node advertises "{resource}"',
        "Hand in the DeviceClasses (kubectl get deviceclasses -o json); if the cluster has none, "
        "say --read deviceclasses.",
        (
            ("near", "; nodes advertise {near}"),
            ("near_free", " ({near_free})"),
            ("device_class", "; the DeviceClass {device_class} provides it through claims"),
            ("state", "; whether a DeviceClass provides it is not known: deviceclasses {state}"),
        ),
    ),
    Reason(
        "ResourceUnhealthy",
        "The resource has no healthy unit",
        '"{resource}" is advertised by {nodes}, but none of its units is allocatable '
        "(capacity {capacity}, allocatable 0)",
        "Look at the device plugin on {nodes}: its devices are unhealthy, unbound or gone.",
    ),
    Reason(
        "ResourceHasNoUnits",
        "Nodes still name the resource, without any unit",
        '{nodes} {nodes:has} "{resource}" with 0 units: the device plugin does not run there (any '
        "more), or it found no device",
        "Bring the device plugin back on {nodes}; a device that is passed through whole has to be "
        "bound to vfio-pci before the plugin starts.",
    ),
    Reason(
        "ResourceExhausted",
        "Every unit is in use",
        "the VM needs {wanted} of {resource} on one node: {free}",
        "Stop a VM that holds one, add devices, or ask for less.",
        (("holders", "; held by {holders}"),),
    ),
    Reason(
        "InsufficientResource",
        "No node has enough",
        "the VM needs {wanted} of {resource}; no node has more than {most} free",
        "Ask for less, stop other VMs, or add a larger node.",
    ),
    Reason(
        "NoFreeHugepages",
        "No node has enough free hugepages",
        "the VM needs {wanted} of {resource}; no node has more than {most} free",
        "Reserve hugepages of that size on a node with the device and restart its kubelet, or use "
        "another page size.",
    ),
    Reason(
        "NoCpuManager",
        "No node can pin CPUs",
        "dedicated CPUs need a node with the label kubevirt.io/cpumanager=true, and no node has it",
        "Set cpuManagerPolicy to static on the nodes and switch the KubeVirt feature gate "
        "CPUManager on.",
        (("gate_off", "; the feature gate CPUManager is off, so KubeVirt labels no node"),),
    ),
    Reason(
        "LabelMissing",
        "No node has a label that KubeVirt asks for",
        "no node has the label {label}, which KubeVirt requires for this VM",
        "Look at virt-handler on the nodes, which sets the label.",
    ),
    Reason(
        "NodeNotMatched",
        "No node matches a rule of the VM",
        "no node of the cluster is matched by {rule}",
        "Change the rule, or label the nodes accordingly.",
    ),
    Reason(
        "UntoleratedTaint",
        "The suitable nodes are tainted",
        "{nodes} {nodes:has} all that the VM asks for, but {nodes:is} tainted {taints}",
        "Add a toleration for the taint to the VM, or remove the taint; KubeVirt adds none.",
        (
            ("tolerations", "; the VM tolerates {tolerations}, which does not match"),
            ("free", "; there {free}"),
        ),
    ),
    Reason(
        "NodeUnschedulable",
        "The suitable nodes take no new pods",
        "{nodes} {nodes:has} all that the VM asks for, but {nodes:is} cordoned",
        "Uncordon the node when its maintenance is over (kubectl uncordon).",
    ),
    Reason(
        "NoNodeHasAll",
        "No single node has everything",
        "each need is met by some node, but no node meets all of them: {near_misses}",
        "Bring the needs together on one node, or ask for less.",
        (("holders", "; in use there: {holders}"),),
    ),
    Reason(
        "VolumeBoundElsewhere",
        "A volume cannot be used on the suitable nodes",
        "{nodes} {nodes:has} all else that the VM asks for, but the volume of "
        'PersistentVolumeClaim "{claim}" can only be used on nodes with {where}',
        "Clone the disk to where the devices are, use storage that is not bound to a place, or add "
        "such a node where the volume is.",
        (
            ("there", "; {nodes} {nodes:has} {there}"),
            ("free", "; there {free}"),
        ),
    ),
    Reason(
        "NotEnoughPlaces",
        "Fewer places than replicas",
        "{wanted} are asked for, but {places} fit now",
        "Ask for fewer replicas, stop other VMs, or add nodes.",
        (("limits", "; what runs out first: {limits}"),),
    ),
    Reason(
        "PodAffinityUnmet",
        "The suitable nodes are not beside the pods that the VM wants",
        "{nodes} {nodes:has} all else that the VM asks for, but its podAffinity wants a pod with "
        "{rule}",
        "Start those pods first, correct the labels that the rule asks for, or make the rule a "
        "preferred one.",
        (
            ("nowhere", "; there is no such pod"),
            ("pods", "; such pods are {pods} in {domains}"),
            ("missing", "; some of these nodes have no label {missing}"),
        ),
    ),
    Reason(
        "PodAntiAffinityConflict",
        "Pods that the VM keeps away from are on the suitable nodes",
        "{nodes} {nodes:has} all else that the VM asks for, but its podAntiAffinity keeps it away "
        "from pods with {rule}",
        "Add a node elsewhere, stop one of those pods, or make the rule a preferred one.",
        (("pods", "; such pods are {pods} in {domains}"),),
    ),
    Reason(
        "KeptAwayByPods",
        "Pods on the suitable nodes keep the VM away",
        "{nodes} {nodes:has} all else that the VM asks for, but {pods} {pods:has} a "
        "podAntiAffinity that matches this VM",
        "Change the labels of the VM or the rule of those pods, or add a node elsewhere.",
        (("domains", "; it holds for {domains}"),),
    ),
    Reason(
        "SpreadExceeded",
        "The VM would be spread too unevenly",
        "{nodes} {nodes:has} all else that the VM asks for, but with it their {key} would have "
        "over {max_skew:pod} with {rule} more than the one that has the fewest",
        "Make room in the domains that have the fewest, raise maxSkew, or use ScheduleAnyway.",
        (
            ("counts", "; now there are {counts}"),
            ("min_domains", "; there are fewer domains than the {min_domains} of minDomains"),
            ("missing", "; some of these nodes have no label {missing}"),
        ),
    ),
    Reason(
        "FitsByEviction",
        "It fits only by evicting other pods",
        "with its priority of {priority} the scheduler would evict {victims} from {node} to make "
        "room; a PodDisruptionBudget is kept only where that is possible",
        "Start the VM if that is meant; else give it a class of lower priority, or one with "
        "preemptionPolicy Never.",
    ),
    Reason(
        "PriorityClassMissing",
        "The priority class does not exist",
        'there is no PriorityClass "{name}", so the API server refuses the launcher',
        "Create the class, or correct priorityClassName.",
    ),
    Reason(
        "VolumeMissing",
        "A volume's claim does not exist",
        'PersistentVolumeClaim "{claim}" does not exist',
        "Create the claim, or correct its name.",
    ),
    Reason(
        "VolumeClaimDeleted",
        "A volume's claim is being deleted",
        'PersistentVolumeClaim "{claim}" is being deleted, and the scheduler takes no pod that '
        "uses it",
        "Wait until it is gone and create it again, or use another claim.",
    ),
    Reason(
        "VolumeLost",
        "A volume is gone",
        'the PersistentVolume "{volume}" that PersistentVolumeClaim "{claim}" is bound to does not '
        "exist",
        "Restore the volume, or create the claim again from a copy of the data.",
    ),
    Reason(
        "VolumeNotBound",
        "A volume's claim is not bound yet",
        'PersistentVolumeClaim "{claim}" is not bound to a volume, and does not wait for a pod',
        "Look at the events of the claim: its provisioner may be at work, or there is no volume "
        "for it. A storage class with WaitForFirstConsumer binds where the pod can run.",
        (("storage_class", "; its storage class is {storage_class}"),),
    ),
    Reason(
        "VolumeInUse",
        "A volume that only one pod may use is in use",
        'PersistentVolumeClaim "{claim}" has the access mode ReadWriteOncePod and is used by '
        "{holders}",
        "Stop what uses it, or use a claim with another access mode.",
    ),
    Reason(
        "VolumeNotAvailable",
        "No volume can be had on the suitable nodes",
        "{nodes} {nodes:has} all else that the VM asks for, but there no volume of {size} can be "
        'bound or made for PersistentVolumeClaim "{claim}" of storage class {storage_class}',
        "Provide a volume or storage for one of these nodes, or use a storage class that reaches "
        "them.",
        (
            ("selected_node", "; the node {selected_node} is chosen for it already"),
            ("free", "; there {free}"),
        ),
    ),
    Reason(
        "VolumeNotPlaced",
        "Where a volume can be is not known",
        'on which nodes PersistentVolumeClaim "{claim}" can be used is not decided yet',
        "Check the topology of its storage class against the nodes that have the device.",
    ),
    Reason(
        "NumaNotVisible",
        "NUMA alignment is not visible to the scheduler",
        "whether CPUs, hugepages and devices come from one NUMA node is decided by the kubelet "
        "after scheduling",
        "Set topologyManagerPolicy on the nodes as you intend it and look at the pod's events "
        "after the start.",
    ),
    # -- launcher ---------------------------------------------------------------------------
    Reason(
        "DeviceCountDiffers",
        "A resource is asked for another number of times than devices name it",
        "{resource} is set to {given} here, but {devices:device} of the VM name it: the launcher "
        "gets as many as are set and fails on the difference",
        "Remove it from domain.resources; KubeVirt counts the devices itself.",
    ),
    Reason(
        "CpuRequestUnwritable",
        "KubeVirt cannot write the CPU request",
        "the CPU request that KubeVirt calculates from cpuAllocationRatio is too small to write, "
        "so it creates no launcher",
        "Set resources.requests.cpu in the VM, or lower cpuAllocationRatio in the KubeVirt object.",
    ),
    Reason(
        "LauncherPagesPartial",
        "The launcher asks for a part of a huge page",
        "KubeVirt asks for {requested} of {resource}, which is no whole number of pages, so the "
        "API server refuses the launcher",
        "Use guest memory that is a multiple of the page size, also after memoryOvercommit of the "
        "KubeVirt object divided it; or set domain.resources.requests.memory to such an amount.",
    ),
    Reason(
        "LauncherRequestAboveLimit",
        "The VM requests more than KubeVirt limits it to",
        "the VM requests {request} of {resource}, but a quota of the namespace makes KubeVirt set "
        "a limit of {limit}, so the API server refuses the launcher",
        "Lower the VM's request, or give it a limit of its own.",
    ),
    Reason(
        "LauncherLabelInvalid",
        "The launcher selects nodes by what is no label",
        'the launcher would select nodes by the label "{label}", which no node can have, so the '
        "API server refuses it",
        "Correct the name that it is made of: the CPU model, a CPU feature, the machine type or "
        "the nodeSelector of the VM.",
    ),
    Reason(
        "NetworkBindingUnknown",
        "The cluster has no such network binding",
        'KubeVirt has no network binding "{binding}", so it creates no launcher',
        "Register the binding in spec.configuration.network.binding of the KubeVirt object, or use "
        "another one.",
    ),
    Reason(
        "DeviceForContainers",
        "A resource that plugins for containers serve",
        "{resource} usually comes from a plugin for containers, which does not tell KubeVirt the "
        "addresses of the devices: the launcher then fails to find them",
        "Use the resource of a plugin for VMs (KubeVirt's own, or the vendor's for KubeVirt).",
    ),
    Reason(
        "ClaimRequestMissing",
        "The claim has no such request",
        'device "{device}" names the request "{request}", which {claim} does not have',
        "Name one of the requests of the claim.",
    ),
    Reason(
        "RequestPrioritized",
        "KubeVirt cannot use a prioritized list",
        'the request "{request}" of {claim} is a list of alternatives (firstAvailable), whose '
        "device KubeVirt does not find",
        "Use a request with exactly one device class.",
    ),
    Reason(
        "RequestHasManyDevices",
        "A request with several devices",
        "KubeVirt takes exactly one device for each entry of gpus and hostDevices, and the "
        'request "{request}" of {claim} may give several',
        "Set its count to 1, and use one request for each device.",
        (("count", ": it asks for {count:device}"),),
    ),
    # -- lifecycle --------------------------------------------------------------------------
    Reason(
        "PinnedToNode",
        "The VM cannot be migrated live",
        "with {devices} the VM stays on its node: no live migration, and a drain stops it",
        "Plan a stop for maintenance; passway drain-impact NODE lists such VMs.",
    ),
    Reason(
        "DrainBlocked",
        "The VM would block node drains",
        "evictionStrategy LiveMigrate{origin} with {devices}: the eviction is refused and a drain "
        "of the node hangs",
        "Set evictionStrategy to None or LiveMigrateIfPossible.",
    ),
    # -- drift and permits ------------------------------------------------------------------
    Reason(
        "PermittedNotAdvertised",
        "Permitted, but no node has it",
        '"{resource}" is permitted ({selector}), but no node advertises it',
        "Bind the device to vfio-pci and look at virt-handler (or the external plugin) on the "
        "node, or remove the entry: passway unpermit {resource}.",
        (
            ("near", "; nodes advertise {near}"),
            ("external", "; the entry leaves it to an external plugin"),
        ),
    ),
    Reason(
        "AdvertisedNotPermitted",
        "A node has it, but no VM may use it",
        '"{resource}" is advertised by {nodes}, but is not in permittedHostDevices',
        "passway permit, if VMs are meant to use it; ignore it if it serves containers.",
        (("near", "; permitted names close to it: {near}"),),
    ),
    Reason(
        "DuplicateSelector",
        "Two entries select the same hardware",
        "the selector {selector} stands for {resources}; the last entry wins",
        "Keep one entry for each selector.",
    ),
    Reason(
        "MediatedSelectorNamesDirectory",
        "The selector is the directory of an mdev type, not its name",
        '"{selector}", which "{resource}" selects, is the directory of an mdev type; KubeVirt '
        "compares with the type's name, which is {names:or}",
        "Set mdevNameSelector to the name: {names:or}.",
    ),
    Reason(
        "HostFilesUnread",
        "Files of the host could not be read",
        "{count:file} of the host could not be read ({files}); what needs them is missing",
        "Run it as root, or on a copy of the files that root made.",
    ),
    Reason(
        "UnhealthyUnits",
        "Units that cannot be used",
        '"{resource}" on {nodes}: {count:unit} of {capacity} not allocatable',
        "Look at the device plugin and the binding of the devices on the node.",
    ),
    Reason(
        "DeviceGone",
        "A stopped VM whose device is gone",
        "{subject} is stopped and asks for {resource}, which no node advertises any more",
        "Bring the device back, or change the VM.",
    ),
)
