"""Which addresses may be spoken to, and what is said about one that may not."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.wire.message import WireError
from lasttick.laws.wire.place import Place, address, encoded, endpoint

LAB = Place("http://lab:4700/mcp?x=1#y", allow_hosts=("lab",))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8765/mcp",
        "http://127.9.9.9/",
        "http://localhost:1/",
        "http://LOCALHOST/",
        "https://[::1]:8443/mcp",
    ],
)
def test_loopback_needs_no_permission(url: str) -> None:
    assert endpoint(Place(url)) == httpx.URL(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://lab/",
        "http://lab.:80/",
        "http://10.0.0.1/",
        "http://0.0.0.0/",
        "http://[fe80::1]/",
        "http://127.0.0.1.example.com/",
        "http://localhost.example.com/",
        "http://2130706433/",
        "http://lab:4701/",
        "http://xlab:4700/",
        "http://evil/?lab:4700",
    ],
)
def test_any_other_host_is_refused(url: str) -> None:
    with pytest.raises(WireError, match=r"is not loopback, so nothing was sent; expected .*`allow_hosts`.*; add"):
        endpoint(Place(url, allow_hosts=("lab:4700", "other")))


@pytest.mark.parametrize("entry", ["lab", "LAB", "lab:4700"])
def test_a_listed_host_is_allowed(entry: str) -> None:
    endpoint(Place("http://lab:4700/mcp", allow_hosts=(entry,)))


def test_the_port_of_the_scheme_counts() -> None:
    endpoint(Place("http://lab/", allow_hosts=("lab:80",)))
    endpoint(Place("https://lab/", allow_hosts=("lab:443",)))
    endpoint(Place("http://[fe80::1]:99/", allow_hosts=("[fe80::1]:99",)))
    with pytest.raises(WireError, match="port 443"):
        endpoint(Place("https://lab/", allow_hosts=("lab:80",)))


@pytest.mark.parametrize("url", ["lab", "ftp://lab/", "http://", "http:///x", "http://[::1/", "http://lab:port/", "\n"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(WireError, match=r"is no address: .*; expected http://host:port/path .*; correct"):
        endpoint(Place(url, allow_hosts=("lab",)))


def test_no_url_at_all() -> None:
    with pytest.raises(WireError, match=r"expected `url` in \[target\]"):
        endpoint(Place(command=("server",)))


def test_a_name_in_the_url_would_stand_for_every_caller() -> None:
    with pytest.raises(WireError, match="holds a user name or a password") as caught:
        endpoint(Place("http://root:hunter2@127.0.0.1/"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("what", "method", "url"),
    [
        ("GET /v1/leases", "GET", "http://lab:4700/v1/leases"),
        ("POST /v1/leases/a%2Fb?wait=2&x=%20", "POST", "http://lab:4700/v1/leases/a%2Fb?wait=2&x=%20"),
        ("DELETE  http://127.0.0.1:9/x ", "DELETE", "http://127.0.0.1:9/x"),
        ("GET //evil.example/x", "GET", "http://lab:4700//evil.example/x"),
        ("GET /@evil.example/x", "GET", "http://lab:4700/@evil.example/x"),
    ],
)
def test_a_path_goes_to_the_origin_of_the_target(what: str, method: str, url: str) -> None:
    assert address(LAB, what) == (method, httpx.URL(url))


@pytest.mark.parametrize(
    "what", ["", "GET", "get /x", "GET x", "GET @evil/x", "/x", "GET\t/x", "POST ftp://lab/", "G\n /x"]
)
def test_what_is_no_request(what: str) -> None:
    with pytest.raises(WireError, match="expected a method in capitals"):
        address(LAB, what)


def test_an_absolute_address_needs_permission_too() -> None:
    with pytest.raises(WireError, match=r"the host 'evil\.example'"):
        address(LAB, "POST http://evil.example/x")
    with pytest.raises(WireError, match=r"the host 'evil\.example'"):
        address(LAB, "POST http://lab:4700@evil.example/x")


@given(st.text(max_size=30), st.sampled_from(["GET /", "GET http://lab", "GET http://", "POST https://lab:", ""]))
def test_no_text_makes_an_address_outside_the_list(text: str, start: str) -> None:
    try:
        _, url = address(LAB, start + text)
    except WireError:
        return
    assert url.host in ("lab", "localhost") or url.host.startswith("127.") or url.host == "::1"
    assert not url.userinfo


def test_headers_are_bytes_under_lower_case_names() -> None:
    assert encoded({"Authorization": " Bearer tök ", "X-A": ""}) == {"authorization": "Bearer tök".encode(), "x-a": b""}


@pytest.mark.parametrize("name", ["", "a b", "a:", "naïve", "a\n"])
def test_a_name_that_no_header_can_have(name: str) -> None:
    with pytest.raises(WireError, match=r"the header name .* cannot be sent; expected"):
        encoded({name: "x"})


@pytest.mark.parametrize("value", ["tok\nX-Admin: yes", "tok\r", "a\x00b", "\ud800tok"])
def test_a_value_that_no_header_can_have_is_not_shown(value: str) -> None:
    if value == "tok\r":
        assert encoded({"a": value}) == {"a": b"tok"}
        return
    with pytest.raises(WireError, match="the value of the header 'a' cannot be sent") as caught:
        encoded({"a": value})
    assert "tok" not in str(caught.value)
