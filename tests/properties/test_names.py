"""Normal forms are idempotent, and no text at all breaks a parser of names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passway.model import names
from passway.model.names import InvalidName

NORMAL_FORMS = [
    (names.dns_label, r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"),
    (names.dns_subdomain, r"[a-z0-9]{1,9}(\.[a-z0-9]{1,9}){0,4}"),
    (names.resource_name, r"[a-z]{1,9}\.com/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"),
    (names.pci_vendor_selector, r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}"),
    (names.pci_address, r"([0-9A-Fa-f]{4}:)?[0-9A-Fa-f]{2}:[01][0-9A-Fa-f]\.[0-7]"),
    (names.usb_id, r"(0[xX])?[0-9A-Fa-f]{1,4}"),
    (names.mdev_name_selector, r"[A-Za-z0-9]([-A-Za-z0-9 ]{0,20}[A-Za-z0-9])?"),
    (names.mdev_type_key, r"[A-Za-z0-9]([-A-Za-z0-9 ]{0,20}[A-Za-z0-9])?"),
]


@pytest.mark.parametrize(("normal", "grammar"), NORMAL_FORMS)
@given(data=st.data())
def test_a_normal_form_is_its_own_normal_form(normal, grammar, data):
    form = normal(data.draw(st.from_regex(grammar, fullmatch=True)))
    assert normal(form) == form


@pytest.mark.parametrize("parse", [*(normal for normal, _ in NORMAL_FORMS), names.network_name])
@given(text=st.text(max_size=40))
def test_any_text_is_taken_or_refused_with_words(parse, text):
    try:
        parse(text)
    except InvalidName as refused:
        words = str(refused)
    else:
        return
    assert len(words) > 20


@given(st.from_regex(r"([a-z]{1,9}/)?[a-z]{1,9}", fullmatch=True))
def test_a_network_name_can_be_put_together_again(text):
    namespace, name = names.network_name(text)
    assert (f"{namespace}/{name}" if namespace else name) == text


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=10), st.randoms())
def test_the_nearest_names_do_not_depend_on_the_order_of_the_known(name, known, random):
    shuffled = random.sample(known, len(known))
    nearest = names.nearest(name, known)
    assert names.nearest(name, shuffled) == nearest
    assert set(nearest) <= set(known)
    assert len(nearest) <= 3
