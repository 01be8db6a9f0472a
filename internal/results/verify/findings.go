package verify

import (
	"cmp"
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// finding is a violation with the numbers of the operations that show it. The last of these
// operations has the wrong response.
type finding struct {
	kind     Kind
	promise  history.Promise
	key      uint64
	n        int
	ords     [3]uint32
	revision int64  // revision of the expected version, or of the two conflicting versions
	state    string // describes the expected state, if no operation shows it
}

func (f *finding) wrong() uint32 { return f.ords[f.n-1] }

// answer identifies a wrong response and the kind of violation.
type answer struct {
	kind     Kind
	promised bool
	ord      uint32
}

const mostFound = 1 << 17 // violations that are kept and not only counted

// findings collects violations from several goroutines.
type findings struct {
	promises map[history.Promise]string
	// limit is the number of the first operation whose response may be explained by operations that
	// are missing from the history.
	limit uint32

	mu          sync.Mutex
	all         []finding
	counts      map[Kind]uint64
	known       map[answer]bool // nil until keys are checked a second time
	weak        []answer        // the first responses in notPromised
	notPromised map[history.Promise]uint64
}

func (f *findings) add(x finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x.wrong() >= f.limit {
		return
	}
	promised := f.promises[x.promise] != ""
	a := answer{x.kind, promised, x.wrong()}
	if f.known[a] {
		return
	}
	if f.known != nil && f.cut(a, x.promise) {
		return // it may have been counted before without being stored
	}
	if f.known != nil {
		f.known[a] = true
	}
	if !promised {
		if f.notPromised == nil {
			f.notPromised = map[history.Promise]uint64{}
		}
		if f.notPromised[x.promise]++; len(f.weak) < mostFound {
			f.weak = append(f.weak, a)
		}
		return
	}
	if f.counts == nil {
		f.counts = map[Kind]uint64{}
	}
	if f.counts[x.kind]++; f.counts[x.kind] <= mostFound {
		f.all = append(f.all, x)
	}
}

// cut reports whether findings like a may have been counted without being stored.
func (f *findings) cut(a answer, promise history.Promise) bool {
	if a.promised {
		return f.counts[a.kind] > mostFound
	}
	return f.notPromised[promise] > 0 && len(f.weak) == mostFound
}

// again makes add ignore findings that are already known. If more than mostFound findings of a kind
// were counted, some of them were not kept, so their number stays as it is.
func (f *findings) again() {
	f.known = map[answer]bool{}
	for i := range f.all {
		f.known[answer{f.all[i].kind, true, f.all[i].wrong()}] = true
	}
	for _, a := range f.weak {
		f.known[a] = true
	}
}

// first returns the first findings of each kind. Each finding is for a different response, because
// one response can be wrong in several ways. Disagreements between members come first, because they
// can cause other findings. The other findings are ordered by time.
func (f *findings) first(keep int) (kept []finding) {
	slices.SortFunc(f.all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.wrong(), b.wrong()), cmp.Compare(a.ords[0], b.ords[0]))
	})
	of := map[Kind]int{}
	for i := range f.all {
		x := &f.all[i]
		if n := len(kept); n > 0 && kept[n-1].kind == x.kind && kept[n-1].wrong() == x.wrong() {
			continue
		}
		if of[x.kind] < keep {
			of[x.kind]++
			kept = append(kept, *x)
		}
	}
	slices.SortStableFunc(kept, func(a, b finding) int {
		if (a.kind == Disagreement) != (b.kind == Disagreement) {
			if a.kind == Disagreement {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.wrong(), b.wrong())
	})
	return kept
}
