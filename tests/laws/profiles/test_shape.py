"""What is no TOML, no JSON value or no key of a profile is named with its line and what is near."""

from __future__ import annotations

import pytest

from lasttick.laws.profiles.load import ProfileError, loads

from .texts import WITH_VARIABLES as GOOD

SECRET = "sesame-sesame"
ENVIRON = {"TOKEN": SECRET}


def refused(text: str) -> ProfileError:
    with pytest.raises(ProfileError) as caught:
        loads(text, "lasttick.toml", ENVIRON)
    assert SECRET not in str(caught.value)
    return caught.value


def only(error: ProfileError) -> tuple[str, str]:
    """Place and reason of the one problem there is."""
    (problem,) = error.problems
    return problem.where, problem.what


# -- TOML and JSON


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("version = 1\nversion 1\n", "lasttick.toml:2"),
        ("version = 1\n\n[lease\n", "lasttick.toml:3"),
        ("version = 1\na = [", "lasttick.toml:2"),
        ("a = 1\na = 2\n", "lasttick.toml:2"),
        ("a = " + "9" * 5_000, "lasttick.toml"),
        ("a = " + "[" * 100_000, "lasttick.toml"),
    ],
)
def test_what_is_no_toml(text: str, where: str) -> None:
    shown, what = only(refused(text))
    assert shown == where
    assert what.startswith("this is no TOML: ")
    assert "at line" not in what


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("1979-05-27", "a date or time"),
        ("07:32:00", "a date or time"),
        ("nan", "no number that JSON has"),
        ("-inf", "no number that JSON has"),
        ("9223372036854775808", "over 64 bits"),
        ("0x" + "f" * 5_000, "over 64 bits"),
        ('"a\\u0000"', "with characters that no program takes"),
    ],
)
def test_values_that_json_has_not(value: str, why: str) -> None:
    where, what = only(refused(GOOD + f"meta = {{ a = [1, {value}] }}\n"))
    assert where == "lasttick.toml:13 ([lease.use] meta.a[1])"
    assert what.startswith("a[1] is ")
    assert what.endswith(why)


def test_the_largest_number_is_one() -> None:
    loads(GOOD + "meta = { a = 9223372036854775807 }\n", "f", ENVIRON)


def test_nesting_has_an_end() -> None:
    dotted = ".".join(["a"] * 60)
    assert only(refused(GOOD + f"meta.{dotted} = 1\n"))[1] == "nested over 50 deep"
    assert only(refused("x." + ".".join(["a"] * 500) + " = 1\n"))[1] == "nested over 50 deep"


# -- keys


@pytest.mark.parametrize(
    ("old", "new", "where", "what", "next_step"),
    [
        ("version = 1", "", "lasttick.toml", "version is missing", "add version = 1"),
        ("version = 1", "version = 2", "lasttick.toml:1 ([version])", "version is 2", "correct version"),
        ("version = 1", "version = true", "lasttick.toml:1 ([version])", "version is True", "correct version"),
        (
            "[lease.use]",
            "[lease.aquire]",
            "lasttick.toml:10 ([lease] aquire)",
            "lease has no verb and no key 'aquire'",
            "did you mean acquire?",
        ),
        (
            "[lease.use]",
            "[lease.xyzzy]",
            "lasttick.toml:10 ([lease] xyzzy)",
            "lease has no verb and no key 'xyzzy'",
            "take",
        ),
        (
            "renewed_by",
            "renew_by",
            "lasttick.toml:9 ([lease] renew_by)",
            "lease has no verb",
            "did you mean renewed_by",
        ),
        ("[lease]", "[leases]", "lasttick.toml:7 ([leases])", "unknown key 'leases'", "did you mean lease?"),
        ("tool =", "tol =", "lasttick.toml:11 ([lease.use] tol)", "unknown key 'tol'", "did you mean tool?"),
        ("url =", "uri =", "lasttick.toml:4 ([target] uri)", "unknown key 'uri'", "did you mean url?"),
        ("headers", "header", "lasttick.toml:6 ([callers.alice] header)", "unknown key 'header'", "headers"),
        ("args", "json_", "lasttick.toml:12 ([lease.use] json_)", "unknown key 'json_'", "did you mean json?"),
        ("${TTL:-5}", "soon", "lasttick.toml:8 ([lease] ttl_s)", "ttl_s is 'soon'", "correct ttl_s"),
        ('"${TTL:-5}"', "true", "lasttick.toml:8 ([lease] ttl_s)", "ttl_s is True", "correct ttl_s"),
        ('"${TTL:-5}"', "0", "lasttick.toml:8 ([lease] ttl_s)", "ttl_s is 0", "correct ttl_s"),
        ('["use"]', '["use", "usage"]', "lasttick.toml:9 ([lease] renewed_by[1])", "renewed_by[1] is 'usage'", ""),
        ('"swipe"', "7", "lasttick.toml:11 ([lease.use] tool)", "tool is 7", "correct tool"),
        (
            "args =",
            "outcomes = { bussy = [] }\nargs =",
            "lasttick.toml:12 ([lease.use] outcomes.bussy)",
            "'bussy' is no name of an outcome",
            "correct bussy",
        ),
        (
            "args =",
            "poll = { untl = [] }\nargs =",
            "lasttick.toml:12 ([lease.use] poll.untl)",
            "unknown key 'untl'",
            "did you mean until?",
        ),
        (
            "[lease.use]",
            "[routes.rest.lease.usee]\nabsent = 'x'\n[lease.use]",
            "lasttick.toml:10 ([routes.rest.lease] usee)",
            "routes.rest.lease has no verb and no key 'usee'",
            "did you mean use",
        ),
        ("[callers.alice]", "[callers]\nbob = 1\n[callers.alice]", "lasttick.toml:6 ([callers.bob])", "bob is 1", ""),
    ],
)
def test_a_wrong_key_is_named_with_what_is_near(old: str, new: str, where: str, what: str, next_step: str) -> None:
    error = refused(GOOD.replace(old, new, 1))
    assert only(error)[0] == where
    assert what in error.problems[0].what
    assert next_step in error.problems[0].next_step


def test_an_unknown_verb_lists_the_verbs() -> None:
    (problem,) = refused(GOOD.replace("lease.use", "lease.usage")).problems
    assert "one of the verbs acquire, use, renew, release, holder or the keys lag_s, resources," in problem.expected


def test_a_wrong_value_is_shown_as_it_is_written() -> None:
    error = refused(GOOD.replace("${TTL:-5}", "${TOKEN}"))
    assert only(error)[1] == "ttl_s is '${TOKEN}'"


def test_all_wrong_keys_are_told_in_the_order_of_the_file() -> None:
    error = refused(GOOD.replace("url", "uri").replace("swipe", "").replace("args", "arg").replace("ttl_s", "ttl"))
    assert [problem.where.partition(" ")[0] for problem in error.problems] == [
        "lasttick.toml:4",
        "lasttick.toml:8",
        "lasttick.toml:12",
    ]


def test_a_great_many_problems_are_cut() -> None:
    error = refused(GOOD + "\n".join(f"k{number} = 1" for number in range(100)))
    assert len(error.problems) == 100
    assert str(error).endswith("and 80 more")
    assert str(error).count("unknown key") == 20
