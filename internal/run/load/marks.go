package load

import "sync"

// marks counts which of several loops, or workers, have come to a phase or to the
// end: all of them together begin with the first, and end with the last.
type marks struct {
	of     int
	report func(Mark) // nil for nobody

	mu    sync.Mutex
	begun [2]bool // by phase
	ended int
}

// take reports whether one's mark is that of all.
func (k *marks) take(m Mark) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.Ended {
		k.ended++
		return k.ended == k.of
	}
	first := !k.begun[m.Phase]
	k.begun[m.Phase] = true
	return first
}

func (k *marks) pass(m Mark) {
	if k.report != nil {
		k.report(m)
	}
}
