"""A profile is read whole or refused with every reason, each with file and line; nothing of a secret is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lasttick.laws.profiles.load import BYTES_MAX, Loaded, ProfileError, load, loads

GOOD = """\
version = 1
effects = { http = "GET /log" }
[target]
url = "http://127.0.0.1:1/mcp"
[callers.alice]
headers = { Authorization = "Bearer ${TOKEN}" }
[lease]
ttl_s = "${TTL:-5}"
renewed_by = ["use"]
[lease.use]
tool = "swipe"
args = { x = "{mark}", note = "$${{HOME}} ${NOTE:-}" }
"""
SECRET = "sesame-sesame"
ENVIRON = {"TOKEN": SECRET}


def refused(text: str, environ: Mapping[str, str] = ENVIRON) -> ProfileError:
    with pytest.raises(ProfileError) as caught:
        loads(text, "lasttick.toml", environ)
    for problem in caught.value.problems:
        assert problem.what
        assert problem.expected
        assert problem.next_step
        assert str(problem) in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.exit_code == 2
    return caught.value


def only(error: ProfileError) -> tuple[str, str]:
    """Place and reason of the one problem there is."""
    (problem,) = error.problems
    return problem.where, problem.what


def test_a_good_profile() -> None:
    loaded = loads(GOOD, "lasttick.toml", ENVIRON)
    assert loaded.name == "lasttick.toml"
    assert loaded.text == GOOD
    assert loaded.secrets == {"TOKEN": SECRET}
    assert loaded.profile.callers["alice"].headers == {"Authorization": f"Bearer {SECRET}"}
    assert loaded.profile.lease.ttl_s == 5.0
    use = loaded.profile.binding("lease.use")
    assert use is not None
    assert use.args == {"x": "{mark}", "note": "${{HOME}} "}
    assert SECRET not in repr(Loaded(loaded.profile, "n", "t", loaded.secrets)).replace(repr(loaded.profile), "")


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("lease.use", "lasttick.toml:10 ([lease.use])"),
        ("lease", "lasttick.toml:7 ([lease])"),
        ("lease.holder", "lasttick.toml:7 ([lease.holder])"),
        ("effects", "lasttick.toml:2 ([effects])"),
        ("callers.alice", "lasttick.toml:5 ([callers.alice])"),
        ("approval.request", "lasttick.toml ([approval.request])"),
        (("lease", "use", "args", "x"), "lasttick.toml:12 ([lease.use] args.x)"),
        (("lease", "renewed_by", 0), "lasttick.toml:9 ([lease] renewed_by[0])"),
        (("routes", "rest", "tools", "call", "http"), "lasttick.toml ([routes.rest.tools.call] http)"),
    ],
)
def test_where_a_thing_is(place: Any, shown: str) -> None:
    assert loads(GOOD, "lasttick.toml", ENVIRON).where(place) == shown


# -- variables


@pytest.mark.parametrize(("environ", "state"), [({}, "not set"), ({"TOKEN": ""}, "empty")])
def test_a_variable_that_is_not_there(environ: dict[str, str], state: str) -> None:
    error = refused(GOOD, environ)
    where, what = only(error)
    assert where == "lasttick.toml:6 ([callers.alice] headers.Authorization)"
    assert what == f"the environment variable TOKEN is {state}"
    assert "export TOKEN=" in error.problems[0].next_step


def test_a_variable_used_twice_is_asked_for_once_and_all_are_named() -> None:
    text = GOOD + 'meta = { a = "${TOKEN}", b = "${OTHER}" }\n'
    assert [problem.what for problem in refused(text, {}).problems] == [
        "the environment variable TOKEN is not set",
        "the environment variable OTHER is not set",
    ]


def test_a_set_variable_wins_over_its_default() -> None:
    loaded = loads(GOOD, "f", {**ENVIRON, "TTL": "7", "NOTE": "hi"})
    assert loaded.profile.lease.ttl_s == 7.0
    use = loaded.profile.lease.use
    assert use is not None
    assert use.args["note"] == "${{HOME}} hi"


def test_what_has_a_default_or_is_not_sent_is_no_secret() -> None:
    text = GOOD.replace('"http://127.0.0.1:1/mcp"', '"${URL}"').replace("${TTL:-5}", "${TTL}")
    environ = {**ENVIRON, "URL": "http://[::1]:9/mcp", "TTL": "60", "NOTE": "hi"}
    assert loads(text, "f", environ).secrets == {"TOKEN": SECRET}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('tool = "swipe"', 'tool = "swipe"\nmeta = { k = "${SENT}" }'),
        ("[lease]", '[target.env]\nK = "${SENT}"\n[lease]'),
        ("[lease]", '[vars]\nk = "${SENT}"\n[lease]'),
        ("[lease]", '[routes.rest.tools.call]\nhttp = "POST /${SENT}/{mark}"\n[lease]'),
        ("GET /log", "GET /log?key=${SENT}"),
        ("[lease]", '[log]\nrun = ["cat", "${SENT}"]\n[lease]'),
    ],
)
def test_whatever_is_sent_is_a_secret(old: str, new: str) -> None:
    assert loads(GOOD.replace(old, new), "f", {**ENVIRON, "SENT": "s3"}).secrets["SENT"] == "s3"


@pytest.mark.parametrize("text", ["${", "${}", "${1A}", "${A B}", "${A:-{mark}}", "${A-b}", "x ${A"])
def test_a_variable_that_is_none(text: str) -> None:
    error = refused(GOOD.replace("Bearer ${TOKEN}", text), {"A": "a"})
    assert only(error)[0] == "lasttick.toml:6 ([callers.alice] headers.Authorization)"
    assert "${ begins no variable" in error.problems[0].what
    assert "$${" in error.problems[0].next_step


@pytest.mark.parametrize(
    ("value", "why"), [("a{mark}", "template"), ("a{{b", "template"), ("a\ud800", "no text"), ("a\0b", "no text")]
)
def test_a_value_that_cannot_be_put_in(value: str, why: str) -> None:
    error = refused(GOOD, {"TOKEN": SECRET + value})
    assert "the value of the environment variable TOKEN has" in only(error)[1]
    assert why in error.problems[0].what


def test_a_value_may_look_like_json() -> None:
    value = '{"a": {"b": 1}}'
    assert loads(GOOD, "f", {"TOKEN": value}).secrets == {"TOKEN": value}


def test_a_variable_in_a_comment_or_a_key_is_nothing() -> None:
    text = GOOD + '# ${NOTHING}\nout = { a = "/x" }\noutcomes = { busy = [{ "/${X}" = 1 }] }\n'
    loaded = loads(text, "f", ENVIRON)
    assert loaded.profile.lease.use is not None
    assert loaded.profile.lease.use.outcomes == {"busy": [{"/${X}": 1}]}


# -- files


def test_a_file_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "lasttick.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    loaded = load(path, ENVIRON)
    assert loaded.where("lease.use") == f"{path}:10 ([lease.use])"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"version = 1\n# \xe9\n")
    (tmp_path / "big.toml").write_bytes(b"#" * (BYTES_MAX + 1))
    for name, says in {
        "missing.toml": "No such file",
        ".": "Is a directory",
        "latin.toml": "latin.toml:2: the file is not UTF-8",
        "big.toml": f"over {BYTES_MAX} bytes",
        "a\0b": "null byte",
    }.items():
        with pytest.raises(ProfileError, match=says) as caught:
            load(tmp_path / name, {})
        assert "\n  expected: " in str(caught.value)
        assert "\n  next: " in str(caught.value)


CONTRACT = """\
version = 1
effects = { run = ["adb", "logcat", "-d", "-s", "lasttick"], each = "/lines" }
profile = "none"
[target]
url = "http://lab:4700"
allow_hosts = ["lab"]
[callers.alice]
vars = { token = { run = ["lab", "token", "alice"] } }
headers = { Authorization = "Bearer {token}" }
[callers.boss]                            # bob, as alice, left out
headers = { Authorization = "Bearer ${BOSS}" }
decides = true
[lease]
busy = "queues"
ttl_s = 5
renewed_by = ["acquire", "renew"]         # a use does not renew here
renew = { http = "POST /v1/leases/{lease}/renew" }
release = { http = "DELETE /v1/leases/{lease}" }
[lease.acquire]
http = "POST /v1/lease-requests"
json = { platform = "android", ttlMs = "{ttl_ms}" }
out = { location = "/headers/location" }
[lease.acquire.poll]
http = "GET {location}?wait=2"
until = [{ "/body/request/state" = ["granted", "failed"] }]
out = { lease = "/body/request/lease/id", resource = "/body/request/lease/deviceId" }
outcomes = { denied = [{ "/body/request/state" = "failed" }], pending = [
    { "/body/request/state" = ["queued", "booting"] },
] }
[lease.use]
http = "POST /v1/leases/{lease}/exec"     # SSE; an `exit` event ends it
json = { tool = "adb", args = ["shell", "log -t lasttick {mark}; sleep {hold_s}"] }
outcomes = { denied = [{ "/status" = 404 }] }
[approval]
timeout_s = 20
[approval.resume]
http = "POST /agents/deployer/runs/{run}/continue"
form = { session_id = "{conversation}", stream = "false" }
[approval.request]
http = "POST /agents/deployer/runs"
form = { message = "Deploy {mark}", stream = "false" }
out = { run = "/body/run_id", conversation = "/body/session_id" }
[approval.pending]
http = "GET /approvals?status=pending&run_id={run}"
each = "/body/data"
out = { id = "/id", text = "/tool_args" }
[approval.decide]
http = "POST /approvals/{id}/resolve"
json = { status = "{decision}", resolved_by = "boss" }
say = { approve = "approved", deny = "rejected" }
"""


def test_the_example_of_the_contract() -> None:
    loaded = loads(CONTRACT, "lasttick.toml", {"BOSS": SECRET})
    profile = loaded.profile
    assert list(profile.callers) == ["alice", "boss"]
    assert list(profile.bound_verbs()) == [
        "lease.acquire",
        "lease.use",
        "lease.renew",
        "lease.release",
        "approval.request",
        "approval.pending",
        "approval.decide",
        "approval.resume",
        "effects",
    ]
    acquire = profile.reach("lease.acquire")
    assert acquire is not None
    assert acquire.poll is not None
    assert list(acquire.poll.outcomes) == ["denied", "pending"]
    assert loaded.where("lease.acquire.poll") == "lasttick.toml:23 ([lease.acquire] poll)"
    assert loaded.secrets == {"BOSS": SECRET}
