package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// block is the number of ports that one lease may span. The first port of a block is never
// leased: the process that listens on it holds the block, on this machine or in this
// network namespace, and loses it when the process ends.
const block = 128

// lowestPort keeps leases away from the ports of well-known services.
const lowestPort = 10_000

// attempts bounds the search for a free block.
const attempts = 200

// Ports implements Host. It has bound each port once to check that it is free.
func (l *Local) Ports(ctx context.Context, count int) (*Lease, error) {
	if count < 1 || count >= block {
		return nil, fmt.Errorf("%d ports cannot be reserved at once; ask for 1 to %d", count, block-1)
	}
	blocks := (ephemeralFrom() - lowestPort) / block
	if blocks < 1 {
		return nil, fmt.Errorf("the system uses ports from %d for outgoing connections, which leaves none for servers, whose lowest is %d; raise net.ipv4.ip_local_port_range", ephemeralFrom(), lowestPort)
	}
	var last error
	for range attempts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var lease *Lease
		err := l.runInNetwork(func() (err error) {
			lease, err = reserve(l.leaseAddress(), lowestPort+block*l.pick(blocks), count)
			return err
		})
		if err == nil {
			return lease, nil
		}
		last = err
	}
	return nil, fmt.Errorf("%d free ports were not found on %s: %w", count, cmp.Or(l.address, "the loopback interface"), last)
}

// leaseAddress returns the host's address. For a host without one, it returns a new
// 127.x.y.z address for each lease on Linux, and 127.0.0.1 elsewhere.
func (l *Local) leaseAddress() string {
	if l.address != "" {
		return l.address
	}
	return loopback(l.pick)
}

// reserve reserves count ports in the block that begins at port first.
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
