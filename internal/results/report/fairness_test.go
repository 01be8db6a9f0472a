package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// served returns a closed loop of 10 s with four clients. Each of the two clients of member m1
// completes as many operations as the parameter `fast` states, and each of the two clients of m2 as
// many as `slow` states.
func served(fast, slow uint64) *record.Trial {
	one := func(n uint64) *record.Evenness {
		return &record.Evenness{Count: 2, FairnessIndex: new(1.0), Mean: float64(n), Fewest: float64(n), Median: float64(n), Most: float64(n)}
	}
	t := &record.Trial{State: record.Complete, Seconds: 10, Counts: record.Counts{Due: 2 * (fast + slow), Operations: 2 * (fast + slow)}, Latencies: record.Latencies{StddevNS: new(1e6)}}
	f, s := float64(fast), float64(slow)
	index := (2*f + 2*s) * (2*f + 2*s) / 4 / (2*f*f + 2*s*s)
	share := s / (2*f + 2*s)
	t.ByClient = &record.ByClient{Evenness: record.Evenness{Count: 4, FairnessIndex: &index, Mean: (f + s) / 2, Fewest: s, Median: s, Most: f}, Tenth: 1, TenthShare: &share,
		Operations: []uint64{slow, slow, fast, fast}}
	t.ByMember = []record.ByMember{{Name: "m1", Clients: one(fast)}, {Name: "m2", Clients: one(slow)}}
	return t
}

// TestUnevennessNamesClientsAndMembers checks that UnevennessLines lists the members and clients
// that were served unevenly, with their figures, and returns no lines if all were served evenly.
func TestUnevennessNamesClientsAndMembers(t *testing.T) {
	want := []string{
		"on average, m2's 2 clients completed 250 operations each, and the clients of the other members completed 10,000; Jain's fairness index is 0.525",
		"the slowest 1 of 4 clients completed 1.2 % of the operations (an even share would be 25 %)",
	}
	uneven := served(10_000, 250)
	if got := UnevennessLines(uneven); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	uneven.ByClient.Starved = 1
	if got := UnevennessLines(uneven); len(got) != 3 || got[2] != "1 of 4 clients completed less than a tenth of the median client's operations" {
		t.Errorf("%q", got)
	}
	if got := UnevennessLines(served(10_000, 9_000)); got != nil {
		t.Errorf("%q", got)
	}
	var b bytes.Buffer
	run := &record.Run{Name: "uneven", State: record.Complete, Trials: []record.Trial{*served(10_000, 250), *served(10_000, 10_000)}}
	run.Trials[0].Name, run.Trials[1].Name = "slow", "even"
	if err := Markdown(&b, Run(run, nil, "")); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Count(text, "## Fairness\n") != 1 || !strings.Contains(text, "slow: "+want[0]) || strings.Contains(text, "even: m") {
		t.Errorf("%s", text)
	}
	b.Reset()
	if err := Text(&b, Trial(uneven, ""), true); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "Jain's fairness index 0.525 for 4 clients, each of which completed 250 to 10,000 operations (median 250)\n") {
		t.Errorf("%s", text)
	}
}
