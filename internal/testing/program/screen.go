package program

import (
	"regexp"
	"strconv"
	"strings"
)

// erase matches the control sequences that move the cursor up by some lines and erase everything
// below.
var erase = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)

// Screen returns what a terminal shows after the text was written. It interprets line ends, and the
// control sequences that move the cursor up and erase everything below.
func Screen(written string) []string {
	lines := []string{""}
	for written != "" {
		part, up := written, 0
		if at := erase.FindStringSubmatchIndex(written); at != nil {
			part = written[:at[0]]
			up, _ = strconv.Atoi(written[at[2]:at[3]])
			written = written[at[1]:]
		} else {
			written = ""
		}
		for i, line := range strings.Split(part, "\n") {
			if i > 0 {
				lines = append(lines, "")
			}
			lines[len(lines)-1] += line
		}
		if up > 0 {
			lines = lines[:max(len(lines)-up, 1)]
			lines[len(lines)-1] = ""
		}
	}
	return lines
}
