"""What is counted in memory: objects of the host agent, whatever else lies there."""

import gc

from lasttick.targets.soak_weight import _of_the_agent


def test_a_compiled_type_may_say_anything_of_its_module() -> None:
    assert not _of_the_agent(property())
    assert not _of_the_agent(None)
    assert _of_the_agent("lasttick.reference.hostagent.calls")
    import asyncpg  # its compiled types have no text there

    assert asyncpg
    assert sum(_of_the_agent(type(thing).__module__) for thing in gc.get_objects()) >= 0
