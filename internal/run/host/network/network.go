// Package network gives each member of a cluster a separate network, and joins these
// networks and this machine's by links that fail on request: they drop, delay and reorder
// packets, or limit their rate.
//
// Each member has a network namespace with one TUN device, and this machine's network has
// one as well. A separate process holds the other ends of the devices and forwards packets
// between them. Addresses are 198.18.x.y, from the range that RFC 2544 reserves for
// benchmarks, in a part of it that this machine does not use. Nothing of a network
// persists: its devices are removed when the forwarding process ends, and a namespace when
// its last process does.
package network

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host/helper"
)

// Clients names the end of links at which this machine is, with the load generator and all
// other clients. The other ends are named after members.
const Clients = "clients"

// Link holds the faults of packets in one direction. The zero value is a healthy link.
type Link struct {
	Cut     bool          `json:"cut,omitempty"`              // drops all packets
	Delay   time.Duration `json:"delay_ns,omitempty"`         // added to each packet's time, 0 or more
	Loss    float64       `json:"loss,omitempty"`             // share of packets that are dropped, from 0 to 1
	Reorder float64       `json:"reorder,omitempty"`          // share of packets that are delayed by HeldBack, from 0 to 1
	Rate    int64         `json:"bytes_per_second,omitempty"` // greatest rate; 0 for no limit
}

// HeldBack is the delay of a packet that Reorder lets others overtake.
const HeldBack = 10 * time.Millisecond

// Queue is how many bytes can wait at a link with a Rate; packets that arrive when the
// queue is full are dropped. MostWaiting bounds the bytes that wait in the whole network.
const (
	Queue       = 256 << 10
	MostWaiting = 64 << 20
)

// Fault holds the faults of the link from one end to another.
type Fault struct {
	From, To string // Clients or a member's name
	Link
}

// faultAt is a Fault with the numbers of its ends.
type faultAt struct {
	From int `json:"from"`
	To   int `json:"to"`
	Link
}

// request is a command to the forwarding process, one line of JSON.
type request struct {
	Faults []faultAt `json:"faults"`
}

// Network joins members' networks and this machine's. Only one goroutine at a time may use
// it.
type Network struct {
	ends   []string // Clients, then the members
	spaces []*Space // the members'
	server *helper.Process
}

// Command is the name of quorumbench's command that forwards packets: Command SUBNET
// MEMBERS. It inherits the devices as descriptors 3 and higher, this machine's first.
const Command = "network"

// firstDevice is the first of these descriptors.
const firstDevice = 3

// Start makes networks for the named members, and lets our binary at self forward packets
// between them. If this machine does not support or permit that, the error says so in one
// sentence.
func Start(ctx context.Context, self string, members []string) (*Network, error) {
	made, err := newDevices(len(members))
	if err != nil {
		return nil, err
	}
	n := &Network{ends: append([]string{Clients}, members...), spaces: made.spaces}
	n.server, err = helper.Start(ctx, self, "the members' network", made.files, Command, made.subnet, strconv.Itoa(len(members)))
	made.closeFiles() // the process has them
	if err != nil {
		n.closeSpaces()
		return nil, err
	}
	return n, nil
}

// Possible returns in one sentence why this machine cannot have members' networks, or nil
// if it can.
func Possible() error {
	made, err := newDevices(1)
	if err != nil {
		return err
	}
	made.closeFiles()
	(&Network{spaces: made.spaces}).closeSpaces()
	return nil
}

// Space returns the network namespace of the i-th member.
func (n *Network) Space(i int) *Space { return n.spaces[i] }

// PID returns the number of the process that forwards packets.
func (n *Network) PID() int { return n.server.PID() }

// Set makes all the only faults of the links. Waiting packets are sent at once, except on
// links that are cut.
func (n *Network) Set(ctx context.Context, all []Fault) error {
	r := request{Faults: []faultAt{}}
	for _, f := range all {
		from, err := n.end(f.From)
		if err != nil {
			return err
		}
		to, err := n.end(f.To)
		if err != nil {
			return err
		}
		r.Faults = append(r.Faults, faultAt{from, to, f.Link})
	}
	_, err := n.server.Ask(ctx, &r)
	return err
}

func (n *Network) end(name string) (int, error) {
	if i := slices.Index(n.ends, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("the network has no end %q; it has %s", name, strings.Join(n.ends, ", "))
}

// Close removes the networks. The members' processes must have ended. It may be called more
// than once.
func (n *Network) Close() {
	n.server.Close()
	n.closeSpaces()
}

func (n *Network) closeSpaces() {
	for _, s := range n.spaces {
		s.close()
	}
}
