"""What is not compared is taken out, and nothing else."""

from __future__ import annotations

from typing import Any

from lasttick.compare import normal

PLACES = {"http://127.0.0.1:7200": "{vaultd}"}
META = {"request_id": "", "vault_http_status": 0, "vault_code": ""}


def failure(message: str, details: dict[str, Any]) -> dict[str, Any]:
    error = {"code": "MCP_INTERNAL", "message": message, "details": details}
    return {"result": {"structuredContent": {"ok": False, "error": error, "meta": META}, "content": []}}


def differing(one: Any, other: Any) -> list[str]:
    return [path for path, _, _ in normal.differences(normal.answer(one, PLACES), normal.answer(other, PLACES))]


def test_own_words_are_free_and_those_of_the_vault_are_not() -> None:
    assert differing(failure("so", {}), failure("otherwise", {})) == []
    vaults = [failure(text, {"vault_error": {"code": "X", "message": "said"}}) for text in ("said", "changed")]
    assert differing(*vaults) == ["/result/structuredContent/error/message"]


def test_a_missing_member_and_another_type_are_differences() -> None:
    assert differing({"a": None}, {}) == ["/a"]
    assert differing({"a": 1}, {"a": True}) == ["/a"]
    assert differing({"a": 1}, {"a": 1.0}) == []
    assert differing({"a": [1]}, {"a": [1, 2]}) == ["/a"]
    assert differing({"a": []}, {"a": None}) == ["/a"]


def test_places_and_chance_are_marks_but_a_given_key_is_none() -> None:
    assert normal.placed(["at http://127.0.0.1:7200/x"], PLACES) == ["at {vaultd}/x"]
    assert normal.filled("{vaultd}/x", PLACES) == "http://127.0.0.1:7200/x"
    assert normal.random("0" * 32) == normal.RANDOM
    assert normal.random("mcp-unbounded-profile-8042d5b7fd92") == "mcp-unbounded-profile-8042d5b7fd92"
    told = normal.free({"meta": {"request_id": "a" * 32}, "expires_at_unix_ms": 5, "pending_expires_at_unix_ms": 0})
    assert told == {
        "meta": {"request_id": normal.RANDOM},
        "expires_at_unix_ms": normal.TIME,
        "pending_expires_at_unix_ms": 0,
    }


def test_free_text_must_be_there() -> None:
    def route(reasons: Any) -> Any:
        return {"result": {"structuredContent": {"ok": True, "data": {"reasons": reasons}}, "content": []}}

    assert differing(route(["so"]), route(["a", "b"])) == []
    assert differing(route(["so"]), route(None)) == ["/result/structuredContent/data/reasons"]


def test_a_call_of_the_vault_keeps_all_that_the_contract_fixes() -> None:
    headers = [
        ["Authorization", "Bearer t"],
        ["X-Request-Id", "0" * 32],
        ["User-Agent", "accords-mcp/0.1.0"],
        ["Content-Type", "application/json; charset=utf-8"],
        ["Idempotency-Key", "fixed"],
        ["Host", "h"],
    ]
    seen = {"method": "POST", "path": "/v0/x?a=1", "headers": headers, "body": '{"a": 1.0}', "status": 200}
    assert normal.request(seen, PLACES) == {
        "call": "POST /v0/x?a=1",
        "body": {"a": 1},
        "status": 200,
        "authorization": "Bearer t",
        "content_type": "application/json",
        "idempotency_key": "fixed",
        "request_id": normal.RANDOM,
        "user_agent": "accords-mcp/0.1.0",
    }
