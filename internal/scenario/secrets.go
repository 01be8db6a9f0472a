package scenario

import (
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

// redact returns the file as the record of the run stores it: every user's password is replaced by
// ***, and comments are removed, because they may contain a password, too. Line numbers stay the
// same.
func (p *fileParser) redact(data []byte) []byte {
	lines := strings.SplitAfter(string(data), "\n")
	for _, n := range p.secrets {
		if n.Kind != file.Scalar {
			continue
		}
		name, _, _ := strings.Cut(n.Text, ":")
		i := n.Pos.Line - 1
		if i >= len(lines) || !strings.Contains(lines[i], n.Text) {
			p.failf(n.Pos, "quorumbench cannot hide this password in the copy of the scenario that it records; write the value of \"user\" as NAME:PASSWORD, on one line and without escapes")
			continue
		}
		lines[i] = strings.ReplaceAll(lines[i], n.Text, name+":***")
	}
	bare := file.RemoveComments(lines)
	if at := file.FirstComment(bare); at.Line > 0 {
		p.failf(at, "quorumbench cannot leave this comment out of the copy of the scenario that it records; write the comment on a separate line, or delete it")
	}
	return []byte(bare)
}
