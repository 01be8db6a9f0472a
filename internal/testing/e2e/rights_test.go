//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// A user who may write only below one prefix can run loads there. A run writes its marker next to
// its prefix, so a user who may write to the parent folder can write the marker, too.
func TestUserWithFewPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.used(t, "etcd")
	c := official.Etcd(t, store.Access{Endpoints: []string{u.endpoint}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, do := range []func() error{
		func() error { _, err := c.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.RoleAdd(ctx, "app"); return err },
		func() error {
			_, err := c.RoleGrantPermission(ctx, "app", "app/", clientv3.GetPrefixRangeEnd("app/"), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := c.UserAdd(ctx, "app", "secret"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "app", "app"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	root := official.Etcd(t, store.Access{Endpoints: []string{u.endpoint}, User: "root", Password: "secret"})
	left := func(after string) {
		t.Helper()
		r, err := root.Get(t.Context(), "app", clientv3.WithPrefix())
		if err != nil || len(r.Kvs) > 0 {
			t.Errorf("after %s, the keys are %v, %v", after, r, err)
		}
	}
	app := []string{"--user", "app:secret", "--total", "20"}
	said := u.quorumbench(t, w, append(app, "bench", "put", "--prefix", "app/")...).exits(t, exitDone).stderr.String()
	if !strings.Contains(said, `has no right to write the key "app.quorumbench-run"`) {
		t.Errorf("the output is %q", said)
	}
	left("a run without a marker")
	said = u.quorumbench(t, w, append(app, "bench", "put", "--prefix", "app/bench/")...).exits(t, exitDone).stderr.String()
	if strings.Contains(said, "may not write") {
		t.Errorf("the output is %q", said)
	}
	left("a run with a marker")
	if said := u.quorumbench(t, w, append(app, "bench", "put")...).exits(t, exitFailed).stderr.String(); !strings.Contains(said, "permission denied") {
		t.Errorf("for a user without permissions, the output is %q", said)
	}
	said = u.quorumbench(t, w, append(app, "bench", "lease-keepalive")...).exits(t, exitDone).stderr.String()
	if strings.Contains(said, "denied") {
		t.Errorf("leases need no permission for a key, but the output is %q", said)
	}
	said = u.quorumbench(t, w, append(app, "bench", "put", "--prefix", "app/bench/", "--check-hashkv")...).exits(t, 6).stderr.String()
	if !strings.Contains(said, "only to a user with the role root") {
		t.Errorf("hashes need the role root, but the output is %q", said)
	}
	perf := []string{"--user", "app:secret", "check", "perf", "--prefix", "app/bench/", "--rate", "20", "--clients", "2", "--duration", "1s"}
	for flag, does := range map[string]string{"--auto-compact": "compacts its history only for a user with the role root", "--auto-defrag": "defragments its members only for a user with the role root"} {
		p := u.quorumbench(t, w, append(perf, flag)...).exits(t, exitFailed)
		said := p.stdout.String() + p.stderr.String()
		if !strings.Contains(said, does) || !strings.Contains(said, "nothing was written") || strings.Contains(said, "may still exist") || strings.Contains(said, "writes up to") {
			t.Errorf("%s: the output is %q", flag, said)
		}
		left("a load that may not " + flag)
	}
}

// A user with a Consul token that allows writes only below one prefix can run loads there. If
// missing permissions hide a fact from the report, a note names the permission.
func TestTokenWithFewPermissions(t *testing.T) {
	t.Parallel()
	const management, few = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	endpoint := oneServer(t, "consul", func(path, text string) string {
		if filepath.Ext(path) != ".json" {
			return text
		}
		var config map[string]any
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		config["acl"] = map[string]any{"enabled": true, "default_policy": "deny", "tokens": map[string]any{"initial_management": management}}
		closed, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		return string(closed)
	})
	root, err := api.NewClient(&api.Config{Address: endpoint, Token: management})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "Consul made its management token", func() bool {
		_, err = root.KV().Put(&api.KVPair{Key: "mine", Value: []byte("v")}, nil)
		return err == nil
	})
	if _, _, err := root.ACL().PolicyCreate(&api.ACLPolicy{Name: "app", Rules: `key_prefix "app/" { policy = "write" }`}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := root.ACL().TokenCreate(&api.ACLToken{SecretID: few, Policies: []*api.ACLLink{{Name: "app"}}}, nil); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	run := func(token string, code int, args ...string) string {
		t.Helper()
		p := w.run(t, append(args, "--store", "consul", "--endpoints", endpoint, "--user", "x:"+token)...).exits(t, code)
		keys, _, err := root.KV().Keys("", "", nil)
		if err != nil || len(keys) != 1 {
			t.Errorf("after %v, the keys are %v, %v", args, keys, err)
		}
		return p.stdout.String() + p.stderr.String()
	}
	for _, args := range [][]string{
		{"bench", "put", "--prefix", "app/", "--total", "50"},
		{"bench", "put", "--prefix", "app/bench/", "--total", "50"},
		{"bench", "mixed", "--prefix", "app/bench/", "--total", "50", "--key-space-size", "100", "--verify"},
		{"bench", "get", "--prefix", "app/", "--total", "50", "--key-space-size", "100", "--target", "leader"},
		{"bench", "get", "--prefix", "app/", "--total", "50", "--key-space-size", "100", "--target", "all"},
	} {
		said := run(few, exitDone, args...)
		if !strings.Contains(said, "lacks agent:read") {
			t.Errorf("%v: the output is %s", args, abbreviate(said))
		}
	}
	if said := run(few, exitFailed, "bench", "put", "--total", "10"); !strings.Contains(said, "lacks permission 'key:write'") {
		t.Errorf("without permissions, the output is %q", said)
	}
	if said := run(few, exitFailed, "bench", "lease-keepalive", "--total", "10"); !strings.Contains(said, "lacks permission 'session:write'") {
		t.Errorf("without the permission for sessions, the output is %q", said)
	}
	if said := run(few, 6, "check", "datascale", "--prefix", "app/"); !strings.Contains(said, "give the token the right agent:read") {
		t.Errorf("without the permission for metrics, the output is %q", said)
	}
	if said := run("33333333-3333-3333-3333-333333333333", exitFailed, "bench", "put", "--prefix", "app/", "--total", "10"); !strings.Contains(said, "ACL not found") {
		t.Errorf("with an unknown token, the output is %q", said)
	}
}

// A ZooKeeper user can run loads if all the user's nodes are below one node, in a tree whose root
// only the operator can change.
func TestZooKeeperUserWithFewPermissions(t *testing.T) {
	settle.LongOnly(t, "TestUserWithFewPermissions")
	t.Parallel()
	endpoint := oneServer(t, "zookeeper", func(_, text string) string { return text })
	c, _, err := zk.Connect([]string{endpoint}, patience, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Create("/app", nil, 0, zk.DigestACL(zk.PermAll, "app", "secret")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetACL("/", zk.WorldACL(zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	if err := c.AddAuth("digest", []byte("app:secret")); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	run := func(code int, args ...string) string {
		t.Helper()
		p := w.run(t, append(args, "--store", "zookeeper", "--endpoints", endpoint)...).exits(t, code)
		if left, _, err := c.Children("/app"); err != nil || len(left) > 0 {
			t.Errorf("after %v, the nodes below /app are %v, %v", args, left, err)
		}
		return p.stdout.String() + p.stderr.String()
	}
	for _, args := range [][]string{
		{"bench", "put", "--prefix", "/app/", "--total", "50"},
		{"bench", "put", "--prefix", "/app/bench/", "--total", "50"},
		{"bench", "mixed", "--prefix", "/app/bench/", "--total", "50", "--verify"},
	} {
		if said := run(exitDone, append(args, "--user", "app:secret")...); strings.Contains(said, "NoAuth") {
			t.Errorf("%v: the output is %s", args, abbreviate(said))
		}
	}
	if said := run(exitFailed, "bench", "put", "--total", "10", "--user", "app:secret"); !strings.Contains(said, "NoAuth") && !strings.Contains(said, "not authorized") {
		t.Errorf("without permissions, the output is %q", said)
	}
	if said := run(exitFailed, "bench", "put", "--prefix", "/app/", "--total", "10", "--user", "app:wrong"); !strings.Contains(said, "NoAuth") && !strings.Contains(said, "not authorized") {
		t.Errorf("with a wrong password, the output is %q", said)
	}
}
