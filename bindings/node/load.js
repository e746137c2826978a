"use strict";
/* load.js - chooses the addon of this machine. */
const fs = require("fs");

function refuse(reason) {
  return Object.assign(new Error(`glock: ${reason}`), { code: "ERR_GLOCK_PLATFORM" });
}

function load() {
  if (process.platform !== "linux") {
    throw refuse(`the locks need Linux, and this is ${process.platform}; list glock in optionalDependencies`);
  }
  // A glibc machine may have the loader of musl, too. So this process is asked, not the machine.
  const libc = fs.readFileSync("/proc/self/maps", "latin1").includes("/ld-musl-") ? "musl" : "glibc";
  const file = `${__dirname}/prebuilds/linux-${process.arch}/glock.${libc}.node`;
  if (!fs.existsSync(file)) {
    throw refuse(`this package has no addon for ${process.arch} with ${libc}: ${file}`);
  }
  return require(file);
}

module.exports = load();
