package scenario

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Parameters returns all parameters of trials, in the order in which lists show them. Their values
// can be read in any order, except that the entries of a mapping must be read after the mapping.
func Parameters(apps []application.Application) []*Parameter {
	return parameters(apps, settingParameters(apps))
}

// ParametersOf returns all parameters of the loads. The loads may come from records with unknown
// applications. So ParametersOf returns the parameters for the applications' settings in the loads,
// and not those of known applications.
func ParametersOf(loads ...*Load) []*Parameter {
	var settings []*Parameter
	for _, l := range loads {
		for _, s := range l.Application.Settings {
			if !slices.ContainsFunc(settings, func(p *Parameter) bool { return p.Key == s.Key }) {
				value := &setting{Parameter: application.Parameter{Key: s.Key}}
				settings = append(settings, &Parameter{Key: s.Key, Differs: s.Name, Reads: &applicationReading, value: value})
			}
		}
	}
	return parameters(nil, settings)
}

// parameters returns all parameters. settings are the parameters of applications.
func parameters(apps []application.Application, settings []*Parameter) []*Parameter {
	all := []*Parameter{
		{Key: "name", alone: true, set: keep((*node).filled, func(d *draft) *string { return &d.name })},
		{Key: "matrix", alone: true},
		{Key: "steps", alone: true},
		{Key: "repeats", shared: true, set: keep(readRepeats, func(d *draft) *int { return &d.repeats }),
			column: &column{title: "repeat", cell: repeatLabel, optional: true, none: "1 of 1"}},
	}
	all = append(all, clusterParameters()...)
	all = append(all, operationParameters()...)
	all = append(all, keyParameters()...)
	all = append(append(all, applicationParameter(apps)), settings...)
	all = append(all, extraParameters()...)
	return append(all, timeParameters()...)
}

func clusterParameters() []*Parameter {
	return []*Parameter{
		{Key: "store", set: setStore, column: &column{cell: func(t *Trial) string { return t.Cluster.label() }}},
		{Key: "members", set: keep((*node).int, func(d *draft) *int { return &d.cluster.Members })},
		{Key: "members-on", set: keep((*node).words, func(d *draft) *[]string { return &d.cluster.On })},
		{Key: "version", set: keep((*node).filled, func(d *draft) *string { return &d.cluster.Version })},
		{Key: "exec", set: keep((*node).filled, func(d *draft) *string { return &d.cluster.Exec })},
		{Key: "label", set: setLabel},
		{Key: "baseline", shared: true},
		{Key: "settings", set: setSettings},
		{Key: "env", set: setEnv, column: &column{title: "environment", cell: environmentLabel, optional: true, none: "-"}},
		{Key: "endpoints", set: keep((*node).words, func(d *draft) *[]string { return &d.attach.Endpoints })},
		{Key: "tls", set: setTLS},
		{Key: "user", shared: true, set: keep((*node).filled, func(d *draft) *string { return &d.attach.User })},
		{Key: "dial-timeout", set: keep(parsedBy(text.ParseDuration), func(d *draft) *time.Duration { return &d.attach.DialTimeout })},
		{Key: "data-dir", set: keep((*node).filled, func(d *draft) *string { return &d.attach.DataDir })},
	}
}

// operationParameters returns the parameters for operations and clients.
func operationParameters() []*Parameter {
	return []*Parameter{
		{Key: "operation", Meaning: "operation to send", set: setOperation, column: &column{cell: func(t *Trial) string { return t.Load.mixLabel() }}},
		{Key: "mix", Meaning: "operations with weights, for example put=20,get=80 or get:local=40", Differs: "the operations",
			value: mix(), set: setMix},
		{Key: "consistency", Meaning: "consistency of reads: linearizable (l), local (s) or lease, if the store supports it", For: ofReads,
			set:    keep(parsedBy(kv.ParseConsistency), func(d *draft) *kv.Consistency { return &d.consistency }),
			column: &column{cell: func(t *Trial) string { return t.Load.consistencyLabel() }}},
		{Key: "target", Meaning: "members that receive the load: any (the given endpoints), all (every member in turn), leader, followers or member:N", Differs: "the target", column: &column{},
			value: chosen(func(l *Load) *kv.Target { return &l.Target }, "WHICH", kv.ParseTarget)},
		{Key: "connections", Flag: "conns", Meaning: "number of connections", Differs: "the connections", Reads: &connectionsReading, column: &column{},
			value: integer(func(l *Load) *int { return &l.Connections }, 1, MaxConnections)},
		{Key: "clients", Meaning: "number of clients, each with one operation outstanding", Differs: "the clients", Reads: &clientsReading, ClosedLoop: true, column: &column{},
			value: integer(func(l *Load) *int { return &l.Clients }, 1, MaxClients)},
		{Key: "new-connection", Meaning: "open a new connection for each operation; the operation's time includes connecting",
			Differs: "a new connection for each operation", Reads: &connectionsReading,
			Note: NewConnectionNote,
			For:  ofBrief, Throughout: true,
			value: yesNo(func(l *Load) *bool { return &l.NewConnection })},
		{Key: "threads", Meaning: "number of event loops in the load generator, or in each worker; 0 chooses automatically",
			value: integer(func(l *Load) *int { return &l.Threads }, 0, maxThreads)},
		{Key: "workers-on", set: keep((*node).words, func(d *draft) *[]string { return &d.workersOn })},
		{Key: "workers", Meaning: "number of workers that share the load",
			column: &column{cell: workersLabel, optional: true, none: "1"},
			value:  integer(func(l *Load) *uint32 { return &l.Workers }, 1, MaxWorkers)},
	}
}

// NewConnectionNote is the note in reports about a load with new-connection.
const NewConnectionNote = "Every operation opens a new connection, and its time includes connecting"

// keyParameters returns the parameters for keys and values.
func keyParameters() []*Parameter {
	return []*Parameter{
		{Key: "key-size", Meaning: "size of keys after their prefix, in bytes", Differs: "the key's size in bytes", Reads: &keySizeReading,
			value: size(func(l *Load) *int { return &l.KeySize }, MaxKeySize)},
		{Key: "value-size", Flag: "val-size", Meaning: "size of values, in bytes", Differs: "the value's size in bytes", Reads: &valueSizeReading,
			value: size(func(l *Load) *int { return &l.ValueSize }, MaxValueSize)},
		{Key: "key-space", Flag: "key-space-size", Meaning: "number of keys (default: the number of operations, or 100000 if a duration is given)", Differs: "the number of keys", Reads: &keysReading,
			value: keySpace()},
		{Key: "prefix", Meaning: "prefix of every key", Differs: "the key's prefix", Reads: &keySizeReading, value: prefix()},
		{Key: "distribution", Meaning: "how keys are chosen: sequential, uniform, zipfian[:THETA] or hotspot[:KEYS:OPERATIONS]", Differs: "the distribution of keys", Reads: &keysReading,
			value: optional(chosen(func(l *Load) *Distribution { return &l.Distribution }, "NAME", ParseDistribution)), set: setDistribution},
		{Key: "preload", Meaning: "write every key before the load starts, so that writes replace existing values", Differs: "the preload",
			value: yesNo(func(l *Load) *bool { return &l.Preload })},

		{Key: "range-key", Meaning: "key to read, or the first key of a key interval", Differs: "the range's first key", Reads: &keysReading, For: ofRanges,
			value: textValue(func(l *Load) *[]byte { return &l.RangeKey }, "KEY", oneByte)},
		{Key: "range-end", Meaning: "first key after the key interval", Differs: "the range's end", Reads: &keysReading, Range: "after `range-key`", For: ofRanges,
			value: textValue(func(l *Load) *[]byte { return &l.RangeEnd }, "END", oneByte)},
		{Key: "range-limit", Flag: "limit", Meaning: "maximum number of keys in each response; 0 means no limit", Differs: "the limit of keys per range", Reads: &rangesReading, For: ofRanges,
			value: notNegative(func(l *Load) *int64 { return &l.RangeLimit }, "; 0 means no limit")},
		{Key: "count-only", Features: []kv.Feature{kv.RangeForms}, Meaning: "return only the number of keys", Differs: "counting keys instead of reading them", Reads: &rangesReading, For: ofRanges,
			value: yesNo(func(l *Load) *bool { return &l.Scan.CountOnly })},
		{Key: "keys-only", Features: []kv.Feature{kv.RangeForms}, Meaning: "return keys without their values", Differs: "reading keys without their values", Reads: &rangesReading, For: ofPlainRanges,
			value: yesNo(func(l *Load) *bool { return &l.Scan.KeysOnly })},
		{Key: "stream", Features: []kv.Feature{kv.RangeForms}, Meaning: "return the range as a stream (etcd 3.7 and later)", Differs: "reading ranges as a stream", Reads: &rangesReading, For: ofPlainRanges,
			value: yesNo(func(l *Load) *bool { return &l.Scan.Streamed })},
		{Key: "page-size", Features: []kv.Feature{kv.RangeForms}, Meaning: "read the range in pages of this many keys, all in a single operation; 0 reads the range in one request", Differs: "the number of keys per page", Reads: &rangesReading,
			For:   ofPlainRanges,
			value: integer(func(l *Load) *int64 { return &l.Scan.PageSize }, 0, maxPageSize)},

		{Key: "txn-keys", Flag: "txn-ops", Meaning: "number of keys that each transaction writes", Differs: "the number of keys per transaction", Reads: &transactionReading, For: ofTransactions,
			value: integer(func(l *Load) *int { return &l.TxnKeys }, 1, MaxTxnKeys)},
		{Key: "stm", For: ofSTM, set: setSTM},
		{Key: "stm.keys", Flag: "keys-per-txn", Meaning: "number of different keys that each transaction reads", Differs: "the number of keys per stm transaction", Reads: &transactionReading, For: ofSTM,
			value: integer(stmField(func(t *STM) *int { return &t.KeysPerTxn }), 1, maxSTMKeys)},
		{Key: "stm.write-percent", Flag: "txn-wr-percent", Meaning: "percentage of the keys that the transaction reads and then also writes", Differs: "the percentage of keys that an stm transaction writes", Reads: &transactionReading, For: ofSTM,
			value: percent(stmField(func(t *STM) *int { return &t.WritePercent }))},
		{Key: "stm.isolation", Flag: "isolation", Meaning: "isolation level: read committed (c), repeatable reads (r), serializable (s) or serializable snapshot (ss)", Differs: "the isolation of stm transactions", Reads: &transactionReading, For: ofSTM,
			value: chosen(stmField(func(t *STM) *kv.Isolation { return &t.Isolation }), "c|r|s|ss", kv.ParseIsolation)},
		{Key: "stm.locker", Flag: "stm-locker", Differs: "the locker of stm transactions", Reads: &transactionReading, For: ofSTM,
			Meaning: "lock around each transaction: none (stm), a mutex implemented with keys (lock-client) or the store's lock service (lock-rpc)",
			value:   chosen(stmField(func(t *STM) *kv.Locker { return &t.Locker }), "stm|lock-client|lock-rpc", kv.ParseLocker)},
	}
}

// extraParameters returns the parameters for everything other than operations: watchers,
// compaction, comparing the members' data, and cleanup.
func extraParameters() []*Parameter {
	return []*Parameter{
		{Key: "watch", set: setWatch, column: &column{title: "watchers", cell: func(t *Trial) string { return t.Load.watchLabel() }, optional: true, none: "none"}},
		{Key: "watch.watchers", Flag: "watchers", Meaning: "number of watchers", Differs: "the watchers",
			value: integer(watchField(func(w *Watch) *int { return &w.Watchers }), 1, MaxWatchers)},
		{Key: "watch.streams", Flag: "streams", Meaning: "number of watch streams", Differs: "the watch streams", Range: "1 to `watchers`",
			value: integer(watchField(func(w *Watch) *int { return &w.Streams }), 1, MaxWatchers)},
		{Key: "watch.connections", Flag: "watch-conns", Meaning: "number of separate connections for watchers; 0 uses the load's connections", Differs: "the watchers' own connections", Range: "0 to `streams`",
			value: integer(watchField(func(w *Watch) *int { return &w.Connections }), 0, MaxConnections)},
		{Key: "watch.watched-keys", Flag: "watched-keys", Meaning: "watch only this many keys, from the start of the key space (default: all keys)", Differs: "the watched keys", Range: "1 to `key-space`",
			value: integer(watchField(func(w *Watch) *uint64 { return &w.WatchedKeys }), 1, maxKeySpace)},
		{Key: "watch.keys-per-watcher", Flag: "keys-per-watcher", Meaning: "number of consecutive keys that each watcher watches, or all for all keys", Differs: "the keys that each watcher watches", Range: "from 1",
			value: watchedSpan()},
		{Key: "watch.prev-kv", Flag: "prevkv", Meaning: "watch events also contain the previous value", Differs: "the previous values in watch events",
			value: yesNo(watchField(func(w *Watch) *bool { return &w.PrevKV }))},
		{Key: "watch.mode", Flag: "watch-mode", Meaning: "kind of watch: stream, persistent, or once (after each event, a read sets the watch again)", Differs: "the watch mode",
			value: optional(chosen(watchField(func(w *Watch) *kv.WatchMode { return &w.Mode }), "stream|once|persistent", kv.ParseWatchMode))},
		{Key: "watch.key", Flag: "watch-key", Meaning: "watch only this key, which must not be one of the load's keys", Differs: "the watched key",
			value: watchedKey()},
		{Key: "watch.earlier-events", Flag: "events", Meaning: "number of earlier events that each watcher must receive before the load ends", Differs: "the earlier events that watchers must receive", Reads: &windowReading,
			value: integer(watchField(func(w *Watch) *uint32 { return &w.Expect }), 1, maxEarlierEvents)},
		{Key: "watch.created-in-window", Flag: "created-in-window", Meaning: "create the watchers when the measurement window opens", Differs: "whether watchers are created in the window",
			value: yesNo(watchField(func(w *Watch) *bool { return &w.AtWindow }))},

		{Key: "compact", set: setCompact},
		{Key: "compact.every", Flag: "compact-interval", Meaning: "compact the store at this interval during the load; 0 means never", Differs: "the time between compactions", Features: []kv.Feature{kv.Compaction}, Reads: &compactionReading,
			value: optional(span(func(l *Load) *time.Duration { return &l.Compact.Every }, MaxDuration, "; 0 means never"))},
		{Key: "compact.behind", Flag: "compact-index-delta", Meaning: "number of revisions that each compaction keeps before the current revision", Differs: "the revisions that a compaction keeps", Reads: &compactionReading,
			value: optional(notNegative(func(l *Load) *int64 { return &l.Compact.Behind }, ""))},
		{Key: "compact-first", Meaning: "compact the store's history after the preload, so that the load starts without old revisions",
			Differs: "a compaction before the load", Reads: &compactFirstReading, Features: []kv.Feature{kv.Compaction},
			value: optional(yesNo(func(l *Load) *bool { return &l.CompactFirst }))},
		{Key: "compare-hashes", Flag: "check-hashkv", Meaning: "compare the hashes of all members' data after the load, and fail if the hashes differ", Features: []kv.Feature{kv.Hashes},
			value: yesNo(func(l *Load) *bool { return &l.CompareHashes })},
		{Key: "verify", Meaning: "record every operation, and verify the store's responses after the load", Features: []kv.Feature{kv.Order},
			Differs: "whether every operation is recorded and verified", Reads: &verifyReading,
			value: optional(yesNo(func(l *Load) *bool { return &l.Verify }))},
		{Key: "faults", // bench has no such flag, because it measures running clusters
			Differs: "the faults", Reads: &faultsReading, column: &column{title: "faults", cell: func(t *Trial) string { return fault.Text(t.Load.Faults) }, optional: true, none: "none"},
			value: faults()},

		{Key: "cleanup", Meaning: "remove all keys with the prefix after each trial. If not set, the keys on a running cluster are removed at the end of the run; if false, they are kept",
			value: optional(yesNo(func(l *Load) *bool { return &l.Cleanup.Keys }))},
		{Key: "cleanup-compact", Flag: "auto-compact", Meaning: "compact the history after the cleanup", Features: []kv.Feature{kv.Compaction},
			value: optional(yesNo(func(l *Load) *bool { return &l.Cleanup.Compact }))},
		{Key: "cleanup-defragment", Flag: "auto-defrag", Meaning: "defragment every member after the cleanup", Features: []kv.Feature{kv.Defragmentation},
			value: optional(yesNo(func(l *Load) *bool { return &l.Cleanup.Defragment }))},
		{Key: "overwrite-existing", Meaning: "for a running cluster: allow a prefix with which keys already exist; the load may replace and delete these keys, and no keys are removed afterwards",
			value: optional(yesNo(func(l *Load) *bool { return &l.Overwrite }))},
		{Key: "cluster-wide", Meaning: "for a running cluster: allow compaction and defragmentation, which affect the whole cluster",
			value: optional(yesNo(func(l *Load) *bool { return &l.ClusterWide }))},
		{Key: "require-memory", Meaning: "do not run the load if the first member does not report its memory", Features: []kv.Feature{kv.Metrics},
			value: optional(yesNo(func(l *Load) *bool { return &l.RequireMemory }))},
	}
}

// timeParameters returns the parameters for the schedule and for durations.
func timeParameters() []*Parameter {
	return []*Parameter{
		{Key: "arrival", Meaning: "schedule of an open loop: constant (evenly spaced) or poisson (random gaps)", Differs: "the arrival",
			column: &column{cell: func(t *Trial) string { return t.Load.arrivalLabel() }},
			value:  chosen(func(l *Load) *Arrival { return &l.Arrival }, "constant|poisson", ParseArrival)},
		{Key: "rate", Meaning: "number of operations that become due per second, no matter how slow the store is (open loop); 0 means a closed loop", Differs: "the rate per second", OpenLoop: true,
			value: rate()},
		{Key: "total", Meaning: "number of operations to measure", Differs: "the total number of operations", Reads: &windowReading,
			value: integer(func(l *Load) *uint64 { return &l.Total }, 1, maxTotal)},
		{Key: "duration", Meaning: "duration of the measurement window, instead of a total", Differs: "the duration", Reads: &windowReading,
			column: &column{title: "window", cell: func(t *Trial) string { return t.Load.windowLabel() }},
			value:  optional(spanAbove(func(l *Load) *time.Duration { return &l.Duration }, MaxDuration))},
		{Key: "warmup", Meaning: "duration of the warm-up before the measurement window", Differs: "the warm-up", Reads: &warmupReading,
			value: span(func(l *Load) *time.Duration { return &l.Warmup }, MaxDuration, "")},
		{Key: "timeout", Meaning: "timeout of an operation, counted from the time at which the operation is sent", Differs: "the timeout", Reads: &timeoutReading,
			value: timeout()},
		{Key: "max-in-flight", Meaning: "maximum number of operations in flight in an open loop", Differs: "the limit of operations in flight", OpenLoop: true,
			value: integer(func(l *Load) *int { return &l.MaxInFlight }, 1, MaxInFlight)},
		{Key: "scale-duration", set: keep((*node).boolean, func(d *draft) *bool { return &d.scaleDuration })},
		{Key: "allow-volatile", Meaning: "accept writes that are not durable, without making the verdict suspect",
			value: yesNo(func(l *Load) *bool { return &l.AllowVolatile })},
	}
}

// byKey returns a map of parameters by key.
func byKey(all []*Parameter) map[string]*Parameter {
	keys := make(map[string]*Parameter)
	for _, p := range all {
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

const oneByte = "at least 1 byte"

// keySpace returns the parameter for the number of keys. The number is checked together with the
// key size, because its default depends on other values.
func keySpace() value {
	t := integer(func(l *Load) *uint64 { return &l.KeySpace }, 1, maxKeySpace)
	t.verify = nil
	return t
}

func prefix() value {
	t := textValue(func(l *Load) *string { return &l.Prefix }, "TEXT", "up to "+text.FormatSize(MaxKeySize))
	t.verify = func(c *checks, key, prefix string) { c.size(key, len(prefix), MaxKeySize) }
	return t
}

// watchedKey returns the parameter for the only key that all watchers watch. If the key is given,
// it must not be empty.
func watchedKey() value {
	t := textValue(watchField(func(w *Watch) *[]byte { return &w.Key }), "KEY", oneByte)
	t.fromFile = func(d *draft, key string, n *node) ([]byte, error) {
		s, err := n.word(key)
		if err == nil && s == "" {
			err = n.at.errorf("%s", d.called.fill("<"+key+"> is empty, but a key must have at least one byte"))
		}
		return []byte(s), err
	}
	return t
}

// all is the word that selects the whole key space. Until the size of the key space is known, the
// value is wholeSpace.
const (
	all        = "all"
	wholeSpace = math.MaxUint64
)

// spanOfWatcher is the parameter for the number of keys that each watcher watches. Its value is a
// number or the word all.
type spanOfWatcher struct{ typed[uint64] }

func watchedSpan() value {
	v := spanOfWatcher{integer(watchField(func(w *Watch) *uint64 { return &w.Span }), 1, maxKeySpace)}
	number := v.typed
	v.unsaid = nil // 0 is not absent: it means 1
	v.show = func(n uint64) string { return strconv.FormatUint(max(n, 1), 10) }
	v.toJSON = func(n uint64) any { return max(n, 1) }
	v.fromText = func(s string) (uint64, error) {
		if s == all {
			return wholeSpace, nil
		}
		return number.fromText(s)
	}
	v.fromFile = func(d *draft, key string, n *node) (uint64, error) {
		if n.kind == scalar && n.text == all {
			return wholeSpace, nil
		}
		if _, err := n.integer(""); err != nil {
			return 0, n.at.errorf("%s must be a whole number or all, not %s", key, n.describe())
		}
		return number.fromFile(d, key, n)
	}
	v.verify = func(c *checks, key string, n uint64) {
		if n != wholeSpace { // the value all is checked together with the number of watched keys
			number.verify(c, key, n)
		}
	}
	return v
}

// encode omits the value if the watchers watch a single given key.
func (v spanOfWatcher) encode(l *Load) any {
	if l.Watch != nil && len(l.Watch.Key) > 0 {
		return nil
	}
	return v.typed.encode(l)
}

// setSTM reads the settings of stm operations.
func setSTM(d *draft, key string, n *node) error {
	t := DefaultSTM()
	d.load.STM = &t
	return readEntries(d, key, n)
}

// noCompaction is the value with which a trial removes the compaction that defaults specify.
const noCompaction = "none"

// setCompact reads how the store is compacted during the load.
func setCompact(d *draft, key string, n *node) error {
	d.load.Compact = Compaction{Behind: defaultBehind}
	if n.kind == scalar && n.text == noCompaction {
		d.load.Compact = Compaction{}
		return nil
	}
	if err := readEntries(d, key, n); err != nil {
		return err
	}
	if n.field("every") == n && !n.flag {
		return n.at.errorf("compact needs the key \"every\", for example {every: 30s}")
	}
	return nil
}
