package profile

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// load is the load of a profile, as far as its numbers have bounds that those of a
// recording need not keep.
type load struct {
	connections, keySize, valueSize, txnKeys int64
	keySpace                                 uint64
	inFlight                                 int64 // 0: the usual number has room
	rate                                     float64
}

const (
	// leastRate is the lowest rate that number writes as one above 0.
	leastRate = 1e-6
	// mostConnections leaves memory for the requests.
	mostConnections = 100_000
	longestKey      = 1024
	mostRead        = 1_000_000_000
	// requestRoom is how many bytes all requests under way may have, half of what a load
	// may need; more of each is left to everything else.
	requestRoom    = scenario.MaxMemory / 2
	requestBytes   = 1024 // that a request needs beside its keys and values
	usualInFlight  = 100_000
	leastKeySize   = 4
	valuesPerBytes = 64
)

// load returns numbers that a scenario can have and that are as close to the recording's as
// can be.
func (p *Profile) load() load {
	l := load{
		connections: int64(min(max(p.Connections, 1), mostConnections)),
		rate:        min(max(p.PerSecond(), leastRate), scenario.MaxRate),
		keySpace:    uint64(max(p.Keys, 1)),
		keySize:     min(max(p.KeySize.At(50), leastKeySize), longestKey),
		valueSize:   min(max(p.ValueSize.At(50), 1), scenario.MaxValueSize),
		txnKeys:     1,
	}
	// So many bytes make enough different keys.
	for size, keys := int64(0), uint64(1); keys < l.keySpace; keys *= valuesPerBytes {
		size++
		l.keySize = max(l.keySize, size)
	}
	if p.has(kv.Txn) {
		l.txnKeys = min(max(p.Written.At(50), 1), scenario.MaxTxnKeys, int64(min(l.keySpace, scenario.MaxTxnKeys)))
	}
	request := (l.keySize + l.valueSize + requestBytes) * l.txnKeys
	if request > requestRoom {
		l.txnKeys = max(requestRoom/(l.keySize+l.valueSize+requestBytes), 1)
		request = requestRoom
	}
	if most := int64(requestRoom) / request; most < usualInFlight {
		l.inFlight = max(most, 1)
	}
	return l
}
