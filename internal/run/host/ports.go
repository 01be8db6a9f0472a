package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// blockSize is the number of consecutive ports in a block. One lease takes all of its ports from
// one block. The first port of a block is never leased: the leasing process listens on it, and
// thereby locks the block on this machine or in this network namespace. The lock ends when the
// process exits.
const blockSize = 128

// lowestPort is the lowest port that is leased. It is higher than the ports of well-known services.
const lowestPort = 10_000

// attempts is the maximum number of blocks that are tried.
const attempts = 200

// Ports implements Host. To check that a port is free, it listens on the port for a short time.
func (l *Local) Ports(ctx context.Context, count int) (*Lease, error) {
	if count < 1 || count >= blockSize {
		return nil, fmt.Errorf("cannot reserve %d ports at once; reserve 1 to %d", count, blockSize-1)
	}
	blocks := (firstEphemeralPort() - lowestPort) / blockSize
	if blocks < 1 {
		return nil, fmt.Errorf("the system uses port %d and all higher ports for outgoing connections, so no ports are left for servers, which use port %d and higher ports; raise the start of net.ipv4.ip_local_port_range", firstEphemeralPort(), lowestPort)
	}
	var lastErr error
	for range attempts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var lease *Lease
		err := l.runInNetwork(func() (err error) {
			lease, err = reserve(l.leaseAddress(), lowestPort+blockSize*l.pick(blocks), count)
			return err
		})
		if err == nil {
			return lease, nil
		}
		lastErr = err
	}
	return nil, fmt.Errorf("cannot find %d free ports on %s: %w", count, cmp.Or(l.address, "the loopback interface"), lastErr)
}

// leaseAddress returns the host's address, if one is set. Otherwise it returns a new random
// 127.x.y.z address for each lease on Linux, and 127.0.0.1 on other systems.
func (l *Local) leaseAddress() string {
	if l.address != "" {
		return l.address
	}
	return loopback(l.pick)
}

// reserve reserves ports in one block. The parameter `first` is the first port of the block, and
// the parameter `count` is the number of ports to reserve.
func reserve(address string, first, count int) (*Lease, error) {
	guard, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(first)))
	if err != nil {
		return nil, err
	}
	lease := &Lease{Address: address, Release: func() { _ = guard.Close() }}
	for port := first + 1; port < first+blockSize && len(lease.Ports) < count; port++ {
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
