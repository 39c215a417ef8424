"""One host agent per identity folder: who comes second, what it says, and when the folder is free again."""

from __future__ import annotations

from lasttick import World, scenario


@scenario("HA-23")
async def test_a_second_host_agent_refuses(world: World) -> None:
    """A host agent starts on the identity folder of one that runs. It refuses and names the running one's pid; the
    token file is untouched, and the first goes on as if nothing had happened."""
    folder = world.path / "shared"
    host = await world.hostagent(identity_dir=folder)
    alice = await host.client("alice")
    assert (await alice.tap("phone-1")).ok
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}
    said = await world.refusal(identity_dir=folder, devices=["phone-2"])
    assert f"pid {host.pid}" in said, f"the refusal must name the owner's pid {host.pid}: {said}"
    assert str(folder) in said, f"the refusal must name the folder: {said}"
    assert host.token not in said, "the refusal shows no token"
    after = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}
    assert after == before, "a refused start touches no file"
    assert (await alice.tap("phone-1")).ok, "the first one goes on"
    assert await host.busy() == ["phone-1"]


@scenario("HA-23")
async def test_the_lock_comes_before_the_token(world: World) -> None:
    """The token file is deleted under a running host, then a second one starts. It refuses before it makes a token:
    there is still no file, and the first host's token still opens its door."""
    folder = world.path / "shared"
    host = await world.hostagent(identity_dir=folder)
    token = host.token
    (folder / "host_mcp_token.json").unlink()
    said = await world.refusal(identity_dir=folder)
    assert f"pid {host.pid}" in said, f"the refusal must name the owner's pid {host.pid}: {said}"
    assert not (folder / "host_mcp_token.json").exists(), "the second one made a token before it looked for the first"
    assert (await host.client("alice", token=token)).raw.session_id


@scenario("HA-23")
async def test_the_folder_is_free_after_a_stop(world: World) -> None:
    """The first host agent stops in good order, after having refused a second. Now the second starts, with the same
    token."""
    folder = world.path / "shared"
    host = await world.hostagent(identity_dir=folder)
    token = host.token
    await world.refusal(identity_dir=folder)
    await host.stop()
    second = await world.hostagent(identity_dir=folder)
    assert second.token == token
    assert (await (await second.client("alice")).tap("phone-1")).ok


@scenario("HA-23")
async def test_the_folder_is_free_after_a_kill(world: World) -> None:
    """The first host agent is gone from one instant to the next and leaves its files behind. The second starts at once,
    with the same token."""
    folder = world.path / "shared"
    host = await world.hostagent(identity_dir=folder)
    token = host.token
    await host.kill()
    second = await world.hostagent(identity_dir=folder)
    assert second.token == token
    assert (await (await second.client("alice")).tap("phone-1")).ok


@scenario("HA-23", needs=("kill-process",))
async def test_the_folder_is_free_after_kill_9(world: World) -> None:
    """The first host agent dies of SIGKILL and leaves its files behind. The second starts at once, with the same token,
    and a third is refused with the second's pid."""
    folder = world.path / "shared"
    host = await world.hostagent(identity_dir=folder)
    token, first_pid = host.token, host.pid
    await host.kill()
    second = await world.hostagent(identity_dir=folder)
    assert second.token == token
    assert (await (await second.client("alice")).tap("phone-1")).ok
    said = await world.refusal(identity_dir=folder)
    assert f"pid {second.pid}" in said, f"the refusal must name the second's pid {second.pid}: {said}"
    assert str(first_pid) not in said.replace(str(second.pid), ""), f"the dead one's pid is shown: {said}"


@scenario("HA-23", "HA-02")
async def test_the_start_is_told_in_its_order(world: World) -> None:
    """A start on an empty folder and one on a used folder. At INFO the token file's path is told, then that /mcp is up;
    the token itself is never told."""
    log = world.listen()
    host = await world.hostagent()
    path = str(host.options.identity_dir / "host_mcp_token.json")
    begin = 0
    for start in ("first", "second"):
        await world.settle()
        lines = list(log.lines)[begin:]
        token_at = [number for number, line in enumerate(lines) if line.level == "INFO" and path in line.text]
        mount_at = [number for number, line in enumerate(lines) if line.level == "INFO" and "/mcp" in line.text]
        assert len(token_at) == 1, f"{start} start: the path is told once at INFO, got {[lines[n] for n in token_at]}"
        mount_at = [number for number in mount_at if number != token_at[0]]
        assert mount_at, f"{start} start: that /mcp is up is told at INFO; told was {lines}"
        assert token_at[0] < mount_at[0], f"{start} start: the token must be there before /mcp is up"
        assert not any(host.token in line.text for line in lines), f"{start} start: the token is told"
        begin = len(log.lines)
        if start == "first":
            await host.restart()


@scenario("HA-23", "HA-03")
async def test_the_cloud_hears_nothing_of_a_start_that_fails(world: World) -> None:
    """A host agent with a corrupt token file, and a second one on a folder in use. Neither registers or beats: the
    cloud hears only of the host that runs, and only once it is up."""
    cloud = await world.cloud()
    broken = world.path / "broken"
    broken.mkdir(mode=0o700)
    (broken / "host_mcp_token.json").write_text("{")
    (broken / "host_mcp_token.json").chmod(0o600)
    await world.refusal(identity_dir=broken)
    await world.advance(world.ttl_s)
    told = await world.get(f"{cloud.url}/v1/log")
    assert told["requests"] == [], f"the cloud heard of a start that failed: {[r['path'] for r in told['requests']]}"
    host = await world.hostagent()
    await world.advance(host.heartbeat_s / 2)
    await world.refusal(identity_dir=host.options.identity_dir)
    told = await world.get(f"{cloud.url}/v1/log")
    registered = [request["path"] for request in told["requests"] if request["path"] == "/v1/hosts"]
    assert len(registered) == 1, f"one host registered, the cloud heard {len(registered)}"
