"""What pages look at is asked for once for all of them, while any looks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from seamark.client import Unreachable
from seamark.web.live import Feed, Live


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(test(), 30)

    asyncio.run(main())


def test_one_question_for_all_who_look_and_none_without() -> None:
    async def test() -> None:
        asked: list[str] = []
        answered = asyncio.Event()

        async def ask(who: str) -> int:
            asked.append(who)
            return len(asked)

        seen: dict[str, list[int | None]] = {"a": [], "b": []}

        def watcher(name: str) -> Callable[[Feed[int]], None]:
            def look(feed: Feed[int]) -> None:
                seen[name].append(feed.value)
                answered.set()

            return look

        live = Live()
        feed: Feed[int] = live.feed("key", 0.01)
        first, second = watcher("a"), watcher("b")
        feed.watch(first, lambda: ask("a"))
        feed.watch(second, lambda: ask("b"))
        assert live.feed("key", 0.01) is feed
        await answered.wait()
        assert seen["a"] == seen["b"] == [1]

        feed.unwatch(first)  # the other one's question is asked from now on
        while "b" not in asked:
            await asyncio.sleep(0.001)
        feed.unwatch(second)
        count = len(asked)
        await asyncio.sleep(0.05)
        assert len(asked) == count

    run(test)


def test_an_error_keeps_what_is_known_and_goes_away() -> None:
    async def test() -> None:
        answers: list[int | Exception] = [1, Unreachable("gone"), 2]
        seen: list[tuple[int | None, str | None]] = []

        async def ask() -> int:
            answer = answers.pop(0) if answers else 2
            if isinstance(answer, Exception):
                raise answer
            return answer

        feed: Feed[int] = Feed(0.001)
        feed.watch(lambda it: seen.append((it.value, str(it.error) if it.error else None)), ask)
        while len(seen) < 3:
            await asyncio.sleep(0.001)
        assert seen[:3] == [(1, None), (1, "gone"), (2, None)]

    run(test)
