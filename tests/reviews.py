"""A cluster in memory that answers reviews as an API server does, for tests of those who ask."""

from passway.kube.memory import MemoryCluster
from passway.service.authority import ACCESS_REVIEWS, TOKEN_REVIEWS


class Reviewing(MemoryCluster):
    """`people`: token -> status.user; `grants`: (user, verb, resource, namespace), "" for all.

    `failing` is raised instead of an answer; `asked` has the specs of the reviews.
    """

    def __init__(self, *args, people=None, grants=(), audiences=(), **options):
        super().__init__(*args, **options)
        self.people = people or {}
        self.grants = set(grants)
        self.audiences = audiences
        self.failing = None
        self.asked = []

    async def create(self, kind, obj, *, dry_run=False):
        if kind not in (TOKEN_REVIEWS, ACCESS_REVIEWS):
            return await super().create(kind, obj, dry_run=dry_run)
        if self.failing is not None:
            raise self.failing
        spec = obj["spec"]
        self.asked.append(spec)
        if kind == TOKEN_REVIEWS:
            return {**obj, "status": self._whose(spec)}
        wanted = spec["resourceAttributes"]
        key = (spec["user"], wanted["verb"], wanted["resource"])
        allowed = {(*key, ""), (*key, wanted.get("namespace", ""))} & self.grants
        return {**obj, "status": {"allowed": bool(allowed)}}

    def _whose(self, spec):
        user = self.people.get(spec["token"])
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        wanted = spec.get("audiences", ())
        return {
            "authenticated": True, "user": user,
            "audiences": [name for name in self.audiences if name in wanted],
        }  # fmt: skip
