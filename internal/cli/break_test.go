package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// The settings that break records turn its scenario file into the scenario that it runs.
func TestBreakRecordsSettings(t *testing.T) {
	a := &commandLine{&command.App{Catalog: registry.Catalog{Apps: load.Applications}}}
	f := &breakFlags{store: "zookeeper", duration: 40 * time.Second, isGiven: func(flag string) bool { return flag == "duration" }}
	s, err := f.scenario(a, "kill leader")
	if err != nil {
		t.Fatal(err)
	}
	want := record.CommandLineSettings{Store: "zookeeper", Set: []string{"faults=kill leader at 5s for 3s", "duration=40s"}}
	if diff := cmp.Diff(want, f.asked); diff != "" {
		t.Errorf("the recorded settings differ from the expected ones (-want +got):\n%s", diff)
	}
	o, err := recordedOptions(&record.Run{CommandLine: f.asked}, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := scenario.Parse("again.yaml", s.Source, a.Catalog, o)
	if err != nil {
		t.Fatal(err)
	}
	again.Reseed(0)
	if diff := cmp.Diff(s.Trials, again.Trials); diff != "" {
		t.Errorf("the scenario from the recorded settings differs from the one that ran (-ran +again):\n%s", diff)
	}
}
