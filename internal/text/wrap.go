package text

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks text at spaces. Lines are at most columns wide unless a word is longer.
func Wrap(text string, columns int) (lines []string) {
	line, at := "", 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if at > 0 && at+1+n > columns {
			lines, line, at = append(lines, line), "", 0
		}
		if at > 0 {
			line, at = line+" ", at+1
		}
		line, at = line+word, at+n
	}
	return append(lines, line)
}
