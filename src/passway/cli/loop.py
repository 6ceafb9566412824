"""The event loop of a command: one for all that it asks, so that a connection can be kept.

It exists as long as the command; whatever is open at the end is closed in the order of opening,
last first.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import click

T = TypeVar("T")
_KEY = "passway.runner"


def run(question: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end; on the loop of the command, if there is a command."""
    context = click.get_current_context(silent=True)
    if context is None:
        return asyncio.run(question)
    return _runner(context).run(question)


def opened(resource: AbstractAsyncContextManager[T]) -> T:
    """Enters the resource, which is left when the command ends."""
    context = click.get_current_context()
    runner = _runner(context)
    entered = runner.run(_enter(resource))
    context.find_root().call_on_close(lambda: runner.run(_leave(resource)))
    return entered


def _runner(context: click.Context) -> asyncio.Runner:
    root = context.find_root()
    runner = root.meta.get(_KEY)
    if not isinstance(runner, asyncio.Runner):
        runner = root.meta[_KEY] = asyncio.Runner()
        root.call_on_close(runner.close)
    return runner


async def _enter(resource: AbstractAsyncContextManager[T]) -> T:
    return await resource.__aenter__()


async def _leave(resource: AbstractAsyncContextManager[Any]) -> None:
    await resource.__aexit__(None, None, None)
