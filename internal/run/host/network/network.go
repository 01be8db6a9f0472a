// Package network gives each member of a cluster a network of its own, and joins these
// and this machine's by links that fail on request: packets vanish, come late, get
// lost, change places, or have little room.
//
// Each member has a network namespace with one device (TUN), and so has this machine's
// network. A process of its own has the devices' other ends and forwards packets from
// one to another. Addresses are 198.18.x.y, of the range that RFC 2544 keeps for
// benchmarks, in a part of it that this machine does not use. Nothing of it has a name
// or a file: devices are gone when that process has ended, and namespaces with the last
// process in them.
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

// Clients is the end of links at which this machine is, with the load and whoever
// else talks to members. Other ends are members' names.
const Clients = "clients"

// Link is what is wrong with packets that go one way. The zero value is a link in
// order.
type Link struct {
	Cut     bool          `json:"cut,omitempty"`              // all vanish
	Delay   time.Duration `json:"delay_ns,omitempty"`         // by how much each comes later, 0 or more
	Loss    float64       `json:"loss,omitempty"`             // the share that vanishes, from 0 to 1
	Reorder float64       `json:"reorder,omitempty"`          // the share that is held back for HeldBack, from 0 to 1
	Rate    int64         `json:"bytes_per_second,omitempty"` // what passes; 0 for no limit
}

// HeldBack is how much later packets come that change places with others.
const HeldBack = 10 * time.Millisecond

// Queue is how many bytes wait at a link with a Rate; what comes when it is full
// vanishes. MostWaiting is how many bytes wait for any reason.
const (
	Queue       = 256 << 10
	MostWaiting = 64 << 20
)

// Fault is what is wrong from one end to another.
type Fault struct {
	From, To string // Clients or a member's name
	Link
}

// faultAt is a Fault by the numbers of its ends.
type faultAt struct {
	From int `json:"from"`
	To   int `json:"to"`
	Link
}

// request is what the process that forwards is asked for, as one line of JSON.
type request struct {
	Faults []faultAt `json:"faults"`
}

// Network joins members' networks and this machine's. One goroutine at a time uses it.
type Network struct {
	ends   []string // Clients, then the members
	spaces []*Space // the members'
	server *helper.Process
}

// Command is the name of our command that forwards packets: Command SUBNET MEMBERS.
// Its files from 3 on are the devices, this machine's first.
const Command = "network"

// firstDevice is the number of that file.
const firstDevice = 3

// Start makes networks for members with these names, and has our own binary at self
// forward packets between them. An error says in a sentence what this machine does not
// have or does not allow.
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

// Possible says in a sentence why there can be no networks of members here; nil if
// there can.
func Possible() error {
	made, err := newDevices(1)
	if err != nil {
		return err
	}
	made.closeFiles()
	(&Network{spaces: made.spaces}).closeSpaces()
	return nil
}

// Space is the network of the i-th member.
func (n *Network) Space(i int) *Space { return n.spaces[i] }

// PID is the number of the process that forwards packets.
func (n *Network) PID() int { return n.server.PID() }

// Set has the links have these faults, and no others. Packets that wait are let go at
// once, but for those of links that are cut.
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

// Close ends the networks. The members' processes must have ended. It may be called
// again.
func (n *Network) Close() {
	n.server.Close()
	n.closeSpaces()
}

func (n *Network) closeSpaces() {
	for _, s := range n.spaces {
		s.close()
	}
}
