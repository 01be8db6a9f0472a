package scenario

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// fit gives the load as many connections as its clients can use on a store
// that takes inFlight operations at a time on one connection (0: no limit).
// It returns a sentence when that changes their number, else "".
func (l *Load) fit(inFlight int) string {
	asked := l.Connections
	if l.NewConnection {
		l.Connections = l.Clients // places, each with one operation's connection
		return ""
	}
	switch needed := l.neededConnections(inFlight); {
	case l.Clients < 1 || asked < 1:
		return "" // which is refused
	case asked > l.Clients:
		l.Connections = l.Clients
		isOrAre := "are"
		if asked-l.Clients == 1 {
			isOrAre = "is"
		}
		return fmt.Sprintf("%s for %s: %d %s without a client, and dropped",
			text.Plural(uint64(asked), "connection"), text.Plural(uint64(l.Clients), "client"), asked-l.Clients, isOrAre)
	case asked < needed:
		l.Connections = needed
		return fmt.Sprintf("%s for %s: a connection to this store takes %s at a time, so %d are used",
			text.Plural(uint64(asked), "connection"), text.Plural(uint64(l.Clients), "client"), text.Plural(uint64(inFlight), "operation"), needed)
	}
	return ""
}

// fitOrdered gives a load that mixes operations, or consistency levels, a
// connection for each client on a store whose connection answers in order:
// there a slow operation keeps back the quick ones behind it. It returns a
// sentence when that changes their number, else "".
func (l *Load) fitOrdered(ordered bool) string {
	if !ordered || len(l.Mix) < 2 || l.Connections < 1 || l.Connections >= l.Clients {
		return ""
	}
	asked := l.Connections
	l.Connections = l.Clients
	return fmt.Sprintf("%s for %s: a session of this store answers in order, so that in a mix slow operations would keep back quick ones; each client has a session of its own, %d in all",
		text.Plural(uint64(asked), "connection"), text.Plural(uint64(l.Clients), "client"), l.Connections)
}

func (l *Load) neededConnections(inFlight int) int {
	if inFlight < 1 {
		return 1
	}
	return (l.Clients + inFlight - 1) / inFlight
}

// commonLimit is the largest request that a store commonly takes by default,
// in bytes.
const commonLimit = 3 << 19 // 1.5 MiB

// largePreload is how many bytes of values a preload may write unremarked.
const largePreload = 2 << 30

// warnings are sentences about a valid load that is likely not meant so.
func (l *Load) warnings(w words) []string {
	var out []string
	if request := len(l.Prefix) + l.KeySize + l.ValueSize; request > commonLimit && l.has(kv.Kind.Writes) {
		out = append(out, fmt.Sprintf("a key and value of %s together are more than the 1.5 MiB that stores commonly take by default", text.FormatSize(request)))
	}
	if l.Preload && l.usesKeySpace() && l.ValueSize > 0 && l.KeySpace > largePreload/uint64(l.ValueSize) {
		out = append(out, fmt.Sprintf("the preload writes %s of %s each, more than 2 GiB", text.Plural(l.KeySpace, "key"), text.FormatSize(l.ValueSize)))
	}
	if l.has(isRange) && l.Application.Name == "" && l.RangeKey == nil && l.RangeLimit == 0 {
		out = append(out, w.fill("each range reads on to the end of the key space; <range-limit> bounds it"))
	}
	if l.Preload && l.Application.Name == "" && l.has(func(k kv.Kind) bool { return k == kv.Ephemeral }) {
		out = append(out, w.fill("the <preload> makes every key exist, so that an ephemeral one finds it there until a delete has removed it"))
	}
	return append(out, l.watchWarnings()...)
}

// What a load needs memory or work for before it begins, or for each of its
// operations, is counted before anything is made.
const (
	// MaxPreload is how many keys a preload makes exist: hours of it.
	MaxPreload = 100_000_000
	// maxPoisson is how many operations a total has with Poisson arrivals, whose
	// gaps are drawn one after the other to know when the window ends.
	maxPoisson = 100_000_000
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
	if l.Arrival == Poisson && l.Total > maxPoisson {
		c.add("total", "<total> is %d and can be at most %d with poisson arrivals; bound the window by a duration", l.Total, uint64(maxPoisson))
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
