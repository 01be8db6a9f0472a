package scenario

import "fmt"

// CheckLoad is a load of a check, over its preset. The sizes are those of etcdctl.
type CheckLoad struct {
	Rate    float64 // of `check perf`: writes a second that become due
	Keys    uint64  // of `check datascale`
	Clients int     // the most writes in flight at once
}

// PerfLoads are those of `check perf`, and ScaleLoads those of `check datascale`,
// by their short names.
var (
	PerfLoads  = map[string]CheckLoad{"s": {Rate: 150, Clients: 50}, "m": {Rate: 1000, Clients: 200}, "l": {Rate: 8000, Clients: 500}, "xl": {Rate: 15000, Clients: 1000}}
	ScaleLoads = map[string]CheckLoad{"s": {Keys: 10_000, Clients: 50}, "m": {Keys: 100_000, Clients: 200}, "l": {Keys: 1_000_000, Clients: 500}, "xl": {Keys: 3_000_000, Clients: 1000}}
)

// longLoads are the loads' other names.
var longLoads = map[string]string{"small": "s", "medium": "m", "large": "l", "xLarge": "xl"}

// FindCheckLoad finds a load by its short or its long name, and returns the short
// one. Its error is in etcdctl's words.
func FindCheckLoad(name string, of map[string]CheckLoad) (short string, l CheckLoad, err error) {
	if short = longLoads[name]; short == "" {
		short = name
	}
	l, ok := of[short]
	if !ok {
		err = fmt.Errorf("unknown load option %v: choose s, m, l or xl", name)
	}
	return short, l, err
}
