package store

import (
	"encoding/json"
	"time"
)

// Sizer is an optional interface of a Store whose documents say what a cluster wants for
// a load.
type Sizer interface {
	// Size says what fills up with the load's data, and what is recommended for it. The
	// error is for settings that cannot be read.
	Size(SizedLoad) ([]Filling, []Advice, error)
}

// SizedLoad is a load and the cluster that is to carry it. 0 is not known, but for
// numbers of operations.
type SizedLoad struct {
	// Settings are the store's own of the cluster, as JSON; nil for a cluster that was
	// running already.
	Settings  json.RawMessage
	Members   int
	Requests  float64 // a second
	Writes    float64 // of those
	Clients   int     // connections
	Keys      uint64  // that there are
	KeySize   int     // bytes, with the prefix
	ValueSize int     // bytes
	// History is for how long values are kept that were replaced.
	History time.Duration
	// Of the machine of a member with the least: processors, and bytes of memory.
	Processors float64
	Memory     float64
	// RoundTrip is the longest mean round trip between two members, as they measured it,
	// and FsyncP99 the slowest p99 of a sync of the log.
	RoundTrip, FsyncP99 time.Duration
}

// Data is how many bytes the keys and their present values are.
func (l *SizedLoad) Data() float64 { return float64(l.Keys) * float64(l.KeySize+l.ValueSize) }

// Filling is something that a load's data fills, up to a limit.
type Filling struct {
	What        string  // such as database quota
	Used, Limit float64 // bytes
	Text        string  // how both were found, as a sentence
	Source      string  // the document
}

// Advice is what a store's document recommends for a load.
type Advice struct {
	Topic  string // such as election timeout
	Text   string // sentences
	Source string // the document
}
