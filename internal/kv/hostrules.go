package kv

import "time"

// HostRules contains a store's requirements for the machines of its members, and for the network
// between them.
type HostRules struct {
	// Record is the size in bytes of one write to the store's log. The store syncs the log after
	// each such write. Written describes such a write, in words that can follow "writes".
	Record  int
	Written string
	// Disk limits the times of these writes.
	Disk     DiskRule
	Document Document // the source of Disk
	// NoNetworkFiles is set if the store cannot keep its data on a network file system.
	NoNetworkFiles *HostRule
	Rules          []HostRule
	// Settings returns the settings that the store's documents recommend for a measured network and
	// disk. It is nil if the documents recommend none.
	Settings func(m Measured) []Setting
}

// Document is a text by a store's developers, from which a rule is taken.
type Document struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// HostRule is one requirement for a machine or a network.
type HostRule struct {
	Quantity HostQuantity
	AtLeast  float64 // the smallest permitted value, or 0 if there is none
	AtMost   float64 // the largest permitted value, or 0 if there is none
	// Advice is set if the document gives a guideline, which a working cluster may miss. A missed
	// guideline is reported but does not fail the check.
	Advice bool
	Effect string // what happens if the rule is not met
	Remedy string
	Source Document
}

// HostQuantity is a measured property of a machine, of the network between two machines, or of all
// machines together.
type HostQuantity uint8

// The quantities. Sizes are in bytes, times in seconds, and shares are from 0 to 1.
const (
	Memory HostQuantity = iota
	Processors
	OpenFiles
	Swap
	WithheldCPU // share of the time for which a hypervisor or a CPU limit withheld processor time
	MeanRoundTrip
	P99RoundTrip
	ClockDifference
	NetworkFiles // 1 for a network file system, 0 for a local one
	HostCount    // number of hosts that are checked together
)

var hostQuantities = [...]string{
	Memory: "memory", Processors: "CPUs", OpenFiles: "open files", Swap: "swap", WithheldCPU: "withheld CPU time",
	MeanRoundTrip: "mean round trip", P99RoundTrip: "p99 of the round trips", ClockDifference: "clock difference", NetworkFiles: "network file system",
	HostCount: "number of hosts",
}

// String returns the quantity's name in reports.
func (q HostQuantity) String() string {
	if int(q) < len(hostQuantities) {
		return hostQuantities[q]
	}
	return nameAt(nil, int(q))
}

// Pairwise reports whether the quantity is a property of a pair of hosts.
func (q HostQuantity) Pairwise() bool {
	return q == MeanRoundTrip || q == P99RoundTrip || q == ClockDifference
}

// Measured contains the measured times from which settings are computed. Each time is the maximum
// over all hosts or all pairs of hosts, or 0 if it was not measured.
type Measured struct {
	MeanRoundTrip, P99RoundTrip time.Duration
	P99Write, LongestWrite      time.Duration // times until a write was durable
}

// Setting is a recommended setting of a store.
type Setting struct {
	Name   string   `json:"name"`
	Value  string   `json:"value"`
	Reason string   `json:"reason"`
	Source Document `json:"source"`
}
