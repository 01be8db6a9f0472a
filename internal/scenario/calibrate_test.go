package scenario

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// The built-in calibration is a scenario with four loads that use the command's settings.
func TestCalibration(t *testing.T) {
	s := parse(t, "calibrate.yaml", string(Calibration("etcd", "127.0.0.1:1", 5, time.Second)))
	if took, known := s.EstimatedDuration(); !known || took > 26*time.Second || len(s.Warnings) > 0 || len(s.Trials) != 20 {
		t.Errorf("%d trials take %v (known: %v) and have the warnings %q; want 20 trials that take 26s at most", len(s.Trials), took, known, s.Warnings)
	}
	s = parse(t, "calibrate.yaml", string(Calibration("slow", "[::1]:2", 3, 200*time.Millisecond)))
	names := map[string]int{}
	for _, trial := range s.Trials {
		names[trial.Name]++
		a := trial.Cluster.RunningCluster
		if l := trial.Load; trial.Cluster.Store != "slow" || a == nil || a.Endpoints[0] != "[::1]:2" || l.Duration != 200*time.Millisecond || l.Mix[0].Kind != kv.Get || !l.Preload {
			t.Errorf("%s of %s has the load %+v", trial.Name, trial.Cluster.Store, l)
		}
	}
	for _, name := range []string{CalibrationTrials.OneClient, CalibrationTrials.ManyClients, CalibrationTrials.Paced, CalibrationTrials.Overloaded} {
		if names[name] != 3 {
			t.Errorf("the trial %s occurs %d times, want 3", name, names[name])
		}
	}
}

func TestCheckEndpoint(t *testing.T) {
	if err := CheckEndpoint("10.0.0.1:2379"); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"", "a", "a:0", "http://a:1", "a:70000", "a:1/", "a:1/b", "a:1?dc=b", "u:p@a:1"} {
		if CheckEndpoint(wrong) == nil {
			t.Errorf("CheckEndpoint accepts %q", wrong)
		}
	}
}
