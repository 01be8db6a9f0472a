package scenario

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/scenarios"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, s *Scenario) {
	t.Helper()
	got := strings.Join(s.Lines(), "\n") + "\n"
	path := "testdata/" + name + ".plan"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the plan differs from %s (-want +got); if that is meant, run go test -update:\n%s", path, diff)
	}
}

func TestQuick(t *testing.T) {
	s := parse(t, "quick.yaml", string(quick()))
	golden(t, "quick", s)
	if len(s.Warnings) != 0 {
		t.Errorf("the warnings are %q, want none", s.Warnings)
	}
	d, known := s.EstimatedDuration()
	if !known || d > 45*time.Second {
		t.Errorf("the trials take %v (known: %v) without starts and preloads; want 45s at most, because the limit is 60s", d, known)
	}
	for _, trial := range s.Trials {
		if trial.Cluster.Key != s.Trials[0].Cluster.Key {
			t.Errorf("trial %s does not share the cluster", trial.Name)
		}
		if l := trial.Load; l.Connections != 100 || l.Clients != 1000 || l.KeySize != 8 || l.ValueSize != 256 || l.KeySpace != 10_000 || !l.Preload {
			t.Errorf("trial %s has the load %+v", trial.Name, l)
		}
	}
}

// quick returns the contents of the scenario file quick.yaml.
func quick() []byte {
	file, _ := scenarios.Read("quick")
	return file
}

func TestExamples(t *testing.T) {
	for _, name := range []string{"etcd-read-write-mix", "etcd-open-loop-steps"} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseFile("../../scenarios/"+name+".yaml", shelf{}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != name {
				t.Errorf("the scenario's name is %s", s.Name)
			}
			golden(t, name, s)
		})
	}
}
