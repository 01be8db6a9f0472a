package scenario

import "github.com/quorumbench/quorumbench/internal/kv"

// What a load needs memory or work for before it begins, or for each of its
// operations, is counted before anything is made.
const (
	// MaxPreload is how many keys a preload makes exist: hours of it.
	MaxPreload = 100_000_000
	// MaxPoisson is how many operations a total has with Poisson arrivals, whose
	// gaps are drawn one after the other to know when the window ends.
	MaxPoisson = 100_000_000
	// MaxMemory is what the generator may need for one load, in bytes.
	MaxMemory = 4 << 30

	versionBytes = 8 // of each key, for compare-and-set
	ackedBytes   = 4 // of each key, for watchers
	// How many bytes a client's operation in flight, and a connection, take
	// beside key and value; both are generous.
	flightBytes = 512
	socketBytes = 4 << 10
)

// checkMemory refuses what cannot be done, and says what would do.
func (l *Load) checkMemory(c *checks) {
	if len(c.found) > 0 {
		return // the numbers are wrong already
	}
	if l.Preload && l.usesKeySpace() && l.KeySpace > MaxPreload {
		c.add("key-space", "<key-space> is %d, and a preload that writes all of it before anything is measured can have %d keys at most; give a smaller <key-space>, or go without (<preload: false>)",
			l.KeySpace, uint64(MaxPreload))
		return
	}
	if l.Arrival == Poisson && l.Total > MaxPoisson {
		c.add("total", "<total> is %d and can be at most %d with poisson arrivals; bound the window by a duration", l.Total, uint64(MaxPoisson))
	}
	l.checkNeeds(c)
}

// checkNeeds refuses a load that needs more than MaxMemory, by what needs most.
func (l *Load) checkNeeds(c *checks) {
	type need struct {
		key, what string
		bytes     float64
	}
	var needs []need
	add := func(key, what string, n, each float64) { needs = append(needs, need{key, what, n * each}) }
	if l.has(func(k kv.Kind) bool { return k == kv.CAS }) {
		add("key-space", c.words.fill("a version of each key of the <key-space>, to compare with"), float64(l.KeySpace), versionBytes)
	}
	if l.Watch != nil {
		add("key-space", c.words.fill("a count of each key's writes in the <key-space>, for the watchers"), float64(l.KeySpace), ackedBytes)
	}
	request := float64(len(l.Prefix) + l.KeySize)
	if l.has(kv.Kind.Writes) {
		request += float64(l.ValueSize)
	}
	if l.has(isTxn) {
		request *= float64(l.TxnKeys)
	}
	if l.Arrival == Closed {
		add("clients", "a request of each client", float64(l.Clients), request+flightBytes)
	} else {
		add("max-in-flight", "the requests that may be under way", float64(l.MaxInFlight), request+flightBytes)
	}
	add("connections", "its connections", float64(l.Connections), socketBytes)
	sum, most := 0.0, needs[0]
	for _, n := range needs {
		if sum += n.bytes; n.bytes > most.bytes {
			most = n
		}
	}
	if sum > MaxMemory {
		gib := sum / (1 << 30)
		decimals := 0 // an exponent is hard to read
		if gib < 100 {
			decimals = 2
		}
		c.add(most.key, "this load needs %.*f GiB of memory, most of it for %s, and can have %d GiB; give a smaller <"+most.key+">",
			decimals, gib, most.what, MaxMemory>>30)
	}
}
