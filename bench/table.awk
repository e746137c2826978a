# SPDX-License-Identifier: MIT
# table.awk - prints figures as a table.
#
# awk -f table.awk FIGURES, a file with a line a figure: name, ours, unit, the peer's, limit (tabs;
# "-": none). The limit is for the ratio of ours to the peer's, or for ours if there is no peer. -v
# what=NAME names the owner of the figures, if it is not glock.
BEGIN {
	FS = "\t"
	print_line("", what ? what : "glock", "peer", "ratio", "limit", "")
}

function print_line(what, ours, peer, ratio, limit, verdict,  text)
{
	text = sprintf("%-58s %12s %11s %8s %8s  %s", what, ours, peer, ratio, limit, verdict)
	sub(/ +$/, "", text)
	print text
}

{
	ratio = $4 == "-" ? "-" : sprintf($2 < $4 / 1000 ? "%.6f" : "%.3f", $2 / $4)
	value = $4 == "-" ? $2 : $2 / $4
	verdict = $5 == "-" ? "" : value <= $5 ? "met" : "MISSED"
	missed += verdict == "MISSED"
	unit = $3 == "-" || $3 == "" ? "" : " " $3
	print_line($1, $2 unit, $4 == "-" ? "-" : $4 unit, ratio, $5, verdict)
}
END {
	if (missed)
		printf "\n*** %d LIMIT%s MISSED ***\n", missed, (missed > 1 ? "S" : "")
}
