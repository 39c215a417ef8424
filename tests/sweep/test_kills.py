"""When is a mutant killed, and when is it too blunt? By hand-made verdicts, one case per rule."""

from lasttick.sweep.kills import fate, findings, unproven_claims
from lasttick.sweep.matrix import Job, Watched, to_play

CLAIMS = {"a": ("HA-01",), "b": ("HA-02",), "c": ("HA-01", "HA-02"), "d": ("HA-03",), "e": ("HA-03",)}


def verdicts(**red: str) -> dict[str, str]:
    return {**dict.fromkeys(CLAIMS, "pass"), **red}


def test_killed_by_a_scenario_of_its_requirement_and_the_others_are_told():
    one = fate("m", "HA-01", verdicts(a="fail", b="fail"), CLAIMS, 5)
    assert (one.killed, one.killed_by, one.also_red, one.too_blunt) == (True, ("a",), ("b",), False)


def test_red_elsewhere_is_no_kill():
    one = fate("m", "HA-03", verdicts(a="fail"), CLAIMS, 5)
    assert not one.killed
    assert findings([one], []) == ["m survived: no scenario of HA-03 turned red"]


def test_inconclusive_is_no_kill():
    one = fate("m", "HA-01", verdicts(a="inconclusive"), CLAIMS, 5)
    assert not one.killed
    assert one.inconclusive == ("a",)


def test_more_than_half_of_what_was_played_is_too_blunt():
    half = verdicts(a="fail", b="fail")
    assert not fate("m", "HA-01", half, CLAIMS, 5).too_blunt
    assert fate("m", "HA-01", verdicts(a="fail", b="fail", c="fail"), CLAIMS, 5).too_blunt
    assert "too blunt" in findings([fate("m", "HA-01", verdicts(a="fail", b="fail", c="fail"), CLAIMS, 5)], [])[0]


def test_a_requirement_without_a_mutant_is_a_finding():
    one = fate("m", "HA-01", verdicts(a="fail"), CLAIMS, 5)
    assert findings([one], ["HA-01", "HA-02"]) == ["HA-02 has no mutant"]


def test_a_claim_counts_only_when_a_mutant_of_the_id_turned_that_scenario_red():
    one = fate("m", "HA-01", verdicts(a="fail"), CLAIMS, 5)
    assert ("a", "HA-01") not in unproven_claims([one], CLAIMS)
    assert ("c", "HA-01") in unproven_claims([one], CLAIMS)


def test_each_of_a_sample_stands_for_several():
    one_of_two = verdicts(a="fail", d="fail")
    assert not fate("m", "HA-01", one_of_two, CLAIMS, 6, weight=2.0).too_blunt
    assert fate("m", "HA-01", one_of_two, CLAIMS, 5, weight=2.0).too_blunt


def test_a_sample_of_its_own_scenarios_has_the_one_it_names_and_counts_for_all():
    claims = {**{f"own-{number}[{row}]": ("HA-01",) for number in range(6) for row in "ab"}, "else": ("HA-02",)}
    watched = Watched({id_: ["m"] for id_ in claims}, costly=("own-0[b]",))
    job = to_play("m", "HA-01", watched, claims, own_max=2, killer="own-5[a]")
    assert job == Job(("own-1[b]", "own-3[b]", "own-5[a]", "else"), own_weight=2.0)
    assert to_play("m", "HA-01", watched, claims, own_max=9, killer="own-5[a]").own_weight == 6 / 5
    red = {"own-1[b]": "fail", "own-3[b]": "fail", "own-5[a]": "fail", "else": "pass"}
    assert fate("m", "HA-01", red, claims, 7, own_weight=2.0).too_blunt
    assert not fate("m", "HA-01", red, claims, 7).too_blunt


def test_what_claims_the_requirement_is_always_played_and_the_rest_once_a_scenario():
    claims = {"a": ("HA-01",), "b[1]": ("HA-02",), "b[2]": ("HA-02",), "c": ("HA-02",), "d": ("HA-02",)}
    watched = Watched({id_: [] if id_ in ("a", "d") else ["m"] for id_ in claims}, costly=("a", "c"))
    assert to_play("m", "HA-01", watched, claims) == Job(("a", "b[1]", "c"))
    assert to_play("m", "HA-02", watched, claims) == Job(("b[1]", "b[2]", "c", "d"))


def test_a_sample_of_the_rest_is_spread_evenly_and_says_what_each_stands_for():
    claims = {"own": ("HA-01",), **{f"other-{number}": ("HA-02",) for number in range(9)}}
    watched = Watched({id_: ["m"] for id_ in claims}, costly=("own", "other-0", "other-3"))
    job = to_play("m", "HA-01", watched, claims, others_max=3)
    assert job == Job(("own", "other-1", "other-4", "other-6"), weight=3.0)
    assert to_play("m", "HA-01", watched, claims, others_max=9) == Job(tuple(claims))
    assert to_play("m", "HA-01", watched, claims, others_max=8).weight == 9 / 7
