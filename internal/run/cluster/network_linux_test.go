package cluster

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// inNetworks starts a cluster of three members, each in its own network.
func inNetworks(t *testing.T) (*Cluster, host.Network) {
	t.Helper()
	if err := network.CheckSupport(); err != nil {
		t.Skip(err)
	}
	c := start(t, Spec{Members: 3, Network: true})
	n, err := c.Network()
	if err != nil {
		t.Fatal(err)
	}
	return c, n
}

// leads returns the name and the term of the member that is leader in a term later than the given
// one. The name is empty if no member that responds is such a leader.
func leads(ctx context.Context, c *Cluster, after uint64) (name string, term uint64) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	status, _ := c.Status(ctx) // the status includes the members that do not respond
	for i, m := range status.Members {
		if m.Err == nil && m.Role == kv.Leader && m.Term > after {
			return c.Members()[i].Name, m.Term
		}
	}
	return "", 0
}

// An isolated leader is replaced by another member. When it is reachable again, it becomes a
// follower.
func TestIsolatedLeaderIsReplaced(t *testing.T) {
	c, n := inNetworks(t)
	var old string
	var term uint64
	settle.Eventually(t, "a member leads", func() bool {
		old, term = leads(t.Context(), c, 0)
		return old != ""
	})
	var cut []network.Fault
	for _, m := range c.Members() {
		if m.Name != old {
			cut = append(cut, network.Fault{From: old, To: m.Name, Link: network.Link{Cut: true}}, network.Fault{From: m.Name, To: old, Link: network.Link{Cut: true}})
		}
	}
	if err := n.Set(t.Context(), cut); err != nil {
		t.Fatal(err)
	}
	settle.Eventually(t, "another member leads", func() bool {
		now, _ := leads(t.Context(), c, term)
		return now != "" && now != old
	})
	if err := n.Set(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	settle.Eventually(t, "the cluster is whole again", func() bool {
		status, err := c.Status(t.Context())
		return err == nil && CheckReady(&status) == nil
	})
	if !strings.Contains(strings.Join(c.Notes(), " "), "has its own network") {
		t.Errorf("the notes are %q", c.Notes())
	}
}

// A member that is restarted is in its own network again, at the same address.
func TestMemberStartsAgainInItsNetwork(t *testing.T) {
	c, _ := inNetworks(t)
	m := c.Members()[1]
	if err := c.Signal(t.Context(), m.Name, host.Kill); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitEnd(t.Context(), m.Name); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), m.Name); err != nil {
		t.Fatal(err)
	}
	settle.Eventually(t, "the cluster is whole again", func() bool {
		status, err := c.Status(t.Context())
		return err == nil && CheckReady(&status) == nil
	})
	addresses := map[string]bool{}
	for _, m := range c.Members() {
		address, _, err := net.SplitHostPort(m.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		addresses[address] = true
	}
	if len(addresses) != 3 {
		t.Errorf("the members have the addresses %v, want three", addresses)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for address := range addresses { // the address is no longer reachable
		if inside(t, address) {
			t.Errorf("this machine still has a device for %s", address)
		}
	}
}

// inside reports whether this machine has a device in the subnet of an address.
func inside(t *testing.T, address string) bool {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if subnet, ok := a.(*net.IPNet); ok && subnet.Contains(net.ParseIP(address)) {
			return true
		}
	}
	return false
}

// Members' networks are not possible on a host that is reached through an agent.
func TestRefusesNetworksOnOtherHosts(t *testing.T) {
	type elsewhere struct{ host.Host } // implements no optional interfaces
	_, err := Start(t.Context(), nil, Spec{Members: 3, Network: true, Dir: t.TempDir(), Self: "self", Hosts: []host.Host{elsewhere{}}})
	if err == nil || !strings.Contains(err.Error(), "require a network for each member") {
		t.Errorf("%v", err)
	}
}
