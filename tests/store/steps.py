"""A change that ends at every await in turn: what the audit says and what the cluster has agree.

Every task of the change runs step by step (a step is what runs between two awaits), and at one
step, one further each time, it ends: the task is cancelled, all tasks are, or the process dies.
Then a new replica starts on the same database. Transactions are cancelled by nobody while the
process lives (`SqlAudit` sees to that), so their steps count only for a death.

As a program (CASE FOLDER) it does the deaths, each in a process of its own.
"""

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Literal

from tests.builders import GPU, kubevirt, namespace, node

from passway.cluster import kinds
from passway.kube.memory import MemoryCluster
from passway.plan.machine import DeviceRequest, MachineRequest, plan_machine
from passway.plan.permit import permit_of
from passway.service.audit import Actor, Filter
from passway.service.changes import Recorded
from passway.service.cluster_backend import ClusterBackend
from passway.service.dangling import Resolver
from passway.service.mirror import Mirror
from passway.store.audit import SqlAudit
from passway.store.database import Database, database

NOW = "2026-06-12T09:30:00Z"
LATER = "2026-06-12T10:30:00Z"
DIED = 9
MOST = 1000
End = Literal["one task", "all tasks", "process"]


class Steps:
    """Counts the steps of the tasks that its factory makes, and ends things at one of them."""

    def __init__(self, at: int, end: End) -> None:
        self.taken = 0
        self._at = at
        self._end = end
        self._tasks: set[asyncio.Task] = set()
        self._safe: set[asyncio.Task] = set()

    def factory(self, loop, coroutine, **options) -> asyncio.Task:
        if self._end != "process" and self._of_transaction(coroutine):
            task = asyncio.Task(coroutine, loop=loop, **options)
            self._safe.add(task)
            return task
        task = asyncio.Task(Counted(coroutine, self), loop=loop, **options)
        self._tasks.add(task)
        return task

    def _of_transaction(self, coroutine) -> bool:
        """One, or a task that one makes."""
        made_by = asyncio.current_task()
        return coroutine.__qualname__ == "SqlAudit._transaction" or made_by in self._safe

    def step(self) -> bool:
        """Is this the step at which the task ends?"""
        self.taken += 1
        if self.taken != self._at:
            return False
        if self._end == "process":
            os._exit(DIED)
        if self._end == "all tasks":
            for task in self._tasks - {asyncio.current_task()}:
                task.cancel()
        return True


class Outliving(MemoryCluster):
    """A cluster whose objects are in a file, as those of a cluster are elsewhere."""

    def __init__(self, objects, file: Path) -> None:
        super().__init__(objects, now=lambda: NOW)
        self._file = file

    async def patch(self, kind, *given, **options):
        made = await super().patch(kind, *given, **options)
        self._file.write_text(json.dumps(made))
        return made

    async def create(self, kind, *given, **options):
        made = await super().create(kind, *given, **options)
        self._file.write_text(json.dumps(made))
        return made


class Counted(Coroutine):
    """A coroutine whose steps are counted."""

    def __init__(self, inner, steps: Steps) -> None:
        self._inner = inner
        self._steps = steps

    def send(self, value):
        if self._steps.step():
            return self._inner.throw(asyncio.CancelledError())
        return self._inner.send(value)

    def throw(self, *error):
        return self._inner.throw(*error)

    def close(self):
        self._inner.close()

    def __await__(self):
        return self._inner.__await__()


async def permit(backend):
    await backend.permit(permit_of("pci", GPU, selector="10DE:2236"), confirm=True)


async def create(backend):
    devices = (DeviceRequest("g", GPU),)
    machine = plan_machine(MachineRequest(name="new", image="disk:1", devices=devices))
    await backend.create(machine)


LISTED = {"pciHostDevices": [{"pciVendorSelector": "10DE:2236", "resourceName": GPU}]}
CASES = {"permit": (permit, kubevirt({})), "create": (create, kubevirt(LISTED))}


def objects(case: str):
    return (namespace("default"), CASES[case][1], node("a", {GPU: 2}))


async def change(case: str, cluster, where: Database, at: int, end: End) -> tuple[bool, bool]:
    """Whether it came to its end before that step, and whether it was answered well."""
    steps = Steps(at, end)
    mirror, audit = Mirror(cluster), SqlAudit(where, write=lambda _: None)
    loop = asyncio.get_running_loop()
    async with mirror, audit:
        await mirror.ready(10)
        changes = Recorded(audit, now=lambda: NOW, replica="first", finish_s=5)
        backend = ClusterBackend(cluster, mirror, changes, Actor("alice"))
        async with changes:
            loop.set_task_factory(steps.factory)
            caller = asyncio.create_task(CASES[case][0](backend))
            (answer,) = await asyncio.gather(caller, return_exceptions=True)
        loop.set_task_factory(None)
    assert answer is None or isinstance(answer, asyncio.CancelledError), answer
    return steps.taken < at, answer is None


async def after_restart(case: str, cluster, where: Database, *, answered: bool) -> None:
    async with SqlAudit(where, write=lambda _: None) as audit:
        second = Recorded(audit, now=lambda: LATER, replica="second")
        await Resolver(cluster, audit, second, now=lambda: LATER).resolve()
        assert await audit.dangling(10) == ()
        assert (await audit.verify())[1] is None
        rows = (await audit.page(Filter(), 10))[::-1]
    made = await is_made(case, cluster)
    assert [row.phase for row in rows] in ([], ["intent", "outcome"])
    said = rows[-1].result if rows else "not_applied"
    assert said in {"done", "applied", "not_applied"}
    assert (said != "not_applied") == made
    assert made or not answered


async def is_made(case: str, cluster) -> bool:
    if case == "create":
        return bool((await cluster.list(kinds.MACHINES))[0])
    stored = await cluster.get(kinds.KUBEVIRTS, "kubevirt", "kubevirt")
    listing = stored["spec"]["configuration"]["permittedHostDevices"]
    assert listing in ({}, LISTED)
    return bool(listing)


async def cancelled(case: str, where: Database, at: int, end: End) -> bool:
    """Whether the change came to its end before that step."""
    cluster = MemoryCluster(objects(case), now=lambda: NOW)
    ended, answered = await change(case, cluster, where, at, end)
    await after_restart(case, cluster, where, answered=answered)
    return ended


def died(case: str, folder: Path, at: int) -> bool:
    """The same, with a process that dies at the step."""
    where, file = database(str(folder / f"{at}.db")), folder / f"{at}.json"
    child = os.fork()
    if child == 0:
        cluster = Outliving(objects(case), file)
        ended, _ = asyncio.run(change(case, cluster, where, at, "process"))
        os._exit(0 if ended else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, DIED), code
    cluster = MemoryCluster(objects(case), now=lambda: NOW)
    if file.is_file():
        cluster.load([json.loads(file.read_text())])
    asyncio.run(after_restart(case, cluster, where, answered=code == 0))
    return code == 0


def main() -> None:
    """Prints how many steps the change has."""
    case, folder = sys.argv[1], Path(sys.argv[2])
    print(next(at for at in range(1, MOST) if died(case, folder, at)))


if __name__ == "__main__":
    main()
