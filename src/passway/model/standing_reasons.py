"""The reasons why an existing VM does not run, where only its traces can tell.

What a stage of the walk finds by itself keeps that stage's own reason. These are for what no
preflight can know (what a kubelet or a guest said), and for the comparison of both.
"""

from typing import Final

from passway.model.reason import Reason

STANDING: Final = (
    Reason(
        "InstanceRefused",
        "The VM exists, but its instance was refused",
        "KubeVirt wants to start {subject} and {component} refuses the VirtualMachineInstance: "
        "something that was allowed when the VM was created is not any more",
        "Allow it again (a feature gate, a policy), or change the VM; KubeVirt tries again by "
        "itself, and later each time.",
    ),
    Reason(
        "LauncherNotRendered",
        "The launcher cannot be made",
        "virt-controller does not get from the VMI to a launcher pod, so there is none",
        "Correct what it names; it tries again by itself, and later each time.",
    ),
    Reason(
        "LauncherRefused",
        "The API server refuses the launcher",
        "virt-controller made the launcher pod, and the API server refuses it",
        "Change the quota, limit range or policy that it names, or the VM; virt-controller tries "
        "again by itself, and later each time.",
    ),
    Reason(
        "LauncherRefusedBySecurity",
        "Pod Security refuses the launcher",
        "the Pod Security level that the namespace enforces does not allow the launcher",
        "Label the namespace with pod-security.kubernetes.io/enforce=privileged (baseline does for "
        "VMs without host disks), or give the VM a namespace that has it.",
    ),
    Reason(
        "LauncherRefusedByWebhook",
        "A webhook refuses the launcher",
        "the webhook {component} refuses the launcher pod",
        "Ask whoever runs the webhook to let pods with the label kubevirt.io=virt-launcher pass.",
    ),
    Reason(
        "VolumesNotReady",
        "The VM waits for its volumes",
        "the volumes of the VM are not there yet",
        "Look at its PersistentVolumeClaims and DataVolumes (kubectl get pvc,dv): an import that "
        "fails, a storage class without a provisioner, or a claim that does not exist.",
    ),
    Reason(
        "SchedulingGated",
        "The launcher is held back by scheduling gates",
        "the launcher has scheduling gates, so the scheduler does not look at it",
        "Ask whoever sets the gates (a quota manager such as AAQ or Kueue): it removes them when "
        "its own condition holds.",
    ),
    Reason(
        "NotScheduled",
        "The scheduler finds no node",
        "the scheduler finds no node for the launcher",
        "Compare what it says for each group of nodes with what the VM asks for.",
    ),
    Reason(
        "ClaimNotMade",
        "A resource claim of the launcher is not made",
        "the launcher waits for a ResourceClaim that is to be made of a template, and was not made",
        "Create the ResourceClaimTemplate, correct its name in the VM, or raise the quota on "
        "claims, as the message says.",
    ),
    Reason(
        "KubeletRejectedTopology",
        "The kubelet cannot align the VM on NUMA nodes",
        "the kubelet of the node that the scheduler chose cannot give CPUs, memory and devices "
        "from one NUMA node, as its topologyManagerPolicy asks for",
        "Ask for less than one NUMA node has, choose another node, or set topologyManagerPolicy to "
        "best-effort on that node.",
    ),
    Reason(
        "KubeletRejectedDevices",
        "The kubelet cannot hand out the device",
        "the scheduler counted a device as free, and the kubelet of its node cannot hand it out: "
        "it became unhealthy, or its plugin went away",
        "Look at the device plugin and at the binding of the devices on that node.",
    ),
    Reason(
        "KubeletRejectedNode",
        "The node does not match the launcher any more",
        "the kubelet finds that its node does not have the labels that the launcher asks for",
        "Look at the labels of the node, which virt-handler sets; the VM is started again.",
    ),
    Reason(
        "KubeletOutOfResource",
        "The node has less than the scheduler counted",
        "the kubelet of the node that the scheduler chose has not got what was counted as free",
        "The VM is started again; if it happens often, look for pods that are placed past the "
        "scheduler, and for a plugin whose devices come and go.",
    ),
    Reason(
        "PodEvicted",
        "The launcher was ended by its node",
        "the kubelet ended the launcher: the node ran out of something, or was shut down",
        "Look at the conditions of the node (pressure, shutdown); the VM is started again.",
    ),
    Reason(
        "ImageNotPulled",
        "An image cannot be pulled",
        "the node cannot pull an image of the launcher or of a container disk",
        "Correct the image's name, and see that the node reaches its registry with a pull secret.",
    ),
    Reason(
        "SandboxNotCreated",
        "The pod's network cannot be set up",
        "the node cannot create the pod's sandbox, mostly because its network plugin fails",
        "Look at the CNI plugins on that node (Multus, SR-IOV): the message names the one that "
        "fails.",
    ),
    Reason(
        "ContainerNotCreated",
        "A container of the launcher cannot be created",
        "the node cannot create a container of the launcher",
        "If it names a file under /dev/vfio, bind the device to vfio-pci again and restart its "
        "device plugin.",
    ),
    Reason(
        "VolumeNotMounted",
        "A volume cannot be attached or mounted",
        "the node cannot attach or mount a volume of the launcher",
        "Look at the volume's driver on that node, and at who else has the volume attached.",
    ),
    Reason(
        "ClaimNotPrepared",
        "The node cannot prepare a resource claim",
        "the kubelet cannot get the claim's devices prepared by their driver",
        "Look at the DRA driver on that node.",
    ),
    Reason(
        "IommuGroupNotViable",
        "The IOMMU group of the device cannot be used",
        "VFIO cannot take the device's IOMMU group: another device of the group is still bound to "
        "a driver of the host, or there is no IOMMU",
        "Bind every device of the group to vfio-pci (or to no driver), and see that the IOMMU is "
        "on: passway discover says what the host has.",
    ),
    Reason(
        "GuestMemoryNotMapped",
        "The guest's memory cannot be mapped for the device",
        "VFIO cannot map or lock the guest's memory for the device",
        "Give the launcher more room (memory overhead, the limit of locked memory), above all with "
        "several devices or large BARs.",
    ),
    Reason(
        "DevicesNotHandedOver",
        "The launcher does not find its devices",
        "the launcher did not get the addresses of the devices that it was given",
        "See that the device plugin is one for VMs and sets the variable that KubeVirt reads; an "
        "entry of another plugin needs externalResourceProvider: true.",
    ),
    Reason(
        "DomainNotStarted",
        "The guest is not started",
        "libvirt or QEMU does not start the guest",
        "Read the launcher's log (kubectl logs -c compute), where QEMU says more.",
    ),
    Reason(
        "NotGuaranteed",
        "The launcher did not become Guaranteed",
        "dedicated CPUs need a launcher whose requests equal its limits, and something changed "
        "them on the way",
        "Look for a LimitRange or a webhook that changes requests or limits in this namespace.",
    ),
    Reason(
        "EvictionRefused",
        "The drain of the node waits for this VM",
        "node {node} is cordoned, and the VM, which cannot be migrated, has evictionStrategy "
        "LiveMigrate: each eviction is refused, so that a drain waits for ever",
        "Stop the VM (virtctl stop), or set evictionStrategy to None or LiveMigrateIfPossible.",
    ),
    Reason(
        "StartFailed",
        "The start failed several times",
        "the start failed {fails:time} one after the other",
        "Correct the cause; virtctl stop and start begin anew at once.",
        (("retry", "; KubeVirt tries again after {retry}"),),
    ),
    Reason(
        "CauseGone",
        "The cause is gone, the waiting is not over",
        "what {component} says does not hold any more: asked again now, nothing is in the way at "
        "this stage; KubeVirt tries again by itself, but later each time (up to several minutes)",
        "Wait, or have it tried at once: virtctl restart (or stop and start).",
    ),
    Reason(
        "WordsDiffer",
        "The component and our model differ",
        "{component} stops the VM here, and our model finds nothing in the way at this stage; the "
        "component is right",
        "Go by the words of the component, and please report this with them.",
    ),
    Reason(
        "NothingTold",
        "No component says why",
        "no condition and no event says what the VM waits for",
        "Look whether virt-controller and virt-handler run, and ask again in a while; events are "
        "kept for about an hour.",
    ),
)
