"use strict";
/* tap.js - runs tests in a folder of their own, and fetches proper-lockfile. TAP. */
const assert = require("assert");
const { execFileSync, spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "glock-node-"));
let files = 0;

/* Returns the name of a new file. */
function file() {
  const name = path.join(folder, `file${files++}`);
  fs.writeFileSync(name, "");
  return name;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/* Sees the promise, or the function, fail with that code. */
async function fails(code, what) {
  try {
    await (typeof what === "function" ? what() : what);
  } catch (error) {
    assert.strictEqual(error.code, code, error.stack);
    return error;
  }
  assert.fail(`no error ${code}`);
}

/* Runs the function until it returns true. */
async function until(condition, what) {
  for (let i = 0; i < 3000; i++) {
    if (await condition()) return;
    await sleep(10);
  }
  assert.fail(`never: ${what}`);
}

/* Starts a script of Node, which dies with this process. Its output is in child.said. */
function node(script, ...args) {
  const die = "const parent = process.ppid; setInterval(() => process.ppid === parent || process.exit(99), 100).unref();";
  const child = spawn(process.execPath, ["-e", die + script, ...args], { stdio: ["pipe", "pipe", "inherit"] });

  child.said = "";
  child.stdout.on("data", (data) => (child.said += data));
  child.ended = new Promise((resolve) => child.on("close", (status, signal) => resolve(signal || status)));
  return child;
}

/* Returns the package proper-lockfile, which npm fetches into build-tools. */
function peer() {
  const to = path.join(__dirname, "../../build-tools/node");
  const name = path.join(to, "node_modules/proper-lockfile");

  if (!fs.existsSync(name)) {
    const own = `${to}.${process.pid}`;
    fs.mkdirSync(own, { recursive: true });
    execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefix", own, "proper-lockfile@4.1.2"], {
      stdio: "inherit",
    });
    try {
      fs.renameSync(own, to);
    } catch {
      fs.rmSync(own, { recursive: true }); // another test was faster
    }
  }
  return name;
}

async function run(tests) {
  let n = 0, failed = 0;

  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      console.log(`ok ${++n} - ${name}`);
    } catch (error) {
      failed++;
      console.log(`${error.stack}`.replace(/^/gm, "# "));
      console.log(`not ok ${++n} - ${name}`);
    }
  }
  console.log(`1..${n}`);
  fs.rmSync(folder, { recursive: true });
  process.exitCode = failed ? 1 : 0;
}

module.exports = { fails, file, folder, node, peer, run, sleep, until };
