"""docs/access.md has the rights of the routes, and names the roles of the chart."""

from tools.rights import PAGE, page

from passway.api.rights import CLUSTER_ROLES, ROLES


def test_the_table_is_that_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "python -m tools.rights"


def test_every_role_and_resource_is_told():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in CLUSTER_ROLES.values())
    assert all(right.resource in text for rights in ROLES.values() for right in rights)
