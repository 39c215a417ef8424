"""How does the cloud say no? Every refusal has a status and three parts, and never a traceback."""

from __future__ import annotations

from typing import Any


class Problem(Exception):
    """A request the cloud does not do. `what` happened with the value, what was `expected`, what to do `next`."""

    def __init__(self, status: int, what: str, expected: str, next: str) -> None:
        super().__init__(f"{what}; expected {expected}; {next}")
        self.status = status
        self.what = what
        self.expected = expected
        self.next = next

    def body(self) -> dict[str, Any]:
        """`{error, expected, next}`, all strings."""
        return {"error": self.what, "expected": self.expected, "next": self.next}


def unknown_host(host_id: str) -> Problem:
    """404: the cloud forgot this host (it restarted) or never knew it; the host registers again."""
    return Problem(
        404, f"unknown host: {host_id}", "the id of a host registered since the cloud's last start", "POST /v1/hosts"
    )


def unknown_assignment(assignment_id: str) -> Problem:
    return Problem(
        404,
        f"unknown assignment: {assignment_id}",
        "an id that GET /v1/hosts/{id}/assignments gave",
        "drop the result: no task waits for it",
    )


def unknown_task(task_id: str) -> Problem:
    return Problem(
        404, f"unknown task: {task_id}", "an id that POST /v1/tasks gave", "POST /v1/tasks, or GET /v1/hosts"
    )


def not_reachable(why: str) -> Problem:
    """503: trouble on purpose. What was sent had no effect; sending it again is right."""
    return Problem(
        503, f"cloud not reachable: {why}", "a cloud that is up (this is injected trouble)", "try again later"
    )
