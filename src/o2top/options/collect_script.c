/* SPDX-License-Identifier: MIT */
/*
 * collect_script.c - the script that makes a file for support on a node without o2top.
 */

/*
 * Prints an archive of two samples on standard output. It only reads, and needs sh, cat, date and
 * tar.
 */
const char collect_script[] =
    "#!/bin/sh\n"
    "# Copies what the kernel says about the locks of OCFS2 and GFS2, twice within five seconds, "
    "and\n"
    "# prints it as a packed archive. o2top ARCHIVE shows it. Run as root:  sh THIS >HOST.tgz\n"
    "D=${O2TOP_DEBUGFS:-/sys/kernel/debug}\n"
    "host=$(uname -n)\n"
    "[ -r \"$D\" ] || { [ $(id -u) = 0 ] && way=\"mount -t debugfs none $D\" || way='run as root'\n"
    "\techo \"$D cannot be read: $way\" >&2\n"
    "\texit 1; }\n"
    "to=$(mktemp -d /dev/shm/o2top.XXXXXX 2>/dev/null || mktemp -d) || exit 1\n"
    "trap 'rm -rf \"$to\"' EXIT\n"
    "for run in run1 run2; do\n"
    "\tat=$to/o2top-collect/$run/$host\n"
    "\tmkdir -p \"$at\"\n"
    "\tdate +%s.%N >\"$at/realtime\"\n"
    "\tcat /proc/uptime >\"$at/uptime\"\n"
    "\tfor f in \"$D\"/gfs2/*/glocks \"$D\"/gfs2/*/glstats \"$D\"/gfs2/*/sbstats \"$D\"/dlm/*_all "
    "\\\n"
    "\t\t\"$D\"/ocfs2/*/locking_state \"$D\"/ocfs2/*/fs_state \"$D\"/ocfs2/*/locking_filter \\\n"
    "\t\t\"$D\"/o2dlm/*/locking_state \"$D\"/o2dlm/*/dlm_state; do\n"
    "\t\t[ -e \"$f\" ] || continue\n"
    "\t\tcopy=$at/${f#\"$D\"/}\n"
    "\t\tmkdir -p \"${copy%/*}\"\n"
    "\t\tcat \"$f\" >\"$copy\"\n"
    "\tdone\n"
    "\tfor f in \"$D\"/dlm/*_all; do\n"
    "\t\tls=${f##*/} ls=${ls%_all}\n"
    "\t\t[ -e \"$f\" ] && PATH=$PATH:/usr/sbin timeout 2 dlm_tool plocks \"$ls\" "
    "2>/dev/null >\"$at/dlm/${ls}_plocks\" ||\n"
    "\t\t\trm -f \"$at/dlm/${ls}_plocks\"\n"
    "\tdone\n"
    "\t[ $run = run2 ] || sleep \"${O2TOP_PAUSE:-5}\"\n"
    "done\n"
    "tar -C \"$to\" -czf - o2top-collect\n";
