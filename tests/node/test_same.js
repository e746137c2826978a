"use strict";
/* test_same.js - each option and error code of proper-lockfile's README, in both packages and with `compat`. TAP. */
const assert = require("assert");
const fs = require("fs");
const { fails, file, peer, run, sleep, until } = require("./tap.js");

const old = (folder, seconds) => fs.utimesSync(folder, Date.now() / 1000 - seconds, Date.now() / 1000 - seconds);
const quick = { retries: 20, minTimeout: 20, maxTimeout: 20 };

/* The tests of a package. `more` are options of each call. */
function tests(lib, more) {
  const lock = (name, options) => lib.lock(name, { ...more, ...options });
  const lockSync = (name, options) => lib.lockSync(name, { ...more, ...options });

  return {
    async "lock: ELOCKED while it is held"() {
      const name = file(), release = await lock(name);
      const error = await fails("ELOCKED", lock(name));
      assert.match(error.message, /already being held/);
      assert.strictEqual(error.file, fs.realpathSync(name));
      await release();
      await (await lock(name))();
    },
    async "the package itself is lock"() {
      const name = file(), release = await lib(name, more);
      await fails("ELOCKED", lib(name, more));
      await release();
    },
    async "release: ERELEASED after a release and after unlock"() {
      const name = file(), release = await lock(name), sync = lockSync(file());
      await release();
      await fails("ERELEASED", release());
      const again = await lock(name);
      await lib.unlock(name);
      await fails("ERELEASED", again());
      sync();
      assert.throws(sync, { code: "ERELEASED" });
    },
    async "unlock: ENOTACQUIRED and ENOENT"() {
      const name = file();
      await lock(name);
      await lib.unlock(name);
      await fails("ENOTACQUIRED", lib.unlock(name));
      await fails("ENOENT", lib.unlock(`${name}.missing`));
      await fails("ENOTACQUIRED", lib.unlock(`${name}.missing`, { realpath: false }));
    },
    async "check: true, false and ENOENT"() {
      const name = file();
      assert.strictEqual(await lib.check(name), false);
      const release = await lock(name);
      assert.strictEqual(await lib.check(name), true);
      await release();
      assert.strictEqual(await lib.check(name), false);
      await fails("ENOENT", lib.check(`${name}.missing`));
    },
    async "the functions without a promise"() {
      const name = file(), release = lockSync(name);
      assert.throws(() => lockSync(name), { code: "ELOCKED" });
      assert.strictEqual(lib.checkSync(name), true);
      release();
      assert.strictEqual(lib.checkSync(name), false);
      lockSync(name);
      lib.unlockSync(name);
      assert.throws(() => lib.unlockSync(name), { code: "ENOTACQUIRED" });
      assert.throws(() => lockSync(`${name}.missing`), { code: "ENOENT" });
      assert.throws(() => lib.checkSync(`${name}.missing`), { code: "ENOENT" });
      assert.throws(() => lockSync(name, { retries: 1 }), { code: "ESYNC" });
      assert.throws(() => lockSync(name, { retries: { retries: 1 } }), { code: "ESYNC" });
      lockSync(name, { retries: 0 })();
    },
    async "stale: an older folder is left behind, a younger one is ELOCKED"() {
      const name = file();
      fs.mkdirSync(`${name}.lock`);
      old(`${name}.lock`, 5);
      await fails("ELOCKED", lock(name));
      assert.strictEqual(await lib.check(name), true);
      assert.strictEqual(await lib.check(name, { stale: 4000 }), false);
      await (await lock(name, { stale: 4000 }))();
    },
    async "stale: at least 2000"() {
      const name = file();
      fs.mkdirSync(`${name}.lock`);
      await fails("ELOCKED", lock(name, { stale: 1 }));
      assert.throws(() => lockSync(name, { stale: 1 }), { code: "ELOCKED" });
      old(`${name}.lock`, 3);
      await (await lock(name, { stale: 1 }))();
    },
    async "retries: waits for the holder"() {
      const name = file();
      for (const retries of [5, quick, { ...quick, forever: true, retries: 0 }]) {
        const release = await lock(name);
        setTimeout(release, 60);
        await (await lock(name, { retries }))();
      }
    },
    async "retries: ELOCKED after them"() {
      const name = file(), release = await lock(name), began = Date.now();
      await fails("ELOCKED", lock(name, { retries: { ...quick, retries: 4 } }));
      assert.ok(Date.now() - began >= 70);
      await release();
    },
    async "realpath: a link is the same lock, and without it a file may be missing"() {
      const name = file();
      fs.symlinkSync(name, `${name}.link`);
      const release = await lock(name);
      await fails("ELOCKED", lock(`${name}.link`));
      await release();
      await fails("ENOENT", lock(`${name}.missing`));
      assert.ok(!fs.existsSync(`${name}.missing`));
      const missing = await lock(`${name}.missing`, { realpath: false });
      await fails("ELOCKED", lock(`${name}.missing`, { realpath: false }));
      await missing();
    },
    async "fs: its functions are called"() {
      const name = file(), calls = [];
      const own = {
        ...fs,
        realpath: (file, callback) => calls.push("realpath") && fs.realpath(file, callback),
        realpathSync: (file) => calls.push("realpath") && fs.realpathSync(file),
      };
      await (await lock(name, { fs: own }))();
      lockSync(name, { fs: own })();
      assert.strictEqual(await lib.check(name, { fs: own }), false);
      assert.ok(calls.length >= 2, calls);
    },
    async "lockfilePath: the folder of that name"() {
      const name = file(), lockfilePath = `${file()}.folder`;
      await (await lock(name, { lockfilePath }))();
      fs.mkdirSync(lockfilePath);
      await fails("ELOCKED", lock(name, { lockfilePath }));
      assert.strictEqual(await lib.check(name, { lockfilePath }), true);
      assert.strictEqual(lib.checkSync(name, { lockfilePath }), true);
      await (await lock(name))();
    },
  };
}

/* Those of a package that makes the folder. */
function folderTests(lib, more) {
  return {
    async "update: the folder stays fresh"() {
      const name = file(), release = await lib.lock(name, { ...more, update: 1000 });
      const { mtimeMs } = fs.statSync(`${name}.lock`);
      await until(() => fs.statSync(`${name}.lock`).mtimeMs > mtimeMs, "an update");
      await release();
      assert.ok(!fs.existsSync(`${name}.lock`));
    },
    async "onCompromised: ECOMPROMISED, and the lock counts as released"() {
      for (const spoil of [fs.rmdirSync, (folder) => old(folder, 1)]) {
        const name = file();
        let error;
        const release = await lib.lock(name, { ...more, update: 1000, onCompromised: (e) => (error = e) });
        spoil(`${name}.lock`);
        await until(() => error, "onCompromised");
        assert.strictEqual(error.code, "ECOMPROMISED");
        await fails("ERELEASED", release());
        await fails("ENOTACQUIRED", lib.unlock(name));
      }
    },
  };
}

const glock = require("glock"), proper = require(peer());
const named = (prefix, all) => Object.fromEntries(Object.entries(all).map(([name, test]) => [`${prefix}: ${name}`, test]));

run({
  ...named("proper-lockfile", { ...tests(proper, {}), ...folderTests(proper, {}) }),
  ...named("glock", tests(glock, {})),
  ...named("glock with compat", { ...tests(glock, { compat: true }), ...folderTests(glock, { compat: true }) }),
  async "both packages export the same functions"() {
    assert.deepStrictEqual(Object.keys(glock).sort(), Object.keys(proper).sort());
    await sleep(0);
  },
});
