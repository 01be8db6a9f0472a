package cli

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// defaultTotal is how many operations `bench` measures when neither --total
// nor --duration says: as many as etcd's own benchmark.
const defaultTotal = 10_000

// defaultEndpoint is where etcd listens.
const defaultEndpoint = "127.0.0.1:2379"

// benchFlags are the flags of one `bench` command, and what they start from.
type benchFlags struct {
	store     string
	endpoints []string // as given: perhaps with a scheme
	attach    scenario.Attach

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

	seed   uint64
	out    string
	format string
	strict bool

	set *pflag.FlagSet // knows which were given
}

func newBenchFlags(kind benchKind, set *pflag.FlagSet) *benchFlags {
	f := &benchFlags{
		store: "etcd", endpoints: []string{defaultEndpoint}, load: scenario.DefaultLoad(), total: defaultTotal,
		consistency: kv.Linearizable, putWeight: 50, getWeight: 50,
		seed: scenario.DefaultSeed, format: "text", set: set,
	}
	f.attach.DialTimeout = 5 * time.Second
	f.load.Duration = 0
	f.load.Distribution.Name = kind.distribution
	r := newFlags(set)
	f.register(r, kind)
	return f
}

func (f *benchFlags) register(r flags, kind benchKind) {
	f.registerCluster(r)
	f.registerLoad(r)
	if kind.reads() {
		add(r, "consistency", &f.consistency, "LEVEL", kv.ParseConsistency, kv.Consistency.String,
			"of reads: linearizable (l) or local (s), where the store has both")
	}
	switch kind.name {
	case "range":
		r.long("limit", &f.limit, "at most so many keys in each answer; 0 for all")
	default:
		f.registerKeys(r, kind)
	}
	if kind.name == "mixed" {
		r.number("put-weight", &f.putWeight, "W", "share of puts, relative to the other weight")
		r.number("get-weight", &f.getWeight, "W", "share of gets, relative to the other weight")
	}
	r.seed("seed", &f.seed, "everything random comes from it")
	r.text("out", &f.out, "DIR", "keep the run directory here; it must be empty or not there yet")
	r.choice("format", &f.format, "of the result on standard output", "text", "json")
	r.toggle("strict", &f.strict, "exit with 1 when the verdict is suspect, too")
}

func (f *benchFlags) registerCluster(r flags) {
	r.text("store", &f.store, "NAME", "the store's kind")
	add(r, "endpoints", &f.endpoints, "HOST:PORT,...", parseList, showList, "the members to connect to; https:// before one switches TLS on")
	add(r, "target", &f.load.Target, "WHICH", kv.ParseTarget, kv.Target.String,
		"any (the endpoints as given), all (every member in turn), leader, followers or member:N")
	r.text("cert", &f.attach.Cert, "FILE", "client certificate (PEM)")
	r.text("key", &f.attach.CertKey, "FILE", "its private key (PEM)")
	r.text("cacert", &f.attach.CACert, "FILE", "the authorities that the servers' certificates must be from (PEM)")
	r.toggle("insecure-skip-tls-verify", &f.attach.SkipVerify, "take any server certificate")
	r.text("user", &f.attach.User, "NAME:PASSWORD", "authenticate")
	r.span("dial-timeout", &f.attach.DialTimeout, "how long connecting may take")
}

func (f *benchFlags) registerLoad(r flags) {
	r.whole("conns", &f.load.Connections, "connections")
	r.whole("clients", &f.load.Clients, "clients in all; as many as connections unless given")
	r.long("total", &f.total, "operations to measure")
	r.span("duration", &f.load.Duration, "how long to measure, instead of a total")
	r.span("warmup", &f.load.Warmup, "how long to warm up before that")
	r.number("rate", &f.rate, "R", "operations a second that become due whatever the store does: an open loop; 0 is a closed loop")
	add(r, "arrival", &f.load.Arrival, "constant|poisson", scenario.ParseArrival, showArrival, "how operations of an open loop become due")
	r.whole("max-in-flight", &f.load.MaxInFlight, "the most operations of an open loop that are in flight at once")
	r.span("timeout", &f.load.Timeout, "of one operation, from when it is sent")
	r.whole("threads", &f.load.Threads, "event loops of the generator; 0 chooses")
}

func (f *benchFlags) registerKeys(r flags, kind benchKind) {
	r.size("key-size", &f.load.KeySize, "bytes of a key, after its prefix")
	r.size("val-size", &f.load.ValueSize, "bytes of a value")
	r.long("key-space-size", &f.keySpace, "how many keys there are; as many as operations unless given, or 100000 with --duration")
	r.toggle("sequential-keys", &f.sequential, "the same as --distribution sequential")
	add(r, "distribution", &f.load.Distribution, "NAME", scenario.ParseDistribution, scenario.Distribution.String,
		"how keys are chosen: sequential, uniform, zipfian[:THETA] or hotspot[:KEYS:OPERATIONS]")
	r.text("prefix", &f.load.Prefix, "TEXT", "what every key begins with")
	if kind.name == "put" {
		r.toggle("preload", &f.preload, "write every key before, so that puts replace values")
	} else {
		r.toggle("no-preload", &f.noPreload, "do not write missing keys before")
	}
}

// given reports whether a flag was on the command line.
func (f *benchFlags) given(name string) bool {
	flag := f.set.Lookup(name)
	return flag != nil && flag.Changed
}

// showArrival hides the closed loop, which having no rate means.
func showArrival(a scenario.Arrival) string {
	if a == scenario.Closed {
		return ""
	}
	return a.String()
}

func parseList(s string) ([]string, error) {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list, nil
}

func showList(list []string) string { return strings.Join(list, ",") }
