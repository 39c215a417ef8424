"""Named streams: equal everywhere, independent of each other and of the order in which they are made."""

from lasttick.engine.chance import Chance, derive


def test_a_stream_does_not_depend_on_other_streams():
    alone = Chance(7).stream("data").random()
    chance = Chance(7)
    for name in ("trouble", "schedule", "entropy"):
        chance.stream(name).random()
    assert chance.stream("data").random() == alone


def test_streams_and_seeds_differ():
    draws = {Chance(seed).stream(name).random() for seed in (1, 2) for name in ("data", "trouble", "schedule")}
    assert len(draws) == 6


def test_derive_is_the_same_on_every_machine():
    assert derive(1, "data") == 0xBFFBC11FE81AE402
    assert derive(1, "a", "b") != derive(1, "ab")


def test_token_bytes_repeat_with_the_seed():
    assert Chance(3).token_bytes(32) == Chance(3).token_bytes(32) != Chance(4).token_bytes(32)
