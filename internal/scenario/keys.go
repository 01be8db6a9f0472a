package scenario

import (
	"maps"
	"slices"
	"time"
)

// key is a key of a trial.
type key struct {
	name string
	// alone is a key of a trial itself, and neither of defaults nor of matrix.
	alone bool
	// shared is a key of a trial and of defaults, but not of matrix.
	shared bool
	set    func(*draft, *node) error
}

// trialKeys are all keys of a trial. Their order is that in which they are
// listed; none depends on another having been set.
func trialKeys() map[string]key {
	list := []key{
		{name: "name", alone: true, set: setName},
		{name: "matrix", alone: true},
		{name: "steps", alone: true},
		{name: "repeats", shared: true, set: setRepeats},

		{name: "store", set: setStore},
		wholeKey("members", func(d *draft) *int { return &d.cluster.Members }),
		{name: "version", set: wordKey("version", func(d *draft) *string { return &d.cluster.Version })},
		{name: "exec", set: wordKey("exec", func(d *draft) *string { return &d.cluster.Exec })},
		{name: "label", set: setLabel},
		{name: "baseline", shared: true},
		{name: "settings", set: setSettings},
		{name: "env", set: setEnv},
		{name: "endpoints", set: setEndpoints},
		{name: "tls", set: setTLS},
		{name: "user", shared: true, set: wordKey("user", func(d *draft) *string { return &d.attach.User })},
		spanKey("dial-timeout", func(d *draft) *time.Duration { return &d.attach.DialTimeout }),

		{name: "operation", set: setOperation},
		{name: "mix", set: setMix},
		{name: "consistency", set: setConsistency},
		{name: "target", set: setTarget},
		wholeKey("connections", func(d *draft) *int { return &d.load.Connections }),
		wholeKey("clients", func(d *draft) *int { return &d.load.Clients }),
		boolKey("new-connection", func(d *draft) *bool { return &d.load.NewConnection }),

		sizeKey("key-size", func(d *draft) *int { return &d.load.KeySize }),
		sizeKey("value-size", func(d *draft) *int { return &d.load.ValueSize }),
		countKey("key-space", func(d *draft) *uint64 { return &d.load.KeySpace }),
		{name: "prefix", set: setPrefix},
		{name: "distribution", set: setDistribution},
		{name: "range-key", set: rangeKey("range-key", func(d *draft) *[]byte { return &d.load.RangeKey })},
		{name: "range-end", set: rangeKey("range-end", func(d *draft) *[]byte { return &d.load.RangeEnd })},
		wholeKey("range-limit", func(d *draft) *int64 { return &d.load.RangeLimit }),
		wholeKey("txn-keys", func(d *draft) *int { return &d.load.TxnKeys }),
		{name: "stm", set: setSTM},

		{name: "watch", set: setWatch},

		{name: "arrival", set: setArrival},
		{name: "rate", set: setRate},
		countKey("total", func(d *draft) *uint64 { return &d.load.Total }),
		{name: "duration", set: setDuration},
		spanKey("warmup", func(d *draft) *time.Duration { return &d.load.Warmup }),
		spanKey("timeout", func(d *draft) *time.Duration { return &d.load.Timeout }),
		wholeKey("max-in-flight", func(d *draft) *int { return &d.load.MaxInFlight }),
		boolKey("scale-duration", func(d *draft) *bool { return &d.scaleDuration }),
		boolKey("preload", func(d *draft) *bool { return &d.load.Preload }),
		wholeKey("threads", func(d *draft) *int { return &d.load.Threads }),
		boolKey("allow-volatile", func(d *draft) *bool { return &d.load.VolatileMeant }),
	}
	keys := make(map[string]key, len(list))
	for _, k := range list {
		keys[k.name] = k
	}
	return keys
}

func wordKey(name string, field func(*draft) *string) func(*draft, *node) error {
	return func(d *draft, n *node) error {
		s, err := n.filled(name)
		*field(d) = s
		return err
	}
}

func wholeKey[T int | int64](name string, field func(*draft) *T) key {
	return key{name: name, set: func(d *draft, n *node) error {
		i, err := n.whole(name)
		*field(d) = T(i)
		return err
	}}
}

// countKey is a whole number from 1; that it is not set is told by 0.
func countKey(name string, field func(*draft) *uint64) key {
	return key{name: name, set: func(d *draft, n *node) error {
		return n.countInto(name, field(d))
	}}
}

func sizeKey(name string, field func(*draft) *int) key {
	return key{name: name, set: func(d *draft, n *node) (err error) {
		*field(d), err = parsed(n, name, ParseSize)
		return err
	}}
}

func spanKey(name string, field func(*draft) *time.Duration) key {
	return key{name: name, set: func(d *draft, n *node) (err error) {
		*field(d), err = parsed(n, name, ParseDuration)
		return err
	}}
}

func boolKey(name string, field func(*draft) *bool) key {
	return key{name: name, set: func(d *draft, n *node) (err error) {
		*field(d), err = n.boolean(name)
		return err
	}}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
