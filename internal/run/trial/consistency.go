package trial

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// shortOf is what the store says of the consistency levels in a mix that are
// less there than they are called; nil if there are none.
func shortOf(s kv.Capabilities, mix []scenario.Operation) map[string]string {
	var out map[string]string
	for level, text := range s.ShortOf {
		for _, part := range mix {
			if part.Consistency == level {
				if out == nil {
					out = map[string]string{}
				}
				out[level.String()] = text
			}
		}
	}
	return out
}
