//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// This test runs a shortened watch-latency.yaml. Every event must arrive, and the table, the lines
// printed with --interval and the files must agree.
func TestWatchLatencyScenario(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	contents, err := os.ReadFile("../../../scenarios/watch-latency.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := w.run(t, "run", w.file(t, "watch-latency.yaml", string(contents)), "--scale", "0.1", "--set", "members="+fewMembers(), "--out", w.path("run"), "--interval", "1s",
		"--threshold", "watch-lost<=0", "--threshold", "watchers-*:watch-p50<1h", "--threshold", "catch-up:watch-events>1")
	run := openRun(t, w.path("run"), record.Complete)
	p.exits(t, map[bool]int{false: exitDone, true: exitFailed}[run.Verdict() == verdict.Invalid])
	if none := byName(t, run, "watchers-none"); none.Watch != nil || none.Load.Watch != nil {
		t.Errorf("the trial without watchers has the watch results %+v", none.Watch)
	}
	reported := watchLines(t, p.stdout.String())
	for name, watchers := range map[string]uint64{"watchers-50": 50, "watchers-500": 500, "controllers": 10} {
		trial := byName(t, run, name)
		allEvents(t, trial, watchers*trial.Watch.Acknowledged)
		if f := trial.Watch; f.InWindow != watchers*trial.Operations || f.FromDue.Count != f.InWindow || f.FromSent.Min.NS <= 0 {
			t.Errorf("%s: %d operations, watch results %+v", name, trial.Operations, *f)
		}
		rows, err := record.OpenTimeline(w.path("run"), trial.Folder)
		if err != nil {
			t.Fatal(err)
		}
		seen := uint64(0)
		for _, row := range rows {
			if row.Watch == nil {
				t.Fatalf("%s: a second of the timeline has no watch events", name)
			}
			if row.Phase == measure.Measured.String() {
				seen += row.Watch.Events
			}
		}
		if seen != trial.Watch.InWindow || reported[name] != seen {
			t.Errorf("%s: the result has %d events, the seconds have %d, and the output has %d", name, trial.Watch.InWindow, seen, reported[name])
		}
	}
	everyEvent(t, byName(t, run, "catch-up"), 5000*20)
	for _, want := range []string{"\nWatch events: ", "\nwatchers-500       500       10  1 key ", "\ncontrollers         10       10  all 1,000 keys each ", ` "catch-up" `} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("the output does not have %q", want)
		}
	}
}

// allEvents makes the same checks as everyEvent, but accepts operations that were not sent. On a
// busy machine, an open loop may not have sent all operations when its window closes.
func allEvents(t *testing.T, trial *record.Trial, want uint64) {
	t.Helper()
	w := trial.Watch
	if trial.State != record.Complete || trial.Operations == 0 || trial.Errors != trial.ErrorsByKind["not_sent"] {
		t.Errorf("%s: state %s, %d of %d operations, errors %v %v", trial.Name, trial.State, trial.Operations, trial.Due, trial.ErrorsByKind, trial.ErrorTexts)
	}
	if w.Expected != want || w.Delivered != want || w.Lost+w.Duplicated+w.Reordered+w.Wrong+w.Impossible+w.Ended > 0 || rule(trial, 20)+rule(trial, 21) != "" {
		t.Errorf("%s: want %d events, but the watch results are %+v", trial.Name, want, *w)
	}
}

// watchLines reads the lines printed with --interval. It returns the number of watch events in the
// window of each trial.
func watchLines(t *testing.T, text string) map[string]uint64 {
	t.Helper()
	reported := map[string]uint64{}
	for line := range strings.Lines(text) {
		var l struct {
			Trial, Phase string
			Watch        *struct{ Events uint64 }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("decoding failed with %v in the line %s", err, line)
		}
		if l.Watch != nil && l.Phase == measure.Measured.String() {
			reported[l.Trial] += l.Watch.Events
		}
	}
	return reported
}

// Optimistic transactions, keep-alives and read-only transactions can be used in a scenario file as
// in `bench`. They must leave no leases.
func TestScenarioOfTransactionsAndLeases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, endpoints := w.playground(t, "1")
	file := w.file(t, "sessions.yaml", fmt.Sprintf(`
defaults: {store: etcd, endpoints: %q, connections: 2, clients: 8, total: 60, warmup: 100ms, key-space: 4, value-size: 32}
trials:
  - name: stm-{stm}
    operation: stm
    matrix:
      stm:
        - {keys: 2, write-percent: 100}
        - {keys: 2, locker: lock-client}
        - {keys: 2, locker: lock-rpc, isolation: ss}
  - {name: stm-open, operation: stm, stm: {keys: 2}, rate: 100}
  - {name: keepalive, operation: keepalive, total: 200}
  - {name: keepalive-open, operation: keepalive, rate: 100}
  - {name: beat, mix: {keepalive: 1, put: 4}}
  - {name: txns, mix: {txn-get: 2, txn: 1}, range-key: "0", range-end: z, range-limit: 3, txn-keys: 1}
  - {name: watched-txn, operation: txn, txn-keys: 3, watch: {watchers: 8, streams: 2, prev-kv: true}}
  - {name: watched-mix, mix: {put: 2, cas: 1, get: 1}, watch: {watchers: 2, keys-per-watcher: all}}
  - {name: watched-part, operation: put, distribution: sequential, watch: {watchers: 6, streams: 3, connections: 1, watched-keys: 2}}
`, strings.Join(endpoints, ",")))
	p := w.run(t, "run", file, "--out", w.path("run"))
	run := openRun(t, w.path("run"), record.Complete)
	p.exits(t, map[bool]int{false: exitDone, true: exitFailed}[run.Verdict() == verdict.Invalid])
	for i := range run.Trials {
		checkSound(t, &run.Trials[i])
	}
	for name, locker := range map[string]string{"stm-keys=2+write-percent=100": "stm", "stm-keys=2+locker=lock-client": "lock-client", "stm-keys=2+locker=lock-rpc+isolation=ss": "lock-rpc", "stm-open": "stm"} {
		if trial := byName(t, run, name); trial.STM == nil || trial.STM.Locker.String() != locker || trial.STM.KeysPerTxn != 2 || trial.Retries == nil || locker != "stm" && *trial.Retries > 0 {
			t.Errorf("%s: %+v, retries %v", name, trial.STM, trial.Retries)
		}
	}
	if plain := byName(t, run, "keepalive"); plain.Preload || plain.BytesOut == 0 {
		t.Errorf("the preload of the keep-alive trial is %t, or no bytes were sent", plain.Preload)
	}
	for name, operations := range map[string]int{"txns": 2, "beat": 2, "watched-mix": 3} {
		if got := byName(t, run, name).ByOperation; len(got) != operations {
			t.Errorf("%s has the operations %+v", name, got)
		}
	}
	// Each of four keys has two watchers, and each transaction writes three keys.
	txn := byName(t, run, "watched-txn")
	everyEvent(t, txn, 2*txn.Watch.Acknowledged)
	if txn.Watch.InWindow != 2*3*txn.Operations {
		t.Errorf("%d transactions caused %d events", txn.Operations, txn.Watch.InWindow)
	}
	mix := byName(t, run, "watched-mix")
	everyEvent(t, mix, 2*mix.Watch.Acknowledged)
	part := byName(t, run, "watched-part") // the first two of four keys have three watchers each
	everyEvent(t, part, part.Watch.Expected)
	if part.Watch.InWindow != 3*part.Operations/2 {
		t.Errorf("%d sequential puts caused %d events", part.Operations, part.Watch.InWindow)
	}
	noLease(t, official.Etcd(t, store.Access{Endpoints: endpoints}))
}
