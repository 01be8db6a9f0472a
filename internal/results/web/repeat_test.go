package web

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// The command that repeats a run has the flags that changed the scenario. Capacity searches have no
// such command.
func TestRepeatCommand(t *testing.T) {
	const file = "trials: [{name: put}]\n"
	asked := record.CommandLineSettings{Store: "etcd", Version: "3.6.1", Exec: "/opt/my etcd", Set: []string{"faults=kill leader at 5s for 3s", "clients=4", "user", "endpoints"}, DataDir: "/data"}
	for _, c := range []struct {
		name string
		run  record.Run
		want string
	}{
		{"no flags", record.Run{Scenario: file, Seed: 7}, "quorumbench run SCENARIO.yaml --seed 7"},
		{"flags", record.Run{Scenario: file, Seed: 7, Scale: 0.01, CommandLine: asked},
			"quorumbench run SCENARIO.yaml --seed 7 --scale 0.01 --store etcd@3.6.1 --exec '/opt/my etcd' --set 'faults=kill leader at 5s for 3s' --set clients=4" +
				" --set user=NAME:PASSWORD --set endpoints=VALUE --data-dir /data"},
		{"rule", record.Run{Scenario: file, RepeatRule: &record.RepeatRule{Precision: 0.035, AtMostNS: 90e9, Metrics: []string{"ops", "p99"}}},
			"quorumbench run SCENARIO.yaml --seed 0 --until-precision 3.5% --at-most 1m30s --until-metric ops --until-metric p99"},
		{"search", record.Run{Scenario: file, Capacity: &record.Capacity{}}, ""},
		{"search by parameter", record.Run{Scenario: file, CapacityByParameter: &record.CapacityByParameter{}}, ""},
		{"no scenario", record.Run{Seed: 7}, ""},
	} {
		got := ""
		for _, r := range repeatsOf(&c.run) {
			got += r.Command
		}
		if got != c.want {
			t.Errorf("%s: the command is\n%s\nnot\n%s", c.name, got, c.want)
		}
	}
}
