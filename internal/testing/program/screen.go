package program

import "strings"

// Screen is what a terminal shows of what was written to it: it knows the line's
// end, and the erasing of the line above and all that follows.
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
