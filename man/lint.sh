#!/bin/sh
# man/lint.sh MANDOC PAGE - mandoc's warnings about a page; none is success.
#
# scdoc puts .PP after every heading and before every list, which mandoc calls superfluous: that is how scdoc
# writes, not how the page was written.
found=$("$1" -T lint -W warning "$2" | grep -v 'skipping paragraph macro: PP \(after\|empty\)')
[ -z "$found" ] && exit 0
printf '%s\n' "$found"
exit 1
