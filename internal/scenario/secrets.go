package scenario

import (
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// redact returns the file as the record of the run stores it: every user's password is replaced by
// ***, and comments are removed, because they may contain a password, too. Line numbers stay the
// same.
func (p *fileParser) redact(data []byte) []byte {
	lines := strings.SplitAfter(string(data), "\n")
	for _, n := range p.secrets {
		if n.kind != scalar {
			continue
		}
		name, _, _ := strings.Cut(n.text, ":")
		i := n.pos.line - 1
		if i >= len(lines) || !strings.Contains(lines[i], n.text) {
			p.failf(n.pos, "quorumbench cannot hide this password in the copy of the scenario that it records; write the value of \"user\" as NAME:PASSWORD, on one line and without escapes")
			continue
		}
		lines[i] = strings.ReplaceAll(lines[i], n.text, name+":***")
	}
	bare := removeComments(lines)
	if at := firstComment(bare); at.line > 0 {
		p.failf(at, "quorumbench cannot leave this comment out of the copy of the scenario that it records; write the comment on a separate line, or delete it")
	}
	return []byte(bare)
}

// removeComments returns the text without comments.
func removeComments(lines []string) string {
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

// firstComment returns the position of the first comment in a text. The position's line is 0 if
// there is no comment.
func firstComment(text string) position {
	for _, t := range lexer.Tokenize(text) {
		if t.Type == token.CommentType {
			return tokenPosition(t)
		}
	}
	return position{}
}
