# SPDX-License-Identifier: MIT
# chart.awk - draws each figure that has a limit as a bar: the share of its limit that it takes.
#
# awk -f chart.awk BUILD_DIR/bench.tsv >docs/bench-o2top.svg
BEGIN {
	FS = "\t"
	left = 300
	full = 320 # pixels of a bar that takes all of its limit
	if (!what) { # or -v what=glock -v note=...
		what = "o2top"
		note = "1,000,000 locks a node"
	}
}

function escape(s)
{
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	return s
}

# 0.1250 -> 0.125
function short(v)
{
	return sprintf(v < 10 ? "%.2f" : "%.0f", v)
}

$5 != "-" && $3 != "" {
	n++
	split($1, part, /[;:(]/)
	name[n] = part[1]
	share[n] = ($4 == "-" ? $2 : $2 / $4) / $5
	limit = $4 == "-" ? $5 : $5 * $4
	unit = $3 == "-" ? "" : " " $3
	says[n] = short($2) unit " of " short(limit) unit
	if ($4 != "-" && $1 !~ /^waits/)
		says[n] = says[n] (what == "o2top" ? ", a third of mawk's " : ", the peer takes ") short($4) unit
}

END {
	bottom = 48 + 44 * n
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 %d\" width=\"960\" height=\"%d\"", bottom + 34, bottom + 34
	print " role=\"img\" aria-labelledby=\"title\">"
	print "<title id=\"title\">How much of its limits " what " takes</title>"
	print "<style>"
	print "\tsvg { font-family: ui-sans-serif, system-ui, \"DejaVu Sans\", Helvetica, Arial, sans-serif; font-size: 14px }"
	print "\ttext { fill: #1f2328 } .small { font-size: 12.5px; fill: #57606a }"
	print "\t.bar { fill: #0969da } .over { fill: #cf222e } .all { fill: #eaeef2 } .limit { stroke: #8c959f; stroke-width: 1.5 }"
	print "\t@media (prefers-color-scheme: dark) {"
	print "\t\ttext { fill: #e6edf3 } .small { fill: #9198a1 } .all { fill: #21262d } .bar { fill: #4493f8 } .over { fill: #f85149 }"
	print "\t}"
	print "</style>"
	for (i = 1; i <= n; i++) {
		y = 40 + 44 * (i - 1)
		wide = share[i] * full
		if (wide > 620)
			wide = 620
		printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 12, y + 17, escape(name[i])
		printf "<rect class=\"all\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"24\"/>\n", left, y, full
		printf "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"24\"/>\n", (share[i] > 1 ? "over" : "bar"), left, y, wide
		printf "<text class=\"small\" x=\"%.0f\" y=\"%d\">%s</text>\n", left + 10 + (wide > full ? wide : full), y + 17, escape(says[i])
	}
	printf "<line class=\"limit\" x1=\"%d\" x2=\"%d\" y1=\"30\" y2=\"%d\"/>\n", left + full, left + full, bottom
	printf "<text class=\"small\" x=\"%d\" y=\"22\" text-anchor=\"middle\">limit</text>\n", left + full
	printf "<text class=\"small\" x=\"%d\" y=\"%d\">shorter is better; %s</text>\n", left, bottom + 20, escape(note)
	print "</svg>"
}
