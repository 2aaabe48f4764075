"""A TCP proxy between a worker and the broker, that delays, stalls, cuts off and breaks connections."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from dataclasses import dataclass

CHUNK = 64 * 1024
RETRANSMISSION_S = 0.3
"""How long a lost segment holds up what follows it, roughly."""


@dataclass(slots=True)
class Weather:
    """What a link does to what passes."""

    delay_s: float = 0.0
    loss: float = 0.0
    """Part of the chunks that are lost and sent again, as TCP does."""
    is_cut: bool = False
    """Nothing passes, and nobody is told."""


class Link:
    """Listens on `port` and passes everything on to `target_port`, both on loopback, until it is closed."""

    def __init__(self, port: int, target_port: int, seed: str) -> None:
        self.port, self._target_port = port, target_port
        self.weather = Weather()
        self._random = random.Random(seed)
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name=f"link-{port}", daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError(f"the link on port {port} has not started")

    def break_connections(self) -> None:
        """Reset all connections; new ones can be made."""
        self._loop.call_soon_threadsafe(self._break)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", self.port))
        started.set()
        self._loop.run_forever()
        server.close()
        self._break()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _break(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        other: asyncio.StreamWriter | None = None
        try:
            await self._passable()
            answers, other = await asyncio.open_connection("127.0.0.1", self._target_port)
            self._writers.add(other)
            pumps = [
                asyncio.ensure_future(self._pump(reader, other)),
                asyncio.ensure_future(self._pump(answers, writer)),
            ]
            _, pending = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pending:
                pump.cancel()
        except OSError:
            pass  # the broker is away: the worker's connection ends below, as it would without a proxy
        finally:
            for each in (writer, other):
                if each is not None:
                    self._writers.discard(each)
                    with contextlib.suppress(RuntimeError):
                        each.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                if self.weather.delay_s:
                    await asyncio.sleep(self.weather.delay_s)
                if self.weather.loss and self._random.random() < self.weather.loss:
                    await asyncio.sleep(RETRANSMISSION_S * self._random.choice((1, 1, 2, 4)))
                await self._passable()
                writer.write(data)
                await writer.drain()

    async def _passable(self) -> None:
        while self.weather.is_cut:
            await asyncio.sleep(0.05)
