// Package profile makes a scenario of a recording: what a load consisted of, as a
// person can read and scale it.
package profile

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/recording"
)

// Profile is what a recording comes to.
type Profile struct {
	Header  recording.Header
	Path    string
	Problem string // a sentence, where the recording was not read to its end
	// Length is from the first call to the last, in nanoseconds; at least 1.
	Length int64
	// Connections is how many were in use at a time in the mean, each from its first
	// call to its last; at least 1.
	Connections int
	// Operations are the calls that a load has, those that there are most of first.
	Operations []Operation
	Methods    []Method // all calls, by what the protocol calls them
	// Keys is how many different keys single calls were of, and Hot the share of those
	// calls that went to a fifth of them, the busiest.
	Keys int
	Hot  float64
	// Sizes, in bytes, and what else is counted, each of those calls that have it.
	KeySize, ValueSize, Read, Written Spread
	// Guarded transactions, those whose guards held, and those that failed otherwise.
	Guarded, Held uint64
	Told, Events  uint64 // messages of watchers, and events in them
	Watchers      uint64 // that were begun
	// Busiest is the most operations that were asked for in one second, and InFlight
	// how many awaited their answer in the mean.
	Busiest  uint64
	InFlight float64
	Gaps     []recording.Gap
	Partial  uint64 // ranges whose prefix ends within a segment, of a recording with hashes
}

// Operation is one kind of call that a load has.
type Operation struct {
	Kind  kv.Kind
	Level kv.Consistency
	Calls uint64
}

// Method is one kind of call as the protocol knows it.
type Method struct {
	Name          string
	Calls, Failed uint64
	Unanswered    uint64
	times         *measure.Histogram
}

// Times are service times as the recorder saw them, of the calls that were answered.
func (m *Method) Times() measure.Summary { return measure.Summarize(m.times, 0) }

// Spread is a median, a 99th percentile and the largest of some numbers.
type Spread struct{ values []int64 }

func (s *Spread) add(n int64) { s.values = append(s.values, n) }

// At is a percentile, from 0 to 100; 0 where there are no numbers.
func (s *Spread) At(p float64) int64 {
	if len(s.values) == 0 {
		return 0
	}
	return s.values[min(int(float64(len(s.values))*p/100), len(s.values)-1)]
}

// span is from a first time to a last.
type span struct{ first, last int64 }

// maker puts a profile together.
type maker struct {
	Profile
	first, last int64
	methods     map[string]*Method
	operations  map[Operation]uint64
	connections map[uint32]span
	keys        map[uint64]uint64
	seconds     map[int64]uint64
	took        int64
	seed        maphash.Seed
}

// Of reads a recording.
func Of(path string) (*Profile, error) {
	m := &maker{
		first: -1, methods: map[string]*Method{}, operations: map[Operation]uint64{}, connections: map[uint32]span{},
		keys: map[uint64]uint64{}, seconds: map[int64]uint64{}, seed: maphash.MakeSeed(),
	}
	m.Path = path
	var err error
	m.Header, m.Problem, err = recording.Each(path, func(r recording.Record) error {
		if r.Gap != nil {
			m.Gaps = append(m.Gaps, *r.Gap)
		} else {
			m.add(r.Call)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(m.operations) == 0 {
		return nil, fmt.Errorf("%s has no call that a scenario could have: it has %s in all", path, readable.Plural(m.calls(), "call"))
	}
	m.finish()
	return &m.Profile, nil
}

func (m *maker) calls() (n uint64) {
	for _, one := range m.methods {
		n += one.Calls
	}
	return n
}

func (m *maker) add(c *recording.Call) {
	if c.Told {
		m.Told++
		m.Events += uint64(c.Keys)
		return
	}
	one := m.methods[c.Method]
	if one == nil {
		one = &Method{Name: c.Method, times: measure.NewHistogram()}
		m.methods[c.Method] = one
	}
	one.Calls++
	switch {
	case !c.Answered():
		one.Unanswered++
	case c.Code != 0:
		one.Failed++
	}
	if c.Answered() {
		measure.Record(one.times, c.Took)
	}
	for i := range c.Parts {
		m.part(c, &c.Parts[i])
	}
	kind, level, ok := c.Kind()
	if !ok {
		return
	}
	if m.first < 0 || c.At < m.first {
		m.first = c.At
	}
	m.last = max(m.last, c.At)
	m.operations[Operation{Kind: kind, Level: level}]++
	at, known := m.connections[c.Conn]
	if !known {
		at = span{c.At, c.At}
	}
	m.connections[c.Conn] = span{min(at.first, c.At), max(at.last, c.At)}
	m.seconds[c.At/int64(time.Second)]++
	if c.Answered() {
		m.took += c.Took
	}
	if c.Guarded && c.OK() {
		m.Guarded++
		if c.Held {
			m.Held++
		}
	}
	switch kind {
	case kv.Range, kv.TxnGet:
		m.Read.add(c.Keys)
	case kv.Txn:
		m.Written.add(int64(writes(c)))
	}
}

func writes(c *recording.Call) (n int) {
	for i := range c.Parts {
		if a := c.Parts[i].Action; a == recording.Write || a == recording.Remove {
			n++
		}
	}
	return n
}

func (m *maker) part(c *recording.Call, p *recording.Part) {
	if p.Flags&recording.MidSegment != 0 && !m.Header.Plain {
		m.Partial++
	}
	switch p.Action {
	case recording.Watch:
		m.Watchers++
		return
	case recording.Read, recording.Write, recording.Remove:
	default:
		return
	}
	if p.Branch == recording.Else || p.Scope != recording.One || len(p.Key) == 0 {
		return
	}
	m.keys[maphash.Bytes(m.seed, p.Key)]++
	m.KeySize.add(int64(len(p.Key)))
	if p.Action == recording.Write && p.Flags&recording.KeepValue == 0 {
		m.ValueSize.add(int64(p.Value.Size))
	}
}

// busiestKeys is the share of the keys that Hot is of.
const busiestKeys = 0.2

func (m *maker) finish() {
	m.Length = max(m.last-m.first, 1)
	used := int64(0)
	for _, at := range m.connections {
		used += at.last - at.first
	}
	m.Connections, m.Keys = max(int(math.Round(float64(used)/float64(m.Length))), 1), len(m.keys)
	m.InFlight = float64(m.took) / float64(m.Length)
	for o, calls := range m.operations {
		o.Calls = calls
		m.Operations = append(m.Operations, o)
	}
	slices.SortFunc(m.Operations, func(a, b Operation) int {
		if a.Calls != b.Calls {
			return int(int64(b.Calls) - int64(a.Calls))
		}
		return int(a.Kind)*8 + int(a.Level) - int(b.Kind)*8 - int(b.Level)
	})
	for _, one := range m.methods {
		m.Methods = append(m.Methods, *one)
	}
	slices.SortFunc(m.Methods, func(a, b Method) int {
		if a.Calls != b.Calls {
			return int(int64(b.Calls) - int64(a.Calls))
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	for _, n := range m.seconds {
		m.Busiest = max(m.Busiest, n)
	}
	for _, s := range []*Spread{&m.KeySize, &m.ValueSize, &m.Read, &m.Written} {
		slices.Sort(s.values)
	}
	m.Hot = hot(m.keys)
}

// hot is the share of all that went to the busiest fifth of the keys.
func hot(keys map[uint64]uint64) float64 {
	counts, all, busy := make([]uint64, 0, len(keys)), uint64(0), uint64(0)
	for _, n := range keys {
		counts = append(counts, n)
		all += n
	}
	if all == 0 {
		return 0
	}
	slices.Sort(counts)
	for _, n := range counts[len(counts)-int(busiestKeys*float64(len(counts))):] {
		busy += n
	}
	return float64(busy) / float64(all)
}

// Calls is how many calls a load has.
func (p *Profile) Calls() (n uint64) {
	for _, o := range p.Operations {
		n += o.Calls
	}
	return n
}

// PerSecond is how many of them there were a second.
func (p *Profile) PerSecond() float64 { return float64(p.Calls()) / (float64(p.Length) / 1e9) }
