package replay_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/cetcd"
	"github.com/quorumbench/quorumbench/internal/store/zetcd"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/proxied"
)

// The test records calls from ZooKeeper's Go client to zetcd, and then replays them on zetcd.
func TestGuardsHoldAgainOnZetcd(t *testing.T) {
	st := zetcd.New()
	a := proxied.Start(t, st, servers.InstalledServer(t, st), 1).Access
	direct := official.ZooKeeper(t, a)
	make1(t, direct, "/registry", "")
	for i := range 5 {
		make1(t, direct, fmt.Sprintf("/registry/k%d", i), "earlier")
	}
	path := relayed(t, st, a.Endpoints[0], call.NewRedactor(), func(relay string) {
		c := official.ZooKeeper(t, store.Access{Endpoints: []string{relay}})
		chainZooKeeper(t, c, 1)
		c.Close()
	})
	_, o := resend(t, st, path, a.Endpoints[0], replay.Options{Speed: 2, Prefix: "again/"})
	if o.HeldInRecording < 35 || o.HeldInBoth*100 < o.HeldInRecording*99 {
		t.Errorf("guards held in the replay: %+v", o)
	}
	checkHidden(t, path, "registry", "made ")
}

// The test records calls from Consul's client to cetcd, and then replays them on cetcd. It needs a
// cetcd binary.
func TestGuardsHoldAgainOnCetcd(t *testing.T) {
	binary := os.Getenv("QUORUMBENCH_CETCD")
	if binary == "" {
		t.Skip("cetcd cannot be installed: set QUORUMBENCH_CETCD to the path of its binary")
	}
	st := cetcd.New()
	address := proxied.Start(t, st, binary, 1).Access.Endpoints[0]
	direct := consulClient(t, address)
	for i := range 3 {
		put(t, direct, fmt.Sprintf("registry/k%d", i), "earlier")
	}
	path := relayed(t, st, address, call.NewRedactor(), func(relay string) {
		c := consulClient(t, relay).KV()
		for n := range 60 {
			got, _, err := c.Get(fmt.Sprintf("registry/k%d", n%3), &api.QueryOptions{})
			if err != nil || got == nil {
				t.Error(err)
				return
			}
			got.Value = fmt.Appendf(nil, "made %d", n)
			if ok, _, err := c.CAS(got, nil); err != nil || !ok {
				t.Errorf("%v, %v", ok, err)
			}
		}
	})
	_, o := resend(t, st, path, address, replay.Options{Speed: 2, Prefix: "again/"})
	if o.HeldInRecording < 60 || o.HeldInBoth*100 < o.HeldInRecording*99 {
		t.Errorf("guards held in the replay: %+v", o)
	}
	checkHidden(t, path, "registry", "made ")
}
