package report

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

func ptr(x float64) *float64 { return &x }

// lost is a trial of three members of which m2 was away for a time.
func lost() record.Trial {
	trial := made{number: 1, name: "put", kind: kv.Put, target: "all", perSecond: 2010, p50: 500e6}.trial()
	trial.ByMember = []record.ByMember{
		{Name: "m1", Operations: 4500, Share: 0.45, Links: &record.Links{Opened: 34, Fewest: 34}},
		{Name: "m2", Operations: 1500, Share: 0.15, Links: &record.Links{Opened: 33, Lost: 33, LostAt: ptr(1.204), BackAt: ptr(4.5),
			Meanwhile: &record.Meanwhile{Seconds: 2, PerSecond: 1340, Otherwise: ptr(2010), Shares: map[string]float64{"m1": 0.51, "m2": 0, "m3": 0.49}}}},
		{Name: "m3", Operations: 3993, Share: 0.3993, Links: &record.Links{Opened: 33, Fewest: 33}},
		{Errors: 7, Share: 0.0007},
	}
	return trial
}

// A summary lists the members where one lost connections, with when and where
// the load went; the table of a run has a line for it.
func TestMembersThatLostConnections(t *testing.T) {
	trial := lost()
	var b strings.Builder
	if err := Summary(&b, &trial, ""); err != nil {
		t.Fatal(err)
	}
	golden(t, "members.txt", b.String())
	r := quick()
	r.Trials[1].ByMember = lost().ByMember
	const line = "put-all: m2 lost 33 connections and had 0 of 33 at the fewest, from 1.20 s of the window until 4.50 s; meanwhile 1,340/s (2,010/s otherwise), answered by m1 51 %, m3 49 %\n"
	b.Reset()
	if err := Text(&b, r, ""); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\nConnections lost\n  "+line) {
		t.Errorf("got\n%s", b.String())
	}
	b.Reset()
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\n## Connections lost\n\n```\n  "+line+"```\n") {
		t.Errorf("got\n%s", b.String())
	}
}

// A member that lost connections has a line.
func TestLinesOfLostConnections(t *testing.T) {
	for want, l := range map[string]record.Links{
		"m1 lost 1 connection": {Opened: 3, Fewest: 3, Lost: 1},
		"m1 lost 3 connections and had 0 of 3 at the fewest, from 0.00 s of the window until its end": {Opened: 3, Lost: 3, LostAt: ptr(0)},
	} {
		if got := losses(&record.Trial{ByMember: []record.ByMember{{Name: "m1", Links: &l}}}); len(got) != 1 || got[0] != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
