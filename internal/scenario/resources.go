package scenario

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// fitConnections adapts the number of connections to the number of clients. inFlight is the number
// of operations that the store accepts at the same time on one connection; 0 means no limit.
// fitConnections returns a sentence about a change that the user does not expect, and "" otherwise.
func (l *Load) fitConnections(inFlight int) string {
	requested := l.Connections
	if l.NewConnection {
		l.Connections = l.Clients // each of a client's operations opens its own connection
		return ""
	}
	switch needed := l.neededConnections(inFlight); {
	case l.Clients < 1 || requested < 1:
		return "" // rejected elsewhere
	case requested > l.Clients:
		l.Connections = l.Clients
		isOrAre := "are"
		if requested-l.Clients == 1 {
			isOrAre = "is"
		}
		return fmt.Sprintf("%s for %s: %d %s without a client and will not be opened",
			text.Plural(uint64(requested), "connection"), text.Plural(uint64(l.Clients), "client"), requested-l.Clients, isOrAre)
	case requested < needed:
		l.Connections = needed
		return fmt.Sprintf("%s for %s: a connection to this store can have only %s in flight, so %d connections are used",
			text.Plural(uint64(requested), "connection"), text.Plural(uint64(l.Clients), "client"), text.Plural(uint64(inFlight), "operation"), needed)
	}
	return ""
}

// dedicateConnections gives each client its own connection if the load mixes operations or
// consistency levels, and the store responds in order on a connection. On a shared connection, a
// slow operation would delay quick operations that were sent after it. dedicateConnections returns
// a sentence if it changes the number of connections, and "" otherwise.
func (l *Load) dedicateConnections(ordered bool) string {
	if !ordered || len(l.Mix) < 2 || l.Connections < 1 || l.Connections >= l.Clients {
		return ""
	}
	requested := l.Connections
	l.Connections = l.Clients
	return fmt.Sprintf("%s for %s: a session of this store responds in order, so slow operations in a mix would delay quick ones; each client gets its own session, %d in total",
		text.Plural(uint64(requested), "connection"), text.Plural(uint64(l.Clients), "client"), l.Connections)
}

func (l *Load) neededConnections(inFlight int) int {
	if inFlight < 1 {
		return 1
	}
	return (l.Clients + inFlight - 1) / inFlight
}

// commonRequestLimit is the largest request, in bytes, that most stores accept by default.
const commonRequestLimit = 3 << 19 // 1.5 MiB

// largePreload is the number of bytes that a preload may write without a warning.
const largePreload = 2 << 30

// warnings returns sentences about settings of a valid load that are probably not intended.
func (l *Load) warnings(w keyNamer) []string {
	var out []string
	if request := len(l.Prefix) + l.KeySize + l.ValueSize; request > commonRequestLimit && l.hasKind(kv.Kind.Writes) {
		out = append(out, fmt.Sprintf("a key and its value together have %s, but most stores accept only 1.5 MiB by default", text.FormatSize(request)))
	}
	if l.Preload && l.usesKeySpace() && l.ValueSize > 0 && l.KeySpace > largePreload/uint64(l.ValueSize) {
		out = append(out, fmt.Sprintf("the preload writes %s with values of %s, more than 2 GiB in total", text.Plural(l.KeySpace, "key"), text.FormatSize(l.ValueSize)))
	}
	if l.hasKind(isRange) && l.Application.Name == "" && l.RangeKey == nil && l.RangeLimit == 0 {
		out = append(out, w.fill("each range operation reads to the end of the key space; use <range-limit> to limit it"))
	}
	if l.Preload && l.Application.Name == "" && l.hasKind(func(k kv.Kind) bool { return k == kv.Ephemeral }) {
		out = append(out, w.fill("the <preload> creates every key, so the key of an ephemeral operation already exists until a delete removes it"))
	}
	return append(out, l.watchWarnings()...)
}

// Limits for the resources of a load. They are checked before anything is allocated.
const (
	// MaxPreload is the maximum number of keys in a preload. Writing that many takes hours.
	MaxPreload = 100_000_000
	// maxPoisson is the maximum number of operations in a load with Poisson arrivals. To find the
	// end of the window, all gaps between the operations must be generated.
	maxPoisson = 100_000_000
	// MaxMemory is the maximum memory, in bytes, that the generator may need for a load.
	MaxMemory = 4 << 30

	versionBytes = 8 // per key, for compare-and-set
	ackedBytes   = 4 // per key, for watchers
	// flightBytes is an upper estimate of the memory for an operation in flight, without its key
	// and value. socketBytes is an upper estimate of the memory for a connection.
	flightBytes = 512
	socketBytes = 4 << 10
)

// checkMemory rejects loads that need too many resources, and states the remedy.
func (l *Load) checkMemory(c *checks) {
	if len(c.problems) > 0 {
		return // the numbers already have errors
	}
	if l.Preload && l.usesKeySpace() && l.KeySpace > MaxPreload {
		c.add("key-space", "<key-space> is %d, but a preload can write at most %d keys; use a smaller <key-space>, or no preload (<preload: false>)",
			l.KeySpace, uint64(MaxPreload))
		return
	}
	if l.Arrival == Poisson && l.Total > maxPoisson {
		c.add("total", "<total> is %d, but with poisson arrivals it must be at most %d; use a duration instead of a total", l.Total, uint64(maxPoisson))
	}
	l.checkTotalMemory(c)
}

// checkTotalMemory rejects a load that needs more than MaxMemory, and names the part that needs the
// most.
func (l *Load) checkTotalMemory(c *checks) {
	type need struct {
		key, what string
		bytes     float64
	}
	var needs []need
	add := func(key, what string, n, each float64) { needs = append(needs, need{key, what, n * each}) }
	if l.hasKind(func(k kv.Kind) bool { return k == kv.CAS }) {
		add("key-space", c.namer.fill("the version of each key in the <key-space>, for compare-and-set"), float64(l.KeySpace), versionBytes)
	}
	if l.Watch != nil {
		add("key-space", c.namer.fill("the number of writes to each key in the <key-space>, for the watchers"), float64(l.KeySpace), ackedBytes)
	}
	request := float64(len(l.Prefix) + l.KeySize)
	if l.hasKind(kv.Kind.Writes) {
		request += float64(l.ValueSize)
	}
	if l.hasKind(isTxn) {
		request *= float64(l.TxnKeys)
	}
	if l.Arrival == Closed {
		add("clients", "one request per client", float64(l.Clients), request+flightBytes)
	} else {
		add("max-in-flight", "the requests that may be in flight", float64(l.MaxInFlight), request+flightBytes)
	}
	add("connections", "the connections", float64(l.Connections), socketBytes)
	sum, most := 0.0, needs[0]
	for _, n := range needs {
		if sum += n.bytes; n.bytes > most.bytes {
			most = n
		}
	}
	if sum > MaxMemory {
		gib := sum / (1 << 30)
		decimals := 0 // fixed decimals avoid exponents
		if gib < 100 {
			decimals = 2
		}
		c.add(most.key, "this load needs %.*f GiB of memory, most of it for %s, but at most %d GiB are allowed; use a smaller <"+most.key+">",
			decimals, gib, most.what, MaxMemory>>30)
	}
}
