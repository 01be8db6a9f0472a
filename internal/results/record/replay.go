package record

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Replay reports the replay of a recording.
type Replay struct {
	Recording string  `json:"recording"` // the file's name, without its folder
	Speed     float64 `json:"speed"`     // as a multiple of the recorded speed
	Calls     uint64  `json:"calls"`     // number of recorded calls that the replay sends
	// NotReplayed is the number of recorded calls that the replay does not send, by their method in
	// the protocol. Gaps is the number of places at which the recording reports missing calls.
	NotReplayed map[string]uint64 `json:"not_replayed,omitempty"`
	Gaps        int               `json:"gaps"`
	// Prepared is the number of keys and leases that were created before the replay. The recording
	// shows that these keys and leases existed at its start.
	Prepared uint64 `json:"prepared"`
	// WaitedForAnother is the number of calls that depend on the response to an earlier call, and
	// became due before this response arrived. The replay sent them after the response.
	WaitedForAnother uint64 `json:"waited_for_another"`
	// Guarded is the number of calls with guards. HeldInRecording is the number of these calls
	// whose guards held in the recording. HeldInBoth is the number of calls whose guards held both
	// in the recording and in the replay. HeldOnlyInReplay is the number of calls whose guards held
	// only in the replay.
	Guarded          uint64 `json:"guarded"`
	HeldInRecording  uint64 `json:"held_in_recording"`
	HeldInBoth       uint64 `json:"held_again"`
	HeldOnlyInReplay uint64 `json:"held_in_replay_only"`
	// Watchers is the number of watchers that were created. RecordedEvents is the number of events
	// that these watchers received in the recording. ReplayedEvents is the number of events that
	// they received in the replay.
	Watchers       uint64 `json:"watchers,omitempty"`
	RecordedEvents uint64 `json:"events_in_recording,omitempty"`
	ReplayedEvents uint64 `json:"events_in_replay,omitempty"`
	// InterArrival summarizes the errors of the times between calls. It is null if no error is
	// known.
	InterArrival *GapErrors `json:"inter_arrival_error,omitempty"`
}

// GapErrors summarizes how much the times between calls in the replay differ from those in the
// recording, in nanoseconds.
type GapErrors struct {
	Count uint64 `json:"count"` // number of pairs of successive calls in which neither call waited
	P50   int64  `json:"p50_ns"`
	P99   int64  `json:"p99_ns"`
	Max   int64  `json:"max_ns"`
}

// GapErrorsOf summarizes errors, which must be in ascending order. It returns nil if there are no
// errors.
func GapErrorsOf(sorted []int64) *GapErrors {
	n := len(sorted)
	if n == 0 {
		return nil
	}
	at := func(share float64) int64 { return sorted[min(int(share*float64(n)), n-1)] }
	return &GapErrors{Count: uint64(n), P50: at(0.5), P99: at(0.99), Max: sorted[n-1]}
}

// Notes returns sentences about the replay, for use in a report.
func (r *Replay) Notes() (all []string) {
	if r == nil {
		return nil
	}
	if r.HeldInRecording > 0 {
		all = append(all, fmt.Sprintf("Of %s whose guards held in the recording, the guards of %s also held in the replay (%s %%).",
			text.Plural(r.HeldInRecording, "guarded transaction"), text.Count(r.HeldInBoth), percent(r.HeldInBoth, r.HeldInRecording)))
	}
	if r.HeldOnlyInReplay > 0 {
		all = append(all, fmt.Sprintf("The guards of %s held only in the replay.", text.Plural(r.HeldOnlyInReplay, "guarded transaction")))
	}
	if g := r.InterArrival; g != nil {
		all = append(all, fmt.Sprintf("The times between calls differ from the recorded times by %s (p50), %s (p99) and at most %s (over %s of calls in which neither call waited).",
			text.Duration(float64(g.P50)), text.Duration(float64(g.P99)), text.Duration(float64(g.Max)), text.Plural(g.Count, "pair")))
	}
	if r.Watchers > 0 {
		all = append(all, fmt.Sprintf("%s received %s in the replay and %s in the recording.",
			text.Plural(r.Watchers, "watcher"), text.Plural(r.ReplayedEvents, "event"), text.Count(r.RecordedEvents)))
	}
	if r.WaitedForAnother > 0 {
		all = append(all, fmt.Sprintf("%s waited for the response to an earlier call.", text.Plural(r.WaitedForAnother, "call")))
	}
	if len(r.NotReplayed) > 0 {
		var left []string
		for _, method := range slices.Sorted(maps.Keys(r.NotReplayed)) {
			left = append(left, text.Count(r.NotReplayed[method])+" "+text.Line(method, text.MaxServerText))
		}
		all = append(all, "Not replayed: "+strings.Join(left, ", ")+".")
	}
	if r.Gaps > 0 {
		all = append(all, fmt.Sprintf("Calls are missing from the recording: it has %s.", text.Plural(uint64(r.Gaps), "gap")))
	}
	return all
}

// percent returns `part` as a percentage of `total`, which must be above 0. It rounds down, so that
// the result is 100 only if the two are equal.
func percent(part, total uint64) string {
	return strconv.FormatFloat(float64(part*10_000/total)/100, 'f', -1, 64)
}
