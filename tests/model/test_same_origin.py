"""Host headers and origins: what is ours, what is somebody else's, and what is a program."""

from __future__ import annotations

import pytest

from lasttick.model.same_origin import is_ours, is_served, served

HERE = served(8765, None)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_loopback_is_served(host: str) -> None:
    assert is_served([host], HERE)


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [""],
        ["127.0.0.1"],
        ["127.0.0.1:8766"],
        ["127.0.0.1:8765 "],
        ["127.0.0.2:8765"],
        ["evil.example:8765"],
        ["localhost.evil.example:8765"],
        ["[::1]"],
        ["::1:8765"],
        ["user@127.0.0.1:8765"],
        ["127.0.0.1:8765", "127.0.0.1:8765"],
    ],
)
def test_nothing_else_is(hosts: list[str]) -> None:
    assert not is_served(hosts, HERE)


def test_a_port_that_is_not_known_yet_may_be_any() -> None:
    assert is_served(["localhost:1"], served(None, None))
    assert not is_served(["evil.example:1"], served(None, None))


def test_on_port_80_browsers_leave_it_out() -> None:
    assert is_served(["localhost"], served(80, None))
    assert is_served(["[::1]"], served(80, None))


@pytest.mark.parametrize(
    ("extra", "host"), [("Phones.Example", "phones.example:8765"), ("2001:db8::1", "[2001:db8::1]:8765")]
)
def test_one_more_name_if_both_switches_say_so(extra: str, host: str) -> None:
    assert is_served([host], served(8765, extra))
    assert is_served(["localhost:8765"], served(8765, extra))
    assert not is_served([f"sub.{host}"], served(8765, extra))


OURS = "http://127.0.0.1:8765"


@pytest.mark.parametrize(
    ("origins", "sites", "expected"),
    [
        ([OURS], ["same-origin"], True),
        ([OURS], [], True),
        ([], ["same-origin"], True),
        ([OURS], ["same-site"], False),
        ([OURS], ["cross-site"], False),
        ([OURS], ["none"], False),
        ([], ["cross-site"], False),
        (["null"], ["same-origin"], False),
        (["null"], [], False),
        ([""], [], False),
        (["https://127.0.0.1:8765"], [], False),
        (["http://127.0.0.1:87650"], [], False),
        (["http://localhost:8765"], [], False),
        ([OURS, OURS], [], False),
        ([OURS], ["same-origin", "cross-site"], False),
    ],
)
def test_browsers_say_where_they_come_from(origins: list[str], sites: list[str], expected: bool) -> None:
    for must_say in (False, True):
        assert is_ours(origins, sites, "127.0.0.1:8765", must_say=must_say) is expected


def test_programs_say_nothing_and_send_no_forms() -> None:
    assert is_ours([], [], "127.0.0.1:8765", must_say=False)
    assert not is_ours([], [], "127.0.0.1:8765", must_say=True)
