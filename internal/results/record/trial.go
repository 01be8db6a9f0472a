package record

import (
	"encoding/json"
	"time"

	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Trial is a trial's result with its conditions: what --format json prints and
// what run.json has for each trial. Counts and times are those of the measured
// window.
type Trial struct {
	Schema  string `json:"schema"`
	State   State  `json:"state"`
	Failure string `json:"failure,omitempty"` // one sentence
	Folder  string `json:"folder"`            // in the run directory; empty when there is none
	Conditions

	Started time.Time  `json:"started"`
	Opened  *time.Time `json:"window_opened"` // null if it never was
	Seconds float64    `json:"seconds"`       // the window's length

	// WarmupRun is how long the warm-up was, in seconds, and WarmupSteady
	// whether throughput was steady at its end; null where nobody waited for it.
	WarmupRun    *float64 `json:"warmup_seconds_run"`
	WarmupSteady *bool    `json:"warmup_steady"`

	// The results, in the order of the JSON object. Each has its own file.
	Counts
	Latencies
	Parts
	Course
	Usage

	Verdict verdict.Verdict `json:"verdict"`

	Attached `json:"-"`
}

// MarshalJSON writes the trial with its load.
func (t Trial) MarshalJSON() ([]byte, error) {
	load, err := t.Encode()
	if err != nil {
		return nil, err
	}
	type plain Trial
	return json.Marshal(struct {
		plain
		Seed uint64          `json:"seed"` // of this trial
		Sent json.RawMessage `json:"load"`
	}{plain(t), t.Seed, load})
}

// UnmarshalJSON reads a trial and distinguishes the figures that failed from those
// that the sample does not support.
func (t *Trial) UnmarshalJSON(b []byte) error {
	type plain Trial
	read := struct {
		*plain
		Seed uint64          `json:"seed"`
		Load json.RawMessage `json:"load"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	if len(read.Load) > 0 {
		if err := t.Decode(read.Load); err != nil {
			return err
		}
	}
	t.Seed, t.ByMember = read.Seed, orEmpty(t.ByMember)
	t.ResponseTime.restore(t.Errors)
	t.ServiceTime.restore(t.Errors)
	if w := t.Watch; w != nil {
		w.FromDue.restore(w.Lost)
		if w.ToLast != nil {
			w.ToLast.restore(w.Lost)
		}
		w.FromSent.restore(w.Lost)
	}
	for i := range t.ByRole {
		t.ByRole[i].restore()
	}
	for i := range t.ByWorker {
		t.ByWorker[i].ResponseTime.restore(t.ByWorker[i].Errors)
	}
	for i := range t.ByOperation {
		t.ByOperation[i].restore()
	}
	for i := range t.ByCall {
		t.ByCall[i].restore()
	}
	return nil
}
