"""Each verb is bound in one way that makes sense by itself; else its line, its verb and a next step are told."""

from __future__ import annotations

import pytest

from lasttick.laws.profiles.load import loads

from .texts import GOOD, USE, added, changed, problems, told

HTTP = 'http = "POST /x/{mark}"'


def test_the_good_one_is_good() -> None:
    assert loads(GOOD, "f", {}).profile.lease.ttl_s == 5


# -- kinds and same

KINDS = [
    (changed(USE, ""), "f:10 ([lease.use])", "lease.use does not say how it is reached"),
    (changed(USE, USE + '\nhttp = "GET /"'), "f:10 ([lease.use])", "lease.use has tool and http"),
    (changed('"swipe"', '""'), "f:11 ([lease.use] tool)", "tool of lease.use is empty"),
    (changed(USE, "run = []"), "f:11 ([lease.use] run)", "run of lease.use is empty"),
    (changed(USE, 'run = [""]'), "f:11 ([lease.use] run)", "run of lease.use is empty"),
    (changed(USE, 'absent = ""'), "f:11 ([lease.use] absent)", "absent of lease.use is empty"),
    (added('[lease.renew]\nabsent = "x"\ntimeout_s = 3'), "f:18 ([lease.renew])", "is absent, and has timeout_s"),
    (
        added('[lease.acquire]\nhttp = "POST /"\npoll = { until = [{ "" = { exists = true } }] }'),
        "f:20 ([lease.acquire] poll)",
        "the poll of lease.acquire does not say how it is reached",
    ),
    (
        added(
            '[lease.acquire]\nhttp = "POST /"\npoll = { same = "lease.holder", until = [{ "" = { exists = true } }] }'
        ),
        "f:20 ([lease.acquire] poll.same)",
        "the poll of lease.acquire has same",
    ),
    (added("[lease.renew]\nsame = 'lease.usee'"), "f:19 ([lease.renew] same)", "did you mean lease.use"),
    (
        added("[lease.renew]\nsame = 'lease.renew'"),
        "f:19 ([lease.renew] same)",
        "lease.renew is the same as lease.renew",
    ),
    (added("[lease.renew]\nsame = 'lease.acquire'"), "f:19 ([lease.renew] same)", "lease.acquire, which is not bound"),
    (
        added("[lease.renew]\nsame = 'lease.acquire'\n[lease.acquire]\nabsent = 'no'"),
        "f:19 ([lease.renew] same)",
        "lease.acquire, which is absent",
    ),
    (
        changed(USE, HTTP) + "[lease.release]\nsame = 'session.end'\n",
        "f:18 ([lease.release] same)",
        "session.end, which is not bound",
    ),
]


@pytest.mark.parametrize(("text", "where", "says"), KINDS)
def test_one_kind_for_each_verb(text: str, where: str, says: str) -> None:
    place, message = told(text)
    assert place == where
    assert says in message


def test_a_circle_is_told_at_each_of_its_verbs() -> None:
    text = added("[lease.renew]\nsame = 'lease.acquire'\n[lease.acquire]\nsame = 'lease.renew'")
    assert [problem.what for problem in problems(text)] == [
        "lease.renew is the same as lease.acquire is the same as lease.renew: that is a circle",
        "lease.acquire is the same as lease.renew is the same as lease.acquire: that is a circle",
    ]


def test_a_circle_over_a_route_is_one_too() -> None:
    text = added("[lease.acquire]\nsame = 'lease.use'\n[routes.rest.lease.use]\nsame = 'lease.acquire'")
    place, message = told(text)
    assert place == "f:21 ([routes.rest.lease.use] same)"
    assert "that is a circle" in message


@pytest.mark.parametrize("verb", ["session.open", "session.end", "tools.list"])
def test_what_mcp_has_of_itself_may_be_borrowed(verb: str) -> None:
    profile = loads(added(f"[lease.release]\nsame = '{verb}'"), "f", {}).profile
    assert profile.stands_for("lease.release") == verb
    assert profile.implied(verb)


# -- bindings

BINDINGS = [
    (changed(USE, USE + "\njson = { a = 1 }"), "f:13 ([lease.use] json)", "is of kind tool and has json"),
    (changed(USE, HTTP + "\nargs = { a = 1 }"), "f:12 ([lease.use] args)", "args only with tool or python"),
    (changed(USE, "run = ['a', '{mark}']\nquery = { a = 1 }"), "f:12 ([lease.use] query)", "kind run and has query"),
    (changed(USE, HTTP + "\njson = 1\nform = { a = 1 }"), "f:10 ([lease.use])", "has json and form"),
    (
        added("[lease.renew]\nsame = 'lease.use'\nform = { a = 1 }"),
        "f:20 ([lease.renew] form)",
        "of kind tool and has form",
    ),
    (changed(USE, 'http = "post /{mark}"'), "f:11 ([lease.use] http)", "http is 'post /{mark}'"),
    (changed(USE, 'http = "POST x/{mark}"'), "f:11 ([lease.use] http)", "METHOD /path"),
    (changed(USE, 'http = "POST /a b/{mark}"'), "f:11 ([lease.use] http)", "without spaces"),
    (changed(USE, 'http = "/{mark}"'), "f:11 ([lease.use] http)", "http is '/{mark}'"),
    (changed(USE, 'http = "GET ftp://h/{mark}"'), "f:11 ([lease.use] http)", "GET ftp://h"),
    (
        changed(USE, 'python = "lab.hooks:use"\nargs = { m = "{mark}" }'),
        "f:11 ([lease.use] python)",
        "module:Class.method",
    ),
    (
        changed(USE, 'python = "lab.Lab.use"\nargs = { m = "{mark}" }'),
        "f:11 ([lease.use] python)",
        "module:Class.method",
    ),
    (changed(USE, HTTP + '\nheaders = { "a b" = "c" }'), "f:12 ([lease.use] headers.a b)", "its name has a character"),
    (changed(USE, HTTP + '\nheaders = { a = "b\\nc" }'), "f:12 ([lease.use] headers.a)", "its value has a character"),
    (
        changed(USE, "run = ['a', '{mark}']\nenv = { 'A=B' = 'c' }"),
        "f:12 ([lease.use] env.A=B)",
        "env has the name 'A=B'",
    ),
    (changed(USE, USE + '\nout = { a = "body/id" }'), "f:13 ([lease.use] out.a)", "'body/id' is no JSON pointer"),
    (changed(USE, USE + '\nout = { a = "/a~2" }'), "f:13 ([lease.use] out.a)", "'/a~2' is no JSON pointer"),
    (changed(USE, USE + '\nout = { a-b = "/a" }'), "f:13 ([lease.use] out.a-b)", "out has the name 'a-b'"),
    (changed('"/body/devices"', '"devices"'), "f:15 ([lease.holder] each)", "'devices' is no JSON pointer"),
    (changed(USE, USE + '\neach = "/body"'), "f:13 ([lease.use] each)", "each only where a list is read"),
    (
        changed(USE, USE + '\nsay = { approve = "y", deny = "n" }'),
        "f:13 ([lease.use] say.approve)",
        "say only at approval",
    ),
    (
        changed(USE, USE + "\nstates = { held = [1] }"),
        "f:13 ([lease.use] states.held)",
        "states only at approval.outcome",
    ),
    (changed("free =", "fre ="), "f:17 ([lease.holder] states.fre)", "did you mean free?"),
]


@pytest.mark.parametrize(("text", "where", "says"), BINDINGS)
def test_a_binding_makes_sense_by_itself(text: str, where: str, says: str) -> None:
    found = [(problem.where, str(problem)) for problem in problems(text)]
    assert where in [place for place, _ in found]
    assert says in dict(found)[where]


def condition(text: str) -> str:
    return changed(USE, USE + f"\noutcomes = {{ busy = [{text}] }}")


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("{ }", "[0]", "this condition is empty"),
        ("{ '/a' = 1 }, { 'a/b' = 1 }", "[1].a/b", "'a/b' is no JSON pointer"),
        ("{ '/a' = [] }", "[0]./a", "/a is asked for []"),
        ("{ '/a' = [[1]] }", "[0]./a", "/a is asked for [[1]]"),
        ("{ '/a' = { matches = 'x' } }", "[0]./a", "{'matches': 'x'}"),
        ("{ '/a' = { match = 'x', exists = true } }", "[0]./a", 'match = "regex"'),
        ("{ '/a' = { match = 1 } }", "[0]./a", "/a is asked for {'match': 1}"),
        ("{ '/a' = { exists = 1 } }", "[0]./a", "/a is asked for {'exists': 1}"),
        ("{ '/a' = { match = '(' } }", "[0]./a", "no regular expression: missing )"),
    ],
)
def test_conditions_have_a_shape(text: str, key: str, says: str) -> None:
    place, message = told(condition(text))
    assert place == f"f:13 ([lease.use] outcomes.busy{key})"
    assert says in message


def test_conditions_of_the_whole_file_and_of_a_poll() -> None:
    text = added('[outcomes]\nbusy = [{ "x" = 1 }]')
    assert told(text)[0] == "f:19 ([outcomes] busy[0].x)"
    poll = added('[lease.acquire]\nhttp = "POST /"\n[lease.acquire.poll]\nhttp = "GET /"\nuntil = [{ x = 1 }]')
    assert told(poll)[0] == "f:22 ([lease.acquire] poll.until[0].x)"
    never = added('[lease.acquire]\nhttp = "POST /"\n[lease.acquire.poll]\nhttp = "GET /"')
    assert "the poll of lease.acquire has no until" in told(never)[1]


def test_say_has_both_words() -> None:
    text = added(
        '[approval]\ntimeout_s = 5\n[approval.decide]\nhttp = "POST /{id}/{decision}"\nsay = { approve = "y" }'
    )
    assert told(text) == (
        "f:22 ([approval.decide] say)",
        "f:22 ([approval.decide] say): say has one word only\n"
        "  expected: both approve and deny (docs/check.md, Binding)\n  next: add the other",
    )


def test_a_header_may_be_any_line_and_its_ends_are_nothing() -> None:
    loads(changed(USE, HTTP + '\nheaders = { a = "é \\t{mark}\\n" }'), "f", {})


def test_a_json_body_may_be_any_value() -> None:
    loads(changed(USE, HTTP + "\njson = [1]"), "f", {})
