package record

import (
	"encoding/json"
	"time"

	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Trial is the result of a trial, with the trial's conditions. `--format json` prints it, and
// run.json stores it in the same form, but without the recovery after faults and the notes about
// outages. Counts and times cover the measurement window.
type Trial struct {
	Schema  string `json:"schema"`
	State   State  `json:"state"`
	Failure string `json:"failure,omitempty"` // one sentence
	Folder  string `json:"folder"`            // name in the run directory; empty if the run has no directory
	Conditions

	Started time.Time  `json:"started"`
	Opened  *time.Time `json:"window_opened"` // null if the window never opened
	Seconds float64    `json:"seconds"`       // the window's length

	// ActualWarmupSeconds is the length of the warm-up in seconds. WarmupSteady reports whether
	// throughput was steady at the end of the warm-up. WarmupSteady is null if the warm-up did not
	// wait for a steady throughput.
	ActualWarmupSeconds *float64 `json:"warmup_seconds_run"`
	WarmupSteady        *bool    `json:"warmup_steady"`

	// The results, in the order of the JSON object. The type of each part has its own source file.
	Counts
	Latencies
	Parts
	WindowSummary
	Usage

	Verdict verdict.Verdict `json:"verdict"`

	AttachedData `json:"-"`
}

// MarshalJSON encodes the trial with its load.
func (t Trial) MarshalJSON() ([]byte, error) {
	load, err := t.Encode()
	if err != nil {
		return nil, err
	}
	type plain Trial
	return json.Marshal(struct {
		plain
		Seed uint64          `json:"seed"` // seed of this trial
		Sent json.RawMessage `json:"load"`
	}{plain(t), t.Seed, load})
}

// UnmarshalJSON decodes a trial. It also determines why figures are null: because they depend on
// failed operations, or because they have too few samples.
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
		if w.ToLastWatcher != nil {
			w.ToLastWatcher.restore(w.Lost)
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
	for i := range t.ByMember {
		for j := range t.ByMember[i].ByOperation {
			t.ByMember[i].ByOperation[j].restore()
		}
	}
	for i := range t.ByCall {
		t.ByCall[i].restore()
	}
	return nil
}
