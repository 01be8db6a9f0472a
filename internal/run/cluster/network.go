package cluster

import (
	"context"
	"errors"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// createNetwork creates a network for each member, if the spec requires this.
func (c *Cluster) createNetwork(ctx context.Context) (err error) {
	if !c.spec.Network {
		return nil
	}
	networker, ok := c.spec.Hosts[0].(host.NetworkProvider)
	if !ok {
		return errors.New("network faults require a network for each member; this is possible only on the machine that runs quorumbench, not on other hosts")
	}
	names := make([]string, c.spec.places())
	for i := range names {
		names[i] = memberName(i)
	}
	c.network, err = networker.Network(ctx, c.spec.Self, names)
	return err
}

// Network returns the network that connects the members. It returns an error if faults cannot be
// injected on it.
func (c *Cluster) Network() (host.Network, error) {
	if c.network == nil {
		return nil, errors.New("the members have no networks of their own, so network faults are not possible")
	}
	return c.network, nil
}
