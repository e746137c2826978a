#!/bin/sh
# lint.sh - prints mandoc's warnings about a page; no warning is success.
#
# Usage: man/lint.sh MANDOC PAGE. scdoc puts .PP after every heading and before every list. mandoc
# calls these superfluous. The script drops these warnings, because scdoc writes them, not the page.
found=$("$1" -T lint -W warning "$2" | grep -v 'skipping paragraph macro: PP \(after\|empty\)')
[ -z "$found" ] && exit 0
printf '%s\n' "$found"
exit 1
