"use strict";
/*
 * index.js - locks by path, with the interface of proper-lockfile.
 *
 * The addon knows paths and holders by numbers. A path stays open after its last holder, because a lock
 * costs less than an open. The fast path of lock() is a known path whose lock this process can have at once.
 */
const fs = require("fs");
const os = require("os");
const path = require("path");
const { setTimeout: sleep } = require("timers/promises");
const url = require("url");
const util = require("util");
const native = require("./load.js");

const { EAGAIN, EBUSY, EEXIST, EIO, ENOENT, ESTALE, ETIMEDOUT } = os.constants.errno;
const EX = 1, SH = 3; // enum glock_mode
const CACHED = 0, TRY = 1, ASK_TRY = 2, ASK = 3; // enum how of addon.c
const NO_INTEROP = 2; // GLOCK_PATH_NO_INTEROP
const FREE = 0, HELD = 1, STALE = 2; // a folder of proper-lockfile
const ATTEMPTS = 100; // a file that is replaced again and again
const IDLE_PATHS = 256; // open paths without a holder, of each kind
const WATCH_MS = 1000; // between two looks at held locks: the least `update` of proper-lockfile
const LOOK_MS = 20; // between two looks at a folder of proper-lockfile
const COLLECT_MS = 4; // between two looks at requests, without uv_poll
const NONE = Object.freeze({});
const DISPOSE = Symbol.dispose ?? Symbol.for("Symbol.dispose");
const ASYNC_DISPOSE = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

const paths = [new Map(), new Map(), new Map(), new Map()]; // open ones; see kindOf()
const held = new Map(); // by path, an array: readers share
const waiters = new Map(); // by holder, what to call at the end of the wait
const folders = new Set(); // locks with `compat`, whose folder is there
const noPoll = process.versions.bun !== undefined;
let watcher, collector;

// ---- errors ----

const fail = (code, message, more) => Object.assign(new Error(message), { code, ...more });
const locked = (file) => fail("ELOCKED", "Lock file is already being held", { file });
const isBusy = (err) => err === -EAGAIN || err === -EBUSY || err === -ETIMEDOUT;

function failure(errno, file) {
  const code = util.getSystemErrorName(errno);
  return fail(code, native.message() || `${code}: cannot lock ${file}`, { errno, path: file });
}

// ---- paths ----

const kindOf = (o) => (o.interop === false ? 1 : 0) | (o.realpath === false ? 2 : 0);
const modeOf = (o) => (o.shared ? SH : EX);
const isPlain = (o) => !(o.compat || o.fs || o.group || o.lockfilePath || o.signal);

function realOf(file, o) {
  return o.realpath === false ? path.resolve(file) : (o.fs || fs).realpathSync(file);
}

function nameOf(file) {
  if (file instanceof URL) return url.fileURLToPath(file);
  if (typeof file !== "string") throw new TypeError(`a path is a string or a file: URL, not ${typeof file}`);
  return file[0] === "/" ? file : path.resolve(file);
}

function forget(p) {
  p.map.delete(p.key);
  p.gone = true;
  if (p.users === 0) native.close(p.id);
}

function leave(p) {
  if (--p.users === 0 && p.gone) native.close(p.id);
}

/* Returns the open path of that name. */
function find(name, o) {
  const map = paths[kindOf(o)];
  if (o.fs) name = realOf(name, o); // of that fs, at each call
  const key = isPlain(o) ? name : [name, o.group, o.lockfilePath, o.compat ? "compat" : ""].join("\0");
  let p = map.get(key);

  if (p !== undefined) return p;
  const real = o.fs ? name : realOf(name, o);
  const folder = o.lockfilePath ? path.resolve(o.lockfilePath) : `${real}.lock`;
  const given = o.realpath === false ? undefined : name;
  const watches = o.interop !== false && !o.compat;
  const id = native.open(real, o.interop === false ? NO_INTEROP : 0, given, watches ? folder : undefined, o.group);
  if (id < 0) throw failure(id, real);
  p = { id, map, key, real, folder, users: 0, gone: false };
  map.set(key, p);
  const idle = map.size > IDLE_PATHS && [...map.values()].find((old) => old.users === 0 && old !== p);
  if (idle) forget(idle);
  return p;
}

/* Returns the path and a holder, or the error of a request that does not wait. */
function attempt(name, o) {
  for (let i = 0; ; i++) {
    const p = find(name, o);
    const id = native.get(p.id, modeOf(o), CACHED, 0);
    if (id >= 0 || isBusy(id) || id === -EEXIST) return { p, id };
    if (i === ATTEMPTS) throw failure(id, p.real);
    if (id === -ESTALE && realOf(name, o) === p.real) native.refresh(p.id);
    else if (id === -ESTALE || id === -ENOENT || (id === -EIO && i === 0)) forget(p);
    else throw failure(id, p.real);
  }
}

// ---- held locks ----

function drop(lock) {
  const all = held.get(lock.p.real);

  lock.released = true;
  clearTimeout(lock.timer);
  all.splice(all.indexOf(lock), 1);
  if (all.length === 0) held.delete(lock.p.real);
  native.drop(lock.id, 0);
  leave(lock.p);
}

function letGo(lock) {
  if (lock.released) throw fail("ERELEASED", "Lock is already released");
  try {
    forgetFolder(lock);
    if (lock.o.compat) rmdir(lock.o.fs || fs, lock.p.folder);
  } finally {
    drop(lock);
  }
}

function compromise(lock, error) {
  forgetFolder(lock);
  drop(lock);
  error.code = "ECOMPROMISED";
  if (!lock.o.onCompromised) throw error;
  lock.o.onCompromised(error);
}

/* A lock is lost if its space was removed, or if the program closed its descriptor. */
function watch() {
  if (held.size === 0) watcher = clearInterval(watcher);
  for (const lock of [...held.values()].flat()) {
    if (!native.valid(lock.id)) compromise(lock, new Error(native.message() || `The lock of ${lock.p.real} is lost`));
  }
}

function hold(p, id, o) {
  const lock = { p, id, o, released: false, timer: undefined, mtime: 0, updated: 0 };
  const all = held.get(p.real);

  p.users++;
  if (all) all.push(lock);
  else held.set(p.real, [lock]);
  if (watcher === undefined) watcher = setInterval(watch, WATCH_MS).unref();
  return lock;
}

function releaser(lock) {
  const release = async () => letGo(lock);
  release[ASYNC_DISPOSE] = release;
  return release;
}

// ---- the folder of proper-lockfile ----

const staleOf = (o) => Math.max(o.stale === undefined ? 10000 : o.stale || 0, 2000);
const updateOf = (o) => Math.max(Math.min(o.update == null ? Infinity : o.update || 0, staleOf(o) / 2), 1000);

/* Returns FREE, HELD by a user of proper-lockfile, or STALE. */
function look(p, o) {
  try {
    return (o.fs || fs).statSync(p.folder).mtimeMs >= Date.now() - staleOf(o) ? HELD : STALE;
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return FREE;
  }
}

/* Returns false while a user of proper-lockfile has the path. With `compat` true means: the folder is made. */
function enter(p, o) {
  const f = o.fs || fs;

  if (!o.compat) return o.interop === false || look(p, o) !== HELD;
  for (let i = 0; i < 2; i++) {
    try {
      f.mkdirSync(p.folder);
      return true;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const found = look(p, o);
    if (found === HELD) return false;
    if (found === STALE) rmdir(f, p.folder);
  }
  return false;
}

function rmdir(f, folder) {
  try {
    f.rmdirSync(folder);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
}

function forgetFolder(lock) {
  if (folders.delete(lock) && folders.size === 0) guard("removeListener");
}

function removeFolders() {
  for (const { p, o } of folders) {
    try {
      rmdir(o.fs || fs, p.folder);
    } catch {
      // the folder becomes stale
    }
  }
  folders.clear();
  guard("removeListener");
}

/* Removes the folders, and lets the signal do what it does. If the program has a handler, that decides. */
function onSignal(signal) {
  if (process.listenerCount(signal) > 1) return;
  removeFolders();
  process.kill(process.pid, signal);
}

function guard(how) {
  process[how]("exit", removeFolders);
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process[how](signal, onSignal);
}

/* Keeps the folder fresh. */
function update(lock) {
  const f = lock.o.fs || fs;
  let ours = true;

  try {
    if (lock.updated) {
      ours = f.statSync(lock.p.folder).mtimeMs === lock.mtime;
      if (!ours) throw new Error("Unable to update lock within the stale threshold");
      f.utimesSync(lock.p.folder, Date.now() / 1000, Date.now() / 1000);
    }
    lock.mtime = f.statSync(lock.p.folder).mtimeMs;
    lock.updated = Date.now();
  } catch (error) {
    if (!ours || error.code === "ENOENT" || lock.updated + staleOf(lock.o) < Date.now()) return compromise(lock, error);
  }
  lock.timer = setTimeout(update, updateOf(lock.o), lock).unref();
}

/* Makes a lock of a holder. Returns undefined if the holder may not enter yet. */
function settle(p, id, o) {
  if (!enter(p, o)) return undefined;
  const lock = hold(p, id, o);
  if (o.compat) {
    if (folders.size === 0) guard("on");
    folders.add(lock);
    update(lock);
  }
  return lock;
}

// ---- waiting ----

/* Returns for how many milliseconds that many retries wait. */
function patience(retries) {
  if (!retries) return 0;
  if (Array.isArray(retries)) return retries.reduce((sum, ms) => sum + ms, 0);
  const r = { retries: 10, factor: 2, minTimeout: 1000, maxTimeout: Infinity, maxRetryTime: Infinity };
  Object.assign(r, typeof retries === "number" ? { retries } : retries);
  if (r.forever) return r.maxRetryTime;
  let sum = 0;
  for (let i = 0; i < r.retries && sum < r.maxRetryTime; i++) sum += Math.min(r.minTimeout * r.factor ** i, r.maxTimeout);
  return Math.min(sum, r.maxRetryTime);
}

native.begin((id, err) => waiters.get(id)(err), noPoll);

/* Resolves to a holder, or to the error. ms 0: without waiting for another holder. */
function wait(p, o, ms) {
  const { signal } = o;
  const id = native.get(p.id, modeOf(o), ms > 0 ? ASK : ASK_TRY, ms);

  if (id < 0) return id;
  p.users++;
  if (noPoll && collector === undefined) collector = setInterval(native.collect, COLLECT_MS);
  return new Promise((resolve, reject) => {
    const end = () => {
      waiters.delete(id);
      leave(p);
      signal?.removeEventListener("abort", onAbort);
      if (noPoll && waiters.size === 0) collector = clearInterval(collector);
    };
    const onAbort = () => {
      native.drop(id, 1);
      end();
      reject(signal.reason);
    };
    waiters.set(id, (err) => {
      end();
      resolve(err || id);
    });
    signal?.addEventListener("abort", onAbort);
  });
}

function checkOptions(o) {
  if (o.compat && o.shared) throw new TypeError("compat has no readers, because proper-lockfile has none");
  if (o.signal) o.signal.throwIfAborted();
}

/* Returns the holder, or throws its error. */
function granted(p, id) {
  if (id < 0) throw isBusy(id) ? locked(p.real) : failure(id, p.real);
  return id;
}

async function acquire(file, o) {
  const ms = patience(o.retries);
  const end = performance.now() + ms;

  checkOptions(o);
  let { p, id } = attempt(nameOf(file), o);
  if (id < 0) id = granted(p, await wait(p, o, ms));
  // The holder waits for users of proper-lockfile at the head of the queue. The path stays open meanwhile.
  p.users++;
  try {
    for (let lock; ;) {
      if ((lock = settle(p, id, o))) return releaser(lock);
      if (performance.now() >= end) throw locked(p.real);
      await sleep(LOOK_MS, undefined, { signal: o.signal }).catch(() => o.signal.throwIfAborted());
    }
  } catch (error) {
    native.drop(id, 0);
    throw error;
  } finally {
    leave(p);
  }
}

// ---- the interface of proper-lockfile ----

function lock(file, options) {
  const o = options || NONE;

  if (isPlain(o)) {
    const p = paths[kindOf(o)].get(file);
    if (p !== undefined) {
      const id = native.get(p.id, modeOf(o), CACHED, 0);
      if (id >= 0) return Promise.resolve(releaser(hold(p, id, o)));
    }
  }
  return acquire(file, o);
}

function lockSync(file, options) {
  const o = options || NONE;

  if (patience(o.retries) > 0) throw fail("ESYNC", "Cannot use retries with the sync api");
  checkOptions(o);
  let { p, id } = attempt(nameOf(file), o);
  if (id < 0) id = granted(p, native.get(p.id, modeOf(o), TRY, 0));
  let got;
  try {
    if (!(got = settle(p, id, o))) throw locked(p.real);
  } finally {
    if (!got) native.drop(id, 0);
  }
  const release = () => letGo(got);
  release[DISPOSE] = release;
  return release;
}

function unlockSync(file, options) {
  const all = held.get(realOf(nameOf(file), options || NONE));

  if (!all) throw fail("ENOTACQUIRED", "Lock is not acquired/owned by you");
  letGo(all.at(-1));
}

async function unlock(file, options) {
  unlockSync(file, options);
}

/* Tells from a holder, or its error, whether the path was locked, and gives the holder back. */
function wasLocked(p, o, id) {
  if (isBusy(id)) return true;
  native.drop(granted(p, id), 0);
  return !enter(p, { ...o, compat: false });
}

function checkSync(file, options) {
  const o = options || NONE, { p, id } = attempt(nameOf(file), o);
  return wasLocked(p, o, id < 0 ? native.get(p.id, modeOf(o), TRY, 0) : id);
}

async function check(file, options) {
  const o = options || NONE, { p, id } = attempt(nameOf(file), o);
  return wasLocked(p, o, id < 0 ? await wait(p, o, 0) : id);
}

module.exports = Object.assign(lock, { lock, lockSync, unlock, unlockSync, check, checkSync });
