package profile

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// load holds those numbers of a profile's load that have bounds, which a recording need not
// respect.
type load struct {
	connections, keySize, valueSize, txnKeys int64
	keySpace                                 uint64
	inFlight                                 int64 // 0: the usual number fits
	rate                                     float64
}

const (
	// leastRate is the lowest rate that number formats as one above 0.
	leastRate = 1e-6
	// mostConnections leaves memory for the requests.
	mostConnections = 100_000
	longestKey      = 1024
	mostRead        = 1_000_000_000
	// requestRoom is the limit for all requests in flight, in bytes: half of a load's
	// memory limit. The rest is for everything else.
	requestRoom    = scenario.MaxMemory / 2
	requestBytes   = 1024 // of a request in addition to its keys and values
	usualInFlight  = 100_000
	leastKeySize   = 4
	valuesPerBytes = 64
)

// load returns the valid numbers for a scenario that are closest to the recording's.
func (p *Profile) load() load {
	l := load{
		connections: int64(min(max(p.Connections, 1), mostConnections)),
		rate:        min(max(p.PerSecond(), leastRate), scenario.MaxRate),
		keySpace:    uint64(max(p.Keys, 1)),
		keySize:     min(max(p.KeySize.Percentile(50), leastKeySize), longestKey),
		valueSize:   min(max(p.ValueSize.Percentile(50), 1), scenario.MaxValueSize),
		txnKeys:     1,
	}
	// This many bytes allow enough different keys.
	for size, keys := int64(0), uint64(1); keys < l.keySpace; keys *= valuesPerBytes {
		size++
		l.keySize = max(l.keySize, size)
	}
	if p.hasKind(kv.Txn) {
		l.txnKeys = min(max(p.Written.Percentile(50), 1), scenario.MaxTxnKeys, int64(min(l.keySpace, scenario.MaxTxnKeys)))
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
