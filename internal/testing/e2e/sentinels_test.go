//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/consul/api"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// contents is the part of a running cluster's state that no command may change without an explicit
// flag.
type contents struct {
	Keys     map[string]string // values by key
	Versions map[string]string // for each key: its revision, lease, session and similar properties
	// Others lists the cluster's leases, sessions, services, nodes and alarms, and all other
	// differences from the cluster's initial state.
	Others []string
}

func newContents() contents {
	return contents{Keys: map[string]string{}, Versions: map[string]string{}}
}

// hold adds a key, its value, and a description of its version. fmt.Sprintf(format, args...) makes
// the description.
func (c *contents) hold(key string, value []byte, format string, args ...any) {
	c.Keys[key], c.Versions[key] = string(value), fmt.Sprintf(format, args...)
}

// addOther adds something that is not a key.
func (c *contents) addOther(format string, args ...any) {
	c.Others = append(c.Others, fmt.Sprintf(format, args...))
}

// inUse is a one-member cluster that a user already uses: it holds the user's keys before any
// command runs.
type inUse struct {
	store, endpoint string
	put             func(t *testing.T, key string)
	read            func(t *testing.T) contents
}

// sentinelKeys returns the keys of a user. Earlier versions of loads, checks and applications wrote
// to some of these keys because they used no prefix. Other keys have names similar to quorumbench's
// own prefixes.
func sentinelKeys() []string {
	keys := []string{
		"foo", "stmlock", "catch-up", "sent/0", "compact_rev_key",
		"registry/minions/node-000000", "registry/pods/default/pod-000000", "registry/leases/kube-node-lease/n0", "registry/health",
		"service/pg-0001/leader", "service/pg-00000/leader", "service/pg-000000/leader", "services/0/instances/0",
		"election/office-0", "elections/00000/leader",
		"quorumbench-of-the-user/0", "etcdctl-check-perf/0",
	}
	for i := range 20 {
		keys = append(keys, fmt.Sprintf("%08d", i), fmt.Sprint(i))
	}
	return keys
}

// used starts a cluster of a store and writes a user's keys to it.
func (w *world) used(t *testing.T, name string) *inUse {
	t.Helper()
	st, err := registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"cluster", "up", "--store", name, "--members", "1", "--dir", w.path("used")}
	if name != "etcd" {
		args = append(args, "--exec", servers.InstalledServer(t, st))
	}
	up := w.run(t, args...).exits(t, exitDone)
	t.Cleanup(func() { w.run(t, "cluster", "down", "--store", name, "--dir", w.path("used")).exits(t, exitDone) })
	u := &inUse{store: name}
	u.endpoint, _, _ = strings.Cut(up.stdout.String(), "\n")
	access := store.Access{Endpoints: []string{u.endpoint}}
	switch name {
	case "etcd":
		u.useEtcd(t)
	case "zookeeper":
		u.useZooKeeper(t, official.ZooKeeper(t, access))
	case "consul":
		u.useConsul(t, official.Consul(t, access))
	}
	for _, key := range sentinelKeys() {
		u.put(t, key)
	}
	return u
}

// useEtcd connects etcd's official client. It also adds a key with a lease for the user.
func (u *inUse) useEtcd(t *testing.T) {
	t.Helper()
	c := official.Etcd(t, store.Access{Endpoints: []string{u.endpoint}})
	u.put = func(t *testing.T, key string) {
		t.Helper()
		for _, key := range []string{key, "/" + key} { // these are two different keys
			if _, err := c.Put(t.Context(), key, "the user's"); err != nil {
				t.Fatal(err)
			}
		}
	}
	u.read = func(t *testing.T) contents { return readEtcd(t, c) }
	lease, err := c.Grant(t.Context(), 3600)
	if err == nil {
		_, err = c.Put(t.Context(), "leased", "the user's", clientv3.WithLease(lease.ID))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readEtcdKeys returns all keys in etcd, or in another server with etcd's API.
func readEtcdKeys(t *testing.T, c *clientv3.Client) contents {
	t.Helper()
	out := newContents()
	all, err := c.Get(t.Context(), "\x00", clientv3.WithFromKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range all.Kvs {
		out.hold(string(kv.Key), kv.Value, "version %d, revision %d, lease %x", kv.Version, kv.ModRevision, kv.Lease)
	}
	return out
}

func readEtcd(t *testing.T, c *clientv3.Client) contents {
	t.Helper()
	out := readEtcdKeys(t, c)
	leases, err := c.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases.Leases {
		out.addOther("lease %x", l.ID)
	}
	alarms, err := c.AlarmList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alarms.Alarms {
		out.addOther("alarm %v", a.Alarm)
	}
	auth, err := c.AuthStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if auth.Enabled {
		out.addOther("authentication is on")
	}
	if _, err := c.Get(t.Context(), "00000000", clientv3.WithRev(2)); err != nil {
		out.addOther("the history is gone")
	}
	return out
}

// useZooKeeper connects the usual ZooKeeper client for Go. It also adds an ephemeral node that
// belongs to the user's session.
func (u *inUse) useZooKeeper(t *testing.T, c *zk.Conn) {
	t.Helper()
	view := official.ZooKeeperView{Conn: c}
	u.put = func(t *testing.T, key string) {
		t.Helper()
		if err := view.Put(key, []byte("the user's")); err != nil {
			t.Fatal(err)
		}
	}
	u.read = func(t *testing.T) contents {
		t.Helper()
		out := newContents()
		readZooKeeper(t, c, "/", &out)
		return out
	}
	if _, err := c.Create("/ephemeral", []byte("the user's"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
}

// readZooKeeper adds the nodes below a path to the parameter `into`, except ZooKeeper's internal
// nodes.
func readZooKeeper(t *testing.T, c *zk.Conn, path string, into *contents) {
	t.Helper()
	names, _, err := c.Children(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		node := strings.TrimSuffix(path, "/") + "/" + name
		if node == "/zookeeper" {
			continue
		}
		value, stat, err := c.Get(node)
		if err != nil {
			t.Fatal(err)
		}
		into.hold(node, value, "version %d, zxid %d, access list %d, session %x", stat.Version, stat.Mzxid, stat.Aversion, stat.EphemeralOwner)
		readZooKeeper(t, c, node, into)
	}
}

// useConsul connects HashiCorp's client. It also adds a session that holds a lock, and a service
// with a check, both for the user.
func (u *inUse) useConsul(t *testing.T, c *api.Client) {
	t.Helper()
	u.put = func(t *testing.T, key string) {
		t.Helper()
		if _, err := c.KV().Put(&api.KVPair{Key: key, Value: []byte("the user's")}, nil); err != nil {
			t.Fatal(err)
		}
	}
	u.read = func(t *testing.T) contents { return readConsul(t, c) }
	var session string
	eventually(t, patience, "Consul registered its node, which a session belongs to", func() bool {
		made, _, err := c.Session().Create(&api.SessionEntry{Name: "of the user", TTL: "3600s", Behavior: "delete"}, nil)
		session = made
		return err == nil
	})
	if ok, _, err := c.KV().Acquire(&api.KVPair{Key: "locked", Value: []byte("the user's"), Session: session}, nil); err != nil || !ok {
		t.Fatal("acquiring the user's lock returned ", ok, err)
	}
	service := &api.AgentServiceRegistration{ID: "service-00000-0", Name: "service-00000", Port: 1, Check: &api.AgentServiceCheck{TTL: "1h", Status: "passing"}}
	if err := c.Agent().ServiceRegister(service); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "the service is in the catalog", func() bool {
		found, _, err := c.Catalog().Service("service-00000", "", nil)
		return err == nil && len(found) == 1
	})
}

func readConsul(t *testing.T, c *api.Client) contents {
	t.Helper()
	ask := (&api.QueryOptions{RequireConsistent: true}).WithContext(t.Context())
	out := newContents()
	pairs, _, err := c.KV().List("", ask)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		out.hold(p.Key, p.Value, "index %d, flags %d, session %s", p.ModifyIndex, p.Flags, p.Session)
	}
	sessions, _, err := c.Session().List(ask)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		out.addOther("session %s", s.ID)
	}
	nodes, _, err := c.Catalog().Nodes(ask)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		services, _, err := c.Catalog().Node(n.Node, ask)
		if err != nil {
			t.Fatal(err)
		}
		out.addOther("node %s with %d services", n.Node, len(services.Services))
	}
	return out
}

// quorumbench runs a command on the cluster.
func (u *inUse) quorumbench(t *testing.T, w *world, args ...string) *startedProgram {
	t.Helper()
	return w.start(t, append(args, "--store", u.store, "--endpoints", u.endpoint)...)
}

// unchanged fails the test if the cluster's contents differ from before. It returns the present
// contents.
func (u *inUse) unchanged(t *testing.T, before contents, after string) (now contents) {
	t.Helper()
	now = u.read(t)
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("after %s, the cluster's content differs (-before +now):\n%s", after, abbreviate(diff))
	}
	return now
}

// eachUsed runs a test on a cluster in use: with one store in CI, and with every store in make
// test-long.
func eachUsed(t *testing.T, test func(t *testing.T, w *world, u *inUse)) {
	t.Helper()
	t.Parallel()
	for _, name := range settle.Sample(t, 1, realStores) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test(t, w, w.used(t, name))
		})
	}
}
