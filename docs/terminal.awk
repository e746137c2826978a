# terminal.awk - turns text with ANSI colours into SVG: a terminal's window with its contents.
#
# Run it with LC_ALL=C. The script counts UTF-8 characters itself, because mawk cannot. Every
# character counts as one column.
#
# Runs of text are placed one by one, so that columns stay columns with every font. The bars of a
# trend are drawn.

BEGIN {
	font = 13; cell = 7.83; line = 18.5; left = 18; top = 52
	for (i = 0; i < 256; i++)
		code[sprintf("%c", i)] = i
	colour[""] = "#c9d1d9"; colour["1"] = "#f0f6fc"; colour["1;31"] = "#ff7b72"; colour["1;33"] = "#e3b341"
	colour["2"] = "#8b949e"
}

function escape(s)
{
	gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s)
	return s
}

# Writes the pending run.
function flush()
{
	if (run != "")
		body = body sprintf("<text x=\"%.2f\" y=\"%.2f\"%s%s%s>%s</text>\n", left + run_at * cell, y,
				    style == "" ? "" : " fill=\"" colour[style] "\"", style ~ /^1/ ? " font-weight=\"700\"" : "",
				    column - run_at > 1 ? sprintf(" textLength=\"%.2f\"", (column - run_at) * cell) : "", escape(run))
	run = ""
}

# Draws a lower block, U+2581 to U+2588: an eighth of the cell's height for each step.
function bar(eighths)
{
	flush()
	body = body sprintf("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", left + column * cell,
			    y + 3 - eighths * 14 / 8, cell - 0.8, eighths * 14 / 8, colour[style])
	column++
}

{
	text = $0
	sub(/[ \r]+$/, "", text)
	y = top + rows++ * line + font
	column = 0
	for (at = 1; at <= length(text); at += size) {
		c = substr(text, at, 1)
		if (c == "\033" && match(substr(text, at), /^\033\[[0-9;]*m/)) {
			flush()
			style = substr(text, at + 2, RLENGTH - 3)
			if (style == "0" || !(style in colour))
				style = ""
			size = RLENGTH
			continue
		}
		size = code[c] < 128 ? 1 : code[c] < 224 ? 2 : code[c] < 240 ? 3 : 4
		char = substr(text, at, size)
		if (size == 3 && substr(char, 1, 2) == "\342\226" && code[substr(char, 3, 1)] >= 129 && code[substr(char, 3, 1)] <= 136) {
			bar(code[substr(char, 3, 1)] - 128)
			continue
		}
		# two blanks end a run, because the next text is another column
		if (c == " " && (run == "" || substr(text, at + 1, 1) == " ")) {
			flush()
		} else {
			if (run == "")
				run_at = column
			run = run char
		}
		column++
	}
	flush()
	if (column > columns)
		columns = column
}

END {
	width = columns * cell + 2 * left
	height = top + rows * line + 12
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" aria-label=\"%s in a terminal\">\n",
	       width, height, width, height, title
	print "<!-- made by docs/pictures.sh -->"
	printf "<rect x=\"0.5\" y=\"0.5\" width=\"%.0f\" height=\"%.0f\" rx=\"9\" fill=\"#0d1117\" stroke=\"#30363d\"/>\n", width - 1, height - 1
	printf "<path d=\"M0.5 34.5V9.5a9 9 0 0 1 9-9H%.1fa9 9 0 0 1 9 9V34.5z\" fill=\"#161b22\" stroke=\"#30363d\"/>\n", width - 9.5
	print "<circle cx=\"20\" cy=\"17.5\" r=\"5.5\" fill=\"#484f58\"/><circle cx=\"39\" cy=\"17.5\" r=\"5.5\" fill=\"#484f58\"/><circle cx=\"58\" cy=\"17.5\" r=\"5.5\" fill=\"#484f58\"/>"
	printf "<text x=\"%.1f\" y=\"22\" text-anchor=\"middle\" font-family=\"ui-sans-serif, sans-serif\" font-size=\"13\" fill=\"#8b949e\">%s</text>\n", width / 2, escape(title)
	printf "<g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"%s\" fill=\"%s\" xml:space=\"preserve\">\n", font, colour[""]
	printf "%s", body
	print "</g>\n</svg>"
}
