# SPDX-License-Identifier: MIT
"""setup.py - builds the extension for libglock, which pkg-config finds."""
import glob
import shlex
import subprocess
import sys

from setuptools import Extension, setup


def flags(option):
    command = ["pkg-config", option, "glock >= 0.2.0~"]
    try:
        return shlex.split(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit("setup.py: pkg-config does not find glock >= 0.2.0~: install libglock-dev, or set "
                         "PKG_CONFIG_PATH to the folder of glock.pc") from error


# Elsewhere FileLock does without the extension.
setup(ext_modules=[] if sys.platform != "linux" else [
    Extension("glock._glock", sorted(glob.glob("src/*.c")), define_macros=[("_GNU_SOURCE", None)],
              extra_compile_args=[*flags("--cflags"), "-std=c17"], extra_link_args=flags("--libs"), py_limited_api=True,
              depends=["src/pyglock.h"])])
