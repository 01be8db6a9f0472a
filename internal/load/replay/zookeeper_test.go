package replay_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/smalljvm"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

var open = zk.WorldACL(zk.PermAll)

// The test records calls from ZooKeeper's Go client, and then replays them on the same server,
// faster and below a different node.
func TestGuardsHoldAgainOnZooKeeper(t *testing.T) {
	st := zookeeper.New()
	address := member(t, st, smalljvm.Settings())
	direct := official.ZooKeeper(t, store.Access{Endpoints: []string{address}})
	// These nodes, with their versions, exist before the recording.
	make1(t, direct, "/registry", "")
	for i := range 5 {
		key := fmt.Sprintf("/registry/k%d", i)
		make1(t, direct, key, "earlier")
		for range i {
			if _, err := direct.Set(key, []byte("earlier"), -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range settle.Sample(t, 1, []string{"plain", "hashed"}) {
		redactor := &call.Redactor{}
		if name == "hashed" {
			redactor = call.NewRedactor()
		}
		t.Run(name, func(t *testing.T) {
			path := relayed(t, st, address, redactor, func(relay string) { changeZooKeeper(t, relay, name) })
			plan, o := resend(t, st, path, address, replay.Options{Speed: 10, Prefix: "again-" + name + "/", Salt: 7})
			if o.HeldInRecording < 60 || o.HeldInBoth*100 < o.HeldInRecording*99 || o.HeldInRecording == o.Guarded {
				t.Errorf("guards held in the replay: %+v", o)
			}
			if plan.PreloadCount() < 4 || plan.Connections < 4 || plan.Omitted["create"]+plan.Omitted["multi"]+plan.Omitted["setData"] > 0 {
				t.Errorf("%d nodes are preloaded, %d sessions; not replayed: %v", plan.PreloadCount(), plan.Connections, plan.Omitted)
			}
			if !redactor.Plain() {
				checkHidden(t, path, "registry", "queue", "made ", "secret")
				return
			}
			sameZooKeeper(t, direct, "/again-"+name)
			if p := profiled(t, path); p.Pushes == 0 || len(p.Operations) < 4 {
				t.Errorf("the profile has %d events and the operations %+v", p.Pushes, p.Operations)
			}
		})
	}
}

func make1(t *testing.T, c *zk.Conn, path, value string) {
	t.Helper()
	if _, err := c.Create(path, []byte(value), 0, open); err != nil {
		t.Fatal(path, err)
	}
}

// changeZooKeeper makes a call of each kind, and chains of guarded writes from several sessions at
// once.
func changeZooKeeper(t *testing.T, address, name string) {
	t.Helper()
	var all sync.WaitGroup
	for client := range 3 {
		c := official.ZooKeeper(t, store.Access{Endpoints: []string{address}})
		all.Go(func() {
			chainZooKeeper(t, c, client)
			c.Close()
		})
	}
	c := official.ZooKeeper(t, store.Access{Endpoints: []string{address}})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root := "/queue-" + name
	make1(t, c, root, "secret")
	_, _, events, err := c.ChildrenW(root)
	must(err)
	// Create a queue of sequential nodes, and delete them again.
	var names []string
	for range 4 {
		made, err := c.Create(root+"/item-", []byte("secret"), zk.FlagSequence|zk.FlagEphemeral, open)
		must(err)
		names = append(names, made)
	}
	<-events
	_, stat, err := c.Get(names[1])
	must(err)
	_, err = c.Set(names[1], []byte("secret again"), stat.Version)
	must(err)
	must(c.Delete(names[0], -1))
	if err := c.Delete(names[2], 7); !errors.Is(err, zk.ErrBadVersion) {
		t.Error(err)
	}
	_, err = c.Sync(root)
	must(err)
	ok, _, err := c.Exists(root + "/none")
	if must(err); ok {
		t.Error("a node that was never created exists")
	}
	// Each transaction returns the versions that the next transaction uses in its guards. The last
	// guard does not hold.
	make1(t, c, root+"/stays", "secret")
	for range 3 {
		_, stat, err := c.Get(root + "/stays")
		must(err)
		_, err = c.Multi(&zk.CheckVersionRequest{Path: root, Version: 0}, &zk.SetDataRequest{Path: root + "/stays", Data: []byte("multi"), Version: stat.Version},
			&zk.CreateRequest{Path: fmt.Sprintf("%s/of-multi-%d", root, stat.Version), Data: []byte("x"), Acl: open})
		must(err)
	}
	if _, err := c.Multi(&zk.SetDataRequest{Path: root + "/stays", Data: []byte("never"), Version: 99}); err == nil {
		t.Error("an impossible guard held")
	}
	all.Wait()
	c.Close()
}

// chainZooKeeper acts as one client: it reads nodes, and then changes them with guards that contain
// the versions from these reads.
func chainZooKeeper(t *testing.T, c *zk.Conn, client int) {
	r := rand.New(rand.NewPCG(2, uint64(client)))
	for n := range 40 {
		path := fmt.Sprintf("/registry/k%d", (client+3*r.IntN(2))%5)
		value := fmt.Appendf(nil, "made %d %d", client, n)
		_, stat, err := c.Get(path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			_, err = c.Create(path, value, 0, open)
		case err != nil:
		case n%20 == 19:
			err = c.Delete(path, stat.Version)
		default:
			_, err = c.Set(path, value, stat.Version)
		}
		if err != nil && !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
			t.Error(err)
			return
		}
	}
}

// treeOf returns all nodes below a node with their data. It removes the numbers from the names of
// sequential nodes.
func treeOf(t *testing.T, c *zk.Conn, root string) (all []string) {
	t.Helper()
	children, _, err := c.Children(root)
	if err != nil {
		t.Fatal(root, err)
	}
	for _, child := range children {
		path := strings.TrimSuffix(root, "/") + "/" + child
		if root == "/" && (child == "zookeeper" || child == "queue-hashed" || strings.HasPrefix(child, "again-")) {
			continue
		}
		value, _, err := c.Get(path)
		if err != nil {
			t.Fatal(path, err)
		}
		if string(value) != "earlier" && path != "/registry" && !strings.HasSuffix(path, "again-plain/registry") {
			all = append(all, fmt.Sprintf("%s = %s", path, value))
		}
		all = append(all, treeOf(t, c, path)...)
	}
	sort.Strings(all)
	return all
}

// sameZooKeeper compares the tree of all nodes with the tree below the given node.
func sameZooKeeper(t *testing.T, c *zk.Conn, below string) {
	t.Helper()
	var got []string
	for _, line := range treeOf(t, c, below) {
		got = append(got, strings.TrimPrefix(line, below))
	}
	if want := treeOf(t, c, "/"); strings.Join(want, "\n") != strings.Join(got, "\n") {
		t.Errorf("the store has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
