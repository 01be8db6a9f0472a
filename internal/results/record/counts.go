package record

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Counts holds the operations of the measurement window by outcome.
type Counts struct {
	Due        uint64 `json:"due"`
	Operations uint64 `json:"operations"` // operations due that completed
	Errors     uint64 `json:"errors"`     // operations due that failed
	Conflicts  uint64 `json:"conflicts"`  // of Operations
	Misses     uint64 `json:"misses"`     // of Operations
	// Operations includes the reads that Stale and Unverifiable count. Stale is the number of reads
	// that returned an older value than the newest. Unverifiable is the number of reads that
	// returned a value which is too short for a checksum.
	Stale          uint64            `json:"stale"`
	Unverifiable   uint64            `json:"unverifiable"`
	KeysRead       *uint64           `json:"keys_read"` // number of keys that the completed reads returned or counted; null if the load has no reads
	WrongResponses uint64            `json:"wrong_responses"`
	ErrorsByKind   map[string]uint64 `json:"errors_by_kind"`
	ErrorTexts     map[string]string `json:"error_texts"`
	Completed      uint64            `json:"completed_in_window"` // operations that completed in the window, even if they were due earlier
	PerSecond      float64           `json:"operations_per_second"`
	LongestGap     float64           `json:"longest_gap_seconds"`
	LongestGapAt   *float64          `json:"longest_gap_at_seconds"` // in seconds after the start of the window; null if the gap is below 1 ms
	FailedFrom     *float64          `json:"failed_from_percentile"`
}

// count sets the counts and the window's length.
func (t *Trial) count(m *measure.Totals) {
	t.Seconds = m.Seconds
	t.Due, t.Completed = m.Due, m.Done
	t.AddOutcomes(&m.Outcomes)
	t.Conflicts, t.Misses, t.WrongResponses = m.Outcomes[kv.Conflict], m.Outcomes[kv.Miss], m.Outcomes[kv.WrongResponse]
	t.Stale, t.Unverifiable = m.Outcomes[kv.Stale], m.Outcomes[kv.Unverifiable]
	if t.HasKind(kv.Kind.Reads) {
		t.KeysRead = new(m.Keys)
	}
	for o, text := range m.ErrorTexts {
		if m.Outcomes[o] > 0 { // without this check, the first error text may be from the warm-up
			t.ErrorTexts[o.String()] = text
		}
	}
	if m.Seconds > 0 {
		t.PerSecond = float64(m.Done) / m.Seconds
	}
	t.LongestGap = m.LongestGap
	if m.LongestGap > 0 {
		t.LongestGapAt = new(m.LongestGapAt)
	}
	if p, ok := measure.FirstFailedPercentile(t.Operations, t.Errors); ok {
		t.FailedFrom = &p
	}
}

// AddOutcomes adds the completed and the failed operations to the counts.
func (t *Trial) AddOutcomes(outcomes *[kv.NumOutcomes]uint64) {
	for o, n := range outcomes {
		switch o := kv.Outcome(o); {
		case !o.Failed():
			t.Operations += n
		case n > 0:
			t.Errors += n
			t.ErrorsByKind[o.String()] += n
		}
	}
}
