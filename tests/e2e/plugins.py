#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# plugins.py - tests contrib/nagios and contrib/icinga with Debian's Nagios and Icinga.
#
# Usage, as root: plugins.py BUILD_DIR
#
# nagios4 and icinga2 check the definitions, visudo checks the rules. Then nagios4 runs, as its own
# user, and checks a recording once through sudo. The test needs nagios4-core, icinga2-bin and sudo.
# For the time of the test it makes a file in /etc/sudoers.d.

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CONTRIB = os.path.join(HERE, "..", "..", "contrib")
RULES = "/etc/sudoers.d/o2top-test"
PATIENCE = 30
HOST = """
define timeperiod {{
	timeperiod_name 24x7
	alias all
	monday 00:00-24:00
	tuesday 00:00-24:00
	wednesday 00:00-24:00
	thursday 00:00-24:00
	friday 00:00-24:00
	saturday 00:00-24:00
	sunday 00:00-24:00
}}
define command {{
	command_name none
	command_line /bin/true
}}
define contact {{
	contact_name admin
	host_notifications_enabled 0
	service_notifications_enabled 0
	host_notification_commands none
	service_notification_commands none
}}
define contactgroup {{
	contactgroup_name admins
	members admin
}}
define host {{
	host_name localhost
	address 127.0.0.1
	max_check_attempts 3
	contact_groups admins
}}
"""
MAIN = """
cfg_dir={0}/conf.d
log_file={0}/log
lock_file={0}/pid
status_file={0}/status
object_cache_file={0}/objects
temp_file={0}/temp
temp_path={0}
check_result_path={0}
state_retention_file={0}/retention
command_file={0}/command
query_socket={0}/query
use_syslog=0
execute_service_checks=1
max_service_check_spread=1
interval_length=1
status_update_interval=1
nagios_user=nagios
nagios_group=nagios
"""


def definition(name, o2top):
    """Returns a file of contrib that runs the o2top of the test."""
    with open(os.path.join(CONTRIB, name + ".in"), encoding="utf-8") as file:
        text = file.read()
    assert "@bindir@/o2top" in text
    return text.replace("@bindir@/o2top", o2top)


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def try_nagios(folder, o2top):
    os.mkdir(f"{folder}/conf.d")
    write(f"{folder}/conf.d/host.cfg", HOST.format())
    write(f"{folder}/conf.d/o2top.cfg", definition("nagios/o2top.cfg", o2top))
    write(f"{folder}/nagios.cfg", MAIN.format(folder))
    shutil.chown(folder, "nagios")
    said = run("nagios4", "-v", f"{folder}/nagios.cfg")
    assert re.search(r"Total Errors: +0", said), said
    write(RULES, definition("nagios/sudoers", o2top), 0o440)
    with subprocess.Popen(["nagios4", f"{folder}/nagios.cfg"], stdout=subprocess.DEVNULL) as nagios:
        try:
            return first_check(f"{folder}/status")
        finally:
            nagios.send_signal(signal.SIGTERM)
            nagios.wait()
            os.remove(RULES)


def first_check(status):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        time.sleep(0.5)
        if not os.path.exists(status):
            continue
        with open(status, encoding="utf-8") as file:
            service = re.search(r"servicestatus \{(.*?)\}\n", file.read(), re.S)
        fields = dict(re.findall(r"^\t(\w+)=(.*)$", service[1], re.M)) if service else {}
        if fields.get("has_been_checked") == "1":
            return fields
    with open(os.path.join(os.path.dirname(status), "log"), encoding="utf-8") as file:
        raise RuntimeError("nagios4 did not run the check: " + file.read())


def main():
    build = os.path.abspath(sys.argv[1])
    run("visudo", "-cf", os.path.join(CONTRIB, "nagios", "sudoers"))
    with tempfile.TemporaryDirectory(prefix="o2top-plugins-") as folder:
        os.chmod(folder, 0o755)
        with tarfile.open(os.path.join(HERE, "..", "data", "ocfs2-hot.tar.xz")) as tar:
            tar.extractall(folder)
        o2top = f"{folder}/o2top"
        write(o2top, f'#!/bin/sh\nexec {build}/o2top "$@" --no-config --debugfs {folder}/ocfs2-hot/t1/node1\n', 0o755)
        fields = try_nagios(folder, o2top)
        print(f"nagios4: state {fields['current_state']}: {fields['plugin_output']} | {fields['performance_data']}")
        assert fields["current_state"] == "0" and fields["plugin_output"].startswith("O2TOP OK"), fields
        assert "lost=" in fields["performance_data"] and "oldest_wait=" in fields["performance_data"], fields
        write(f"{folder}/icinga2.conf", 'include <itl>\nobject Host "localhost" {\n\tcheck_command = "dummy"\n'
              f'\tvars.o2top = true\n}}\ninclude "{folder}/o2top.conf"\n')
        write(f"{folder}/o2top.conf", definition("icinga/o2top.conf", o2top))
        said = run("icinga2", "daemon", "-C", "-c", f"{folder}/icinga2.conf")
        assert "Instantiated 1 Service" in said, said
        print("icinga2: the definitions are valid, and the host has the service")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: plugins.py BUILD_DIR")
    main()
