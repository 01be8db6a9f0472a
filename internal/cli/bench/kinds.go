package bench

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/report"
)

// Groups of parameters for which several commands have no flags.
var (
	keyParameters      = []string{"key-size", "value-size", "key-space", "prefix", "distribution", "preload"}
	intervalParameters = []string{"range-key", "range-end"}
	watcherParameters  = []string{
		"watch.watchers", "watch.streams", "watch.connections", "watch.watched-keys", "watch.keys-per-watcher",
		"watch.mode", "watch.prev-kv", "watch.key", "watch.earlier-events", "watch.created-in-window",
	}
	scheduleParameters = []string{"arrival", "rate", "total", "duration", "warmup", "timeout", "max-in-flight", "threads"}
	// intervalArgs maps parameters to the arguments that set them. Error messages mention these
	// arguments.
	intervalArgs = map[string]string{"range-key": "KEY", "range-end": "END"}
	putNames     = map[string]string{"total": "--put-total", "rate": "--put-rate"}
)

func kinds() []kind {
	return []kind{
		{name: "put", short: "Write keys"},
		{name: "get", short: "Read one key at a time from the key space", preloads: true},
		{name: "exists", short: "Check whether keys exist, one key at a time, without reading values", preloads: true},
		{
			name: "range", args: "KEY [END]", maxArgs: 2, argsDescription: "KEY and optionally END, the first key after the interval",
			short:              "Read a given key or interval repeatedly",
			excludedParameters: slices.Concat(keyParameters, intervalParameters), names: intervalArgs,
			flags: (*options).registerRange, fill: (*options).fillRange,
		},
		{name: "list", short: "List keys of the key space, starting at one of its keys", excludedParameters: intervalParameters, preloads: true},
		{name: "delete", short: "Delete keys", preloads: true},
		{name: "cas", short: "Set a key's value if the key has the expected version", preloads: true},
		{name: "txn-put", alias: "txn", short: "Write several keys in one transaction"},
		{name: "mixed", short: "Write and read keys of one key space", mixed: true, preloads: true, flags: (*options).registerMixed, fill: (*options).fillMixed},
		{
			name: "txn-mixed", args: "[KEY] [END]", maxArgs: 2, argsDescription: "KEY, the first key that transactions read, and END, the first key after the interval",
			short:              "Run transactions that each write one key or read a key interval",
			excludedParameters: intervalParameters, names: intervalArgs, preloads: true,
			flags: (*options).registerTxnMixed, fill: (*options).fillTxnMixed,
		},
		{
			name: "stm", short: "Read keys and write some of them in optimistic transactions that are retried after a conflict",
			excludedParameters: watcherParameters, names: map[string]string{"key-space": "--keys"},
		},
		{
			name: "lease-keepalive", short: "Keep leases alive, one per client",
			excludedParameters: slices.Concat(keyParameters, watcherParameters),
		},
		{
			name: "watch", short: "Write watched keys, and measure how long events take to reach the watchers",
			includedParameters: append([]string{"key-size", "key-space", "prefix", "watch.mode"}, scheduleParameters...), names: putNames,
			flags: (*options).registerWatch, fill: (*options).fillWatch,
			sections: report.Classic{
				Created: &report.Section{Heading: "Watch creation summary:", Label: "make"},
				Events:  &report.Section{Heading: "Watch events received summary:", Label: "put"},
			},
		},
		{
			name: "watch-get", short: "Read a key while watchers catch up with earlier events of another key",
			includedParameters: []string{"prefix", "duration", "timeout", "threads", "watch.watchers", "watch.streams", "watch.earlier-events"},
			flags:              func(*options, command.Flags) {}, fill: (*options).fillWatchGet,
			sections: report.Classic{Operations: &report.Section{Heading: "Get during watch summary:"}},
		},
		{
			name: "watch-latency", short: "Write one key, and measure how long each event takes to reach each watcher",
			includedParameters: append([]string{"key-size", "value-size", "prefix", "watch.mode", "watch.prev-kv"}, scheduleParameters...), names: putNames,
			flags: (*options).registerWatchLatency, fill: (*options).fillWatchLatency,
			sections: report.Classic{
				Operations: &report.Section{Heading: "Put summary:", Label: "put"},
				Events:     &report.Section{Heading: "Watch events summary:", Label: "watch"},
			},
		},
	}
}

// examples contains example command lines for each command, without the leading "quorumbench
// bench".
var examples = map[string][]string{
	"put":             {"put --endpoints 10.0.0.1:2379 --clients 100 --conns 10 --val-size 256", "put --endpoints 10.0.0.1:2379 --rate 500 --duration 1m --out runs/put"},
	"get":             {"get --endpoints 10.0.0.1:2379 --clients 100 --conns 10 --consistency local"},
	"exists":          {"exists --endpoints 10.0.0.1:2379 --clients 100 --conns 10"},
	"range":           {"range /app/ --endpoints 10.0.0.1:2379 --prefix --limit 500"},
	"list":            {"list --endpoints 10.0.0.1:2379 --limit 100"},
	"delete":          {"delete --endpoints 10.0.0.1:2379 --total 5000"},
	"cas":             {"cas --endpoints 10.0.0.1:2379 --clients 20 --conns 5 --key-space-size 100"},
	"txn-put":         {"txn-put --endpoints 10.0.0.1:2379 --txn-ops 10"},
	"mixed":           {"mixed --endpoints 10.0.0.1:2379 --mix put=20,get=80 --duration 30s", "mixed --endpoints 10.0.0.1:2379 --mix put=1,get=1 --val-size 32 --verify"},
	"txn-mixed":       {"txn-mixed --endpoints 10.0.0.1:2379 --rw-ratio 4"},
	"stm":             {"stm --endpoints 10.0.0.1:2379 --clients 20 --conns 5 --keys 100 --isolation ss"},
	"lease-keepalive": {"lease-keepalive --endpoints 10.0.0.1:2379 --clients 100 --conns 10"},
	"watch":           {"watch --endpoints 10.0.0.1:2379 --watch-per-stream 100 --put-rate 500"},
	"watch-get":       {"watch-get --endpoints 10.0.0.1:2379 --watchers 1000 --streams 100"},
	"watch-latency":   {"watch-latency --endpoints 10.0.0.1:2379 --watchers-per-stream 10 --put-rate 50"},
}
