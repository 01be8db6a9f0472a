package figures

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// callFigures returns the figures of applications that set a time limit for responses.
func callFigures() []Figure {
	bounded := &Total{Count: func(t *record.Trial) (due uint64) {
		for i := range t.ByCall {
			if t.ByCall[i].BoundNS > 0 {
				due += t.ByCall[i].Due
			}
		}
		return due
	}, zeroReason: "its application sets no time limit for responses"}
	return []Figure{
		{Name: "late-calls", Column: "late_calls", Unit: measure.Number, Direction: LowerIsBetter, Total: bounded, MissingReason: bounded.zeroReason,
			Meaning: "application: number of calls that had no response within the application's time limit for their kind (`bound_ns` in `by_call`)",
			readValue: func(t *record.Trial) Value {
				v := Value{Unit: measure.Number}
				for i := range t.ByCall {
					if c := &t.ByCall[i]; c.BoundNS > 0 {
						v.Number, v.Known = v.Number+float64(c.Late), true
					}
				}
				return v
			}},
		{Name: "worst-bounded", Column: "worst_bounded_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter, MissingReason: bounded.zeroReason,
			Meaning: "application: longest response time of the successful calls whose kind has a time limit",
			readValue: func(t *record.Trial) Value {
				v := Value{Unit: measure.Nanoseconds}
				for i := range t.ByCall {
					c := &t.ByCall[i]
					if worst := c.ResponseTime.Max; c.BoundNS > 0 && c.Operations > 0 && worst.Known {
						v.Number, v.Known = max(v.Number, worst.NS), true
					}
				}
				return v
			}},
	}
}

// replayFigures returns the figures about the replay of a recording.
func replayFigures() []Figure {
	held := &Total{Count: func(t *record.Trial) uint64 {
		if t.Replay == nil {
			return 0
		}
		return t.Replay.HeldInRecording
	}, zeroReason: "it contains no guarded transaction whose guards were true in the recording"}
	return []Figure{
		{Name: "inter-arrival-error", Column: "inter_arrival_error_p99_ns", Unit: measure.Nanoseconds, Direction: LowerIsBetter,
			MissingReason: "it replays no recording, or every replayed call waited for another call",
			Meaning:       "replay: p99 of the timing errors between successive calls. The timing error of two calls is the difference between the scheduled and the actual time between them. The scheduled time is the time in the recording, divided by the replay's speed. Calls that waited for a response or a connection are omitted",
			readValue: func(t *record.Trial) Value {
				if t.Replay == nil || t.Replay.InterArrival == nil {
					return Value{}
				}
				return Value{Known: true, Number: float64(t.Replay.InterArrival.P99)}
			}},
		{Name: "held-again", Column: "held_again_share", Unit: measure.Share, Direction: HigherIsBetter, Total: held, MissingReason: held.zeroReason,
			Meaning: "replay: of the guarded transactions whose guards were true in the recording, the share whose guards were also true in the replay",
			readValue: ratio(func(t *record.Trial) (float64, uint64) {
				if t.Replay == nil {
					return 0, 0
				}
				return float64(t.Replay.HeldInBoth), t.Replay.HeldInRecording
			})},
	}
}
