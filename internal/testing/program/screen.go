package program

import "strings"

// Screen returns what a terminal shows after the text was written to it: it interprets line
// ends, and the erasing of the line above and everything below.
func Screen(written string) []string {
	lines := []string{""}
	for i, part := range strings.Split(written, "\x1b[1A\x1b[J") {
		if i > 0 {
			lines = lines[:len(lines)-1]
			lines[len(lines)-1] = ""
		}
		for i, line := range strings.Split(part, "\n") {
			if i > 0 {
				lines = append(lines, "")
			}
			lines[len(lines)-1] += line
		}
	}
	return lines
}
