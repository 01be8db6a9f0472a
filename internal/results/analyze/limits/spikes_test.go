package limits

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

func TestSpikesAreFoundAndExplained(t *testing.T) {
	if s := Spikes(runs.TrialWithP99(5, 6, 5, 7, 9, 5, 6)); len(s) != 0 {
		t.Errorf("a trial with an even p99 has the spikes %+v", s)
	}
	short := runs.TrialWithP99(5, 5, 5, 5, 50)
	short.Seconds, short.Timeline[4].Done = 4.5, 500
	if s := Spikes(short); len(s) != 1 || s[0].LowestRate != 1000 {
		t.Errorf("a spike in the last half second of the window is reported as %+v", s)
	}
	trial := runs.TrialWithP99(5, 6, 5, 800, 600, 5, 6, 0, 5, -1, 5, 5)
	trial.Events = []record.Event{
		{Time: noon.Add(3500 * time.Millisecond), Kind: "slow_fsync", Member: "m3", Duration: 1040 * time.Millisecond, Line: "slow fdatasync"},
		{Time: noon.Add(10900 * time.Millisecond), Kind: "snapshot_done", Member: "m1", Line: "saved snapshot"},
	}
	trial.Roles = record.RoleHistory{{Name: "m3", Role: "leader", Since: noon}}
	s := Spikes(trial)
	if len(s) != 3 {
		t.Fatalf("found %+v", s)
	}
	if s[0].From != 3 || s[0].Seconds != 2 || s[0].Worst.NS != 800e6 || s[0].Usual.NS != 5e6 {
		t.Errorf("the first spike is %+v", s[0])
	}
	if len(s[0].Coincided) != 1 || s[0].Coincided[0].Member != "m3" || !s[0].Coincided[0].Leader ||
		s[0].Coincided[0].Text != "synced its log slowly (1.04 s) at 3.5 s" {
		t.Errorf("the first spike coincides with %+v", s[0].Coincided)
	}
	if s[1].From != 7 || !s[1].Worst.Failed || s[1].Errors != 1000 || len(s[1].Coincided) != 0 {
		t.Errorf("the second spike is %+v", s[1])
	}
	if s[2].From != 9 || s[2].LowestRate != 3 || len(s[2].Coincided) != 0 {
		t.Errorf("the third is %+v", s[2])
	}
}

// If there are many spikes, the worst ones are explained, in order of time.
func TestOnlyTheWorstSpikesAreExplained(t *testing.T) {
	var all []float64
	for i := range 40 {
		all = append(all, 5, 5, 5, 20+float64(i))
	}
	s := Spikes(runs.TrialWithP99(all...))
	if len(s) != maxSpikes {
		t.Fatalf("%d spikes were found", len(s))
	}
	for i := range s {
		if want := float64(4*(35+i) + 3); s[i].From != want {
			t.Errorf("spike %d starts at %v, want %v", i, s[i].From, want)
		}
	}
}
