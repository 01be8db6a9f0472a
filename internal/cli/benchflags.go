package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// defaultTotal is how many operations `bench` measures when neither --total
// nor --duration says: as many as etcd's own benchmark.
const defaultTotal = 10_000

// benchCommon are the flags that all `bench` commands have, before or behind
// the command's name. Their names and defaults are those of etcd's benchmark,
// so that its command lines work.
type benchCommon struct {
	attachFlags
	targetLeader bool
	autoSync     time.Duration
	conns        int
	clients      int

	summary  report.Classic
	perfdash bool
	out      string
	format   string
	strict   bool
}

func newBenchCommon(r flags) *benchCommon {
	f := &benchCommon{attachFlags: newAttachFlags(), conns: 1, clients: 1, format: "text"}
	f.register(r)
	return f
}

func (f *benchCommon) register(r flags) {
	f.attachFlags.register(r)
	r.toggle("target-leader", &f.targetLeader, "the same as --target leader")
	r.span("auto-sync-interval", &f.autoSync, "above 0, the endpoints are those that the cluster tells: the same as --target all")
	r.whole("conns", &f.conns, "connections")
	r.whole("clients", &f.clients, "clients in all, each with one operation outstanding")
	r.toggle("precise", &f.summary.Precise, "seconds with all their digits")
	r.toggle("sample", &f.summary.Sample, "a line for each second, too")
	r.toggle("report-perfdash", &f.perfdash, "write the percentiles as JSON for perfdash into the folder $ARTIFACTS, or else _artifacts")
	r.text("out", &f.out, "DIR", "keep the run directory here; it must be empty or not there yet")
	r.choice("format", &f.format, "of the result on standard output", "text", "json")
	r.toggle("strict", &f.strict, "exit with 1 when the verdict is suspect, too")
}

// benchFlags are the flags of one `bench` command, and what they start from.
type benchFlags struct {
	*benchCommon
	kind benchKind

	load        scenario.Load
	total       int64
	keySpace    int64
	rate        float64
	consistency kv.Consistency
	sequential  bool
	preload     bool // put only: the others preload
	noPreload   bool
	putWeight   float64
	getWeight   float64
	limit       int64
	prefix      bool // range: all keys that begin with KEY
	paginate    bool
	seed        uint64
	repeats     int

	watch   watchFlags
	stm     scenario.STM
	rwRatio float64 // reads for each write
	endKey  string

	set *pflag.FlagSet // knows which were given
}

func newBenchFlags(common *benchCommon, kind benchKind, set *pflag.FlagSet) *benchFlags {
	f := &benchFlags{
		benchCommon: common, kind: kind, load: scenario.DefaultLoad(), total: defaultTotal,
		consistency: kv.Linearizable, putWeight: 50, getWeight: 50,
		seed: scenario.DefaultSeed, repeats: 1, set: set,
	}
	if kind.total > 0 {
		f.total = kind.total
	}
	f.rate = kind.rate
	f.load.Duration = 0
	f.load.Distribution.Name = kind.distribution
	if kind.keySize > 0 {
		f.load.KeySize = kind.keySize
	}
	if kind.valueSize > 0 {
		f.load.ValueSize = kind.valueSize
	}
	if kind.has(kv.Txn) {
		f.load.TxnKeys = 1
	}
	f.register(newFlags(set))
	return f
}

func (f *benchFlags) register(r flags) {
	f.registerLoad(r)
	if f.kind.flags != nil {
		f.kind.flags(f, r)
	} else {
		f.registerOperation(r)
	}
	if f.kind.brief() {
		r.toggle("new-connection", &f.load.NewConnection, "a connection of its own for each operation, whose time counts from when connecting began")
	}
	r.whole("repeats", &f.repeats, "measure so often, and print a table with the medians")
	r.seed("seed", &f.seed, "everything random comes from it")
}

func (f *benchFlags) registerOperation(r flags) {
	if f.kind.reads() {
		f.registerConsistency(r)
	}
	if f.kind.name == "range" {
		f.registerScan(r)
	} else {
		f.registerKeys(r)
	}
	if f.kind.name == "put" {
		c := &f.load.Compact
		c.Behind = 1000
		r.span("compact-interval", &c.Every, "compact the store so often beside the load; 0 is never")
		r.long("compact-index-delta", &c.Behind, "how many revisions before the present one a compaction keeps")
		r.toggle("check-hashkv", &f.load.CompareHashes, "ask all endpoints afterwards for the hash of their data, and fail where they differ")
	}
	if f.kind.has(kv.Range) {
		r.long("limit", &f.limit, "at most so many keys in each answer; 0 for all")
	}
	if f.kind.has(kv.Txn) {
		r.whole("txn-ops", &f.load.TxnKeys, "keys that one transaction writes")
	}
	if f.kind.name == "mixed" {
		r.number("put-weight", &f.putWeight, "W", "share of puts, relative to the other weight")
		r.number("get-weight", &f.getWeight, "W", "share of gets, relative to the other weight")
	}
}

func (f *benchFlags) registerConsistency(r flags) {
	add(r, "consistency", &f.consistency, "LEVEL", kv.ParseConsistency, kv.Consistency.String,
		"of reads: linearizable (l) or local (s), where the store has both")
}

func (f *benchFlags) registerLoad(r flags) {
	if f.kind.name == "watch-get" {
		r.span("duration", &f.load.Duration, "how long to wait at most until the watchers have caught up; 5m unless given")
		r.span("timeout", &f.load.Timeout, "of one operation, from when it is sent")
		r.whole("threads", &f.load.Threads, "event loops of the generator; 0 chooses")
		return
	}
	r.long(f.kind.flag("total"), &f.total, "operations to measure")
	r.span("duration", &f.load.Duration, "how long to measure, instead of a total")
	r.span("warmup", &f.load.Warmup, "how long to warm up before that")
	r.number(f.kind.flag("rate"), &f.rate, "R", "operations a second that become due whatever the store does: an open loop; 0 is a closed loop")
	add(r, "arrival", &f.load.Arrival, "constant|poisson", scenario.ParseArrival, showArrival, "how operations of an open loop become due")
	r.whole("max-in-flight", &f.load.MaxInFlight, "the most operations of an open loop that are in flight at once")
	r.span("timeout", &f.load.Timeout, "of one operation, from when it is sent")
	r.whole("threads", &f.load.Threads, "event loops of the generator; 0 chooses")
}

func (f *benchFlags) registerKeys(r flags) {
	r.size("key-size", &f.load.KeySize, "bytes of a key, after its prefix")
	r.size("val-size", &f.load.ValueSize, "bytes of a value")
	r.long("key-space-size", &f.keySpace, "how many keys there are; as many as operations unless given, or 100000 with --duration")
	r.toggle("sequential-keys", &f.sequential, "the same as --distribution sequential")
	add(r, "distribution", &f.load.Distribution, "NAME", scenario.ParseDistribution, scenario.Distribution.String,
		"how keys are chosen: sequential, uniform, zipfian[:THETA] or hotspot[:KEYS:OPERATIONS]")
	r.text("prefix", &f.load.Prefix, "TEXT", "what every key begins with")
	if f.kind.blind() {
		r.toggle("preload", &f.preload, "write every key before, so that values are replaced")
	} else {
		r.toggle("no-preload", &f.noPreload, "do not write missing keys before")
	}
}

// given reports whether a flag was on the command line.
func (f *benchFlags) given(name string) bool { return given(f.set, name) }

// showArrival hides the closed loop, which having no rate means.
func showArrival(a scenario.Arrival) string {
	if a == scenario.Closed {
		return ""
	}
	return a.String()
}
