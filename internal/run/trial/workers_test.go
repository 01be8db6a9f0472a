package trial_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/agents"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// A trial's record is complete with one worker and with two workers, whether they run in this
// process or are connected by pipes.
func TestRecordIsCompleteWithOneOrTwoWorkers(t *testing.T) {
	endpoint := embedded.Etcd(t)
	local := func() load.Worker {
		return &load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }}
	}
	all := map[string]load.Worker{
		"one": local(), "piped": agents.NewPiped(local()),
		"two": load.Workers{local(), local()}, "two piped": load.Workers{agents.NewPiped(local()), agents.NewPiped(local())},
	}
	for _, name := range settle.Sample(t, 2, []string{"one", "piped", "two piped", "two"}) {
		w := all[name]
		t.Run(name, func(t *testing.T) {
			l := scenario.DefaultLoad()
			l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Consistency: kv.Linearizable, Weight: 1}}
			l.Connections, l.Clients, l.KeySpace, l.Prefix, l.Preload = 4, 16, 500, name, true
			l.Arrival, l.Rate.PerSecond = scenario.Constant, 500
			l.Warmup, l.Duration, l.Total, l.Seed = 500*time.Millisecond, 2*time.Second, 0, 1
			dir := filepath.Join(t.TempDir(), "run")
			out, err := record.CreateAt(dir, time.Now(), record.Run{Name: "workers", Planned: 1})
			if err != nil {
				t.Fatal(err)
			}
			attach := &scenario.RunningCluster{Endpoints: []string{endpoint}}
			conducted := trial.Trial{
				Spec: scenario.Trial{
					Name: "mixed", Number: 1, Repeat: 1, Repeats: 1, Load: l,
					Cluster: scenario.Cluster{Store: "etcd", RunningCluster: attach},
				},
				Cluster: trial.Cluster{ID: "c1", Store: etcd.New(), Given: store.Access{Endpoints: attach.Endpoints}},
				Worker:  w, Writer: out, Host: host.NewLocal(nil, nil), Machine: &measure.Machine{Name: "here"},
			}
			res, err := conducted.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := out.Finish(record.Complete, "", time.Now()); err != nil {
				t.Fatal(err)
			}
			if res.Due != 1000 || res.Errors != 0 || res.CPUSeconds <= 0 || res.MaxRSSBytes <= 0 || res.Seconds < 2 {
				t.Errorf("%d operations were due, with %d errors, %v s of processor time and %d bytes of memory in %v s", res.Due, res.Errors, res.CPUSeconds, res.MaxRSSBytes, res.Seconds)
			}
			run, err := record.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := record.OpenTimeline(dir, run.Trials[0].Folder)
			if err != nil {
				t.Fatal(err)
			}
			due := uint64(0)
			for _, row := range rows {
				if row.Phase == measure.Measured.String() {
					due += row.Due
				}
			}
			if due != 1000 {
				t.Errorf("the timeline has %d due operations in %d rows, want 1000", due, len(rows))
			}
		})
	}
}
