"""Are the generated configs what they claim: the valid ones valid and odd, the broken ones useless to the agent?"""

from __future__ import annotations

import random
from collections import Counter

import pytest
import yaml

from lasttick_fakes.hermes import HABITS
from lasttick_fakes.hermes.config import load
from lasttick_fakes.operator_configs import BROKEN, OURS, broken_config, operator_config

SEEDS = range(300)


def test_every_valid_config_is_a_mapping_or_empty_and_every_trait_occurs() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        config = operator_config(random.Random(seed))
        data = yaml.safe_load(config.text)
        assert data is None or isinstance(data, dict), config
        seen.update(config.traits)
        assert ("crlf" in config.traits) == ("\r\n" in config.text)
        assert ("humanwork present" in config.traits) == (OURS in ((data or {}).get("mcp_servers") or {}))
        assert ("own discovery timeout" in config.traits) == ("mcp_discovery_timeout" in (data or {}))
        last = "\n" if config.text.endswith("\n") else ""
        assert bool(last) != ("no last newline" in config.traits)
    shapes = {f"mcp_servers {shape}" for shape in ("absent", "empty flow", "null", "nothing", "tilde", "flow", "block")}
    rare = {"humanwork empty", "old env in humanwork", "merge key", "indent 8", "quoted section key", "block scalar"}
    assert shapes | rare | {"anchor", "non-ascii", "odd keys", "flow server", "no last newline"} <= seen.keys()


def test_the_same_stream_gives_the_same_file() -> None:
    assert operator_config(random.Random(5)) == operator_config(random.Random(5))
    assert broken_config(random.Random(5)) == broken_config(random.Random(5))
    assert len({operator_config(random.Random(seed)).text for seed in SEEDS}) > 290


# What PyYAML takes, silently, although it is ambiguous or no place for a server of ours.
TAKEN = {"duplicate key", "section twice", "humanwork twice", "section is a list", "section is text"}
TAKEN |= {"humanwork is text", "section is an alias", "humanwork is an alias"}


@pytest.mark.parametrize("kind", sorted(BROKEN))
def test_a_broken_config_is_broken_as_its_name_says(kind: str) -> None:
    found = [broken for seed in range(600) if (broken := broken_config(random.Random(seed))).traits == (kind,)]
    assert len(found) > 5
    for broken in found:
        _, problem = load({"HOME": "/h"}, lambda path, text=broken.text: text, HABITS["0.19.0"])
        assert (problem is None) == (kind in TAKEN), broken.text
        if "humanwork twice" in kind:
            assert broken.text.count("humanwork:") == 2
