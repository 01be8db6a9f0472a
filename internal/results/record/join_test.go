package record

import (
	"math"
	"slices"
	"testing"
	"time"
)

// joinable returns a run with one cluster, whose trials have the given names.
func joinable(name, dir string, names ...string) *Run {
	begun := time.Date(2026, 3, 1, 12, 0, len(names), 0, time.UTC)
	ended := begun.Add(time.Hour)
	r := &Run{Schema: RunSchema, State: Complete, Name: name, Dir: dir, Started: begun, Finished: &ended, Planned: len(names), Clusters: []Cluster{{ID: "c1"}}}
	for i, n := range names {
		r.Trials = append(r.Trials, Trial{State: Complete, AttachedData: AttachedData{Dir: dir}, Conditions: Conditions{Number: i + 1, Name: n, Cluster: "c1", Repeat: 1}})
	}
	return r
}

func trialNames(r *Run) (names []string) {
	for i := range r.Trials {
		names = append(names, r.Trials[i].Name)
	}
	return names
}

func TestJoin(t *testing.T) {
	a, b := joinable("a", "runs/a", "put", "get"), joinable("b", "runs/b", "put", "put-old", "scan")
	b.Trials[1].BaselineOf = "put"
	b.Trials[0].Number, b.Trials[1].Number, b.Trials[2].Number = math.MaxInt, 7, math.MinInt // only other programs write such numbers
	b.State, b.Failure, b.Finished, b.Problems = Failed, "The disk is full.", nil, []string{"latency.hlog is missing."}
	all, err := Join([]*Run{a, b})
	must(t, err)
	if want := []string{"put of a", "get", "put of b", "put-old", "scan"}; !slices.Equal(trialNames(all), want) {
		t.Errorf("the trials are called %q, not %q", trialNames(all), want)
	}
	for i, want := range []int{1, 2, 5, 4, 3} {
		if got := all.Trials[i].Number; got != want {
			t.Errorf("%s has number %d, not %d", all.Trials[i].Name, got, want)
		}
	}
	if got := all.Trials[3].BaselineOf; got != "put of b" {
		t.Errorf("the baseline belongs to %q, want \"put of b\"", got)
	}
	if all.Trials[0].Cluster == all.Trials[2].Cluster {
		t.Error("the clusters of the two runs are one cluster")
	}
	if all.Name != "a, b" || all.State != Failed || all.Failure != "b: The disk is full." || all.Finished != nil || all.Planned != 5 ||
		!all.Started.Equal(a.Started) || !slices.Equal(all.Problems, []string{"b: latency.hlog is missing."}) {
		t.Errorf("%+v", all)
	}
	if p := all.PartOf(&all.Trials[4]); p.Name != "b" || len(all.PartsOrSelf()) != 2 {
		t.Errorf("the scan is from the run %s, and the joined run has %d parts", p.Name, len(all.PartsOrSelf()))
	}
	if a.Trials[0].Name != "put" || b.Trials[2].Number != math.MinInt || a.PartsOrSelf()[0] != a || a.PartOf(&a.Trials[0]) != a {
		t.Error("joining changed the original runs")
	}
}

// If several runs have the same name, the parts have the names of the runs' folders. If several
// folders have the same name, the parts have the paths of the folders as names.
func TestJoinNamesItsParts(t *testing.T) {
	for _, c := range []struct {
		runs []*Run
		want string
	}{
		{[]*Run{joinable("x", "runs/1", "put"), joinable("y", "runs/2", "put")}, "x, y"},
		{[]*Run{joinable("x", "runs/1", "put"), joinable("x", "runs/2", "put")}, "1, 2"},
		{[]*Run{joinable("x", "runs/1", "put"), joinable("x", "old/1/", "put"), joinable("y", "z", "put")}, "runs/1, old/1, z"},
	} {
		if all, err := Join(c.runs); err != nil || all.Name != c.want {
			t.Errorf("%v: %+v, want %q", err, all, c.want)
		}
	}
	_, err := Join([]*Run{joinable("x", "runs/1", "put"), joinable("x", "./runs/1", "put")})
	if err == nil || err.Error() != "the run in runs/1 is specified twice; specify each run only once" {
		t.Errorf("joining the same run twice returns %v", err)
	}
}
