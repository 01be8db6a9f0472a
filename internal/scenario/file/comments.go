package file

import (
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// RemoveComments removes the comments from the lines, and returns the whole text.
func RemoveComments(lines []string) string {
	for _, t := range lexer.Tokenize(strings.Join(lines, "")) {
		if t.Type != token.CommentType {
			continue
		}
		// A comment extends to the end of its line. The YAML library reports the text of a comment
		// exactly, but its line number only approximately.
		text := "#" + strings.TrimRight(t.Value, "\r\n")
		for i := max(t.Position.Line-2, 0); i < min(t.Position.Line+1, len(lines)); i++ {
			line := strings.TrimRight(lines[i], "\r\n")
			if rest, ok := strings.CutSuffix(line, text); ok && (rest == "" || strings.HasSuffix(rest, " ") || strings.HasSuffix(rest, "\t")) {
				lines[i] = strings.TrimRight(rest, " \t") + lines[i][len(line):]
				break
			}
		}
	}
	return strings.Join(lines, "")
}

// FirstComment returns the position of the first comment in a text. The position's line is 0 if
// there is no comment.
func FirstComment(text string) Position {
	for _, t := range lexer.Tokenize(text) {
		if t.Type == token.CommentType {
			return tokenPosition(t)
		}
	}
	return Position{}
}
