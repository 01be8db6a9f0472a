package patroni_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	data "github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/smalljvm"
)

func startZooKeeper(t *testing.T) (endpoint string) {
	t.Helper()
	return servers.StartMember(t, zookeeper.New(), smalljvm.Settings()).Endpoints[0]
}

// Patroni clusters run on a real ZooKeeper, where each member has its own session. Some leaders die
// and stop keeping their sessions alive. Each of their clusters elects a new leader.
func TestAgainstZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real ZooKeeper is started")
	}
	t.Parallel()
	endpoint := startZooKeeper(t)
	c := data.Config{Way: data.Nodes, Clusters: 6, Members: 3, WrittenClusters: 4, LeaderFailures: 2, LoopWait: time.Second, TTL: 10 * time.Second, RetryTimeout: time.Second, Seed: 3}
	res := send(t, zookeeper.New(), endpoint, c, 20*time.Second)
	ended(t, &c, res, 10)
	// Each watcher reports the first leader and, after a failover, the new leader. Each watcher
	// also reports the deletion of the leader's key, unless the key exists again when the member
	// sets its next watch.
	w, reported := res.Measured.Watching, uint64(c.MemberCount()+c.LeaderFailures*c.Members)
	if w == nil || w.Watchers != c.MemberCount() || w.Expected != reported || w.Delivered+w.Coalesced < reported || w.Delivered > reported+uint64(c.LeaderFailures*c.Members) ||
		w.Foreign+w.Untimed+w.Lost+w.Wrong+w.Duplicated+w.Reordered+w.Ended+w.Impossible != 0 {
		t.Errorf("watch totals %+v", w)
	}
	// Keys that are bound to sessions were deleted at the end of the load.
	client := official.ZooKeeper(t, store.Access{Endpoints: []string{endpoint}})
	clusters, _, err := client.Children("/service")
	if err != nil || len(clusters) != c.Clusters {
		t.Fatalf("%d clusters, error %v", len(clusters), err)
	}
	for _, name := range clusters {
		keys, _, err := client.Children("/service/" + name)
		members, _, err2 := client.Children("/service/" + name + "/members")
		if err != nil || err2 != nil || len(members) > 0 || slices.Contains(keys, "leader") || slices.Contains(keys, "history") != failed(&c, name) {
			t.Errorf("cluster %s has %v, members %v: %v %v", name, keys, members, err, err2)
		}
	}
}

// failed reports whether the leader of the cluster with the given name has died.
func failed(c *data.Config, name string) bool {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "pg-"))
	return n < c.LeaderFailures
}
