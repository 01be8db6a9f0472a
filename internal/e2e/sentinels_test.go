//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/consul/api"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/store"
	servers "github.com/quorumbench/quorumbench/internal/testservers/official"
)

// usersCluster is a real cluster of one member that ran before any command and holds
// keys of somebody else.
type usersCluster struct {
	store    string
	endpoint string
	// put writes a key as the user.
	put func(t *testing.T, key, value string)
	// state returns all that no command may change without an explicit flag, one entry
	// for each key, lease, session, alarm, role and for the readable history. Keys below
	// ignored prefixes are left out.
	state func(t *testing.T) map[string]string
}

// sentinelKeys returns the user's keys: where loads, checks and applications wrote by
// default before they had a prefix of their own, and next to our own prefix.
func sentinelKeys() map[string]string {
	keys := map[string]string{
		"foo":                                "bar",
		"compact_rev_key":                    "1",
		"registry/minions/node-000000":       "a node of the user",
		"registry/pods/default/pod-000000":   "a pod of the user",
		"registry/leases/kube-node-lease/n0": "a lease object of the user",
		"registry/health":                    "ok",
		"service/pg-0001/leader":             "a leader of the user",
		"service/pg-00000/leader":            "another leader of the user",
		"services/0/instances/0":             "an instance of the user",
		"election/office-0":                  "a candidate of the user",
		"elections/00000/leader":             "another candidate of the user",
		"catch-up":                           "a watched key of the user",
		"sent/0":                             "a key of the user's application",
		"quorumbench-of-the-user/0":          "a key next to our prefix",
		"etcdctl-check-perf/0":               "a key of the user's earlier check",
	}
	for i := range 20 {
		keys[fmt.Sprintf("%08d", i)] = fmt.Sprintf("numbered %d", i)
		keys[fmt.Sprintf("%d", i)] = fmt.Sprintf("plain number %d", i)
	}
	return keys
}

// plant writes the sentinel keys.
func (c *usersCluster) plant(t *testing.T) {
	t.Helper()
	for key, value := range sentinelKeys() {
		c.put(t, key, value)
		if c.store == "etcd" && strings.Contains(key, "/") {
			c.put(t, "/"+key, value) // Kubernetes' and Patroni's keys begin with a slash there
		}
	}
}

// compare fails the test when the cluster's state differs from before. Then before becomes
// that state, so that the next command answers for its own changes alone.
func (c *usersCluster) compare(t *testing.T, before map[string]string, after string) {
	t.Helper()
	now := c.state(t)
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("%s changed the user's %s (-before +after):\n%s", after, c.store, firstLines(diff, 40))
		clear(before)
		maps.Copy(before, now)
	}
}

// firstLines returns at most n lines of a text.
func firstLines(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	if len(lines) > n {
		lines[n] = "...\n"
	}
	return strings.Join(lines, "")
}

// startUsersCluster starts a one-member cluster that outlives the commands of a test,
// and plants the sentinel keys.
func (w *world) startUsersCluster(t *testing.T, name string) *usersCluster {
	t.Helper()
	if name != "etcd" {
		w.installed(t, name, "")
	}
	dir := w.path("users-" + name)
	up := w.run(t, "cluster", "up", "--store", name, "--dir", dir, "--members", "1").exits(t, exitDone)
	t.Cleanup(func() { w.run(t, "cluster", "down", "--dir", dir).exits(t, exitDone) })
	endpoint, _, _ := strings.Cut(up.stdout.String(), "\n")
	c := &usersCluster{store: name, endpoint: endpoint}
	switch name {
	case "etcd":
		c.useEtcd(t)
	case "zookeeper":
		c.useZooKeeper(t)
	case "consul":
		c.useConsul(t)
	default:
		t.Fatalf("no sentinels for the store %s", name)
	}
	c.plant(t)
	return c
}

// useEtcd gives access through the official client. The user also has a lease with a key.
func (c *usersCluster) useEtcd(t *testing.T) {
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{c.endpoint}, DialTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	lease, err := cli.Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	first, err := cli.Put(t.Context(), "leased", "a leased key of the user", clientv3.WithLease(lease.ID))
	if err != nil {
		t.Fatal(err)
	}
	c.put = func(t *testing.T, key, value string) {
		if _, err := cli.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	c.state = func(t *testing.T) map[string]string { return etcdState(t, cli, first.Header.Revision) }
}

// etcdState returns every key with its value, revision and lease, and the cluster-wide
// state: leases, alarms, authentication, and whether the history from a revision on is
// still there.
func etcdState(t *testing.T, cli *clientv3.Client, from int64) map[string]string {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]string{}
	all, err := cli.Get(ctx, "", clientv3.WithPrefix())
	must(err)
	for _, kv := range all.Kvs {
		out["key "+string(kv.Key)] = fmt.Sprintf("%.60q version %d modified at %d lease %x", kv.Value, kv.Version, kv.ModRevision, kv.Lease)
	}
	leases, err := cli.Leases(ctx)
	must(err)
	for _, l := range leases.Leases {
		out[fmt.Sprintf("lease %x", l.ID)] = "there"
	}
	alarms, err := cli.AlarmList(ctx)
	must(err)
	for _, a := range alarms.Alarms {
		out["alarm "+a.Alarm.String()] = "raised"
	}
	auth, err := cli.AuthStatus(ctx)
	must(err)
	out["authentication"] = fmt.Sprint(auth.Enabled)
	out["history"] = "readable"
	if _, err := cli.Get(ctx, "leased", clientv3.WithRev(from)); err != nil {
		out["history"] = err.Error()
	}
	return out
}

// useZooKeeper gives access through the client that Go programs use. The user also has
// a session with an ephemeral node.
func (c *usersCluster) useZooKeeper(t *testing.T) {
	conn := servers.ZooKeeper(t, store.Access{Endpoints: []string{c.endpoint}})
	view := servers.ZooKeeperView{Conn: conn}
	if _, err := conn.Create("/ephemeral", []byte("of the user"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	c.put = func(t *testing.T, key, value string) {
		if err := view.Put(key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	c.state = func(t *testing.T) map[string]string {
		out := map[string]string{}
		walkZooKeeper(t, conn, "/", out)
		return out
	}
}

// walkZooKeeper adds the node at a path and those below it: data, version of data and
// of the access list, and the session that owns it.
func walkZooKeeper(t *testing.T, conn *zk.Conn, path string, out map[string]string) {
	t.Helper()
	data, stat, err := conn.Get(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	out["node "+path] = fmt.Sprintf("%.60q version %d modified at %d acl %d session %x", data, stat.Version, stat.Mzxid, stat.Aversion, stat.EphemeralOwner)
	children, _, err := conn.Children(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, child := range children {
		walkZooKeeper(t, conn, strings.TrimSuffix(path, "/")+"/"+child, out)
	}
}

// useConsul gives access through HashiCorp's client. The user also has a session that
// holds a lock, and a service with a check.
func (c *usersCluster) useConsul(t *testing.T) {
	client := servers.Consul(t, store.Access{Endpoints: []string{c.endpoint}})
	session, _, err := client.Session().Create(&api.SessionEntry{Name: "of the user", TTL: "3600s", Behavior: "delete"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ok, _, err := client.KV().Acquire(&api.KVPair{Key: "locked", Value: []byte("of the user"), Session: session}, nil); err != nil || !ok {
		t.Fatal("the user's lock: ", ok, err)
	}
	service := &api.AgentServiceRegistration{ID: "service-00000-0", Name: "service-00000", Port: 1, Check: &api.AgentServiceCheck{TTL: "1h", Status: "passing"}}
	if err := client.Agent().ServiceRegister(service); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "the service is in the catalog", func() bool {
		found, _, err := client.Catalog().Service("service-00000", "", nil)
		return err == nil && len(found) == 1
	})
	c.put = func(t *testing.T, key, value string) {
		if _, err := client.KV().Put(&api.KVPair{Key: key, Value: []byte(value)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	c.state = func(t *testing.T) map[string]string { return consulState(t, client) }
}

// consulState returns every key with its value, index and session, every session, and
// every service and node of the catalog.
func consulState(t *testing.T, client *api.Client) map[string]string {
	ask := (&api.QueryOptions{RequireConsistent: true}).WithContext(t.Context())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]string{}
	pairs, _, err := client.KV().List("", ask)
	must(err)
	for _, p := range pairs {
		out["key "+p.Key] = fmt.Sprintf("%.60q modified at %d flags %d session %s", p.Value, p.ModifyIndex, p.Flags, p.Session)
	}
	sessions, _, err := client.Session().List(ask)
	must(err)
	for _, s := range sessions {
		out["session "+s.ID] = s.Name
	}
	services, _, err := client.Catalog().Services(ask)
	must(err)
	for name := range services {
		instances, _, err := client.Catalog().Service(name, "", ask)
		must(err)
		for _, i := range instances {
			out["service "+name+" "+i.ServiceID] = i.Node
		}
	}
	nodes, _, err := client.Catalog().Nodes(ask)
	must(err)
	for _, n := range nodes {
		out["node "+n.Node] = n.Address
	}
	return out
}

// awaitUnchanged waits until the cluster's state is what it was before: what a killed
// command held by sessions goes when they expire.
func (c *usersCluster) awaitUnchanged(t *testing.T, before map[string]string, limit time.Duration, after string) {
	t.Helper()
	if !within(t, limit, func() bool { return maps.Equal(before, c.state(t)) }) {
		c.compare(t, before, after)
	}
}
