"""`passway` and `kubectl passway`: the table of commands and the way in.

Knows each command as a name, a place and one line of text; a command is imported when it runs.
Importing this module loads click and the standard library, so that `--help` answers at once.
"""

import sys
from typing import Final

from passway.cli.lazy import Entry, LazyGroup

_ASK: Final = "Ask"
_LOOK: Final = "Look"
_CHANGE: Final = "Change"
_RUN: Final = "Run"
_OTHER: Final = "Other"

COMMANDS: Final = {
    "check": Entry(_ASK, "passway.cli.check:check", "Would this VM get running? Say why not."),
    "explain": Entry(
        _ASK, "passway.cli.explain:explain", "Why does this existing VM not run? Who says so?"
    ),
    "fit": Entry(_ASK, "passway.cli.fit:fit", "How many more of this VM fit, and what ends it."),
    "what-if": Entry(
        _ASK, "passway.cli.what_if:what_if", "The same question, were the cluster another one."
    ),
    "drift": Entry(
        _ASK, "passway.cli.drift:drift", "Where advertised, permitted and asked differ."
    ),
    "drain-impact": Entry(_ASK, "passway.cli.drift:drain_impact", "What a drain of a node stops."),
    "get": Entry(
        _LOOK, "passway.cli.get:get", "List devices, nodes, vms, permits, pools or audit."
    ),
    "audit": Entry(_LOOK, "passway.cli.audit:audit", "Check that the audit is whole."),
    "describe": Entry(_LOOK, "passway.cli.describe:describe", "All about a node, VM or device."),
    "tree": Entry(_LOOK, "passway.cli.tree:tree", "Nodes, their devices and who holds them."),
    "discover": Entry(
        _LOOK, "passway.cli.discover:discover", "What a host's device plugins would advertise."
    ),
    "render": Entry(_LOOK, "passway.cli.render:render", "What KubeVirt would make of a VM."),
    "report": Entry(_LOOK, "passway.cli.report:report", "Write a support report without secrets."),
    "permit": Entry(_CHANGE, "passway.cli.permits:permit", "Permit a device for VMs."),
    "unpermit": Entry(_CHANGE, "passway.cli.permits:unpermit", "Remove a device's permission."),
    "create": Entry(_CHANGE, "passway.cli.create:create", "Create a VM, after its preflight."),
    "demo": Entry(_RUN, "passway.cli.demo:demo", "Try it all on a sample cluster."),
    "serve": Entry(_RUN, "passway.api.serve:serve", "Run the REST service.", "server"),
    "version": Entry(_OTHER, "passway.cli.about:version", "Print the version."),
    "completion": Entry(_OTHER, "passway.cli.about:completion", "Print a shell's completion."),
}

EXAMPLES: Final = (
    "passway check -f vm.yaml --from dumps/      # why would it not run?",
    "passway check --gpu nvidia.com/GA102GL_A10=2 --memory 64Gi --demo",
    "passway get devices --demo                  # what there is, and what is free",
    "passway fit -f vm.yaml --server https://passway.example.com",
    "passway permit pci nvidia.com/A10 --selector 10DE:2236 --dry-run --demo",
)

cli = LazyGroup(
    name="passway",
    table=COMMANDS,
    examples=EXAMPLES,
    no_args_is_help=True,
    help="Why does this VM not get its device? Preflight for GPU and host-device passthrough on"
    " KubeVirt.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """The console scripts' entry point."""
    plugin = sys.argv[0].rpartition("/")[2].startswith("kubectl-")
    cli.main(prog_name="kubectl passway" if plugin else "passway")
