package profile

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// load holds the parameters of a profile's load that a scenario limits. The corresponding numbers
// in a recording may exceed these limits.
type load struct {
	connections, keySize, valueSize, txnKeys int64
	keySpace                                 uint64
	inFlight                                 int64 // 0 if the default is sufficient
	rate                                     float64
}

const (
	// minRate is the lowest rate that the function `number` does not format as 0.
	minRate = 1e-6
	// maxConnections limits the number of connections, so that enough memory is left for the
	// requests.
	maxConnections = 100_000
	longestKey     = 1024
	maxRead        = 1_000_000_000
	// maxRequestBytes is the limit for the total size of all requests in flight, in bytes. It is
	// half of a load's memory limit, because other data also needs memory.
	maxRequestBytes = scenario.MaxMemory / 2
	requestBytes    = 1024 // size of a request without its keys and values
	usualInFlight   = 100_000
	minKeySize      = 4
	valuesPerBytes  = 64
)

// load returns the numbers of the recording, adjusted to the limits of a scenario.
func (p *Profile) load() load {
	l := load{
		connections: int64(min(max(p.Connections, 1), maxConnections)),
		rate:        min(max(p.PerSecond(), minRate), scenario.MaxRate),
		keySpace:    uint64(max(p.DistinctKeys, 1)),
		keySize:     min(max(p.KeySize.Percentile(50), minKeySize), longestKey),
		valueSize:   min(max(p.ValueSize.Percentile(50), 1), scenario.MaxValueSize),
		txnKeys:     1,
	}
	// Increase the key size until the key space has enough different keys.
	for size, keys := int64(0), uint64(1); keys < l.keySpace; keys *= valuesPerBytes {
		size++
		l.keySize = max(l.keySize, size)
	}
	if p.hasKind(kv.Txn) {
		l.txnKeys = min(max(p.Written.Percentile(50), 1), scenario.MaxTxnKeys, int64(min(l.keySpace, scenario.MaxTxnKeys)))
	}
	request := (l.keySize + l.valueSize + requestBytes) * l.txnKeys
	if request > maxRequestBytes {
		l.txnKeys = max(maxRequestBytes/(l.keySize+l.valueSize+requestBytes), 1)
		request = maxRequestBytes
	}
	if most := int64(maxRequestBytes) / request; most < usualInFlight {
		l.inFlight = max(most, 1)
	}
	return l
}
