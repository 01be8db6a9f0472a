package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// faulty returns a run of two stores with six repeats each. In each repeat, the leader is killed,
// which causes an outage. Later, a follower is killed, which causes no outage.
func faulty() *record.Run {
	var all []made
	for repeat := range 6 {
		for n, name := range []string{"etcd", "consul"} {
			all = append(all, made{number: n + 1, repeat: repeat + 1, repeats: 6, name: name, kind: kv.Put, target: "leader", perSecond: 1000 + 10*repeat, p50: 1e6, clients: 1})
		}
	}
	r := run(record.Complete, all...)
	for i := range r.Trials {
		t := &r.Trials[i]
		t.Store = t.Name
		outage := float64(t.Number) + float64(t.Repeat)/10
		killed := func(number int, what, role string, began float64) record.Fault {
			return record.Fault{Number: number, Description: what, Action: "kill", ScheduledAt: began, BeganAt: new(began), HealedAt: new(began + 1), RecoveredAt: new(began + 1.5),
				Member: "m1", Role: role, Recovery: record.Recovery{LongestGapBefore: new(0.004)}}
		}
		leader, follower := killed(1, "kill leader for 1s", "leader", 1), killed(2, "kill follower for 1s", "follower", 3.4)
		leader.Recovery = record.Recovery{LongestGapBefore: new(0.004), Outage: &outage, OutageStart: new(1.001), FirstFailureAt: new(1.01), Definite: 3, Indefinite: 4, ThroughputRecoveredAt: new(1 + outage), P99RecoveredAt: new(3.0),
			ByPart: []record.PartOutage{{Member: "m1", Outage: new(2.0), OutageStart: new(1.0)}, {Member: "m2"}}}
		t.Faults = []record.Fault{leader, follower}
		t.Events = []record.Event{{Time: noon.Add(3700 * time.Millisecond), Kind: "election", Member: "m2", Line: "x"}}
	}
	return r
}

// TestOutageSentences checks that all formats show the outages that faults caused.
func TestOutageSentences(t *testing.T) {
	settle.SkipUnderRace(t)
	r := faulty()
	golden(t, "faults.txt", renderText(t, r))
	var b bytes.Buffer
	if err := Markdown(&b, Run(r, nil, "")); err != nil || !strings.Contains(b.String(), "| kill leader for 1s | etcd | etcd 3.7.3 | 6 | 1.40 s | 1.10–1.60 s") {
		t.Errorf("Markdown returns %v and prints %s", err, b.String())
	}
	b.Reset()
	if err := CSV(&b, Faults(r)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("the CSV has %d rows: %v", len(rows), err)
	}
	cell := func(row int, column string) string { return rows[row][slices.Index(rows[0], column)] }
	for column, want := range map[string]string{"fault": "kill leader for 1s", "store": "consul", "times": "6", "outage_p50_seconds": "2.4", "outage_p50_low_seconds": "2.1",
		"outage_p90_seconds": "", "outage_max_seconds": "2.6", "errors_indefinite": "24", "detected_known": "0", "detected_p50_seconds": "", "faulted_member_max_seconds": "2"} {
		if got := cell(2, column); got != want {
			t.Errorf("%s is %q, not %q", column, got, want)
		}
	}
	b.Reset()
	if err := JSON(&b, Run(r, nil, "")); err != nil {
		t.Fatal(err)
	}
	var object struct {
		Broken []struct {
			Fault, Store string
			Times        int
			Outage       []float64 `json:"outage_seconds"`
			Elected      []float64 `json:"elected_seconds"`
		} `json:"faults"`
	}
	if err := json.Unmarshal(b.Bytes(), &object); err != nil || len(object.Broken) != 4 || len(object.Broken[0].Outage) != 6 || object.Broken[3].Store != "consul" || object.Broken[3].Outage[5] != 0 {
		t.Errorf("the JSON has the error %v and the content %+v", err, object)
	}
	one := analyze.Rows(r)[0]
	if said := OutageSentences(one); len(said) != 2 || !strings.HasPrefix(said[0], "kill leader for 1s, 6 times: no operation completed for 1.4 s (median; at most 1.6 s)") {
		t.Errorf("the outage sentences are %q", said)
	}
	b.Reset()
	if err := Text(&b, Trial(&r.Trials[0], ""), true); err != nil || !strings.Contains(b.String(), "\nOutages") {
		t.Errorf("the text of one trial has the error %v and is %s", err, b.String())
	}
}

// TestFaultsAreNamed checks that the event of a fault describes the fault in words, and that other
// events show only the number of the fault that caused them.
func TestFaultsAreNamed(t *testing.T) {
	for kind, want := range map[string]string{record.FaultBegan: "fault 1: kill leader for 3s (m1, leader)", "member_lost": "fault 1"} {
		e := record.Event{Kind: kind, Text: "fault 1: kill leader for 3s (m1, leader)"}
		if got := EventText(&analyze.Events{All: []*record.Event{&e}, Longest: &e, Occurrences: 1}); got != want {
			t.Errorf("%s is %q, not %q", kind, got, want)
		}
	}
}
