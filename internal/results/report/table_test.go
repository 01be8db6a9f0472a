package report

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// severalStores returns a run that compares stores whose consistency levels have the same name, but
// different guarantees.
func severalStores() *record.Run {
	const synced = "sync, then getData, and no quorum read"
	r := run(record.Complete,
		made{number: 1, name: "etcd", kind: kv.Get, level: kv.Linearizable, target: "all", perSecond: 2000, p50: 500e6},
		made{number: 2, name: "zookeeper", kind: kv.Get, level: kv.Linearizable, target: "all", perSecond: 2000, p50: 500e6},
		made{number: 3, name: "zookeeper-local", kind: kv.Get, level: kv.Local, target: "all", perSecond: 2000, p50: 500e6},
		made{number: 4, name: "zetcd", kind: kv.Get, level: kv.Linearizable, target: "all", perSecond: 2000, p50: 500e6},
		made{number: 5, name: "zookeeper-again", kind: kv.Get, level: kv.Linearizable, target: "all", perSecond: 2000, p50: 500e6},
	)
	for i, store := range []string{"etcd", "zookeeper", "zookeeper", "zetcd", "zookeeper"} {
		t := &r.Trials[i]
		t.Store, t.Version = store, "1.0"
		if t.Consistency == "linearizable" && store != "etcd" {
			t.WeakerReads = map[string]string{"linearizable": synced}
		}
	}
	return r
}

// TestTableOfStoresExplainsWeakerLevels checks that a consistency level that guarantees less than
// its name suggests has a footnote. The level with the same name in another store has no footnote.
func TestTableOfStoresExplainsWeakerLevels(t *testing.T) {
	settle.SkipUnderRace(t)
	golden(t, "stores.txt", renderText(t, severalStores()))
	var b strings.Builder
	if err := Markdown(&b, Run(severalStores(), nil, "")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| get | linearizable | all | etcd 1.0 |", "| get | linearizable¹ | all | zookeeper 1.0 |", "| get | linearizable² | all | zetcd 1.0 |",
		"\n\n¹ linearizable reads of zookeeper: sync, then getData, and no quorum read.\n\n² linearizable reads of zetcd",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := Text(&b, Trial(&severalStores().Trials[1], ""), true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "consistency  linearizable reads of zookeeper: sync, then getData, and no quorum read.\n") {
		t.Errorf("the summary does not state the consistency:\n%s", b.String())
	}
}

// TestComparisonExplainsWeakerLevels checks that the comparison of two stores has the same
// footnote.
func TestComparisonExplainsWeakerLevels(t *testing.T) {
	settle.SkipUnderRace(t)
	now, base := severalStores(), severalStores()
	for i := range base.Trials {
		base.Trials[i].Store, base.Trials[i].WeakerReads = "etcd", nil
	}
	for i := range now.Trials { // so that rule R4 does not make the trials invalid
		now.Trials[i].Verdict.State, base.Trials[i].Verdict.State = "valid", "valid"
	}
	var b strings.Builder
	if err := Text(&b, Comparison(compareRuns(t, now, base)), true); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Count(s, "linearizable¹ ")+strings.Count(s, "linearizable¹\n") != 2 || !strings.Contains(s, "\n¹ linearizable reads of zookeeper: sync") {
		t.Errorf("got\n%s", s)
	}
}
