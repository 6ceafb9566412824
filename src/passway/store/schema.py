"""The table of the audit, as SQL has it. Its history is in `migrations`.

A row is `service.audit.AuditEntry`, field by field. The constraints are the last guard of the
chain: a sequence number occurs once, a row has one follower, an intent has one outcome.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, Text

METADATA: Final = MetaData()
SEQUENCE: Final = BigInteger().with_variant(Integer(), "sqlite")
ENTRIES: Final = Table(
    "audit",
    METADATA,
    Column("sequence", SEQUENCE, primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("replica", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("api_version", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("namespace", Text),
    Column("name", Text, nullable=False),
    Column("before", Text),
    Column("after", Text),
    Column("phase", Text, nullable=False),
    Column("intent", SEQUENCE, unique=True),
    Column("result", Text),
    Column("detail", Text),
    Column("previous", String(64), nullable=False, unique=True),
    Column("hash", String(64), nullable=False, unique=True),
)
