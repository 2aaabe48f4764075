"""Clients are let go in a thread of ours, whoever finds out that nobody needs them."""

from __future__ import annotations

import gc
import threading

from seamark.kafka.client_keeper import ClientKeeper, weakly
from seamark.testing.waiting import eventually


class Client:
    """Says in which thread it was let go."""

    def __init__(self, gone: list[str]) -> None:
        self.gone = gone

    def __del__(self) -> None:
        self.gone.append(threading.current_thread().name)


class Owner:
    """Part of a cycle with its client, as whatever raises an error with a trace is."""

    def __init__(self, client: Client) -> None:
        self.client, self.itself = client, self

    def on_error(self, text: str) -> str:
        return f"heard {text}"


def test_a_client_lives_while_somebody_holds_it() -> None:
    keeper, gone = ClientKeeper(), []
    client = Client(gone)
    keeper.keep(client)
    assert keeper.drop_unused() == 0
    assert (len(keeper), gone) == (1, [])
    del client
    keeper.hurry()
    eventually(lambda: gone == ["client-keeper"], 5)
    assert len(keeper) == 0


def test_a_client_in_a_cycle_is_not_let_go_by_the_search_for_garbage() -> None:
    keeper, gone = ClientKeeper(), []
    client = Client(gone)
    keeper.keep(client)
    Owner(client)
    del client
    searcher = threading.Thread(target=gc.collect, name="not here")
    searcher.start()
    searcher.join()
    assert "not here" not in gone
    keeper.hurry()
    eventually(lambda: gone == ["client-keeper"], 5)


def test_a_callback_does_not_hold_its_object() -> None:
    gone: list[str] = []
    owner = Owner(Client(gone))
    callback = weakly(owner.on_error)
    assert callback("that") == "heard that"
    del owner
    gc.collect()
    assert gone
    assert callback("that") is None
    assert weakly(len) is len
