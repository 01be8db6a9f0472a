package verify

import (
	"cmp"
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// finding is a violation, with the numbers of the operations that prove it. The last of these
// operations has the wrong response.
type finding struct {
	kind           Kind
	guarantee      history.Guarantee
	key            uint64
	operationCount int
	ords           [3]uint32
	revision       int64  // revision of the expected version, or revision that the two conflicting versions share
	state          string // words for the expected state, if the operations do not show that state
}

func (f *finding) wrong() uint32 { return f.ords[f.operationCount-1] }

// wrongResponseKey identifies a wrong response and the kind of violation.
type wrongResponseKey struct {
	kind       Kind
	guaranteed bool
	ord        uint32
}

const maxFindings = 1 << 17 // maximum number of violations of each kind that are kept; further ones are only counted

// findings collects violations from several goroutines.
type findings struct {
	guarantees map[history.Guarantee]string
	// limit is an operation number. The method add ignores findings about responses to this
	// operation or to later ones, because operations that are missing from the history may explain
	// these responses.
	limit uint32

	mu                     sync.Mutex
	all                    []finding
	counts                 map[Kind]uint64
	known                  map[wrongResponseKey]bool // nil until keys are checked a second time
	notGuaranteedResponses []wrongResponseKey        // the first responses that notGuaranteed counts
	notGuaranteed          map[string]uint64         // by guarantee
}

func (f *findings) add(x finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x.wrong() >= f.limit {
		return
	}
	guaranteed := f.guarantees[x.guarantee] != ""
	a := wrongResponseKey{x.kind, guaranteed, x.wrong()}
	if f.known[a] {
		return
	}
	if f.known != nil && f.isIncomplete(a, x.guarantee) {
		return // the first check may have counted this finding without keeping it
	}
	if f.known != nil {
		f.known[a] = true
	}
	if !guaranteed {
		if f.notGuaranteed == nil {
			f.notGuaranteed = map[string]uint64{}
		}
		if f.notGuaranteed[string(x.guarantee)]++; len(f.notGuaranteedResponses) < maxFindings {
			f.notGuaranteedResponses = append(f.notGuaranteedResponses, a)
		}
		return
	}
	if f.counts == nil {
		f.counts = map[Kind]uint64{}
	}
	if f.counts[x.kind]++; f.counts[x.kind] <= maxFindings {
		f.all = append(f.all, x)
	}
}

// isIncomplete reports whether some findings of the same kind and guarantee were counted, but not
// kept.
func (f *findings) isIncomplete(a wrongResponseKey, guarantee history.Guarantee) bool {
	if a.guaranteed {
		return f.counts[a.kind] > maxFindings
	}
	return f.notGuaranteed[string(guarantee)] > 0 && len(f.notGuaranteedResponses) == maxFindings
}

// beginSecondCheck prepares f for a second check of the same keys. After this call, f ignores the
// findings that the first check has already added. If the first check did not keep all findings of
// a kind, f ignores all further findings of that kind.
func (f *findings) beginSecondCheck() {
	f.known = map[wrongResponseKey]bool{}
	for i := range f.all {
		f.known[wrongResponseKey{f.all[i].kind, true, f.all[i].wrong()}] = true
	}
	for _, a := range f.notGuaranteedResponses {
		f.known[a] = true
	}
}

// first returns the first findings of each kind. The parameter `keep` limits the number per kind.
// If one response caused several findings of a kind, the result contains only one of them.
// Disagreements between members come first, because they can cause other findings. The other
// findings are in the order of their operations.
func (f *findings) first(keep int) (selected []finding) {
	slices.SortFunc(f.all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.wrong(), b.wrong()), cmp.Compare(a.ords[0], b.ords[0]))
	})
	of := map[Kind]int{}
	for i := range f.all {
		x := &f.all[i]
		if n := len(selected); n > 0 && selected[n-1].kind == x.kind && selected[n-1].wrong() == x.wrong() {
			continue
		}
		if of[x.kind] < keep {
			of[x.kind]++
			selected = append(selected, *x)
		}
	}
	slices.SortStableFunc(selected, func(a, b finding) int {
		if (a.kind == MembersDisagree) != (b.kind == MembersDisagree) {
			if a.kind == MembersDisagree {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.wrong(), b.wrong())
	})
	return selected
}
