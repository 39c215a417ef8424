"""The other story of `lasttick demo`: an approval that nobody answers."""

from lasttick import World, scenario

MAIL = {
    "connector_id": "google",
    "verb": "google.gmail.messages.send",
    "request": {"user_id": "me", "to": ["boss@example.com"], "subject": "I quit", "text_plain": "Effective today."},
}


@scenario("VC-12", "VC-11")
async def test_nobody_answers(world: World) -> None:
    """An agent asks to send a mail, and waits for a person to allow it. Nobody does. The wait ends at its deadline, not
    as a yes, and the mail is not sent."""
    vaultd = await world.vaultd()
    agent = (await world.vaultclaw()).client("acme")
    await agent.configure()
    asked = await agent.call("connector_execute_job", request=MAIL)
    assert asked.code == "MCP_APPROVAL_REQUIRED", f"a mail needs a person's yes, got {asked.envelope}"

    wait = asked.details["approval"]["next_action"]["arguments"]
    answer = await agent.call("approval_wait", wait, timeout_ms=_patience_ms(world))
    assert answer.code == "MCP_WAIT_TIMEOUT", f"silence is no yes, got {answer.envelope}"
    assert await vaultd.effects() == [], "the mail was sent, and nobody had allowed it"


def _patience_ms(world: World) -> int:
    """Ten minutes where they cost nothing, a second where they do."""
    return 600_000 if world.mode == "virtual" else 1_000
