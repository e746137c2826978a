"use strict";
/*
 * test_kills.js - processes that hold and want one lock are killed, again and again. TAP.
 *
 * Usage: test_kills.js [N] [SECONDS]. Ends after N kills, or after SECONDS. Each holder notes "begin" and "end" in a log. A
 * holder that finds a begin without an end sees whether that process is dead. If not, the lock has two owners.
 */
const assert = require("assert");
const fs = require("fs");
const { file, node, run } = require("./tap.js");

const [kills = 1000, seconds = 1e9] = process.argv.slice(2).map(Number);
const PROCESSES = 6;
const name = file(), log = `${name}.log`;

const WORK = `const fs = require("fs"), { lock, lockSync } = require("glock"), [name, log] = process.argv.slice(1);
  const fd = fs.openSync(log, "a+"), note = (word) => fs.writeSync(fd, (word + " " + process.pid).padEnd(15) + "\\n");
  // PF_EXITING: the process runs no code of its own any more, and its locks may be free already.
  const lives = (pid) => {
    try {
      const [state, ...rest] = fs.readFileSync("/proc/" + pid + "/stat", "latin1").split(") ").pop().split(" ");
      return state !== "Z" && state !== "X" && !(rest[5] & 4);
    } catch { return false }
  };
  const enter = () => {
    const line = Buffer.alloc(16), size = fs.fstatSync(fd).size;
    if (size) fs.readSync(fd, line, 0, 16, size - 16);
    const [word, pid] = line.toString("latin1").trim().split(" ");
    if (word === "begin" && lives(pid)) note("double");
    note("begin");
  };
  (async () => {
    for (let i = 0; ; i++) {
      const release = await lock(name, { retries: { forever: true } });
      enter();
      if (i === 0) console.log("works");
      if (i % 3) await new Promise((resolve) => setTimeout(resolve, 1));
      note("end");
      await release();
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    }
  })();`;

fs.writeFileSync(log, "");

async function work() {
  const child = node(WORK, name, log);
  child.stdout.once("data", () => (child.works = true));
  child.on("exit", (status) => (child.failed = status !== null));
  return child;
}

run({
  async "no kill makes two owners"() {
    const children = await Promise.all(Array.from({ length: PROCESSES }, work));
    const end = Date.now() + seconds * 1000;
    let n = 0;
    while (n < kills && Date.now() < end) {
      assert.ok(!children.some((child) => child.failed), "a process ended by itself");
      const i = children.findIndex((child) => child.works);
      if (i < 0) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
        continue;
      }
      const [child] = children.splice(i, 1);
      child.kill("SIGKILL");
      await child.ended;
      n++;
      children.push(await work());
    }
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map((child) => child.ended));
    const lines = fs.readFileSync(log, "latin1").split("\n");
    const count = (word) => lines.filter((line) => line.startsWith(word)).length;
    console.log(`# ${n} kills, ${count("begin")} turns, ${count("begin") - count("end")} of them killed inside`);
    assert.strictEqual(count("double"), 0);
    assert.ok(count("begin") > n);
  },
});
