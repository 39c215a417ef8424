"""Every name in a profile has a value, and every effect a mark to be found by."""

from __future__ import annotations

import pytest

from lasttick.laws.profiles.load import loads

from .texts import GOOD, USE, added, changed, told


def test_every_input_may_be_used() -> None:
    times = ["ttl", "hold", "timeout", "seconds"]
    names = [f"{time}_{unit}" for time in times for unit in ("s", "ms")]
    names += ["resource", "mark", "mark_number", "tool", "id", "decision"]
    text = " ".join(f"{{{name}}}" for name in names)
    loads(changed('"{mark}"', f'"{text}"'), "f", {})


def test_names_come_from_out_vars_and_the_session() -> None:
    text = """
[session.open]
http = "POST /login"
out = { sid = "/body/sid" }
[lease.acquire]
http = "POST /leases?s={sid}"
out = { location = "/headers/location" }
[lease.acquire.poll]
http = "GET {location}"
until = [{ "/body" = "ok" }]
out = { lease = "/body/lease" }
[lease.renew]
http = "POST /{lease}/{sid}/{lab}/{token}"
[vars]
lab = "x"
[callers.bob]
vars = { token = { run = ["lab", "token"] }, n = 1 }
headers = { Authorization = "Bearer {token}", X-Lab = "{lab}" }
env = { N = "{n}" }
"""
    assert loads(GOOD + text, "f", {}).profile.callers["bob"].vars["n"] == 1


NAMES = [
    (changed("{mark}", "{mark}{leas}"), "f:12 ([lease.use] args.x)", "{leas} is a name that nothing gives a value to"),
    (changed("{mark}", "{mark}{marc}"), "f:12 ([lease.use] args.x)", "did you mean mark"),
    (
        changed('{ x = "{mark}" }', '{ x = "{mark}", y = [1, { z = "{q}" }] }'),
        "f:12 ([lease.use] args.y[1].z)",
        "{{q}}",
    ),
    (
        changed("Bearer x", "Bearer {token}"),
        "f:6 ([callers.alice] headers.Authorization)",
        "no name: there are no vars",
    ),
    (changed("[lease]", "vars = { v = 1 }\nenv = { A = '{w}' }\n[lease]"), "f:8 ([callers.alice] env.A)", "one of v "),
    (changed("GET /devices", "GET /{sid}"), "f:14 ([lease.holder] http)", "{sid} is a name"),
    (added("[log]\nrun = ['awk', '{print}']"), "f:19 ([log] run[1])", "write {{print}} for the braces themselves"),
    (added("[vars]\na-b = 1"), "f:19 ([vars] a-b)", "a var has the name 'a-b'"),
    (added("[vars]\na = 'x{mark}'"), "f:19 ([vars] a)", "the var a has {mark} in it"),
    (added("[vars]\na = { run = 'x' }"), "f:19 ([vars] a)", "only run, with a program and its arguments"),
    (added("[vars]\na = { run = [] }"), "f:19 ([vars] a)", "a is {'run': []}"),
    (added("[vars]\na = { run = [''] }"), "f:19 ([vars] a)", "a is {'run': ['']}"),
    (added("[vars]\na = { run = ['x', 1] }"), "f:19 ([vars] a)", "a is {'run': ['x', 1]}"),
    (added("[vars]\na = { run = ['x'], env = {} }"), "f:19 ([vars] a)", "'env': {}"),
    (changed("[lease]", "vars = { t = { run = 1 } }\n[lease]"), "f:7 ([callers.alice] vars.t)", "t is {'run': 1}"),
    (changed("{mark}", "{resource}"), "f:10 ([lease.use])", "lease.use places no {mark}"),
    (
        added("[routes.rest.tools.call]\nhttp = 'POST /{tool}'"),
        "f:18 ([routes.rest.tools.call])",
        "tools.call places no {mark}",
    ),
    (
        added("[routes.rest.lease.use]\nsame = 'lease.holder'"),
        "f:18 ([routes.rest.lease.use])",
        "lease.use places no {mark}",
    ),
]


@pytest.mark.parametrize(("text", "where", "says"), NAMES)
def test_every_name_has_a_value_and_every_effect_a_mark(text: str, where: str, says: str) -> None:
    place, message = told(text)
    assert place == where
    assert says in message


@pytest.mark.parametrize(
    "text",
    [
        changed("{mark}", "{mark_number}"),
        changed("{mark}", "1").replace('effects = { http = "GET /log" }', 'effects = { absent = "no log" }'),
        changed("{mark}", "1").replace('effects = { http = "GET /log" }', ""),
        changed(USE, 'absent = "none"'),
        added("[lease.renew]\nsame = 'lease.use'\n[routes.rest.lease.use]\nabsent = 'not there'"),
    ],
)
def test_a_mark_is_not_asked_for_in_vain(text: str) -> None:
    loads(text, "f", {})


def test_names_of_one_section_are_none_of_another() -> None:
    text = added('[approval]\ntimeout_s = 5\n[approval.pending]\nhttp = "GET /{held}"')
    assert "{held} is a name that nothing gives a value to" in told(text)[1]
