"""A process that appends rows and prints the hash of each once it is kept: URL NAME COUNT."""

import asyncio
import sys

from tests.store.rows import draft

from passway.service.audit import AuditUnavailable
from passway.store.audit import SqlAudit
from passway.store.database import database


async def main(url: str, name: str, count: int) -> None:
    async with SqlAudit(database(url), write=lambda _: None) as audit:
        for index in range(count):
            while True:
                try:
                    row = await audit.append(draft(replica=name, name=f"{name}-{index}"))
                    break
                except AuditUnavailable:
                    await asyncio.sleep(0.02)
            print(row.hash, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
