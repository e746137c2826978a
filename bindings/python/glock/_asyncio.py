# SPDX-License-Identifier: MIT
"""_asyncio.py - `async with` for a Lock: the loop waits on the descriptor of a notifier."""
import asyncio
import os
import weakref

from . import _glock

# A loop, and a weak reference to its hub. Only the loop refers to the hub, so that both can go.
_hubs = weakref.WeakKeyDictionary()


class _Hub:
    """The notifier of a loop, and the tasks that wait. It closes once no task waits."""

    def __init__(self, loop):
        self.loop = weakref.ref(loop)
        self.pid = os.getpid()
        self.notifier = _glock._Notifier()
        self.fd = self.notifier.fileno()
        self.waiting = {}
        loop.add_reader(self.fd, self.on_readable)

    @classmethod
    def of(cls, loop):
        hub = _hubs[loop]() if loop in _hubs else None
        if hub is None or hub.pid != os.getpid():
            hub = cls(loop)
            _hubs[loop] = weakref.ref(hub)
        return hub

    def on_readable(self):
        while (request := self.notifier.next()) is not None:
            future = self.waiting.get(request)
            if future is not None and not future.done():
                future.set_result(None)

    def end(self, request):
        self.waiting.pop(request, None)
        loop = self.loop()
        if self.waiting or self.notifier is None:
            return
        if loop is not None:
            _hubs.pop(loop, None)
            if not loop.is_closed():
                loop.remove_reader(self.fd)
        notifier, self.notifier = self.notifier, None
        notifier.close()


async def _wait(lock, owner):
    loop = asyncio.get_running_loop()
    hub = _Hub.of(loop)
    request = None
    try:
        request = lock._ask(hub.notifier, owner)
        hub.waiting[request] = future = loop.create_future()
        await future
        request.result()
    finally:
        if request is not None:
            request.cancel()  # does nothing after result()
        hub.end(request)


def _owner():
    return id(asyncio.current_task())


async def enter(lock):
    owner = _owner()
    if not lock._try(owner):
        await _wait(lock, owner)
    return lock


async def leave(lock):
    lock._release(_owner())
