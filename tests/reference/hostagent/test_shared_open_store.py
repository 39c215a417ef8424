"""Which store does `--lease-store` open, and what does it say about one that it cannot?"""

from __future__ import annotations

import asyncio
import builtins
import importlib
from pathlib import Path
from typing import Any

import pytest

from lasttick.cli import execute
from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.model.lease import Granted, Holder
from lasttick.reference.hostagent import lease_servers
from lasttick.reference.hostagent.lease_servers import open_store
from lasttick.reference.hostagent.lease_wire import shown, without_password
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.sqlite_store import SqliteLeaseStore
from lasttick.reference.hostagent.start_error import StartError

ALICE = Holder("mcp", "alice")


def kind_of(url: str) -> tuple[str, bool]:
    async def main() -> tuple[str, bool]:
        async with open_store(url, clock=SystemClock(), entropy=SystemEntropy(), ttl_s=7.0) as store:
            assert store.ttl_s == 7.0
            assert isinstance(await store.acquire("phone-1", ALICE), Granted)
            return type(store).__name__, store.shared

    return asyncio.run(main())


def refused(url: str) -> StartError:
    with pytest.raises(StartError) as caught:
        kind_of(url)
    return caught.value


def test_the_stores_of_one_host(tmp_path: Path) -> None:
    assert kind_of("memory:") == (MemoryLeaseStore.__name__, False)
    for url in (f"sqlite:{tmp_path}/leases.db", f"sqlite://{tmp_path}/leases.db"):
        assert kind_of(url) == (SqliteLeaseStore.__name__, False)
    assert (tmp_path / "leases.db").exists()


@pytest.mark.parametrize(
    "url", ["", "memory:x", "sqlite:", "redis:", "redis:host", "foo://user:secret@host", "/tmp/x", "a:b@c"]
)
def test_what_names_no_store_is_refused(url: str) -> None:
    error = refused(url)
    assert "secret" not in str(error)
    assert error.expected.startswith("one of memory:, sqlite:PATH, redis://HOST:PORT/DB")
    assert error.do == "correct --lease-store"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://user:secret@127.0.0.1:1", "the lease store redis://127.0.0.1:1 cannot be used: Redis: Connection"),
        ("redis://user:sec/secret@127.0.0.1:1", "cannot be read as a URL"),
        ("redis://user:sec#secret@127.0.0.1:1", "cannot be read as a URL"),
        ("redis://127.0.0.1:1/0?colour=secret", "cannot be read as a URL"),
        ("redis://127.0.0.1:1/0?protocol=9", "cannot be read as a URL"),
        ("redis://127.0.0.1:1/leases", "cannot be read as a URL"),
        ("postgresql://user:secret@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x cannot be used: PostgreSQL: Connection"),
        ("postgresql://user:sec/secret@127.0.0.1:1/x", "the URL cannot be read"),
        ("postgresql://user:secret@127.0.0.1:1/x#No Schema", "cannot be read as a URL"),
    ],
)
def test_a_server_that_cannot_be_used_is_said_without_its_password(url: str, says: str) -> None:
    error = refused(url)
    assert says in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [("redis://127.0.0.1", "redis", "redis"), ("postgresql://127.0.0.1/test", "asyncpg", "postgres")],
)
def test_a_missing_extra_is_named(url: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, *_: Any) -> Any:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr(lease_servers.importlib, "import_module", absent)
    error = refused(url)
    assert f"needs the package {package}, which is not installed" in error.happened
    assert error.do == f"run: pip install 'lasttick[{extra}]'"


def test_the_stores_of_one_host_need_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        assert name.partition(".")[0] not in ("redis", "asyncpg"), name
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    importlib.reload(lease_servers)
    assert kind_of("memory:")[1] is False


def test_a_url_for_people_has_no_user() -> None:
    assert shown("redis://user:secret@host:1/2?password=secret#x") == "redis://host:1/2"
    assert shown("postgresql://host/test") == "postgresql://host/test"
    assert shown("secret") == "secret:..."  # a word without :// may be anything, and nothing follows it


@pytest.mark.parametrize("said", ["auth s3cr:t failed", "auth s3cr%3At failed", "at redis://u:s3cr%3At@h/0"])
def test_a_library_that_repeats_the_password_is_not_repeated(said: str) -> None:
    assert "s3cr" not in without_password(said, "redis://u:s3cr%3At@h/0")


def test_the_command_line_refuses_in_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["serve", "hostagent", "--port", "0", "--identity-dir", str(tmp_path)]
    assert execute([*words, "--lease-store", "redis://user:secret@127.0.0.1:1"]) == 2
    told = capsys.readouterr().err
    assert "the lease store redis://127.0.0.1:1 cannot be used" in told
    assert "secret" not in told
    monkeypatch.setenv("HOST_AGENT_LEASE_STORE", "nothing:")
    assert execute(words) == 2
    assert "the lease store is 'nothing:...'" in capsys.readouterr().err
