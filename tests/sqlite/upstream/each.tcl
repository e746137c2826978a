# each.tcl - runs one of SQLite's test scripts command by command.
#
# Usage: testfixture each.tcl SCRIPT
#        testfixture each.tcl files DIR     prints the scripts of the suite veryquick
# An error outside of a test would end the script, and the tests behind it would never run. Here such an
# error is a failure named by its line, and the next command follows.

namespace eval each {
	variable command "" at 0 line 0
	# They stop with their own VFS gone while a connection uses it: the program would crash.
	variable left_out {*do_faultsim_test pagerfault-17[cde] *}

	# They change the file without a lock and look at once. A reader sees such a change within 10 ms.
	variable waits {corruptD crash8 exclusive2 incrcorrupt rdonly}

	# The tests move the bytes of SQLite's locks to 64 kB. This VFS has them where each program has them, so that
	# a connection with glocks would not see one with SQLite's locks. Both kinds meet in these.
	variable bytes_stay {walmode walthread}

	proc wait_after {command} {
		rename ::$command ::each::$command
		proc ::$command args "set result \[uplevel 1 ::each::$command \$args\]; after 30; set result"
	}

	proc commands {script} {
		variable left_out
		variable command
		variable at
		variable line
		set file [open $script]
		fconfigure $file -encoding utf-8
		while {[gets $file text] >= 0} {
			incr line
			if {$command eq ""} { set at $line }
			append command $text "\n"
			if {![info complete $command]} { continue }
			if {[string match $left_out $command]} {
				set command ""
				continue
			}
			set code [catch {uplevel #0 $command} result]
			set command ""
			if {$code == 2} { return }
			if {$code == 1} {
				puts "! line$at expected: no error"
				puts "! line$at got:      $result"
			}
		}
		close $file
	}
}

set each::script [lindex $argv 0]
if {$each::script eq "files"} {
	# the file defines the suites, and runs none of them under another name
	set argv0 [file join [lindex $argv 1] each.test]
	set argv {}
	source [file join [file dirname $argv0] permutations.test]
	array set each::suite $::testspec(veryquick)
	foreach each::name $each::suite(-files) {
		if {[file tail $each::name] eq $each::name} {
			set each::name [file join $::testdir $each::name]
		}
		puts "file: [file normalize $each::name]"
	}
	exit 0
}
if {[file rootname [file tail $each::script]] in $each::bytes_stay} {
	rename sqlite3_test_control_pending_byte {}
	proc sqlite3_test_control_pending_byte {byte} { return 0x40000000 }
}
set argv0 $each::script
set argv {}
set ::G(isquick) 1
info script $each::script
if {[file rootname [file tail $each::script]] in $each::waits} {
	foreach each::name {close flush hexio_write} { each::wait_after $each::name }
}
each::commands $each::script
# a script for another system returns at its begin
if {[info procs finish_test] ne ""} { finish_test }
puts "0 errors out of 0 tests"
