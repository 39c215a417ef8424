"""The cloud control plane of a world, as an operator uses it: submit tasks, see how they ended. Over HTTP always."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lasttick.targets.world import World
    from lasttick_fakes.cloud import Cloud


class CloudHandle:
    """`url` is the control plane's address. `fake` is the object itself, in virtual mode only (trouble, restart)."""

    def __init__(self, world: World, url: str, fake: Cloud | None = None) -> None:
        self.url = url
        self._world = world
        self._fake = fake

    @property
    def fake(self) -> Cloud:
        if self._fake is None:
            self._world.inconclusive("the cloud's inner controls exist in virtual mode only; mark needs accordingly")
        assert self._fake is not None
        return self._fake

    async def submit(
        self,
        *,
        goal: str | None = None,
        workflow: list[dict[str, Any]] | None = None,
        device_id: str | None = None,
        attempts: int = 1,
    ) -> str:
        """Queue a task and return its id."""
        body: dict[str, Any] = {"attempts": attempts}
        for name, value in (("goal", goal), ("workflow", workflow), ("device_id", device_id)):
            if value is not None:
                body[name] = value
        answer = await self._world.post(f"{self.url}/v1/tasks", body)
        return str(answer["task_id"])

    async def task(self, task_id: str) -> dict[str, Any]:
        """The task as the cloud shows it: state, attempts left, assignments with their results."""
        return await self._world.get(f"{self.url}/v1/tasks/{task_id}")

    async def finished(self, task_id: str) -> dict[str, Any]:
        """Wait until the task succeeded or failed for good."""
        while True:
            task = await self.task(task_id)
            if task["state"] in ("succeeded", "failed"):
                return task
            await self._world.until(self._world.now_s + self._world.tick_s)
