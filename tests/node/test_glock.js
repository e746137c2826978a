"use strict";
/* test_glock.js - what proper-lockfile does not have: waits, readers, Workers, processes that end. TAP. */
const assert = require("assert");
const { execFileSync, spawnSync } = require("child_process");
const fs = require("fs");
const path = require("path");
const { Worker } = require("worker_threads");
const { fails, file, folder, node, peer, run, sleep, until } = require("./tap.js");
const glock = require("glock");

const forever = { retries: { forever: true } };
const HOLD = 'require("glock").lockSync(process.argv[1]); console.log("held");';

const threads = () => fs.readdirSync("/proc/self/task").length;

/* Starts a process that holds the file. */
async function holder(name, more = "setInterval(() => {}, 1000);") {
  const child = node(HOLD + more, name);
  await until(() => child.said.includes("held"), "held");
  return child;
}

run({
  async "requests are granted in the order of asking, by one notifier"() {
    const name = file(), release = await glock.lock(name), order = [];
    await Promise.all([release(), ...[0, 1, 2].map((i) => glock.lock(name, forever).then((r) => r()))]);
    const first = await glock.lock(name), before = threads();
    const all = Array.from({ length: 1000 }, (_, i) =>
      glock.lock(name, forever).then((r) => {
        order.push(i);
        return r();
      }),
    );
    await sleep(20);
    assert.ok(threads() <= before + 2, `${threads() - before} threads more`);
    await first();
    await Promise.all(all);
    assert.deepStrictEqual(order, [...order.keys()]);
  },
  async "await using: Symbol.asyncDispose and Symbol.dispose let go"() {
    const name = file();
    await (await glock.lock(name))[Symbol.asyncDispose]();
    glock.lockSync(name)[Symbol.dispose]();
    await (await glock.lock(new URL(`file://${name}`)))();
    await assert.rejects(glock.lock(3), TypeError);
  },
  async "readers share, and a writer waits for all of them"() {
    const name = file(), shared = { shared: true };
    const readers = [await glock.lock(name, shared), await glock.lock(name, shared)];
    await fails("ELOCKED", glock.lock(name));
    assert.strictEqual(await glock.check(name), true);
    assert.strictEqual(await glock.check(name, shared), false);
    let got = false;
    const writer = glock.lock(name, forever).then((r) => ((got = true), r()));
    await readers[0]();
    await sleep(20);
    assert.ok(!got);
    await glock.unlock(name);
    await writer;
    await fails("ERELEASED", readers[1]());
    await assert.rejects(glock.lock(name, { shared: true, compat: true }), TypeError);
  },
  async "AbortSignal ends the wait with its reason, and the queue goes on"() {
    const name = file(), release = await glock.lock(name), stop = new AbortController();
    const waits = glock.lock(name, { ...forever, signal: stop.signal });
    const next = glock.lock(name, forever);
    setTimeout(() => stop.abort(new Error("stopped")), 20);
    await assert.rejects(waits, /stopped/);
    await assert.rejects(glock.lock(name, { signal: stop.signal }), /stopped/);
    await release();
    await (await next)();
    fs.mkdirSync(`${name}.lock`);
    await assert.rejects(glock.lock(name, { ...forever, signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
    fs.rmdirSync(`${name}.lock`);
    await (await glock.lock(name))();
  },
  async "a user of flock(1) keeps the lock out, and the lock keeps that user out"() {
    const name = file(), flock = (command) => spawnSync("flock", ["-n", name, "-c", command]).status;
    const release = await glock.lock(name);
    assert.strictEqual(flock("true"), 1);
    await release();
    assert.strictEqual(flock("true"), 0);
    const free = await glock.lock(name, { interop: false });
    assert.strictEqual(flock("true"), 0);
    await fails("ELOCKED", glock.lock(name, { interop: false }));
    await free();
  },
  async "a file that is replaced, removed or behind another link is locked anew"() {
    const name = file(), other = file(), link = `${name}.link`;
    fs.symlinkSync(name, link);
    await (await glock.lock(link))();
    fs.renameSync(file(), name);
    const release = await glock.lock(link);
    await fails("ELOCKED", glock.lock(name));
    await release();
    fs.unlinkSync(link);
    fs.symlinkSync(other, link);
    const there = await glock.lock(link);
    await fails("ELOCKED", glock.lock(other));
    await (await glock.lock(name))();
    await there();
    fs.unlinkSync(name);
    await fails("ENOENT", glock.lock(name));
    assert.ok(!fs.existsSync(name));
  },
  async "many paths: idle ones are closed, one that waits for a folder is not"() {
    const waited = file();
    fs.mkdirSync(`${waited}.lock`);
    const waits = glock.lock(waited, forever);
    await sleep(50);
    for (let i = 0; i < 600; i++) await (await glock.lock(file()))();
    assert.ok(fs.readdirSync("/proc/self/fd").length < 400);
    await fails("ELOCKED", glock.lock(waited));
    fs.rmdirSync(`${waited}.lock`);
    await (await waits)();
  },
  async "the errors of the system have their names and the library's text"() {
    await fails("ENOTDIR", glock.lock(path.join(file(), "x")));
    await fails("ENOENT", glock.lock(path.join(folder, "no/x"), { realpath: false }));
    const error = await fails("EINVAL", glock.lock("/dev/null"));
    assert.match(error.message, /regular file or a folder/);
  },
  async "onCompromised: the program closed the descriptor"() {
    const name = file();
    let error;
    await glock.lock(name, { onCompromised: (e) => (error = e) });
    for (const fd of fs.readdirSync("/proc/self/fd")) {
      let to;
      try {
        to = fs.readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        continue;
      }
      if (to === name) fs.closeSync(Number(fd));
    }
    await until(() => error, "onCompromised");
    assert.strictEqual(error.code, "ECOMPROMISED");
    await fails("ENOTACQUIRED", glock.unlock(name));
    await (await glock.lock(name))();
  },
  async "a Worker has locks of its own, which end with it"() {
    const name = file(), release = await glock.lock(name);
    const script = `const { workerData, parentPort } = require("worker_threads");
      const glock = require(${JSON.stringify(require.resolve("glock"))});
      glock.lock(workerData).catch((e) => parentPort.postMessage(e.code));
      glock.lock(workerData, { retries: { forever: true } }).then(() => parentPort.postMessage("held"));
      setInterval(() => {}, 1000);`;
    const worker = new Worker(script, { eval: true, workerData: name }), said = [];
    worker.on("message", (message) => said.push(message));
    await until(() => said.includes("ELOCKED"), "ELOCKED");
    await release();
    await until(() => said.includes("held"), "held");
    await fails("ELOCKED", glock.lock(name));
    const waits = glock.lock(name, forever);
    await worker.terminate();
    await (await waits)();
    const waiting = await glock.lock(name);
    const another = new Worker(script, { eval: true, workerData: name });
    await until(() => new Promise((resolve) => another.once("message", () => resolve(true))), "waits");
    await another.terminate();
    await waiting();
    await (await glock.lock(name))();
  },
  async "a process that ends in any way frees its locks"() {
    const name = file();
    for (const end of ["process.exit(0);", "process.abort();", "process.exitCode = 1;", "process.kill(process.pid, 'SIGKILL');"]) {
      const child = node(HOLD + end, name);
      await child.ended;
      await (await glock.lock(name))();
    }
    const child = await holder(name);
    const waits = glock.lock(name, forever);
    child.kill("SIGKILL");
    await (await waits)();
  },
  async "compat: a process that ends removes the folder, except by SIGKILL"() {
    const name = file();
    const script = `require("glock").lockSync(process.argv[1], { compat: true });
      console.log(require("fs").existsSync(process.argv[1] + ".lock"));`;
    const kill = "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)";
    for (const [end, status] of [["process.exit(0)", 0], [kill, "SIGTERM"], ["", 0]]) {
      const child = node(script + end, name);
      assert.strictEqual(await child.ended, status);
      assert.strictEqual(child.said, "true\n");
      assert.ok(!fs.existsSync(`${name}.lock`), end);
    }
  },
  async "a waiting lock() keeps the process alive, and a held lock does not"() {
    const name = file(), release = await glock.lock(name);
    const child = node('require("glock").lock(process.argv[1], { retries: 10 }).then(() => console.log("held"));', name);
    await sleep(300);
    await release();
    assert.strictEqual(await child.ended, 0);
    assert.strictEqual(child.said, "held\n");
  },
  async "the members of a cluster exclude each other"() {
    const name = file();
    fs.writeFileSync(name, "0");
    const script = `const cluster = require("cluster"), fs = require("fs"), glock = require("glock"), name = ${JSON.stringify(name)};
      if (cluster.isPrimary) for (let i = 0; i < 4; i++) cluster.fork();
      else (async () => {
        for (let i = 0; i < 50; i++) {
          const release = await glock.lock(name, { retries: { forever: true } });
          const n = Number(fs.readFileSync(name));
          await new Promise(setImmediate);
          fs.writeFileSync(name, String(n + 1));
          await release();
        }
        process.exit(0);
      })();`;
    fs.writeFileSync(path.join(folder, "cluster.js"), script);
    execFileSync(process.execPath, [path.join(folder, "cluster.js")]);
    assert.strictEqual(fs.readFileSync(name, "utf8"), "200");
  },
  async "no process overtakes others that wait"() {
    // The file has a byte for each turn.
    const turns = `const fs = require("fs"), { lock } = require("glock"), [name] = process.argv.slice(1);
      (async () => {
        for (let i = 0; i < 100; i++) {
          const asked = fs.statSync(name).size;
          const release = await lock(name, { retries: { forever: true } });
          console.log(fs.statSync(name).size - asked);
          fs.appendFileSync(name, "x");
          await new Promise((resolve) => setTimeout(resolve, 1));
          await release();
        }
      })();`;
    const name = file(), children = Array.from({ length: 6 }, () => node(turns, name));
    for (const child of children) assert.strictEqual(await child.ended, 0);
    const waits = children.flatMap((child) => child.said.trim().split("\n").map(Number)).sort((a, b) => a - b);
    console.log(`# turns of others in a wait: p50 ${waits[300]}, p99 ${waits[594]}, most ${waits[599]}`);
    assert.ok(waits[594] <= 12, "2 of 6 turns");
  },
  async "1,000 turns mixed with proper-lockfile, on both sides of compat"() {
    const name = file();
    const turns = `const fs = require("fs"), [name, from, compat] = process.argv.slice(1), lib = require(from);
      (async () => {
        for (let i = 0; i < 250; i++) {
          const release = await lib.lock(name, { compat: compat === "1", stale: 6e5, retries: { forever: true, minTimeout: 1, maxTimeout: 3, factor: 1 } });
          const n = Number(fs.readFileSync(name));
          await new Promise(setImmediate);
          fs.writeFileSync(name, String(n + 1));
          await release();
        }
      })();`;
    fs.writeFileSync(name, "0");
    const children = [0, 1].flatMap(() => [node(turns, name, "glock", "1"), node(turns, name, peer(), "0")]);
    for (const child of children) assert.strictEqual(await child.ended, 0);
    assert.strictEqual(fs.readFileSync(name, "utf8"), "1000");
  },
  async "off Linux, or without an addon, the import tells the reason"() {
    const tell = (property, value) => {
      const script = `Object.defineProperty(process, "${property}", { value: "${value}" });
        try { require("glock") } catch (error) { console.log(error.code, error.message) }`;
      return execFileSync(process.execPath, ["-e", script], { encoding: "utf8" });
    };
    assert.match(tell("platform", "darwin"), /^ERR_GLOCK_PLATFORM .* need Linux, and this is darwin/);
    assert.match(tell("arch", "riscv64"), /^ERR_GLOCK_PLATFORM .* no addon for riscv64/);
  },
});
