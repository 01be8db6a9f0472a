package scenario

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
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
				settings = append(settings, &Parameter{Key: s.Key, DifferenceName: s.Name, Presentation: &applicationPresentation, value: value})
			}
		}
	}
	return parameters(nil, settings)
}

// parameters returns all parameters. settings are the parameters of applications.
func parameters(apps []application.Application, settings []*Parameter) []*Parameter {
	all := []*Parameter{
		{Key: "name", Meaning: "name of the trial, unique in the file; {KEY} stands for the value of a key", trialOnly: true, fileSchema: trialNameSchema,
			readFile: intoDraft((*file.Node).SingleLine, func(d *draft) *string { return &d.name })},
		{Key: "matrix", Meaning: "a list of values for each key; defines one trial for each combination of values, with the last key changing fastest", trialOnly: true},
		{Key: "steps", Meaning: "list of values; defines one trial for each value. The steps change faster than all keys of matrix", trialOnly: true},
		{Key: "repeats", Meaning: "number of repeats of this trial", notInMatrix: true, fileSchema: integers(1, MaxRepeats),
			readFile: intoDraft(readRepeats, func(d *draft) *int { return &d.repeats }),
			column:   &column{title: "repeat", cell: repeatLabel, optional: true, emptyText: "1 of 1"}},
	}
	all = append(all, clusterParameters()...)
	for _, p := range all {
		p.FileOnly = true
	}
	all = append(all, operationParameters()...)
	all = append(all, keyParameters()...)
	all = append(append(all, applicationParameter(apps)), settings...)
	all = append(all, extraParameters()...)
	return append(all, timeParameters()...)
}

func clusterParameters() []*Parameter {
	return []*Parameter{
		{Key: "store", Meaning: "name of the store, or a mapping with name and any of version, exec, label, settings, env, members",
			readFile: setStore, column: &column{cell: func(t *Trial) string { return t.Cluster.label() }}},
		{Key: "members", Meaning: "number of members to start", fileSchema: withDefault(integers(1, kv.MaxMembers), DefaultMembers),
			readFile: intoDraft((*file.Node).Int, func(d *draft) *int { return &d.cluster.Members })},
		{Key: "members-on", Meaning: "hosts to which the members are assigned in turn", fileSchema: wordsSchema,
			readFile: intoDraft((*file.Node).Words, func(d *draft) *[]string { return &d.cluster.Hosts })},
		{Key: "version", Meaning: "version of the server", fileSchema: lineSchema,
			readFile: intoDraft((*file.Node).SingleLine, func(d *draft) *string { return &d.cluster.Version })},
		{Key: "exec", Meaning: "path of another server binary", fileSchema: lineSchema,
			readFile: intoDraft((*file.Node).SingleLine, func(d *draft) *string { return &d.cluster.Exec })},
		{Key: "label", Meaning: "name for this version or build, shown in tables", fileSchema: func() jsonSchema { return lineSchema().with("maxLength", maxLabel) }, readFile: setLabel},
		{Key: "baseline", Meaning: "cluster to compare with", notInMatrix: true},
		{Key: "settings", Meaning: "settings of the store", readFile: setSettings},
		{Key: "env", Meaning: "environment variables of the members", fileSchema: envSchema,
			readFile: setEnv, column: &column{title: "environment", cell: environmentLabel, optional: true, emptyText: "-"}},
		{Key: "endpoints", Meaning: "members of a running cluster; without endpoints, a new cluster is started", fileSchema: endpointsSchema,
			readFile: intoDraft((*file.Node).Words, func(d *draft) *[]string { return &d.runningCluster.Endpoints })},
		{Key: "tls", Meaning: "TLS settings for a running cluster: cacert, cert, key (PEM files) and insecure-skip-tls-verify; {} uses TLS and trusts the system's authorities",
			fileSchema: tlsSchema, readFile: setTLS},
		{Key: "user", Meaning: "user of a running cluster; NAME:env:VARIABLE reads the password from a variable. The password is not recorded", notInMatrix: true, fileSchema: userSchema,
			readFile: intoDraft((*file.Node).SingleLine, func(d *draft) *string { return &d.runningCluster.User })},
		{Key: "dial-timeout", Meaning: "timeout for connecting", fileSchema: durationSchema,
			readFile: intoDraft(wordReader(text.ParseDuration), func(d *draft) *time.Duration { return &d.runningCluster.DialTimeout })},
		{Key: "data-dir", Meaning: "data folder of a running cluster's member on this machine; fdatasync is timed there after each load", fileSchema: lineSchema,
			readFile: intoDraft((*file.Node).SingleLine, func(d *draft) *string { return &d.runningCluster.DataDir })},
	}
}

// operationParameters returns the parameters for operations and clients.
func operationParameters() []*Parameter {
	return []*Parameter{
		{Key: "operation", Meaning: "operation to send", FileOnly: true, fileSchema: func() jsonSchema { return enumSchema(operationNames()...) }, readFile: setOperation, column: &column{cell: func(t *Trial) string { return t.Load.mixLabel() }}},
		{Key: "mix", Meaning: "operations with weights, for example put=20,get=80 or get:local=40", FileMeaning: "operations with weights, for example {put: 20, get: 80}", DifferenceName: "the operations",
			value: mixValue(), readFile: setMix},
		{Key: "consistency", Meaning: "consistency of reads: linearizable (l), local (s) or lease, if the store supports it", Operations: readOperations, fileSchema: consistencySchema,
			readFile: intoDraft(wordReader(kv.ParseConsistency), func(d *draft) *kv.Consistency { return &d.consistency }),
			column:   &column{cell: func(t *Trial) string { return t.Load.consistencyLabel() }}},
		{Key: "target", Meaning: "members that receive the load: any (the given endpoints), all (every member in turn), leader, followers or member:N", DifferenceName: "the target", column: &column{},
			value: enumValue(func(l *Load) *kv.Target { return &l.Target }, "WHICH", kv.ParseTarget, targetSchema)},
		{Key: "connections", Flag: "conns", Meaning: "number of connections", DifferenceName: "the connections", Presentation: &connectionsPresentation, column: &column{},
			fileSchema: integers(1, math.MaxInt64), // a larger number than MaxConnections is reduced to the number of clients
			value:      integerValue(func(l *Load) *int { return &l.Connections }, 1, MaxConnections)},
		{Key: "clients", Meaning: "number of clients, each with one operation outstanding", DifferenceName: "the clients", Presentation: &clientsPresentation, ClosedLoop: true, column: &column{},
			value: integerValue(func(l *Load) *int { return &l.Clients }, 1, MaxClients)},
		{Key: "new-connection", Meaning: "open a new connection for each operation; the operation's time includes connecting",
			DifferenceName: "a new connection for each operation", Presentation: &connectionsPresentation,
			Note:       NewConnectionNote,
			Operations: singleRequestOperations, WholeMix: true,
			value: boolValue(func(l *Load) *bool { return &l.NewConnection })},
		{Key: "threads", Meaning: "number of event loops in the load generator, or in each worker; 0 chooses automatically",
			value: integerValue(func(l *Load) *int { return &l.Threads }, 0, maxThreads)},
		{Key: "workers-on", Meaning: "hosts to which the workers are assigned in turn", FileOnly: true, fileSchema: wordsSchema, readFile: intoDraft((*file.Node).Words, func(d *draft) *[]string { return &d.workerHosts })},
		{Key: "workers", Meaning: "number of workers that share the load",
			column: &column{cell: workersLabel, optional: true, emptyText: "1"},
			value:  integerValue(func(l *Load) *uint32 { return &l.Workers }, 1, MaxWorkers)},
	}
}

// NewConnectionNote is the note in reports about a load with new-connection.
const NewConnectionNote = "Every operation opens a new connection, and the operation's time includes connecting"

// keyParameters returns the parameters for keys and values.
func keyParameters() []*Parameter {
	return []*Parameter{
		{Key: "key-size", Meaning: "size of keys without their prefix, in bytes", DifferenceName: "the key's size in bytes", Presentation: &keySizePresentation,
			value: sizeValue(func(l *Load) *int { return &l.KeySize }, MaxKeySize)},
		{Key: "value-size", Flag: "val-size", Meaning: "size of values, in bytes", DifferenceName: "the value's size in bytes", Presentation: &valueSizePresentation,
			value: sizeValue(func(l *Load) *int { return &l.ValueSize }, MaxValueSize)},
		{Key: "key-space", Flag: "key-space-size", Meaning: "number of keys (default: the number of operations, or 100000 if a duration is given)", DifferenceName: "the number of keys", Presentation: &keysPresentation,
			value: keySpaceValue()},
		{Key: "prefix", Meaning: "prefix of every key", DifferenceName: "the key's prefix", Presentation: &keySizePresentation, value: prefixValue()},
		{Key: "distribution", Meaning: "how keys are chosen: sequential, uniform, zipfian[:THETA] or hotspot[:KEYS:OPERATIONS]", DifferenceName: "the distribution of keys", Presentation: &keysPresentation,
			value: optionalValue(enumValue(func(l *Load) *Distribution { return &l.Distribution }, "NAME", ParseDistribution, distributionSchema)), readFile: setDistribution},
		{Key: "preload", Meaning: "write every key before the load starts, so that writes replace existing values", DifferenceName: "the preload",
			value: boolValue(func(l *Load) *bool { return &l.Preload })},

		{Key: "range-key", Meaning: "key to read, or the first key of a key interval", DifferenceName: "the range's first key", Presentation: &keysPresentation, Operations: rangeOperations,
			value: textValue(func(l *Load) *[]byte { return &l.RangeKey }, "KEY", oneByte)},
		{Key: "range-end", Meaning: "first key after the key interval", DifferenceName: "the range's end", Presentation: &keysPresentation, Range: "after `range-key`", Operations: rangeOperations,
			value: textValue(func(l *Load) *[]byte { return &l.RangeEnd }, "END", oneByte)},
		{Key: "range-limit", Flag: "limit", Meaning: "maximum number of keys in each response; 0 means no limit", DifferenceName: "the limit of keys per range", Presentation: &rangesPresentation, Operations: rangeOperations,
			value: nonNegative(func(l *Load) *int64 { return &l.RangeLimit }, "; 0 means no limit")},
		{Key: "count-only", Features: []kv.Feature{kv.RangeForms}, Meaning: "return only the number of keys", DifferenceName: "counting keys instead of reading them", Presentation: &rangesPresentation, Operations: rangeOperations,
			value: boolValue(func(l *Load) *bool { return &l.Scan.CountOnly })},
		{Key: "keys-only", Features: []kv.Feature{kv.RangeForms}, Meaning: "return keys without their values", DifferenceName: "reading keys without their values", Presentation: &rangesPresentation, Operations: plainRangeOperations,
			value: boolValue(func(l *Load) *bool { return &l.Scan.KeysOnly })},
		{Key: "stream", Features: []kv.Feature{kv.RangeForms}, Meaning: "return the range as a stream (etcd 3.7 and later)", DifferenceName: "reading ranges as a stream", Presentation: &rangesPresentation, Operations: plainRangeOperations,
			value: boolValue(func(l *Load) *bool { return &l.Scan.Streamed })},
		{Key: "page-size", Features: []kv.Feature{kv.RangeForms}, Meaning: "read the range in pages of this many keys; each operation reads all pages; 0 reads the range in one request", DifferenceName: "the number of keys per page", Presentation: &rangesPresentation,
			Operations: plainRangeOperations,
			value:      integerValue(func(l *Load) *int64 { return &l.Scan.PageSize }, 0, maxPageSize)},

		{Key: "txn-keys", Flag: "txn-ops", Meaning: "number of keys that each transaction writes", DifferenceName: "the number of keys per transaction", Presentation: &transactionPresentation, Operations: txnOperations,
			value: integerValue(func(l *Load) *int { return &l.TxnKeys }, 1, MaxTxnKeys)},
		{Key: "stm", Meaning: "settings of stm operations", FileOnly: true, Operations: stmOperations, readFile: setSTM},
		{Key: "stm.keys", Flag: "keys-per-txn", Meaning: "number of different keys that each transaction reads", DifferenceName: "the number of keys per stm transaction", Presentation: &transactionPresentation, Operations: stmOperations,
			value: integerValue(stmField(func(t *STM) *int { return &t.KeysPerTxn }), 1, maxSTMKeys)},
		{Key: "stm.write-percent", Flag: "txn-wr-percent", Meaning: "the transaction also writes this percentage of the keys that it reads", DifferenceName: "the percentage of keys that an stm transaction writes", Presentation: &transactionPresentation, Operations: stmOperations,
			value: percentValue(stmField(func(t *STM) *int { return &t.WritePercent }))},
		{Key: "stm.isolation", Flag: "isolation", Meaning: "isolation level: read committed (c), repeatable reads (r), serializable (s) or serializable snapshot (ss)", DifferenceName: "the isolation of stm transactions", Presentation: &transactionPresentation, Operations: stmOperations,
			value: enumValue(stmField(func(t *STM) *kv.Isolation { return &t.Isolation }), "c|r|s|ss", kv.ParseIsolation, valueNames(0, kv.NumIsolations))},
		{Key: "stm.locker", Flag: "stm-locker", DifferenceName: "the locker of stm transactions", Presentation: &transactionPresentation, Operations: stmOperations,
			Meaning: "lock around each transaction: none (stm), a mutex implemented with keys (lock-client) or the store's lock service (lock-rpc)",
			value:   enumValue(stmField(func(t *STM) *kv.Locker { return &t.Locker }), "stm|lock-client|lock-rpc", kv.ParseLocker, valueNames(0, kv.NumLockers))},
	}
}

// extraParameters returns the parameters for everything other than operations: watchers,
// compaction, comparing the members' data, and cleanup.
func extraParameters() []*Parameter {
	return []*Parameter{
		{Key: "watch", Meaning: "watchers during the load", FileOnly: true, readFile: setWatch, column: &column{title: "watchers", cell: func(t *Trial) string { return t.Load.watchLabel() }, optional: true, emptyText: "none"}},
		{Key: "watch.watchers", Flag: "watchers", Meaning: "number of watchers", DifferenceName: "the watchers",
			value: integerValue(watchField(func(w *Watch) *int { return &w.Watchers }), 1, MaxWatchers)},
		{Key: "watch.streams", Flag: "streams", Meaning: "number of watch streams", DifferenceName: "the watch streams", Range: "1 to `watchers`",
			value: integerValue(watchField(func(w *Watch) *int { return &w.Streams }), 1, MaxWatchers)},
		{Key: "watch.connections", Flag: "watch-conns", Meaning: "number of separate connections for watchers; 0 uses the load's connections", DifferenceName: "the watchers' own connections", Range: "0 to `streams`",
			value: integerValue(watchField(func(w *Watch) *int { return &w.Connections }), 0, MaxConnections)},
		{Key: "watch.watched-keys", Flag: "watched-keys", Meaning: "watch only this many keys, from the start of the key space (default: all keys)", DifferenceName: "the watched keys", Range: "1 to `key-space`",
			value: integerValue(watchField(func(w *Watch) *uint64 { return &w.WatchedKeys }), 1, maxKeySpace)},
		{Key: "watch.keys-per-watcher", Flag: "keys-per-watcher", Meaning: "number of consecutive keys that each watcher watches, or all for all keys", DifferenceName: "the keys that each watcher watches", Range: "from 1",
			value: newKeysPerWatcherValue()},
		{Key: "watch.prev-kv", Flag: "prevkv", Meaning: "watch events also contain the previous value", DifferenceName: "the previous values in watch events",
			value: boolValue(watchField(func(w *Watch) *bool { return &w.PrevKV }))},
		{Key: "watch.mode", Flag: "watch-mode", Meaning: "kind of watch: stream, persistent, or once (after each event, a read sets the watch again)", DifferenceName: "the watch mode",
			value: optionalValue(enumValue(watchField(func(w *Watch) *kv.WatchMode { return &w.Mode }), "stream|once|persistent", kv.ParseWatchMode, valueNames(kv.StreamWatch, kv.NumWatchModes)))},
		{Key: "watch.key", Flag: "watch-key", Meaning: "watch only this key, which must not be one of the load's keys", DifferenceName: "the watched key",
			value: watchedKeyValue()},
		{Key: "watch.earlier-events", Flag: "events", Meaning: "number of earlier events that each watcher must receive before the load ends", DifferenceName: "the earlier events that watchers must receive", Presentation: &windowPresentation,
			value: integerValue(watchField(func(w *Watch) *uint32 { return &w.EarlierEvents }), 1, maxEarlierEvents)},
		{Key: "watch.created-in-window", Flag: "created-in-window", Meaning: "create the watchers when the measurement window opens", DifferenceName: "whether watchers are created in the window",
			value: boolValue(watchField(func(w *Watch) *bool { return &w.CreatedInWindow }))},

		{Key: "compact", Meaning: "compactions during the load", FileOnly: true, readFile: setCompact},
		{Key: "compact.every", Flag: "compact-interval", Meaning: "compact the store at this interval during the load; 0 means never", DifferenceName: "the time between compactions", Features: []kv.Feature{kv.Compaction}, Presentation: &compactionPresentation,
			value: optionalValue(durationValue(func(l *Load) *time.Duration { return &l.Compact.Interval }, MaxDuration, "; 0 means never"))},
		{Key: "compact.behind", Flag: "compact-index-delta", Meaning: "number of revisions before the current one that each compaction keeps", DifferenceName: "the revisions that a compaction keeps", Presentation: &compactionPresentation,
			value: optionalValue(nonNegative(func(l *Load) *int64 { return &l.Compact.KeptRevisions }, ""))},
		{Key: "compact-first", Meaning: "compact the store's history after the preload, so that the load starts without old revisions",
			DifferenceName: "a compaction before the load", Presentation: &compactFirstPresentation, Features: []kv.Feature{kv.Compaction},
			value: optionalValue(boolValue(func(l *Load) *bool { return &l.CompactFirst }))},
		{Key: "compare-hashes", Flag: "check-hashkv", Meaning: "compare the hashes of all members' data after the load, and fail if the hashes differ", Features: []kv.Feature{kv.Hashes},
			value: boolValue(func(l *Load) *bool { return &l.CompareHashes })},
		{Key: "verify", Meaning: "record every operation, and verify the store's responses after the load", Features: []kv.Feature{kv.WriteOrder},
			DifferenceName: "whether every operation is recorded and verified", Presentation: &verifyPresentation,
			value: optionalValue(boolValue(func(l *Load) *bool { return &l.Verify }))},
		{Key: "faults", Meaning: "faults to inject", FileOnly: true, // bench has no such flag, because it measures running clusters
			DifferenceName: "the faults", Presentation: &faultsPresentation, column: &column{title: "faults", cell: func(t *Trial) string { return fault.Text(t.Load.Faults) }, optional: true, emptyText: "none"},
			value: faultsValue()},

		{Key: "cleanup", Meaning: "remove all keys with the prefix after each trial. If not set, the keys on a running cluster are removed at the end of the run; if false, they are kept",
			value: optionalValue(boolValue(func(l *Load) *bool { return &l.Cleanup.Keys }))},
		{Key: "cleanup-compact", Flag: "auto-compact", Meaning: "compact the history after the cleanup", Features: []kv.Feature{kv.Compaction},
			value: optionalValue(boolValue(func(l *Load) *bool { return &l.Cleanup.Compact }))},
		{Key: "cleanup-defragment", Flag: "auto-defrag", Meaning: "defragment every member after the cleanup", Features: []kv.Feature{kv.Defragmentation},
			value: optionalValue(boolValue(func(l *Load) *bool { return &l.Cleanup.Defragment }))},
		{Key: "overwrite-existing", Meaning: "for a running cluster: allow a prefix with which keys already exist; the load may replace and delete these keys, and no keys are removed afterwards",
			value: optionalValue(boolValue(func(l *Load) *bool { return &l.Overwrite }))},
		{Key: "cluster-wide", Meaning: "for a running cluster: allow compaction and defragmentation, which affect the whole cluster",
			value: optionalValue(boolValue(func(l *Load) *bool { return &l.ClusterWide }))},
		{Key: "require-memory", Meaning: "do not run the load if the first member does not report its memory", Features: []kv.Feature{kv.Metrics},
			value: optionalValue(boolValue(func(l *Load) *bool { return &l.RequireMemory }))},
	}
}

// timeParameters returns the parameters for the schedule and for durations.
func timeParameters() []*Parameter {
	return []*Parameter{
		{Key: "arrival", Meaning: "schedule of an open loop: constant (evenly spaced) or poisson (random gaps)", DifferenceName: "the arrival",
			column: &column{cell: func(t *Trial) string { return t.Load.arrivalLabel() }},
			value:  enumValue(func(l *Load) *Arrival { return &l.Arrival }, "constant|poisson", ParseArrival, valueNames(Closed, Recorded))},
		{Key: "rate", Meaning: "number of operations that become due per second, no matter how slow the store is (open loop); 0 means a closed loop", FileMeaning: "number of operations that become due per second, no matter how slow the store is (open loop)", DifferenceName: "the rate per second", OpenLoop: true,
			value: rateValue()},
		{Key: "total", Meaning: "number of operations to measure", DifferenceName: "the total number of operations", Presentation: &windowPresentation,
			value: integerValue(func(l *Load) *uint64 { return &l.Total }, 1, maxTotal)},
		{Key: "duration", Meaning: "duration of the measurement window, instead of a total", DifferenceName: "the duration", Presentation: &windowPresentation,
			column: &column{title: "window", cell: func(t *Trial) string { return t.Load.windowLabel() }},
			value:  optionalValue(positiveDuration(func(l *Load) *time.Duration { return &l.Duration }, MaxDuration))},
		{Key: "warmup", Meaning: "duration of the warm-up before the measurement window", DifferenceName: "the warm-up", Presentation: &warmupPresentation,
			value: durationValue(func(l *Load) *time.Duration { return &l.Warmup }, MaxDuration, "")},
		{Key: "timeout", Meaning: "timeout of an operation, counted from the time at which the operation is sent", DifferenceName: "the timeout", Presentation: &timeoutPresentation,
			value: timeoutValue()},
		{Key: "max-in-flight", Meaning: "maximum number of operations in flight in an open loop", DifferenceName: "the limit of operations in flight", OpenLoop: true,
			value: integerValue(func(l *Load) *int { return &l.MaxInFlight }, 1, MaxInFlight)},
		{Key: "scale-duration", Meaning: "--scale also changes duration and warmup", FileOnly: true, fileSchema: boolSchema, readFile: intoDraft((*file.Node).Boolean, func(d *draft) *bool { return &d.scaleDuration })},
		{Key: "allow-volatile", Meaning: "accept writes that are not durable, without making the verdict suspect",
			value: boolValue(func(l *Load) *bool { return &l.AllowVolatile })},
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

func stmField[T any](field func(*STM) *T) func(*Load) *T {
	return func(l *Load) *T {
		if l.STM == nil {
			return nil
		}
		return field(l.STM)
	}
}

func watchField[T any](field func(*Watch) *T) func(*Load) *T {
	return func(l *Load) *T {
		if l.Watch == nil {
			return nil
		}
		return field(l.Watch)
	}
}

const oneByte = "at least 1 byte"

// keySpaceValue returns the parameter for the number of keys. The number is checked together with
// the key size, because its default depends on other values.
func keySpaceValue() value {
	t := integerValue(func(l *Load) *uint64 { return &l.KeySpace }, 1, maxKeySpace)
	t.checkBounds = nil
	return t
}

func prefixValue() value {
	t := textValue(func(l *Load) *string { return &l.Prefix }, "TEXT", "up to "+text.FormatSize(MaxKeySize))
	t.checkBounds = func(c *checks, key, prefix string) { c.checkSize(key, len(prefix), MaxKeySize) }
	return t
}

// watchedKeyValue returns the parameter that names a single key for all watchers. If the parameter
// is set, the key must not be empty.
func watchedKeyValue() value {
	t := textValue(watchField(func(w *Watch) *[]byte { return &w.Key }), "KEY", oneByte)
	t.fileSchema = keySchema
	t.fromFile = func(d *draft, key string, n *file.Node) ([]byte, error) {
		s, err := n.ScalarText(key)
		if err == nil && s == "" {
			err = n.Pos.Errorf("%s", d.keyNamer.fill("<"+key+"> is empty, but a key must have at least one byte"))
		}
		return []byte(s), err
	}
	return t
}

// allKeysWord is the word that selects the whole key space. Until the size of the key space is
// known, the value is wholeKeySpace.
const (
	allKeysWord   = "all"
	wholeKeySpace = math.MaxUint64
)

// keysPerWatcherValue is the parameter for the number of keys that each watcher watches. Its value
// is a number or the word "all".
type keysPerWatcherValue struct{ typedValue[uint64] }

func newKeysPerWatcherValue() value {
	v := keysPerWatcherValue{integerValue(watchField(func(w *Watch) *uint64 { return &w.KeysPerWatcher }), 1, maxKeySpace)}
	number := v.typedValue
	v.fileSchema = func() jsonSchema { return integerSchema(1, maxKeySpace).orWord(allKeysWord) }
	v.isAbsent = nil // the value 0 does not mean that the parameter is absent: it means 1
	v.format = func(n uint64) string { return strconv.FormatUint(max(n, 1), 10) }
	v.toJSON = func(n uint64) any { return max(n, 1) }
	v.fromText = func(s string) (uint64, error) {
		if s == allKeysWord {
			return wholeKeySpace, nil
		}
		return number.fromText(s)
	}
	v.fromFile = func(d *draft, key string, n *file.Node) (uint64, error) {
		if n.Kind == file.Scalar && n.Text == allKeysWord {
			return wholeKeySpace, nil
		}
		if _, err := n.Integer(""); err != nil {
			return 0, n.Pos.Errorf("%s must be a whole number or all, not %s", key, n.Describe())
		}
		return number.fromFile(d, key, n)
	}
	v.checkBounds = func(c *checks, key string, n uint64) {
		if n != wholeKeySpace { // the value "all" is checked together with the number of watched keys
			number.checkBounds(c, key, n)
		}
	}
	return v
}

// encode omits the value if the watchers watch a single given key.
func (v keysPerWatcherValue) encode(l *Load) any {
	if l.Watch != nil && len(l.Watch.Key) > 0 {
		return nil
	}
	return v.typedValue.encode(l)
}

// setSTM reads the settings of stm operations.
func setSTM(d *draft, key string, n *file.Node) error {
	t := DefaultSTM()
	d.load.STM = &t
	return readEntries(d, key, n)
}

// noCompaction is the value with which a trial removes the compaction that defaults specify.
const noCompaction = "none"

// setCompact reads how the store is compacted during the load.
func setCompact(d *draft, key string, n *file.Node) error {
	d.load.Compact = Compaction{KeptRevisions: defaultKeptRevisions}
	if n.Kind == file.Scalar && n.Text == noCompaction {
		d.load.Compact = Compaction{}
		return nil
	}
	if err := readEntries(d, key, n); err != nil {
		return err
	}
	if n.Field("every") == n && !n.FromFlag {
		return n.Pos.Errorf("compact needs the key \"every\", for example {every: 30s}")
	}
	return nil
}
