#!/bin/sh
# bytes.sh - prints files as arrays of bytes in C: bytes.sh FILE NAME [FILE NAME]...
set -eu
while [ $# -ge 2 ]; do
	echo "static const unsigned char $2[] = {"
	od -An -v -tu1 "$1" | sed 's/[0-9][0-9]*/&,/g'
	echo "};"
	shift 2
done
