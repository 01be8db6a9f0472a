package scenario

import "strings"

// redact returns the file with the password of every user replaced by ***,
// because the file is kept in the record of the run.
func (p *fileParser) redact(data []byte) []byte {
	lines := strings.SplitAfter(string(data), "\n")
	for _, n := range p.secrets {
		if n.kind != scalar {
			continue
		}
		name, _, _ := strings.Cut(n.text, ":")
		i := n.at.line - 1
		if i >= len(lines) || !strings.Contains(lines[i], n.text) {
			p.failf(n.at, "write user as NAME:PASSWORD on one line and without escapes, so that the password can be kept out of the record")
			continue
		}
		lines[i] = strings.ReplaceAll(lines[i], n.text, name+":***")
	}
	return []byte(strings.Join(lines, ""))
}
