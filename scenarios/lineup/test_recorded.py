"""The exchanges of the acceptance review, on the adapter as it is: what was found there is not found here.

The command `lasttick reproduce` plays the same text on the adapters that had the defects too. Source: contract lineup,
C-11; seed, A04A-09 to A04A-11.
"""

from __future__ import annotations

import pytest

from lasttick import World, scenario
from lasttick.reproduce import claims, exchanges, kept, stories

OTHER = "Überall: ☂\nund noch eine Zeile, 2 × so lang\n"
CONTENTS = pytest.mark.parametrize("content", [None, OTHER, "x"], ids=["recorded", "other", "short"])


@scenario("LU-17")
@CONTENTS
async def test_the_recorded_permission_is_granted(world: World, content: str | None) -> None:
    """The click comes as action_id: the card is resolved, the agent gets the option behind it, and as many bytes are on
    disk as were asked for, whatever they are; a second click is rejected, and a restart changes nothing of it."""
    side = await played(world, "A04A-09", content)
    asked = content or exchanges.find("A04A-09").content or ""
    assert list(side.files.values()) == [len(asked.encode())]
    assert [call.bytes_written for call in side.calls] == [len(asked.encode())]


@scenario("LU-17")
@CONTENTS
async def test_the_recorded_clarification_closes(world: World, content: str | None) -> None:
    """The second answer comes as text: both cards are completed, and the final words name choice and text."""
    await played(world, "A04A-10", None if content is None else content.replace("\n", " "))


@scenario("LU-17")
async def test_the_recorded_multi_choice_is_refused(world: World) -> None:
    """A model insists on several answers: no card, no row, a refusal; one that does not insist is heard."""
    await played(world, "A04A-11", None)


async def played(world: World, exchange_id: str, content: str | None) -> kept.Side:
    """Play it, and hold what ledger, host, agent, model and disk say against the contract."""
    exchange = exchanges.find(exchange_id, content)
    out = world.path / "evidence"
    out.mkdir()
    await stories.play(world, exchange, out)
    side = kept.read(out)
    missing = [claim.text for claim in claims.fixed(exchange, side) if not claim.holds]
    assert not missing, f"{exchange_id}: not so: {'; '.join(missing)}"
    return side
