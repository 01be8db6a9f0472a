package verify

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// TestCountsFindingsOnce checks that a second check of the same operations changes no count, even
// if the first check counted more findings than it kept.
func TestCountsFindingsOnce(t *testing.T) {
	const guaranteed, weak = history.Guarantee("guaranteed"), history.Guarantee("weak")
	var kind Kind
	for _, n := range []int{10, maxFindings + 10} {
		f := findings{guarantees: map[history.Guarantee]string{guaranteed: "a reason"}, limit: 1 << 30}
		check := func() {
			for ord := range n {
				for _, p := range []history.Guarantee{guaranteed, weak} {
					f.add(finding{guarantee: p, operationCount: 1, ords: [3]uint32{uint32(ord)}})
				}
			}
		}
		check()
		f.beginSecondCheck()
		check()
		if got := f.counts[kind]; got != uint64(n) {
			t.Errorf("%d findings are counted as %d", n, got)
		}
		if got := f.notGuaranteed[string(weak)]; got != uint64(n) {
			t.Errorf("%d findings outside of guarantees are counted as %d", n, got)
		}
	}
}
