// Package check asks whether a running cluster is good enough: whether it takes
// a load of a known size in time (perf), what so many keys cost it (datascale),
// and whether a disk is fast enough for its log (disk). What it writes it
// removes again. The models and limits are those of `etcdctl check`.
package check

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Model is a load of `check perf`.
type Model struct {
	Rate     float64 // writes a second that become due
	Clients  int     // the most writes in flight at once
	Duration time.Duration
}

// Scale is a load of `check datascale`.
type Scale struct {
	Keys    uint64
	Clients int
}

// UnknownLoadError says that there is no such load.
type UnknownLoadError struct{ Load string }

// Error is the original's words.
func (e *UnknownLoadError) Error() string {
	return fmt.Sprintf("unknown load option %v: choose s, m, l or xl", e.Load)
}

// models are those of `etcdctl check perf`.
var models = map[string]Model{
	"s":  {Rate: 150, Clients: 50, Duration: time.Minute},
	"m":  {Rate: 1000, Clients: 200, Duration: time.Minute},
	"l":  {Rate: 8000, Clients: 500, Duration: time.Minute},
	"xl": {Rate: 15000, Clients: 1000, Duration: time.Minute},
}

// scales are those of `etcdctl check datascale`.
var scales = map[string]Scale{
	"s":  {Keys: 10_000, Clients: 50},
	"m":  {Keys: 100_000, Clients: 200},
	"l":  {Keys: 1_000_000, Clients: 500},
	"xl": {Keys: 3_000_000, Clients: 1000},
}

// longNames are the loads' other names.
var longNames = map[string]string{"small": "s", "medium": "m", "large": "l", "xLarge": "xl"}

// Load returns the short name of a load, or an UnknownLoadError.
func Load(name string) (string, error) {
	if short, ok := longNames[name]; ok {
		return short, nil
	}
	if _, ok := models[name]; ok {
		return name, nil
	}
	return "", &UnknownLoadError{Load: name}
}

// ModelOf returns the model of a load's short name.
func ModelOf(load string) Model { return models[load] }

// ScaleOf returns the scale of a load's short name.
func ScaleOf(load string) Scale { return scales[load] }

// The sizes in bytes, those of a key without its prefix.
const (
	perfKey, perfValue   = 256, 1024
	scaleKey, scaleValue = 512, 512
)

// ScaleBytes is what a key and its value of `check datascale` take.
const ScaleBytes = scaleKey + scaleValue

// perfKeySpace is from how many keys each write draws its own: so many that
// hardly two are the same, in no order, as the original's.
const perfKeySpace = scenario.MaxKeySpace

// perfLoad is the load of `check perf`: one schedule for all clients.
func (p *Perf) perfLoad() scenario.Load {
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Arrival, l.Rate.PerSecond, l.Duration = scenario.Constant, p.Model.Rate, p.Model.Duration
	l.Clients, l.MaxInFlight, l.Connections = p.Model.Clients, p.Model.Clients, p.Connections
	l.KeySize, l.ValueSize, l.KeySpace, l.Prefix = perfKey, perfValue, perfKeySpace, p.Prefix
	l.Target, l.Timeout, l.Threads, l.Seed = p.Cluster.Target, p.Timeout, p.Threads, p.Seed
	fit(&l, p.Cluster)
	return l
}

// scaleLoad is the load of `check datascale`: each key once, as fast as the
// clients can.
func (d *Datascale) scaleLoad() scenario.Load {
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Duration, l.Total = 0, d.Scale.Keys
	l.Clients, l.Connections = d.Scale.Clients, d.Connections
	l.KeySize, l.ValueSize, l.KeySpace, l.Prefix = scaleKey, scaleValue, d.Scale.Keys, d.Prefix
	l.Distribution = scenario.Distribution{Name: scenario.Sequential}
	l.Target, l.Timeout, l.Threads, l.Seed = d.Cluster.Target, d.Timeout, d.Threads, d.Seed
	fit(&l, d.Cluster)
	return l
}

// fit gives each client a connection of its own, as the original does, unless
// another number was asked for, and completes the load.
func fit(l *scenario.Load, c Cluster) {
	if l.Connections == 0 {
		l.Connections = l.Clients
	}
	l.Complete()
	l.Fit(c.Store.Capabilities().InFlight)
}
