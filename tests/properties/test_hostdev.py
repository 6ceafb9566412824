"""Laws of the device translation, whatever the spec, the variables and the files hold."""

import json
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from passway.kubevirt.hostdev import Environment, render_hostdev_xml, translate
from passway.kubevirt.hostdev_errors import TranslationError
from passway.kubevirt.hostdev_spec import ClaimEntry, read_vmi
from passway.kubevirt.metadata import Resolved, resolve

VERSION = "metadata.resource.k8s.io/v1alpha1"

names = st.sampled_from(["a", "b", "c", "..", "../a", "", "a/b", "\0", "a&<", "é"]) | st.text(
    max_size=4
)
resources = st.sampled_from(["x/a", "x/b", "x.y/a-b", "", "ß/é"])
toggles = st.fixed_dictionaries({}, optional={"enabled": st.booleans() | st.none()})
displays = st.fixed_dictionaries(
    {}, optional={"enabled": st.booleans() | st.none(), "ramFB": toggles | st.none()}
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "deviceName": resources,
        "claimName": names,
        "requestName": names,
        "virtualGPUOptions": st.fixed_dictionaries({}, optional={"display": displays}),
    },
)
interfaces = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "sriov": st.just({}),
        "pciAddress": st.sampled_from(["0000:0a:00.0", "", "0a:00.0"]),
        "bootOrder": st.integers(0, 3),
    },
)
networks = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "resourceClaim": st.fixed_dictionaries(
            {}, optional={"claimName": names, "requestName": names}
        ),
    },
)
claims = st.fixed_dictionaries({}, optional={"name": names, "resourceClaimName": names})
vmis = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {
                "domain": st.fixed_dictionaries(
                    {
                        "devices": st.fixed_dictionaries(
                            {},
                            optional={
                                "gpus": st.lists(entries, max_size=4),
                                "hostDevices": st.lists(entries, max_size=4),
                                "interfaces": st.lists(interfaces, max_size=3),
                            },
                        )
                    }
                ),
            },
            optional={
                "networks": st.lists(networks, max_size=3),
                "resourceClaims": st.lists(claims, max_size=3),
                "architecture": st.sampled_from(["amd64", "s390x"]),
            },
        )
    },
    optional={
        "status": st.fixed_dictionaries(
            {
                "interfaces": st.lists(
                    st.fixed_dictionaries(
                        {"name": names},
                        optional={"infoSource": st.sampled_from(["domain, multus-status", "x"])},
                    ),
                    max_size=3,
                )
            }
        )
    },
)
addresses = st.lists(
    st.sampled_from(["0000:01:00.0", "0000:02:00.0", "u1", "1:4", "", "\x1b", "\ud800"]), max_size=4
).map(",".join)
envs = st.dictionaries(
    st.sampled_from(
        [
            f"{prefix}_{suffix}"
            for prefix in ("PCI_RESOURCE", "MDEV_PCI_RESOURCE", "USB_RESOURCE")
            for suffix in ("X_A", "X_B", "X_Y_A-B", "", "ß_É")
        ]
    ),
    addresses,
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
json_values = st.recursive(
    scalars | st.just(VERSION),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["apiVersion", "Requests", "name", "devices", "attributes", "string"])
            | st.text(max_size=2),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def device(attributes):
    return {"attributes": {name: {"string": text} for name, text in attributes.items()}}


documents = st.builds(
    lambda name, found: {"apiVersion": VERSION, "requests": [{"name": name, "devices": found}]},
    names,
    st.lists(
        st.dictionaries(
            st.sampled_from(["mdevUUID", "resource.kubernetes.io/pciBusID"]),
            st.sampled_from(["0000:01:00.0", "u", ""]),
        ).map(device),
        max_size=2,
    ),
)
texts = (
    (documents | json_values).map(json.dumps)
    | st.text(max_size=20)
    | st.lists(json_values, max_size=3).map(lambda found: "".join(map(json.dumps, found)))
)
paths = st.builds(
    "{}/{}/{}/{}".format,
    st.sampled_from(["resourceclaims", "resourceclaimtemplates", "..", ""]),
    names,
    names,
    st.sampled_from(["x-metadata.json", "y-metadata.json", "..", "x-metadata.json/in"]),
)
files = st.dictionaries(paths | st.text(max_size=8), texts, max_size=4)
network_infos = (
    st.none()
    | texts
    | st.lists(
        st.builds(
            lambda name, address: {
                "network": name,
                "deviceInfo": {"pci": {"pci-address": address}},
            },
            names,
            st.sampled_from(["0000:01:00.0", "x", ""]),
        )
    ).map(lambda found: json.dumps({"interfaces": found}))
)


@st.composite
def served(draw):
    """A VM every device of which is served, with what serves it and the aliases that come out."""
    spec = {"domain": {"devices": {}}, "resourceClaims": [{"name": "c", "resourceClaimName": "k"}]}
    env, tree, aliases = {}, {}, []
    for field, prefixes, plugin, claim in (
        (
            "hostDevices",
            ("PCI_RESOURCE", "MDEV_PCI_RESOURCE", "USB_RESOURCE"),
            "hostdevice",
            "dra-hostdevice",
        ),
        ("gpus", ("PCI_RESOURCE", "MDEV_PCI_RESOURCE"), "gpu", "dra-gpu"),
    ):
        backings = draw(st.lists(st.sampled_from([*prefixes, "mdevUUID", "pciBusID"]), max_size=5))
        entries, plugins, claimed = [], [], []
        for index, backing in enumerate(backings):
            name, address = f"{field}{index}", f"0000:0{index}:00.0"
            if backing in prefixes:
                entries.append({"name": name, "deviceName": f"x/{backing}-{field}"})
                variable = f"{backing}_X_{backing}-{field.upper()}"
                address = f"{index}:1" if backing == "USB_RESOURCE" else address
                env[variable] = ",".join(filter(None, [env.get(variable), address]))
                kind = "usb-host" if backing == "USB_RESOURCE" else plugin
                plugins.append((prefixes.index(backing), index, f"{kind}-{name}"))
            else:
                entries.append({"name": name, "claimName": "c", "requestName": name})
                key = "resource.kubernetes.io/pciBusID" if backing == "pciBusID" else backing
                tree[f"resourceclaims/k/{name}/x-metadata.json"] = json.dumps(
                    {
                        "apiVersion": VERSION,
                        "requests": [{"name": name, "devices": [device({key: address})]}],
                    }
                )
                claimed.append(f"{claim}-{name}")
        spec["domain"]["devices"][field] = entries
        aliases += [alias for *_, alias in sorted(plugins)] + claimed
    return {"spec": spec}, env, tree, aliases


@given(served())
def test_every_served_device_comes_out_once_in_the_launchers_order(case):
    vmi, env, tree, aliases = case
    assert [one.alias for one in outcome(vmi, env, tree, None)] == aliases


@given(served(), st.data())
def test_one_device_less_served_is_an_error_that_names_one(case, data):
    vmi, env, tree, _ = case
    served_by = [*env, *tree]
    if not served_by:
        return
    missing = data.draw(st.sampled_from(served_by))
    env.pop(missing, None)
    tree.pop(missing, None)
    code, named, because = outcome(vmi, env, tree, None)
    assert (code, because) in {
        ("DeviceCountMismatch", "VariableMissing"),
        ("ClaimDeviceUnresolved", "MetadataFileMissing"),
    }
    assert named.startswith(("gpus[", "hostDevices["))


def outcome(vmi, env, metadata, network_info):
    try:
        return translate(read_vmi(vmi), Environment(env, metadata, network_info))
    except TranslationError as error:
        return error.code, error.device, error.because


def rendered(document, **around):
    """The elements, or the error."""
    try:
        return render_hostdev_xml(document, **around)
    except TranslationError as error:
        return error


@given(vmis, envs, files, network_infos)
def test_anything_translates_or_says_why(vmi, env, metadata, network_info):
    found = rendered(vmi, env=env, metadata=metadata, network_info=network_info)
    if isinstance(found, TranslationError):
        assert str(found)
        assert found.hint
        return
    for element in found:
        parsed = ET.fromstring(element)
        assert parsed.tag == "hostdev"
        assert parsed.find("alias").get("name").startswith("ua-")


@given(st.dictionaries(st.sampled_from(["spec", "domain", "status"]), json_values))
def test_any_mapping_translates_or_says_why(document):
    found = rendered(document)
    assert found == [] or isinstance(found, TranslationError)


@given(vmis, envs, files, network_infos, st.randoms())
def test_the_order_of_unrelated_things_changes_nothing(vmi, env, metadata, network_info, random):
    def shuffled(mapping):
        return dict(random.sample([*mapping.items()], len(mapping)))

    before = outcome(vmi, env, metadata, network_info)
    unrelated = {**shuffled(env), "PATH": "/bin", "PCI_RESOURCE_OTHER": "0000:09:00.0"}
    assert outcome(vmi, unrelated, shuffled(metadata), network_info) == before
    spec = vmi["spec"]
    spec["domain"]["devices"] = shuffled(spec["domain"]["devices"])
    if status := vmi.get("status"):
        known = {one["name"]: one for one in reversed(status["interfaces"])}
        status["interfaces"] = random.sample([*known.values()], len(known))
    known = {one.get("name"): one for one in reversed(spec.get("resourceClaims", []))}
    # An entry without a name and one with an empty name are the same to a claim.
    if not {None, ""} <= known.keys() and "resourceClaims" in spec:
        spec["resourceClaims"] = random.sample([*known.values()], len(known))
    assert outcome(vmi, unrelated, metadata, network_info) == before


@given(vmis, envs, files, network_infos)
def test_inputs_are_left_as_they_are(vmi, env, metadata, network_info):
    before = json.dumps([vmi, env, metadata, network_info], sort_keys=True)
    first = outcome(vmi, env, metadata, network_info)
    assert json.dumps([vmi, env, metadata, network_info], sort_keys=True) == before
    assert outcome(vmi, env, metadata, network_info) == first


@given(vmis, envs, files, network_infos)
def test_a_plugins_address_is_handed_out_once_in_a_list(vmi, env, metadata, network_info):
    found = outcome(vmi, env, metadata, network_info)
    if found and isinstance(found[0], str):
        return
    for alias in ("gpu-", "hostdevice-"):
        sources = [device.source for device in found if device.alias.startswith(alias)]
        assert len(set(sources)) == len(sources)


class Watched(dict):
    """A tree that remembers what was read from it."""

    def __init__(self, content):
        super().__init__(content)
        self.read = set()

    def __getitem__(self, key):
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.read.add(key)
        return super().get(key, default)

    def items(self):
        self.read.update(self)
        return super().items()

    def values(self):
        self.read.update(self)
        return super().values()


@given(files, claims, names, names)
def test_nothing_outside_the_requests_directory_is_read(content, entry, claim, request):
    tree = Watched(content)
    listed = ClaimEntry(entry.get("name"), entry.get("resourceClaimName"))
    found = resolve(tree, (listed,), claim, request)
    directory = (
        ("resourceclaims", listed.resource_claim_name, request)
        if listed.resource_claim_name
        else ("resourceclaimtemplates", claim, request)
    )
    for path in tree.read:
        *parts, name = path.split("/")
        assert tuple(parts) == directory
        assert ".." not in parts
        assert name.endswith("-metadata.json")
    if isinstance(found, Resolved):
        assert len(tree.read) == 1
