package cluster

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/store/zetcd"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// In a cluster with real proxies, each member has two processes, which are suspended and killed
// together while the other members continue.
func TestProxiesInFrontOfEtcd(t *testing.T) {
	st := zetcd.New()
	source, err := st.Server("")
	if err != nil {
		t.Fatal(err)
	}
	path, err := install.Ensure(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(t.Context(), st, Spec{Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: 3, Dir: t.TempDir(), Exec: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	status, err := c.Status(t.Context())
	if err != nil || status.Leader() == nil || !strings.HasPrefix(status.Version, "on etcd ") {
		t.Fatalf("status %+v, %v", status, err)
	}
	lost := status.Leader().Name
	if err := c.Signal(t.Context(), lost, host.Kill); err != nil {
		t.Fatal(err)
	}
	if ended := awaitEnd(t, c, slices.IndexFunc(c.Members(), func(m Member) bool { return m.Name == lost })); len(ended) != 2 || ended[0].Exit().Signal != "killed" || ended[1].Exit().Signal != "killed" {
		t.Errorf("the two processes of the killed member are %+v", ended)
	}
	settle.Eventually(t, "another member leads", func() bool {
		status, err := c.Status(t.Context())
		return err == nil && status.Leader() != nil && status.Leader().Name != lost
	})
	for i := range status.Members {
		if name := status.Members[i].Name; name != lost {
			if err := c.Signal(t.Context(), name, host.Pause); err != nil { // suspends both processes; Stop must stop them nevertheless
				t.Fatal(err)
			}
			break
		}
	}
}
