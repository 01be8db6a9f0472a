package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// block is how many ports one lease may span. The first of a block is never
// leased: the process that listens on it has the block, on this machine or in this
// network namespace, and loses it the moment it ends.
const block = 128

// lowestPort keeps away from the ports of well-known services.
const lowestPort = 10_000

// attempts bounds the search for a free block.
const attempts = 200

// Ports implements Host. Every port was bound once to see that it is free.
func (l *Local) Ports(ctx context.Context, count int) (*Lease, error) {
	if count < 1 || count >= block {
		return nil, fmt.Errorf("%d ports cannot be reserved at once; ask for 1 to %d", count, block-1)
	}
	blocks := (ephemeralFrom() - lowestPort) / block
	if blocks < 1 {
		return nil, fmt.Errorf("the system takes ports for outgoing connections from %d on, which leaves no room for servers from %d on", ephemeralFrom(), lowestPort)
	}
	var last error
	for range attempts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var lease *Lease
		err := l.within(func() (err error) {
			lease, err = reserve(l.leaseAddress(), lowestPort+block*l.pick(blocks), count)
			return err
		})
		if err == nil {
			return lease, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no %d free ports were found on %s: %w", count, cmp.Or(l.address, "the loopback interface"), last)
}

// leaseAddress is the host's own. Without one, each lease has a 127.x.y.z address
// to itself on Linux, and 127.0.0.1 elsewhere.
func (l *Local) leaseAddress() string {
	if l.address != "" {
		return l.address
	}
	return loopback(l.pick)
}

// reserve takes the block that begins at the port first.
func reserve(address string, first, count int) (*Lease, error) {
	guard, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(first)))
	if err != nil {
		return nil, err
	}
	lease := &Lease{Address: address, Release: func() { _ = guard.Close() }}
	for port := first + 1; port < first+block && len(lease.Ports) < count; port++ {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		_ = listener.Close()
		lease.Ports = append(lease.Ports, port)
	}
	if len(lease.Ports) < count {
		lease.Release()
		return nil, errors.New("the ports are in use")
	}
	return lease, nil
}
