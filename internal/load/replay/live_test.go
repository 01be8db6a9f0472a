package replay_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/results/profile"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// recorded is a store whose calls can be recorded and sent again.
type recorded interface {
	store.Replayer
	store.TapProvider
}

// member starts a real server and returns its address.
func member(t *testing.T, st store.Store, settings any) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no real server is started")
	}
	return servers.StartMember(t, st, settings).Endpoints[0]
}

// relayed starts a relay in front of a member, and calls `speak` with the relay's address. It
// returns the path of the recording.
func relayed(t *testing.T, st recorded, to string, redactor *call.Redactor, speak func(address string)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.qbrec")
	relayedTo(t, st, to, path, redactor, speak)
	_, _, err := call.ReadRecording(path, func(one call.Record) error {
		if one.Gap != nil {
			t.Errorf("missing: %+v", one.Gap)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checkHidden fails the test if one of the texts occurs in a recording, before or after
// decompression.
func checkHidden(t *testing.T, path string, texts ...string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	_, _, err = call.ReadRecording(path, func(one call.Record) error {
		if one.Call != nil {
			calls++
			file = append(file, one.Call.Method...)
			for i := range one.Call.Parts {
				p := &one.Call.Parts[i]
				file = bytes.Join([][]byte{file, p.Key, p.End, p.Value.Text}, []byte{0})
			}
		}
		return nil
	})
	if err != nil || calls == 0 {
		t.Fatal(calls, err)
	}
	for _, text := range texts {
		if bytes.Contains(file, []byte(text)) {
			t.Errorf("%q can be read in the recording", text)
		}
	}
}

// resend replays a recording. It returns the plan and the outcome of the replay.
func resend(t *testing.T, st recorded, path, to string, o replay.Options) (*replay.Plan, replay.Outcome) {
	t.Helper()
	plan, err := replay.Read(path, st, o)
	if err != nil || plan.Problem != "" {
		t.Fatal(err, plan.Problem)
	}
	a := &load.Assignment{Store: st.Name(), Endpoints: []string{to}, Load: scenario.DefaultLoad()}
	l := &a.Load
	l.Arrival, l.Rate.PerSecond, l.Total, l.Duration, l.Connections = scenario.Recorded, 1, plan.Calls(), 0, plan.Connections
	l.KeySpace, l.Mix = 10, []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	w := &load.Local{Stores: func(string) (store.Store, error) { return st, nil }, Script: plan}
	if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if a.Preloaded.Written != plan.PreloadCount() {
		t.Errorf("%d of %d keys and leases are preloaded", a.Preloaded.Written, plan.PreloadCount())
	}
	res, err := load.Run(t.Context(), w, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	if m := res.Measured; m.Due != plan.Calls() || m.Outcomes[kv.OK]+m.Outcomes[kv.Conflict]+m.Outcomes[kv.Miss] != m.Due {
		t.Errorf("%d calls, %d due: %v %v", plan.Calls(), m.Due, m.Outcomes, m.ErrorTexts)
	}
	return plan, plan.Outcome()
}

// profiled returns the profile of a recording, which must be a valid scenario.
func profiled(t *testing.T, path string) *profile.Profile {
	t.Helper()
	p, err := profile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range p.Lines() {
		t.Log(line)
	}
	return p
}
