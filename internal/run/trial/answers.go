package trial

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// answered is the sentences about answers that are neither wrong nor the newest
// for sure.
func answered(m *measure.Totals) (notes []string) {
	if n := m.Outcomes[kv.Stale]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d reads were stale: they returned a value that quorumbench had written earlier, or found nothing where it had written.", n))
	}
	if n := m.Outcomes[kv.Unverifiable]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d reads returned a value below %d bytes, which carries no checksum and could not be verified.", n, keys.HeadLen))
	}
	return notes
}
