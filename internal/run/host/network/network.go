// Package network gives each member of a cluster its own network. Links connect these networks with
// each other and with this machine. A fault on a link drops, delays or reorders packets, or limits
// the link's rate.
//
// Each member has a network namespace that contains one TUN device. This machine's own network
// contains one more TUN device. A separate process holds the other ends of the devices and forwards
// packets between them. The addresses are 198.18.x.y or 198.19.x.y, from the range that RFC 2544
// reserves for benchmarks, in a subnet that this machine does not use. Nothing persists: the
// devices are removed when the forwarding process exits, and a namespace is removed when its last
// process exits.
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

// Clients is the name of the end of a link that is on this machine, where the load generator and
// all other clients run. An end at a member has the name of the member.
const Clients = "clients"

// Link is the set of faults that affect packets in one direction of a link. The zero value is a
// link without faults.
type Link struct {
	Cut     bool          `json:"cut,omitempty"`              // drops all packets
	Delay   time.Duration `json:"delay_ns,omitempty"`         // additional delay of each packet; at least 0
	Loss    float64       `json:"loss,omitempty"`             // share of packets that are dropped, from 0 to 1
	Reorder float64       `json:"reorder,omitempty"`          // share of packets that are delayed by ReorderDelay, from 0 to 1
	Rate    int64         `json:"bytes_per_second,omitempty"` // maximum rate, or 0 for no limit
}

// ReorderDelay is the delay of the packets that Reorder selects. The delay lets later packets
// overtake these packets.
const ReorderDelay = 10 * time.Millisecond

// MaxLinkQueueBytes is the maximum number of bytes that wait at a link with a Rate. The link drops
// packets that arrive when this queue is full. MaxWaitingBytes is the maximum number of bytes that
// wait in the whole network.
const (
	MaxLinkQueueBytes = 256 << 10
	MaxWaitingBytes   = 64 << 20
)

// Fault describes the faults on the link from one end to another.
type Fault struct {
	From, To string // Clients or the name of a member
	Link
}

// numberedFault is a Fault in which numbers instead of names identify the ends.
type numberedFault struct {
	From int `json:"from"`
	To   int `json:"to"`
	Link
}

// request is a command to the forwarding process. It is sent as one line of JSON.
type request struct {
	Faults []numberedFault `json:"faults"`
}

// Network connects members' networks with each other and with this machine's network. It is not
// safe for concurrent use.
type Network struct {
	endNames []string // Clients, then the members
	spaces   []*Space // the members' namespaces
	server   *helper.Process
}

// Command is the name of the quorumbench command that forwards packets. The command has two
// arguments, SUBNET and MEMBERS; the latter is a number. The process of the command inherits the
// devices as file descriptors 3 and higher. File descriptor 3 is this machine's device.
const Command = "network"

// firstDevice is the file descriptor of this machine's device in the forwarding process.
const firstDevice = 3

// Start creates a network for each of the named members. It starts the quorumbench binary at the
// path self, which forwards packets between the networks. If this machine does not support or
// permit such networks, the error gives the reason in one sentence.
func Start(ctx context.Context, self string, members []string) (*Network, error) {
	devices, err := newDeviceSet(len(members))
	if err != nil {
		return nil, err
	}
	n := &Network{endNames: append([]string{Clients}, members...), spaces: devices.spaces}
	n.server, err = helper.Start(ctx, self, "the members' network", devices.files, Command, devices.subnet, strconv.Itoa(len(members)))
	devices.closeFiles() // the forwarding process has inherited the files
	if err != nil {
		n.closeSpaces()
		return nil, err
	}
	return n, nil
}

// CheckSupport returns nil if this machine supports members' networks. Otherwise it returns the
// reason in one sentence.
func CheckSupport() error {
	made, err := newDeviceSet(1)
	if err != nil {
		return err
	}
	made.closeFiles()
	(&Network{spaces: made.spaces}).closeSpaces()
	return nil
}

// Space returns the network namespace of the i-th member.
func (n *Network) Space(i int) *Space { return n.spaces[i] }

// PID returns the ID of the process that forwards packets.
func (n *Network) PID() int { return n.server.PID() }

// Set injects the given faults on the links. They replace all faults that were set before. Waiting
// packets are sent immediately, except on links that are cut now.
func (n *Network) Set(ctx context.Context, all []Fault) error {
	r := request{Faults: []numberedFault{}}
	for _, f := range all {
		from, err := n.end(f.From)
		if err != nil {
			return err
		}
		to, err := n.end(f.To)
		if err != nil {
			return err
		}
		r.Faults = append(r.Faults, numberedFault{from, to, f.Link})
	}
	_, err := n.server.Ask(ctx, &r)
	return err
}

func (n *Network) end(name string) (int, error) {
	if i := slices.Index(n.endNames, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("the members' network has no end named %q; its ends are %s", name, strings.Join(n.endNames, ", "))
}

// Close removes the networks. The members' processes must have exited. Close may be called more
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
