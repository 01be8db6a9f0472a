package verify

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// TestCountsFindingsOnce checks that a second check of the same operations changes no count, even
// if the first check counted more findings than it kept.
func TestCountsFindingsOnce(t *testing.T) {
	const promised, weak = history.Promise("promised"), history.Promise("weak")
	var kind Kind
	for _, n := range []int{10, maxFindings + 10} {
		f := findings{promises: map[history.Promise]string{promised: "a reason"}, limit: 1 << 30}
		check := func() {
			for ord := range n {
				for _, p := range []history.Promise{promised, weak} {
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
		if got := f.notGuaranteed[weak]; got != uint64(n) {
			t.Errorf("%d findings outside of promises are counted as %d", n, got)
		}
	}
}
