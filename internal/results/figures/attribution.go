package figures

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

const slotsPerSecond = measure.Slots

// slot returns the index of the first slot that begins at or after a time.
func slot(seconds float64) int { return int(math.Ceil(seconds*slotsPerSecond - 1e-9)) }

// ms converts seconds to milliseconds, rounded down. A number of seconds that was computed from
// milliseconds becomes the same milliseconds again, despite rounding errors.
func ms(seconds float64) int { return int(seconds*1000 + 1e-6) }

// injectedFault is an injected fault, with times as numbers of slots. The fault began at `began`.
// The known effects of earlier faults ended at `since`. Earlier faults may have had effects until
// affectedUntil: this is `began` if the previous outage had not ended by then, and `since`
// otherwise.
type injectedFault struct {
	*record.Fault
	began, since, affectedUntil int
}

// findCause returns the fault that caused an effect on an operation: a failure, or a late event of
// its write. `due` and `end` are the slots in which the operation was due and in which the effect
// was observed. findCause returns the last fault that began at or before `end`, with one exception:
// if the operation was due before that fault began and while an earlier fault still had effects, it
// returns the earlier fault. It returns nil if no fault had begun by then.
//
// Example: a leader is killed at 2 s, and the load has recovered at 4 s. An operation that was due
// at 3 s reaches its timeout at 8 s. A fault that began at 6 s did not cause this failure.
func findCause(all []injectedFault, due, end int) *injectedFault {
	for i := len(all) - 1; i >= 0; i-- {
		if f := &all[i]; end >= f.began && (i == 0 || due >= min(f.began, f.affectedUntil)) {
			return f
		}
	}
	return nil
}
