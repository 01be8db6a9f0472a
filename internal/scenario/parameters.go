package scenario

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Parameters are all parameters of a trial, in the order in which they are
// listed. None depends on another having been read, but for the entries of a
// mapping, which come behind it.
func Parameters() []*Parameter {
	all := []*Parameter{
		{Key: "name", alone: true, set: setName},
		{Key: "matrix", alone: true},
		{Key: "steps", alone: true},
		{Key: "repeats", shared: true, set: setRepeats, column: &column{title: "repeat", cell: repeatLabel, optional: true, none: "1 of 1"}},
	}
	all = append(all, clusterParameters()...)
	all = append(all, operationParameters()...)
	all = append(all, keyParameters()...)
	all = append(all, extraParameters()...)
	all = append(all, cleanupParameters()...)
	return append(all, timeParameters()...)
}

func clusterParameters() []*Parameter {
	return []*Parameter{
		{Key: "store", set: setStore, column: &column{cell: func(t *Trial) string { return t.Cluster.label() }}},
		{Key: "members", set: setMembers},
		{Key: "version", set: wordOf("version", func(d *draft) *string { return &d.cluster.Version })},
		{Key: "exec", set: wordOf("exec", func(d *draft) *string { return &d.cluster.Exec })},
		{Key: "label", set: setLabel},
		{Key: "baseline", shared: true},
		{Key: "settings", set: setSettings},
		{Key: "env", set: setEnv, column: &column{title: "environment", cell: environmentLabel, optional: true, none: "-"}},
		{Key: "endpoints", set: setEndpoints},
		{Key: "tls", set: setTLS},
		{Key: "user", shared: true, set: wordOf("user", func(d *draft) *string { return &d.attach.User })},
		{Key: "dial-timeout", set: setDialTimeout},
		{Key: "data-dir", set: wordOf("data-dir", func(d *draft) *string { return &d.attach.DataDir })},
	}
}

// operationParameters are what is done, and by how many.
func operationParameters() []*Parameter {
	return []*Parameter{
		{Key: "operation", Meaning: "what is done", set: setOperation, column: &column{cell: func(t *Trial) string { return t.Load.MixLabel() }}},
		{Key: "mix", Meaning: "several operations with their weights, as in put=20,get=80 or get:local=40", Differs: "the operations",
			value: mixValue{}, set: setMix},
		{Key: "consistency", Meaning: "of reads: linearizable (l) or local (s), where the store has both", Operations: kv.Kind.Reads, OperationsText: "reads", set: setConsistency,
			column: &column{cell: func(t *Trial) string { return t.Load.ConsistencyLabel() }}},
		{Key: "target", Meaning: "any (the endpoints as given), all (every member in turn), leader, followers or member:N", Differs: "the target", column: &column{},
			value: chosen(func(l *Load) *kv.Target { return &l.Target }, "WHICH", kv.ParseTarget)},
		{Key: "connections", Flag: "conns", Meaning: "connections", Differs: "the connections", Reads: &connectionsReading, column: &column{},
			value: whole(func(l *Load) *int { return &l.Connections }, 1, MaxConnections)},
		{Key: "clients", Meaning: "clients in all, each with one operation outstanding", Differs: "the clients", Reads: &clientsReading, ClosedLoop: true, column: &column{},
			value: whole(func(l *Load) *int { return &l.Clients }, 1, MaxClients)},
		{Key: "new-connection", Meaning: "a connection of its own for each operation, whose time counts from when connecting began",
			Differs: "a new connection for each operation", Reads: &connectionsReading,
			Note:       NewConnectionNote,
			Operations: kv.Kind.Brief, OperationsText: "operations of one request and answer", Throughout: true,
			value: yesNo(func(l *Load) *bool { return &l.NewConnection })},
		{Key: "threads", Meaning: "event loops of the generator; 0 chooses",
			value: whole(func(l *Load) *int { return &l.Threads }, 0, MaxThreads)},
	}
}

// NewConnectionNote is what the report says of a load with new-connection.
const NewConnectionNote = "Every operation opens a connection of its own, and its time counts from when connecting began"

// keyParameters are what operations are about.
func keyParameters() []*Parameter {
	onRange := "range and txn-get operations"
	return []*Parameter{
		{Key: "key-size", Meaning: "bytes of a key, after its prefix", Differs: "the key's size in bytes", Reads: &keySizeReading,
			value: size(func(l *Load) *int { return &l.KeySize }, MaxKeySize)},
		{Key: "value-size", Flag: "val-size", Meaning: "bytes of a value", Differs: "the value's size in bytes", Reads: &valueSizeReading,
			value: size(func(l *Load) *int { return &l.ValueSize }, MaxValueSize)},
		{Key: "key-space", Flag: "key-space-size", Meaning: "how many keys there are; as many as operations unless given, or 100000 with a duration", Differs: "the number of keys", Reads: &keysReading,
			value: keySpace()},
		{Key: "prefix", Meaning: "what every key begins with", Differs: "the key's prefix", Reads: &keySizeReading, value: prefixValue{}},
		{Key: "distribution", Meaning: "how keys are chosen: sequential, uniform, zipfian[:THETA] or hotspot[:KEYS:OPERATIONS]", Differs: "the distribution of keys", Reads: &keysReading,
			value: bounded(chosen(func(l *Load) *Distribution { return &l.Distribution }, "NAME", ParseDistribution)), set: setDistribution},
		{Key: "preload", Meaning: "write every key before, so that values are replaced", Differs: "the preload",
			value: yesNo(func(l *Load) *bool { return &l.Preload })},

		{Key: "range-key", Meaning: "the key that is read, or the first of the interval", Differs: "the range's first key", Reads: &keysReading, Operations: isRange, OperationsText: onRange,
			value: bytesValue{func(l *Load) *[]byte { return &l.RangeKey }, "KEY"}},
		{Key: "range-end", Meaning: "the first key after the interval that is read", Differs: "the range's end", Reads: &keysReading, Range: "after `range-key`", Operations: isRange, OperationsText: onRange,
			value: bytesValue{func(l *Load) *[]byte { return &l.RangeEnd }, "END"}},
		{Key: "range-limit", Flag: "limit", Meaning: "at most so many keys in each answer; 0 for all", Differs: "the range's limit of keys", Reads: &rangesReading, Operations: isRange, OperationsText: onRange,
			value: rangeLimit()},
		{Key: "count-only", Meaning: "how many keys there are, and not the keys", Differs: "counting keys instead of reading them", Reads: &rangesReading, Operations: isRange, OperationsText: onRange,
			value: yesNo(func(l *Load) *bool { return &l.Scan.CountOnly })},
		{Key: "keys-only", Meaning: "keys without their values", Differs: "reading keys without their values", Reads: &rangesReading, Operations: isPlainRange, OperationsText: "range operations",
			value: yesNo(func(l *Load) *bool { return &l.Scan.KeysOnly })},
		{Key: "stream", Meaning: "as a stream of answers (etcd 3.7 and later)", Differs: "reading ranges as a stream", Reads: &rangesReading, Operations: isPlainRange, OperationsText: "range operations",
			value: yesNo(func(l *Load) *bool { return &l.Scan.Streamed })},
		{Key: "page-size", Meaning: "so many keys at a time until all are read, as one operation; 0 reads them at once", Differs: "the keys of a page", Reads: &rangesReading,
			Operations: isPlainRange, OperationsText: "range operations",
			value: whole(func(l *Load) *int64 { return &l.Scan.PageSize }, 0, MaxPageSize)},

		{Key: "txn-keys", Flag: "txn-ops", Meaning: "keys that one transaction writes", Differs: "the keys of a transaction", Reads: &transactionReading, Operations: isTxn, OperationsText: "transactions",
			value: whole(func(l *Load) *int { return &l.TxnKeys }, 1, MaxTxnKeys)},
		{Key: "stm", Operations: isSTM, OperationsText: "stm operations", set: setSTM},
		{Key: "stm.keys", Flag: "keys-per-txn", Meaning: "different keys that one transaction reads", Differs: "the keys of an stm transaction", Reads: &transactionReading, Operations: isSTM, OperationsText: "stm operations",
			value: whole(stmField(func(t *STM) *int { return &t.KeysPerTxn }), 1, MaxSTMKeys)},
		{Key: "stm.write-percent", Flag: "txn-wr-percent", Meaning: "percent of them that it writes", Differs: "the percent of an stm transaction's keys that it writes", Reads: &transactionReading, Operations: isSTM, OperationsText: "stm operations",
			value: percent(stmField(func(t *STM) *int { return &t.WritePercent }))},
		{Key: "stm.isolation", Flag: "isolation", Meaning: "read committed, repeatable reads, serializable or serializable snapshot", Differs: "the isolation of stm transactions", Reads: &transactionReading, Operations: isSTM, OperationsText: "stm operations",
			value: chosen(stmField(func(t *STM) *kv.Isolation { return &t.Isolation }), "c|r|s|ss", kv.ParseIsolation)},
		{Key: "stm.locker", Flag: "stm-locker", Differs: "the locker of stm transactions", Reads: &transactionReading, Operations: isSTM, OperationsText: "stm operations",
			Meaning: "what keeps transactions apart beside their comparisons: nothing, a mutex of the client's, or the store's lock service",
			value:   chosen(stmField(func(t *STM) *kv.Locker { return &t.Locker }), "stm|lock-client|lock-rpc", kv.ParseLocker)},
	}
}

// extraParameters are those that are not of the operations: watchers, compaction
// and the comparison of the members' data.
func extraParameters() []*Parameter {
	return []*Parameter{
		{Key: "watch", set: setWatch, column: &column{title: "watchers", cell: func(t *Trial) string { return t.Load.watchLabel() }, optional: true, none: "none"}},
		{Key: "watch.watchers", Flag: "watchers", Meaning: "watchers in total", Differs: "the watchers",
			value: whole(watchField(func(w *Watch) *int { return &w.Watchers }), 1, MaxWatchers)},
		{Key: "watch.streams", Flag: "streams", Meaning: "watch streams", Differs: "the watch streams", Range: "1 to `watchers`",
			value: whole(watchField(func(w *Watch) *int { return &w.Streams }), 1, MaxWatchers)},
		{Key: "watch.connections", Flag: "watch-conns", Meaning: "connections for watchers alone; 0 puts them on the load's own", Differs: "the watchers' own connections", Range: "0 to `streams`",
			value: whole(watchField(func(w *Watch) *int { return &w.Connections }), 0, MaxConnections)},
		{Key: "watch.watched-keys", Flag: "watched-keys", Meaning: "keys that are watched, the first of all; all unless given", Differs: "the watched keys", Range: "1 to `key-space`",
			value: count64(watchField(func(w *Watch) *uint64 { return &w.WatchedKeys }), MaxKeySpace)},
		{Key: "watch.keys-per-watcher", Flag: "keys-per-watcher", Meaning: "keys that each watcher watches, from its own on, or all", Differs: "the keys that each watcher watches", Range: "from 1",
			value: spanOfWatcher{count64(watchField(func(w *Watch) *uint64 { return &w.Span }), MaxKeySpace)}},
		{Key: "watch.prev-kv", Flag: "prevkv", Meaning: "events carry the value before, too", Differs: "the values before in watch events",
			value: yesNo(watchField(func(w *Watch) *bool { return &w.PrevKV }))},
		{Key: "watch.key", Flag: "watch-key", Meaning: "the one key that all watch, instead of the load's keys", Differs: "the watched key",
			value: bytesValue{watchField(func(w *Watch) *[]byte { return &w.Key }), "KEY"}, set: setWatchKey},
		{Key: "watch.earlier-events", Flag: "events", Meaning: "earlier events that each watcher is to get", Differs: "the earlier events that watchers catch up with", Reads: &windowReading,
			value: earlierEvents()},
		{Key: "watch.created-in-window", Flag: "created-in-window", Meaning: "create the watchers when the window opens, and not before", Differs: "the creation of watchers in the window",
			value: yesNo(watchField(func(w *Watch) *bool { return &w.AtWindow }))},

		{Key: "compact", set: setCompact},
		{Key: "compact.every", Flag: "compact-interval", Meaning: "compact the store so often beside the load; 0 is never", Differs: "the time between compactions", Features: []kv.Feature{kv.Compaction}, Reads: &compactionReading,
			value: compactEvery()},
		{Key: "compact.behind", Flag: "compact-index-delta", Meaning: "how many revisions before the present one a compaction keeps", Differs: "the revisions that a compaction keeps", Reads: &compactionReading,
			value: behind()},
		{Key: "compact-first", Meaning: "compact the store's history before the load, after the preload, so that it begins without old revisions",
			Differs: "a compaction before the load", Reads: &compactFirstReading, Features: []kv.Feature{kv.Compaction},
			value: bounded(yesNo(func(l *Load) *bool { return &l.CompactFirst }))},
		{Key: "compare-hashes", Flag: "check-hashkv", Meaning: "ask all endpoints afterwards for the hash of their data, and fail where they differ", Features: []kv.Feature{kv.Hashes},
			value: yesNo(func(l *Load) *bool { return &l.CompareHashes })},
	}
}

var compactFirstReading = Reading{"compacted first", ifCompactedFirst("yes"), ifCompactedFirst("history compacted before the load")}

func ifCompactedFirst(text string) func(*Load) string {
	return func(l *Load) string {
		if !l.CompactFirst {
			return ""
		}
		return text
	}
}

// timeParameters are when operations are sent, and for how long.
func timeParameters() []*Parameter {
	return []*Parameter{
		{Key: "arrival", Meaning: "how operations of an open loop become due", Differs: "the arrival",
			column: &column{cell: func(t *Trial) string { return t.Load.arrivalLabel() }},
			value:  chosen(func(l *Load) *Arrival { return &l.Arrival }, "constant|poisson", ParseArrival)},
		{Key: "rate", Meaning: "operations a second that become due whatever the store does: an open loop; 0 is a closed loop", Differs: "the rate a second", OpenLoop: true,
			value: rateValue{}},
		{Key: "total", Meaning: "operations to measure", Differs: "the total of operations", Reads: &windowReading,
			value: count64(func(l *Load) *uint64 { return &l.Total }, MaxTotal)},
		{Key: "duration", Meaning: "how long to measure, instead of a total", Differs: "the duration", Reads: &windowReading,
			column: &column{title: "window", cell: func(t *Trial) string { return t.Load.windowLabel() }},
			value:  bounded(span(func(l *Load) *time.Duration { return &l.Duration }, true, MaxDuration))},
		{Key: "warmup", Meaning: "how long to warm up before that", Differs: "the warm-up", Reads: &warmupReading,
			value: span(func(l *Load) *time.Duration { return &l.Warmup }, false, MaxDuration)},
		{Key: "timeout", Meaning: "of one operation, from when it is sent", Differs: "the timeout", Reads: &timeoutReading,
			value: timeout()},
		{Key: "max-in-flight", Meaning: "the most operations of an open loop that are in flight at once", Differs: "the limit of operations in flight", OpenLoop: true,
			value: whole(func(l *Load) *int { return &l.MaxInFlight }, 1, MaxInFlight)},
		{Key: "scale-duration", set: setScaleDuration},
		{Key: "allow-volatile", Meaning: "writes that are not made durable are what is meant",
			value: yesNo(func(l *Load) *bool { return &l.VolatileMeant })},
	}
}

// parametersByKey is the same for looking one up.
func parametersByKey() map[string]*Parameter {
	keys := make(map[string]*Parameter)
	for _, p := range Parameters() {
		keys[p.Key] = p
	}
	return keys
}

func stmField[T any](of func(*STM) *T) func(*Load) *T {
	return func(l *Load) *T {
		if l.STM == nil {
			return nil
		}
		return of(l.STM)
	}
}

func watchField[T any](of func(*Watch) *T) func(*Load) *T {
	return func(l *Load) *T {
		if l.Watch == nil {
			return nil
		}
		return of(l.Watch)
	}
}

// bounded is a parameter whose zero value says nothing, such as one that bounds the
// window beside another one.
func bounded[T comparable](t typed[T]) typed[T] {
	t.optional = true
	return t
}

func rangeLimit() value {
	t := whole(func(l *Load) *int64 { return &l.RangeLimit }, 0, math.MaxInt64)
	t.form.check = func(c *checks, key string, n int64) {
		if n < 0 {
			c.add(key, "<"+key+"> is %d and cannot be negative; 0 is no limit", n)
		}
	}
	return t
}

// keySpace is checked with the size of keys, since it may follow from the rest.
func keySpace() value {
	t := count64(func(l *Load) *uint64 { return &l.KeySpace }, MaxKeySpace)
	t.form.check = nil
	return t
}

func compactEvery() value {
	t := span(func(l *Load) *time.Duration { return &l.Compact.Every }, false, MaxDuration)
	t.optional = true
	t.form.check = func(c *checks, key string, d time.Duration) {
		if d < 0 {
			c.add(key, "<"+key+"> is %v and cannot be negative; 0 is never", d)
			return
		}
		c.span(key, d, MaxDuration)
	}
	return t
}

func behind() value {
	t := whole(func(l *Load) *int64 { return &l.Compact.Behind }, 0, math.MaxInt64)
	t.optional = true
	t.form.check = func(c *checks, key string, n int64) {
		if n < 0 {
			c.add(key, "<"+key+"> is %d and cannot be negative", n)
		}
	}
	return t
}

func percent(field func(*Load) *int) value {
	t := whole(field, 0, 100)
	t.form.check = func(c *checks, key string, n int) {
		if n < 0 || n > 100 {
			c.add(key, "<"+key+"> is %d and must be from 0 to 100", n)
		}
	}
	return t
}

func timeout() value {
	t := span(func(l *Load) *time.Duration { return &l.Timeout }, true, MaxTimeout)
	t.form.check = func(c *checks, key string, d time.Duration) {
		if d <= 0 {
			c.found = append(c.found, &Problem{key, c.words.outOf(key, d.String(), "above 0")})
		}
		c.span(key, max(d, 0), MaxTimeout)
	}
	return t
}
