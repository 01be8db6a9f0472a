//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host/wallclock"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const clocksScenario = `
name: clocks
defaults: {STORE, connections: 3, clients: 6, key-space: 60, timeout: 5s, warmup: 300ms}
trials:
  - {name: first, mix: {put: 1, get: 1}, duration: 10m, faults: [clock-jump follower by -90s at 500ms for 500ms, clock-jump all by 1h at 2s for 9m]}
`

// On every store: the members live in another time, and nobody else does; the cluster
// is whole all the while, and when the run is interrupted they are told the right time.
func TestFaultsOfClocks(t *testing.T) {
	t.Parallel()
	if err := wallclock.Possible(); err != nil {
		t.Skip(err)
	}
	// zetcd tells no time: the ctime of its nodes is none.
	suits := func(st store.Store) bool { return settle.Long() && st.Name() != "zetcd" || st.Name() == "etcd" }
	eachStore(t, suits, func(t *testing.T, st store.Store, exec string) {
		w := newWorld(t)
		dir := w.path("run")
		p := w.start(t, "run", w.file(t, "clocks.yaml", of(clocksScenario, st, exec)), "--out", dir)
		p.measuring(t, dir, "trial-01-first")
		eventually(t, patience, "the clocks jumped", func() bool {
			files, err := record.OpenTrial(dir, "trial-01-first")
			return err == nil && slices.ContainsFunc(files.Events, func(e record.Event) bool {
				return e.Kind == record.FaultBegan && strings.Contains(e.Text, "by 1h")
			})
		})
		run, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range run.Clusters[0].Members {
			eventually(t, patience, fmt.Sprintf("the clock of %s is ahead", m.Name), func() bool {
				before := time.Now()
				now, err := memberTime(t.Context(), st, m.Endpoint)
				if err != nil {
					t.Logf("%s: %v", m.Name, err)
					return false
				}
				ahead := now.Sub(before)
				if ahead < time.Hour-time.Minute || ahead > time.Hour+patience {
					t.Fatalf("the clock of %s is %v ahead", m.Name, ahead)
				}
				return true
			})
		}
		p.signal(t, syscall.SIGINT)
		<-p.ended
		first := byName(t, whole(t, dir, record.Interrupted), "first")
		if len(first.Faults) != 2 || first.Faults[0].Failure != "" || first.Faults[0].Ready == nil || first.Faults[1].Healed == nil || first.Faults[1].Member != record.AllMembers {
			t.Errorf("of the faults it says %+v", first.Faults)
		}
	})
}

// memberTime is what a member says the time is.
func memberTime(ctx context.Context, st store.Store, endpoint string) (time.Time, error) {
	if st.Name() == "zookeeper" { // its leader's
		c, _, err := zk.Connect([]string{endpoint}, 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			return time.Time{}, err
		}
		defer c.Close()
		name, err := c.Create("/clock", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if err != nil {
			return time.Time{}, err
		}
		_, stat, err := c.Exists(name)
		if err != nil {
			return time.Time{}, err
		}
		return time.UnixMilli(stat.Ctime), nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint+"/version", nil)
	if err != nil {
		return time.Time{}, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return time.Time{}, err
	}
	_ = answer.Body.Close() // its head says it
	return http.ParseTime(answer.Header.Get("Date"))
}
