"""Stage 1: what KubeVirt's admission refuses.

The rules are those of `kubevirt.admission`, asked as if the VMI of this machine were created now:
defaults first, then every rule at once, each told with its place. Without the KubeVirt object the
rules that need no configuration still hold, and what hangs on feature gates is unknown. What became
of the instance type and the preference, which `references` applied before, is told here too.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from passway.cluster import kinds, records
from passway.cluster.snapshot import Read
from passway.kubevirt.admission import judge as judge_vmi
from passway.kubevirt.admission import mutate_and_judge
from passway.kubevirt.admission.cause import Cause
from passway.kubevirt.configuration import developer_of
from passway.kubevirt.gates import LISTABLE, MODELLED, STATES, Gates
from passway.kubevirt.settings import Settings
from passway.kubevirt.vmi import vmi_of
from passway.model.names import nearest
from passway.model.verdict import Issue, Param, Severity, Stage
from passway.preflight import release
from passway.preflight.refusals import GATE_OFF, document_path, reason_of, sites
from passway.preflight.stage import Question, state

STAGE: Final = Stage.ADMISSION
FROM_ELSEWHERE: Final = frozenset({"MemoryMissing", "SecureBootNeedsSmm"})
"""Rules on what an instance type or a preference would bring that was not applied."""
CONFIGURED: Final = {"MachineTypeUnsupported": "the allowed machine types"}
"""Rules that the configuration decides, beside the gates -> what could not be checked."""
MISTAKEN: Final = {"HostDevices": "GPU"}
"""Gate -> the gate that users list in its place."""
_ALL_ON: Final = Settings(Gates(MODELLED, LISTABLE, frozenset()))
_ALL_OFF: Final = Settings(Gates(MODELLED, frozenset(), frozenset(STATES)))


def judge(question: Question) -> Iterator[Issue]:
    """The issues of this stage."""
    yield from _namespace(question)
    read = question.snapshot.read(kinds.KUBEVIRTS)
    if read is Read.EMPTY:
        yield question.issue(STAGE, Severity.ERROR, "KubeVirtMissing")
    if question.snapshot.kubevirt is not None:
        yield from release.judge(question)
        yield from _refused(question, _causes(question))
        yield from _empty_list(question)
    else:
        yield from _refused(question, _causes_under(question, _ALL_ON), frozenset(CONFIGURED))
        if not read.known:
            yield from _undecided(question, read)
    yield from question.found()


def _namespace(question: Question) -> Iterator[Issue]:
    yield from question.unread(STAGE, kinds.NAMESPACES, "whether the namespace exists")
    snapshot, namespace = question.snapshot, question.spec.namespace
    found = snapshot.all(kinds.NAMESPACES, records.Named)
    if snapshot.read(kinds.NAMESPACES).known and ("", namespace) not in found:
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "NamespaceMissing",
            "metadata.namespace",
            namespace=namespace,
            near=nearest(namespace, [name for _, name in found]),
        )


def _causes(question: Question) -> tuple[Cause, ...]:
    """Why the creation of this machine's VMI is refused; the manifest has checked its schema."""
    if question.mutated.refused:
        return _causes_under(question, question.settings)
    return judge_vmi(question.mutated.vmi, question.settings)


def _causes_under(question: Question, settings: Settings) -> tuple[Cause, ...]:
    """The same under other settings than the cluster's."""
    return mutate_and_judge(vmi_of(question.spec), settings).causes


def _refused(
    question: Question, causes: tuple[Cause, ...], but: frozenset[str] = frozenset()
) -> Iterator[Issue]:
    spec = question.spec
    if question.findings:
        but |= FROM_ELSEWHERE
    for cause, site in sites(causes):
        if cause.rule not in but:
            yield question.issue(
                STAGE,
                Severity.ERROR,
                reason_of(cause),
                document_path(spec, site.path),
                (),
                **site.params,
                **release.kept_off(question, site.params),
                **_mistaken(question, site.params),
            )


def _mistaken(question: Question, params: Mapping[str, Param]) -> dict[str, Param]:
    """A gate on the list that is easily taken for the one that is off, and does not replace it."""
    listed = developer_of(question.snapshot.kubevirt).feature_gates or ()
    mistaken = MISTAKEN.get(str(params.get("gate")))
    return {"mistaken": mistaken} if mistaken in listed else {}


def _empty_list(question: Question) -> Iterator[Issue]:
    """Templates are judged as they are written, where even an empty list needs the gate."""
    spec, gate = question.spec, "HostDevices"
    of_template = spec.ref.kind != "VirtualMachineInstance"
    empty = of_template and spec.plain("domain.devices.hostDevices") == []
    if empty and not question.settings.gates.on(gate):
        path = spec.vmi_field("domain.devices.hostDevices")
        params: dict[str, Param] = {"gate": gate, "field": "hostDevices"}
        params |= _mistaken(question, params)
        yield question.issue(STAGE, Severity.ERROR, GATE_OFF, path, (), **params)


def _undecided(question: Question, read: Read) -> Iterator[Issue]:
    """What hangs on a configuration that could not be read."""
    causes = _causes_under(question, _ALL_OFF)
    gates = sorted({str(cause.params["gate"]) for cause in causes if reason_of(cause) == GATE_OFF})
    depends = [f"the feature gates {', '.join(gates)}"] if gates else []
    depends += [what for rule, what in CONFIGURED.items() if rule in {c.rule for c in causes}]
    if depends:
        yield question.issue(
            STAGE,
            Severity.UNKNOWN,
            "KubeVirtUnreadable",
            state=state(read),
            what=" and ".join(depends),
        )
