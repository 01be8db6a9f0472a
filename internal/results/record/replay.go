package record

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Replay is what became of a recording that was sent again.
type Replay struct {
	Recording string  `json:"recording"` // the file's name, without its folder
	Speed     float64 `json:"speed"`     // as many times as fast as it was recorded
	Calls     uint64  `json:"calls"`     // of the recording that are sent
	// Left is how many calls are not sent, by what the protocol calls them, and Gaps how
	// often the recording says that something is missing in it.
	Left map[string]uint64 `json:"not_sent_again,omitempty"`
	Gaps int               `json:"gaps"`
	// Prepared is how many keys and leases were written before, because the recording
	// shows that they were there when it began.
	Prepared uint64 `json:"prepared"`
	// Waited is how many calls were due before an earlier one of theirs was answered, on
	// which they depend, and so were sent when it was.
	Waited uint64 `json:"waited_for_another"`
	// Guarded is how many of the calls have guards. Of those, Held are the ones whose
	// guards held when they were recorded, HeldAgain those of them whose guards held
	// again, and HeldNow the others whose guards held now.
	Guarded   uint64 `json:"guarded"`
	Held      uint64 `json:"held_when_recorded"`
	HeldAgain uint64 `json:"held_again"`
	HeldNow   uint64 `json:"held_now_alone"`
	// Watchers is how many were begun again, Events how many events they were told when
	// they were recorded, and EventsNow how many now.
	Watchers  uint64 `json:"watchers,omitempty"`
	Events    uint64 `json:"events_when_recorded,omitempty"`
	EventsNow uint64 `json:"events_now,omitempty"`
	// InterArrival are errors of the times between calls; null where none is known.
	InterArrival *GapErrors `json:"inter_arrival_error,omitempty"`
}

// GapErrors are by how much the times between calls were other than the recording has
// them, in nanoseconds.
type GapErrors struct {
	Count uint64 `json:"count"` // of gaps between calls of which neither waited
	P50   int64  `json:"p50_ns"`
	P99   int64  `json:"p99_ns"`
	Max   int64  `json:"max_ns"`
}

// GapErrorsOf are those of some errors, from the least on; nil for none.
func GapErrorsOf(sorted []int64) *GapErrors {
	n := len(sorted)
	if n == 0 {
		return nil
	}
	at := func(share float64) int64 { return sorted[min(int(share*float64(n)), n-1)] }
	return &GapErrors{Count: uint64(n), P50: at(0.5), P99: at(0.99), Max: sorted[n-1]}
}

// Notes are what a report says of it, in sentences.
func (r *Replay) Notes() (all []string) {
	if r == nil {
		return nil
	}
	if r.Held > 0 {
		all = append(all, fmt.Sprintf("Of %s that held when they were recorded, %s held again (%s %%).",
			text.Plural(r.Held, "guarded transaction"), text.Count(r.HeldAgain), percent(r.HeldAgain, r.Held)))
	}
	if r.HeldNow > 0 {
		all = append(all, fmt.Sprintf("%s held that did not when recorded.", text.Plural(r.HeldNow, "guarded transaction")))
	}
	if g := r.InterArrival; g != nil {
		all = append(all, fmt.Sprintf("The times between calls were off by %s at the median, %s at p99 and %s at most (%s of which neither waited).",
			text.Duration(float64(g.P50)), text.Duration(float64(g.P99)), text.Duration(float64(g.Max)), text.Plural(g.Count, "pair")))
	}
	if r.Watchers > 0 {
		all = append(all, fmt.Sprintf("%s that were begun again got %s, and %s when they were recorded.",
			text.Plural(r.Watchers, "watcher"), text.Plural(r.EventsNow, "event"), text.Count(r.Events)))
	}
	if r.Waited > 0 {
		all = append(all, fmt.Sprintf("%s, due before a call was answered that they depend on, waited for it.", text.Plural(r.Waited, "call")))
	}
	if len(r.Left) > 0 {
		var left []string
		for _, method := range slices.Sorted(maps.Keys(r.Left)) {
			left = append(left, text.Count(r.Left[method])+" "+text.Line(method, text.OfServer))
		}
		all = append(all, "Not sent again: "+strings.Join(left, ", ")+".")
	}
	if r.Gaps > 0 {
		all = append(all, fmt.Sprintf("The recording has %s, in which calls are missing.", text.Plural(uint64(r.Gaps), "gap")))
	}
	return all
}

// percent is a part of a whole above 0, never more than it is: 99.99 of 100 is not all.
func percent(part, whole uint64) string {
	return strconv.FormatFloat(math.Floor(float64(part)/float64(whole)*1e4)/1e2, 'f', -1, 64)
}

// replayFigures are those of recordings that were sent again.
func replayFigures() []Figure {
	held := &Whole{Of: func(t *Trial) uint64 {
		if t.Replay == nil {
			return 0
		}
		return t.Replay.Held
	}, None: "it replays no guarded transaction that held when it was recorded"}
	return []Figure{
		{Name: "inter-arrival-error", Column: "inter_arrival_error_p99_ns", Unit: measure.Nanoseconds, Better: Less,
			Missing: "it replays no recording, or all its calls waited for others",
			Meaning: "replay: p99 of the difference between the recorded and the replayed time between two calls, at the replay's speed, where neither call waited for a response or a connection",
			of: func(t *Trial) Value {
				if t.Replay == nil || t.Replay.InterArrival == nil {
					return Value{}
				}
				return Value{Known: true, Number: float64(t.Replay.InterArrival.P99)}
			}},
		{Name: "held-again", Column: "held_again_share", Unit: measure.Share, Better: More, Whole: held, Missing: held.None,
			Meaning: "replay: share of the guarded transactions that held when they were recorded and held again",
			of: ratio(func(t *Trial) (float64, uint64) {
				if t.Replay == nil {
					return 0, 0
				}
				return float64(t.Replay.HeldAgain), t.Replay.Held
			})},
	}
}
