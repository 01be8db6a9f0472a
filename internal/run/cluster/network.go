package cluster

import (
	"context"
	"errors"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// giveNetwork makes a separate network for each member, if the spec asks for it.
func (c *Cluster) giveNetwork(ctx context.Context) (err error) {
	if !c.spec.Network {
		return nil
	}
	on, ok := c.spec.Hosts[0].(host.Networker)
	if !ok {
		return errors.New("the members cannot have networks of their own, which faults of the network need: that is possible on the machine that quorumbench runs on, and not on a host that is reached otherwise")
	}
	names := make([]string, c.spec.places())
	for i := range names {
		names[i] = memberName(i)
	}
	c.network, err = on.Network(ctx, c.spec.Self, names)
	return err
}

// Network implements Running.
func (c *Cluster) Network() (host.Network, error) {
	if c.network == nil {
		return nil, errors.New("the members have no networks of their own")
	}
	return c.network, nil
}
