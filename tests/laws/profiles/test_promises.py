"""Where the target is, who speaks to it and what it promises: what is missing, and what may not be."""

from __future__ import annotations

import pytest

from lasttick.laws.profiles.load import loads

from .texts import problems, told

GOOD = """\
version = 1
[target]
url = "http://127.0.0.1:1/mcp"
[callers.alice]
tenant = "red"
[lease]
ttl_s = 5
renewed_by = ["use"]
[lease.use]
tool = "swipe"
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


URL = 'url = "http://127.0.0.1:1/mcp"'
TARGETS = [
    (changed(URL, URL + '\ncommand = ["x"]'), "f:2 ([target])", "[target] has url and command"),
    (changed(URL, "command = []"), "f:3 ([target] command)", "command is empty"),
    (changed(URL, 'command = [""]'), "f:3 ([target] command)", "command is empty"),
    (changed(URL, ""), "f:2 ([target])", "lease.use (f:9 ([lease.use])) needs [target] url or command"),
    (
        changed(URL, 'command = ["x"]') + '[lease.renew]\nhttp = "GET /"\n',
        "f:2 ([target])",
        "lease.renew (f:11 ([lease.",
    ),
    (changed(URL, 'url = "ftp://127.0.0.1/"'), "f:3 ([target] url)", "url is 'ftp://127.0.0.1/', which is no address"),
    (changed(URL, 'url = "127.0.0.1:80"'), "f:3 ([target] url)", "which is no address"),
    (changed(URL, 'url = "http:///x"'), "f:3 ([target] url)", "which is no address"),
    (changed(URL, 'url = "http://127.0.0.1:99999"'), "f:3 ([target] url)", "a port from 0 to 65535"),
    (changed(URL, 'url = "http://[::1/"'), "f:3 ([target] url)", "which is no address"),
    (changed(URL, 'url = "http://127.0.0.1/a b"'), "f:3 ([target] url)", "which is no address"),
    (changed(URL, 'url = "http://localhost/{tool}"'), "f:3 ([target] url)", "without names in braces"),
    (changed(URL, 'url = "http://me:pw@localhost/"'), "f:3 ([target] url)", "has a user or password in it"),
    (changed(URL, 'url = "http://lab:4700"'), "f:3 ([target] url)", 'add allow_hosts = ["lab"] to [target]'),
    (changed(URL, 'url = "http://localhost.lab:4700"'), "f:3 ([target] url)", "localhost.lab is not this machine"),
    (
        changed(URL, 'url = "http://lab:4700"\nallow_hosts = ["lab:47"]'),
        "f:3 ([target] url)",
        "lab is not this machine",
    ),
    (
        changed(URL, URL + '\nallow_hosts = ["http://lab"]'),
        "f:4 ([target] allow_hosts[0])",
        "allow_hosts has 'http://lab'",
    ),
    (changed(URL, URL + '\nallow_hosts = [""]'), "f:4 ([target] allow_hosts[0])", "allow_hosts has ''"),
    (changed(URL, URL + '\nenv = { "" = "x" }'), "f:4 ([target] env.)", "env has the name ''"),
    (GOOD + '[lease.renew]\nhttp = "GET http://lab/x"\n', "f:12 ([lease.renew] http)", "lab is not this machine"),
    (GOOD + '[lease.renew]\nhttp = "GET http://a@[::1]/x"\n', "f:12 ([lease.renew] http)", "user or password"),
]


@pytest.mark.parametrize(("text", "where", "says"), TARGETS)
def test_where_the_target_is(text: str, where: str, says: str) -> None:
    place, message = told(text)
    assert place == where
    assert says in message


@pytest.mark.parametrize(
    "target",
    [
        'url = "http://localhost/"',
        'url = "http://LOCALHOST:80/mcp"',
        'url = "https://127.9.9.9"',
        'url = "http://[::1]:8080/mcp?x=1"',
        'command = ["gateway", "{not a name}"]',
        'url = "http://Lab:4700"\nallow_hosts = ["LAB"]',
        'url = "http://lab:4700"\nallow_hosts = ["lab:4700"]',
        'url = "http://lab"\nallow_hosts = ["lab:80"]',
        'url = "https://lab"\nallow_hosts = ["lab:443"]',
        'url = "http://[fd00::1]"\nallow_hosts = ["[fd00::1]:80"]',
        'url = "http://[fd00::1]"\nallow_hosts = ["fd00::1"]',
    ],
)
def test_targets_that_may_be_acted_on(target: str) -> None:
    loads(changed(URL, target), "f", {})


def test_a_host_that_is_known_only_when_it_is_called_waits_until_then() -> None:
    loads(GOOD + '[lease.renew]\nhttp = "GET http://{resource}:80/x"\n', "f", {})


def test_no_target_is_needed_for_what_is_elsewhere() -> None:
    text = changed(URL, "").replace('tool = "swipe"', 'run = ["adb"]')
    loads(text + '[lease.renew]\nhttp = "GET http://localhost/x"\n', "f", {})


CALLERS = [
    (changed('[callers.alice]\ntenant = "red"\n', ""), "f ([callers])", "there is no caller"),
    (changed("callers.alice", 'callers."a b"'), "f:4 ([callers.a b])", "a caller has the name 'a b'"),
    (changed("callers.alice", "callers." + "a" * 33), "f:4 ([callers." + "a" * 33 + "])", "up to 32 letters"),
    (changed('tenant = "red"', 'route = "rest"'), "f:5 ([callers.alice] route)", "a table [routes.NAME.verb]"),
    (changed('tenant = "red"', 'headers = { "a:" = "b" }'), "f:5 ([callers.alice] headers.a:)", "can not be sent"),
    (changed('tenant = "red"', 'env = { "a=" = "b" }'), "f:5 ([callers.alice] env.a=)", "env has the name 'a='"),
    (
        GOOD.replace("[lease]", 'vars = { run = "1" }\n[session]\nvars = ["rum"]\n[lease]', 1),
        "f:8 ([session] vars[0])",
        "session.vars has 'rum', which is no var\n  expected: the name of a var, of a caller or of [vars]",
    ),
    (
        GOOD + '[tools]\nvolatile = ["headers/x-id"]\n',
        "f:12 ([tools] volatile[0])",
        "volatile has 'headers/x-id'\n  expected: a pointer into an answer",
    ),
    (GOOD + '[routes."r.s".tools.call]\nabsent = "x"\n', "f:11 ([routes.r.s])", "a route has the name 'r.s'"),
    (
        GOOD + '[routes.rest.lease]\nttl_s = 9\nuse = { absent = "x" }\n',
        "f:12 ([routes.rest.lease] ttl_s)",
        "move ttl_s to [lease]",
    ),
    (
        GOOD + '[routes.rest.lease]\nlag_s = 9\nuse = { absent = "x" }\n',
        "f:12 ([routes.rest.lease] lag_s)",
        "move lag_s to [lease]",
    ),
    (
        GOOD + '[routes.rest.tools.call]\nhttp = "POST /x/{mark}"\nlag_s = 9\n',
        "f:13 ([routes.rest.tools.call] lag_s)",
        "move lag_s to [tools.call], or to its section",
    ),
]


@pytest.mark.parametrize(("text", "where", "says"), CALLERS)
def test_who_speaks_to_it(text: str, where: str, says: str) -> None:
    place, message = told(text)
    assert place == where
    assert says in message


def test_a_route_with_a_name_near_by() -> None:
    text = changed('tenant = "red"', 'route = "resr"') + '[routes.rest.tools.call]\nabsent = "x"\n'
    assert "did you mean rest?" in told(text)[1]


APPROVAL = '[approval]\ntimeout_s = 5\n[approval.decide]\nhttp = "POST /{id}"\n'
POLICIES = [
    (changed("ttl_s = 5\n", ""), "f:6 ([lease])", "ttl_s is missing"),
    (changed('renewed_by = ["use"]\n', ""), "f:6 ([lease])", "renewed_by is missing"),
    (changed("ttl_s = 5", "ttl_s = 1.99"), "f:7 ([lease] ttl_s)", "here 2 s"),
    (changed("ttl_s = 5", "ttl_s = 1.49\ntolerance_s = 0.1"), "f:7 ([lease] ttl_s)", "here 1.5 s"),
    (changed("ttl_s = 5", "ttl_s = 5\ntolerance_s = 0.626"), "f:7 ([lease] ttl_s)", "ttl_s is 5, too short"),
    (GOOD + APPROVAL.replace("timeout_s = 5\n", ""), "f:11 ([approval])", "timeout_s is missing"),
    (GOOD + APPROVAL.replace("= 5", "= 1.5"), "f:12 ([approval] timeout_s)", "timeout_s is 1.5, too short"),
    (changed("ttl_s = 5", 'ttl_s = 5\nresources = ["a", "b", "a"]'), "f:8 ([lease] resources[2])", "'a' twice"),
    (changed("ttl_s = 5", 'ttl_s = 5\nresources = [""]'), "f:8 ([lease] resources[0])", "resources has ''"),
]


@pytest.mark.parametrize(("text", "where", "says"), POLICIES)
def test_what_it_promises(text: str, where: str, says: str) -> None:
    place, message = told(text)
    assert place == where
    assert says in message


@pytest.mark.parametrize(
    "text",
    [
        changed("ttl_s = 5", "ttl_s = 2"),
        changed("ttl_s = 5", "ttl_s = 1.5\ntolerance_s = 0.1"),
        changed("ttl_s = 5", "ttl_s = 8\ntolerance_s = 1"),
        changed('["use"]', "[]"),
        GOOD + APPROVAL,
        changed('[lease]\nttl_s = 5\nrenewed_by = ["use"]\n', "").replace('tool = "swipe"', 'absent = "no leases"'),
    ],
)
def test_promises_that_are_good(text: str) -> None:
    loads(text, "f", {})


def test_a_lease_verb_on_a_route_asks_for_the_promise_too() -> None:
    text = '[routes.rest.lease.use]\nhttp = "POST /"\n'
    bare = changed('[lease]\nttl_s = 5\nrenewed_by = ["use"]\n[lease.use]\ntool = "swipe"\n', text)
    assert sorted(problem.what for problem in problems(bare)) == ["renewed_by is missing", "ttl_s is missing"]
