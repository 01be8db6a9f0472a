package scenario

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/readable"
)

// Fit gives the load as many connections as its clients can use on a store
// that takes inFlight operations at a time on one connection (0: no limit).
// It returns a sentence when that changes their number, else "".
func (l *Load) Fit(inFlight int) string {
	asked := l.Connections
	if l.NewConnection {
		l.Connections = l.Clients // places, each with one operation's connection
		return ""
	}
	switch needed := l.neededConnections(inFlight); {
	case l.Clients < 1 || asked < 1:
		return "" // Validate says so
	case asked > l.Clients:
		l.Connections = l.Clients
		isOrAre := "are"
		if asked-l.Clients == 1 {
			isOrAre = "is"
		}
		return fmt.Sprintf("%s for %s: %d %s without a client, and dropped",
			readable.Plural(uint64(asked), "connection"), readable.Plural(uint64(l.Clients), "client"), asked-l.Clients, isOrAre)
	case asked < needed:
		l.Connections = needed
		return fmt.Sprintf("%s for %s: a connection to this store takes %s at a time, so %d are used",
			readable.Plural(uint64(asked), "connection"), readable.Plural(uint64(l.Clients), "client"), readable.Plural(uint64(inFlight), "operation"), needed)
	}
	return ""
}

// FitOrdered gives a load that mixes operations, or consistency levels, a
// connection for each client on a store whose connection answers in order:
// there a slow operation keeps back the quick ones behind it. It returns a
// sentence when that changes their number, else "".
func (l *Load) FitOrdered(ordered bool) string {
	if !ordered || len(l.Mix) < 2 || l.Connections < 1 || l.Connections >= l.Clients {
		return ""
	}
	asked := l.Connections
	l.Connections = l.Clients
	return fmt.Sprintf("%s for %s: a session of this store answers in order, so that in a mix slow operations would keep back quick ones; each client has a session of its own, %d in all",
		readable.Plural(uint64(asked), "connection"), readable.Plural(uint64(l.Clients), "client"), l.Connections)
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

// Warnings are sentences about a valid load that is likely not meant so.
func (l *Load) Warnings() []string { return l.warnings(words{}) }

func (l *Load) warnings(w words) []string {
	var out []string
	if request := len(l.Prefix) + l.KeySize + l.ValueSize; request > commonLimit && l.has(kv.Kind.Writes) {
		out = append(out, fmt.Sprintf("a key and value of %s together are more than the 1.5 MiB that stores commonly take by default", FormatSize(request)))
	}
	if l.Preload && l.usesKeySpace() && l.ValueSize > 0 && l.KeySpace > largePreload/uint64(l.ValueSize) {
		out = append(out, fmt.Sprintf("the preload writes %s of %s each, more than 2 GiB", readable.Plural(l.KeySpace, "key"), FormatSize(l.ValueSize)))
	}
	if l.has(isRange) && l.RangeKey == nil && l.RangeLimit == 0 {
		out = append(out, w.fill("each range reads on to the end of the key space; <range-limit> bounds it"))
	}
	return append(out, l.watchWarnings()...)
}
