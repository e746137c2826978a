#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_asyncio.py - tests `async with`: the loop goes on, tasks exclude each other, cancel. TAP."""
import asyncio
import errno
import gc
import os
import threading
import time

import glock
import tap

HOLDER = """
import glock, sys
with glock.Space(sys.argv[1]) as space, space.lock(1):
    print("held", flush=True)
    sys.stdin.readline()
"""


def other_process(space):
    process = tap.program(HOLDER, space.name)
    assert process.stdout.readline() == "held\n"
    return process


def test_tasks_exclude_each_other():
    async def work(lock, counter):
        for _ in range(20):
            async with lock:
                seen = counter[0]
                await asyncio.sleep(0)
                counter[0] = seen + 1

    async def main():
        counter = [0]
        with glock.Space("tasks") as space:
            lock = space.lock(1)
            await asyncio.gather(*(work(lock, counter) for _ in range(20)))
        assert counter[0] == 400
    asyncio.run(main())


def test_tasks_share():
    async def main():
        with glock.Space("share") as space:
            lock, inside, all_in = space.lock(1, glock.SH), [0], asyncio.Event()

            async def work():
                async with lock as same:
                    assert same is lock
                    inside[0] += 1
                    if inside[0] == 10:
                        all_in.set()
                    await asyncio.wait_for(all_in.wait(), 20)
            await asyncio.gather(*(work() for _ in range(10)))
            assert not lock.held
    asyncio.run(main())


def test_the_loop_goes_on():
    async def main():
        with glock.Space("loop") as space:
            process, lock, ticks = other_process(space), space.lock(1), [0]

            async def take():
                async with lock:
                    return lock.token
            task = asyncio.create_task(take())
            for _ in range(20):
                await asyncio.sleep(0.001)
                ticks[0] += 1
            assert not task.done() and ticks[0] == 20
            tap.raises(OSError, space.close, errno=errno.EBUSY)
            process.communicate("\n", timeout=30)
            assert await asyncio.wait_for(task, 20) > 0
    asyncio.run(main())


def test_cancel_and_timeouts():
    async def take(lock):
        async with lock:
            pass

    async def main():
        with glock.Space("cancel") as space:
            process, lock = other_process(space), space.lock(1)
            task = asyncio.create_task(take(lock))
            await asyncio.sleep(0.02)
            task.cancel()
            await ends_with(task, asyncio.CancelledError)
            await ends_with(asyncio.wait_for(take(lock), 0.05), asyncio.TimeoutError)
            await ends_with(take(space.lock(1, timeout=0.05)), TimeoutError)
            assert not lock.held
            process.communicate("\n", timeout=30)
            await asyncio.wait_for(take(lock), 20)  # no request was left behind
    asyncio.run(main())


async def ends_with(awaitable, error):
    try:
        await awaitable
    except error:
        return
    raise AssertionError("no exception")


def test_cancel_when_granted():
    """A task is cancelled after its lock was granted, and before the task ran."""
    async def take(lock):
        async with lock:
            raise AssertionError("not reached")

    async def main():
        with glock.Space("granted") as space:
            lock = space.lock(1)
            lock.acquire()
            task = asyncio.create_task(take(lock))
            await asyncio.sleep(0.01)
            lock.release()
            time.sleep(0.05)  # granted meanwhile
            task.cancel()
            await ends_with(task, asyncio.CancelledError)
            assert not lock.held and lock.acquire(timeout=20)
            lock.release()
    asyncio.run(main())


def test_second_request_of_a_task():
    async def main():
        with glock.Space("twice") as space:
            lock = space.lock(1)
            async with lock:
                await ends_with(lock.__aenter__(), OSError)
                assert lock.held

            async def broken():
                async with lock:
                    raise KeyError
            await ends_with(broken(), KeyError)
            assert not lock.held
    asyncio.run(main())


def test_cached():
    async def main():
        saved, answers = [], [ValueError("broken"), [0]]

        def load():
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        with glock.Space("cached") as space:
            cached = glock.Cached(space, 1, load=load, save=saved.append)

            async def add():
                async with cached:
                    cached.value[0] += 1
            await ends_with(add(), ValueError)
            await asyncio.gather(*(add() for _ in range(10)))
            async with cached.shared:
                assert cached.value == [10]
        assert saved == [[10]]
    asyncio.run(main())


def test_cancel_while_load_runs():
    async def take(cached):
        async with cached:
            pass

    async def main():
        with glock.Space("slow") as space:
            cached = glock.Cached(space, 1, load=lambda: time.sleep(0.1) or [1])
            await ends_with(asyncio.wait_for(take(cached), 0.02), asyncio.TimeoutError)
            assert not cached.held
            await take(cached)
    asyncio.run(main())


def test_two_loops_and_their_ends():
    fds = len(os.listdir("/proc/self/fd"))
    with glock.Space("loops") as space:
        lock, count = space.lock(1), [0]

        async def work():
            for _ in range(50):
                async with lock:
                    seen = count[0]
                    await asyncio.sleep(0)
                    count[0] = seen + 1
        threads = [threading.Thread(target=asyncio.run, args=(work(),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert count[0] == 100

        async def left_behind():
            task = asyncio.create_task(work())
            await asyncio.sleep(0.01)
            return task
        process = other_process(space)
        loop = asyncio.new_event_loop()
        task = loop.run_until_complete(left_behind())
        loop.close()  # while the task waits
        task._log_destroy_pending = False
        del task, loop
        gc.collect()
        process.communicate("\n", timeout=30)
        assert lock.acquire(timeout=20)
        lock.release()
    assert len(os.listdir("/proc/self/fd")) <= fds


tap.run(dict(globals()))
