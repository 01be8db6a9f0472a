//go:build linux

package e2e_test

import (
	"context"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
)

// checkSound checks that a trial is complete and that all its operations succeeded, as they must on
// a healthy cluster.
func checkSound(t *testing.T, trial *record.Trial) {
	t.Helper()
	if trial.State != record.Complete || trial.Errors > 0 || trial.Operations == 0 || trial.Operations != trial.Due {
		t.Errorf("%s: state %s, %d of %d operations, errors %v %v", trial.Name, trial.State, trial.Operations, trial.Due, trial.ErrorsByKind, trial.ErrorTexts)
	}
}

// everyEvent checks that each event arrived exactly once, and that the events were in order.
func everyEvent(t *testing.T, trial *record.Trial, want uint64) {
	t.Helper()
	checkSound(t, trial)
	w := trial.Watch
	if w == nil {
		t.Fatalf("trial %s has no watch results", trial.Name)
	}
	if w.Expected != want || w.Delivered != want || w.Lost+w.Duplicated+w.Reordered+w.Wrong+w.Impossible+w.Ended > 0 ||
		w.Creation.Count != uint64(trial.Load.Watch.Watchers) || rule(trial, 20)+rule(trial, 21) != "" {
		t.Errorf("%s: want %d events, but the watch results are %+v", trial.Name, want, *w)
	}
}

// noLease checks that a cluster has no leases.
func noLease(t *testing.T, client *clientv3.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, err := client.Leases(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Leases) > 0 {
		t.Errorf("%d leases were left after the load", len(all.Leases))
	}
}

// quorumbench avoids these flaws of etcd's benchmark: the command lease-keepalive opens a stream
// for each keep-alive and does not revoke its leases, the command watch measures no times, the
// command watch-latency prints half of the times as 0, and the command stm waits for the rate
// limiter inside the transaction.
func TestBenchCommandsOfEtcd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, endpoints := w.playground(t, fewMembers())
	client := official.Etcd(t, store.Access{Endpoints: endpoints})

	mixed := w.bench(t, endpoints, exitDone, "txn-mixed", "--total", "200", "--clients", "4", "--rw-ratio", "2")
	checkSound(t, mixed)
	if len(mixed.ByOperation) != 2 {
		t.Errorf("txn-mixed executed the operations %+v", mixed.ByOperation)
	}

	for _, how := range [][]string{{"--count-only"}, {"--keys-only"}, {"--paginate", "--keys-only"}, {"--stream"}} {
		scan := w.bench(t, endpoints, exitDone, append([]string{"range", "--prefix", "--total", "20"}, how...)...)
		checkSound(t, scan)
		if reported := map[string]bool{"--count-only": scan.Scan.CountOnly, "--keys-only": scan.Scan.KeysOnly, "--paginate": scan.Scan.PageSize == 10_000, "--stream": scan.Scan.Streamed}; !reported[how[0]] {
			t.Errorf("the result of the range with %v has the settings %v", how, reported)
		}
	}

	for _, locker := range []string{"stm", "lock-client", "lock-rpc"} {
		stm := w.bench(t, endpoints, exitDone, "stm", "--keys", "4", "--keys-per-txn", "2", "--txn-wr-percent", "100",
			"--clients", "8", "--total", "80", "--stm-locker", locker)
		checkSound(t, stm)
		switch {
		case stm.Retries == nil || stm.STM == nil || stm.STM.Locker.String() != locker:
			t.Errorf("stm with the locker %s has the retries %v and the results %v", locker, stm.Retries, stm.STM)
		case locker == "stm" && *stm.Retries == 0:
			t.Error("eight clients on four keys caused no conflict")
		case locker != "stm" && *stm.Retries > 0:
			t.Errorf("transactions with the locker %s had %d conflicts", locker, *stm.Retries)
		}
		noLease(t, client)
	}

	checkSound(t, w.bench(t, endpoints, exitDone, "lease-keepalive", "--conns", "2", "--clients", "100", "--total", "500"))
	noLease(t, client)
	checkSound(t, w.bench(t, endpoints, exitDone, "lease-keepalive", "--rate", "500", "--total", "250"))
	noLease(t, client)

	everyEvent(t, w.bench(t, endpoints, exitDone, "watch", "--conns", "2", "--clients", "2", "--streams", "4", "--watch-per-stream", "10",
		"--watched-key-total", "8", "--put-total", "100"), 100*5)
	latency := w.bench(t, endpoints, exitDone, "watch-latency", "--put-total", "60", "--put-rate", "60", "--prevkv")
	everyEvent(t, latency, 60*100)
	if s := latency.Watch.FromSent; s.Count != 60*100 || !s.Min.Known || s.Min.NS <= 0 || latency.Watch.FromDue.Mean.NS < s.Mean.NS {
		t.Errorf("the latencies of watch events since their puts were sent are %v", s)
	}
	get := w.bench(t, endpoints, exitDone, "watch-get", "--watchers", "500", "--events", "5")
	everyEvent(t, get, 500*5)
	if get.Operation != "get" || get.Consistency != "local" || get.Misses > 0 || rule(get, 19) != "" {
		t.Errorf("watch-get executed %s %s with %d misses, and the verdict is %v", get.Operation, get.Consistency, get.Misses, get.Verdict)
	}
}

// The command `bench put` can compact the history during the load, and compare the members' data
// after the load.
func TestBenchPutCompactsAndCompares(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, endpoints := w.playground(t, "3")
	dir := w.path("put")
	p := w.run(t, "bench", "put", "--endpoints", strings.Join(endpoints, ","), "--clients", "8", "--duration", "2s",
		"--compact-interval", "300ms", "--compact-index-delta", "50", "--check-hashkv", "--wide", "--out", dir)
	p.exits(t, exitDone)
	for _, want := range []string{"\nHashKV Summary:\n\tHashKV: ", "\n\tEndpoint: " + endpoints[2] + "\n", "\n\tTime taken to get hashkv: ", "\n\tDB size: "} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("the output does not contain %q", want)
		}
	}
	run := openRun(t, dir, record.Complete)
	trial := &run.Trials[0]
	checkSound(t, trial)
	if trial.Hashes == nil || len(trial.Hashes.Members) != 3 || trial.Hashes.Failure != "" || trial.Compact.KeptRevisions != 50 {
		t.Errorf("hashes %+v", trial.Hashes)
	}
	files, err := record.OpenTrial(dir, trial.Folder)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, e := range files.Events {
		if e.Kind == "compaction_requested" {
			asked++
		}
	}
	if asked == 0 {
		t.Errorf("the events contain no compaction: %+v", files.Events)
	}
	client := official.Etcd(t, store.Access{Endpoints: endpoints})
	if _, err := client.Get(t.Context(), "x", clientv3.WithRev(1)); err == nil {
		t.Error("the first revision can still be read after the compaction")
	}
}

// An interrupted load leaves no leases.
func TestInterruptedKeepAliveLeavesNoLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, endpoints := w.playground(t, "1")
	dir := w.path("run")
	p := w.start(t, "bench", "lease-keepalive", "--endpoints", endpoints[0], "--clients", "50", "--duration", "10m", "--out", dir)
	p.measuring(t, dir, "trial-01-lease-keepalive")
	client := official.Etcd(t, store.Access{Endpoints: endpoints})
	if all, err := client.Leases(t.Context()); err != nil || len(all.Leases) != 50 {
		t.Errorf("while the load runs, etcd has the leases %v, %v", all, err)
	}
	p.interrupt(t)
	p.exits(t, exitInterrupted).oneSentence(t, "interrupted")
	noLease(t, client)
}
