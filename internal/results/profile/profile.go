// Package profile derives a scenario from a recording. The scenario describes the recorded load in
// a form that people can read and scale.
package profile

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Profile describes the load in a recording.
type Profile struct {
	Header  call.Header
	Path    string
	Problem string // a sentence if the recording could not be read completely
	// Length is the time from the first call to the last call, in nanoseconds. It is at least 1.
	Length int64
	// Connections is the mean number of connections in use, and at least 1. A connection is in use
	// from its first call to its last call.
	Connections int
	// Operations holds the kinds of calls that a load can send, with the most frequent kind first.
	Operations []Operation
	Methods    []Method // all kinds of calls, with their names in the protocol
	// DistinctKeys is the number of different keys in calls that have a single key. HotShare is the
	// share of these calls that used one of the hottest keys, which are the most used fifth of all
	// keys, rounded up. If the recording has more keys than a profile stores, DistinctKeys and
	// HotShare are estimates, and KeysEstimated is set.
	DistinctKeys  int
	KeysEstimated bool
	HotShare      float64
	// Each of the following distributions covers the calls that have the respective number. KeySize
	// and ValueSize are sizes in bytes. Read is the number of keys that a range returned, and
	// Written is the number of keys that a transaction wrote.
	KeySize, ValueSize, Read, Written Spread
	// GuardedTransactions is the number of guarded transactions. GuardsHeld is the number of these
	// transactions whose guards held.
	GuardedTransactions, GuardsHeld uint64
	Pushes, Events                  uint64 // number of messages to watchers, and number of events in these messages
	Watchers                        uint64 // watchers that were created
	// PeakPerSecond is the highest number of operations that were requested in one second. InFlight
	// is the mean number of operations in flight.
	PeakPerSecond uint64
	InFlight      float64
	// Gaps holds the gaps of the recording, up to maxGaps. Similar gaps are combined into one.
	// OtherGaps is the number of gaps that did not fit into Gaps.
	Gaps            []MergedGap
	OtherGaps       uint64
	PartialSegments uint64 // number of ranges whose prefix ends within a segment of a key, if the keys in the recording are hashed
}

// MergedGap is a gap in a recording. MergedCount is the number of later gaps that were combined with
// this gap, because they have the same reason and agree in two more points: whether they concern a
// single connection, and whether the number of missing calls is known. MissingCalls includes the
// missing calls of these later gaps.
type MergedGap struct {
	call.Gap
	MergedCount uint64
}

// Operation is a kind of call that a load can send, with the number of such calls.
type Operation struct {
	Kind  kv.Kind
	Level kv.Consistency
	Calls uint64
}

// Method is a kind of call in the protocol, with figures about these calls.
type Method struct {
	Name          string
	Calls, Failed uint64
	Unanswered    uint64
	times         *measure.Histogram
}

// Times returns the service times of calls with a response, as the recorder observed them.
func (m *Method) Times() measure.Summary { return measure.Summarize(m.times, 0) }

// span holds the times of the first and the last call of a connection.
type span struct{ first, last int64 }

// profileBuilder derives a profile.
type profileBuilder struct {
	Profile
	first, last int64
	methods     map[string]*Method
	operations  map[Operation]uint64
	connections sample[span]
	keys        sample[uint64]
	seconds     []uint64
	totalTime   float64
	seed        maphash.Seed
}

// Read derives the profile of the recording at path.
func Read(path string) (*Profile, error) {
	m := &profileBuilder{
		first: -1, methods: map[string]*Method{}, operations: map[Operation]uint64{}, seed: maphash.MakeSeed(),
	}
	m.Path = path
	var err error
	m.Header, m.Problem, err = call.ReadRecording(path, func(r call.Record) error {
		if r.Gap != nil {
			m.gap(r.Gap)
			return nil
		}
		if r.Call.At > int64(scenario.MaxDuration) {
			return fmt.Errorf("%s has a call %.0f hours after its start, but a load lasts at most %.0f hours; record for a shorter time", path, float64(r.Call.At)/float64(time.Hour), scenario.MaxDuration.Hours())
		}
		m.add(r.Call)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(m.operations) == 0 {
		return nil, fmt.Errorf("cannot derive a scenario from %s: a scenario cannot contain any of the recorded calls (%s in total)", path, text.Plural(m.calls(), "call"))
	}
	m.finish()
	return &m.Profile, nil
}

func (m *profileBuilder) calls() (n uint64) {
	for _, one := range m.methods {
		n += one.Calls
	}
	return n
}

func (m *profileBuilder) add(c *call.Call) {
	if c.Pushed {
		m.Pushes++
		m.Events += uint64(c.KeyCount)
		return
	}
	one := m.method(c.Method)
	one.Calls++
	switch {
	case !c.Answered():
		one.Unanswered++
	case c.Code != 0:
		one.Failed++
	}
	if c.Answered() {
		measure.Record(one.times, c.Duration)
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
	if at, known := m.connections.value(maphash.Comparable(m.seed, c.Conn)); at != nil {
		if !known {
			*at = span{c.At, c.At}
		}
		*at = span{min(at.first, c.At), max(at.last, c.At)}
	}
	m.second(c.At / int64(time.Second))
	if c.Answered() {
		m.totalTime += float64(c.Duration)
	}
	if c.Guarded && c.OK() {
		m.GuardedTransactions++
		if c.GuardsHeld {
			m.GuardsHeld++
		}
	}
	switch kind {
	case kv.Range, kv.TxnGet:
		m.Read.add(c.KeyCount)
	case kv.Txn:
		m.Written.add(int64(writes(c)))
	}
}

// method returns the entry for a method. If there are already maxMethods entries, all further
// methods share one entry.
func (m *profileBuilder) method(name string) *Method {
	one := m.methods[name]
	if one == nil && len(m.methods) >= maxMethods {
		name = otherMethods
		one = m.methods[name]
	}
	if one == nil {
		one = &Method{Name: name, times: measure.NewHistogram()}
		m.methods[name] = one
	}
	return one
}

// gap counts a gap. It combines gaps as MergedGap describes.
func (m *profileBuilder) gap(g *call.Gap) {
	for i := range m.Gaps {
		if known := &m.Gaps[i]; known.Reason == g.Reason && (known.Conn == 0) == (g.Conn == 0) && (known.MissingCalls == 0) == (g.MissingCalls == 0) {
			known.MergedCount++
			known.MissingCalls += g.MissingCalls
			return
		}
	}
	if len(m.Gaps) == maxGaps {
		m.OtherGaps++
		return
	}
	m.Gaps = append(m.Gaps, MergedGap{Gap: *g})
}

// second counts a call in the second in which it was requested. The number of seconds is limited,
// because Read rejects a recording that is longer than the longest possible load.
func (m *profileBuilder) second(at int64) {
	for int64(len(m.seconds)) <= at {
		m.seconds = append(m.seconds, 0)
	}
	m.seconds[at]++
}

func writes(c *call.Call) (n int) {
	for i := range c.Parts {
		if a := c.Parts[i].Action; a == call.Write || a == call.Remove {
			n++
		}
	}
	return n
}

func (m *profileBuilder) part(c *call.Call, p *call.Part) {
	if p.Flags&call.PartialSegment != 0 && !m.Header.Plain {
		m.PartialSegments++
	}
	switch p.Action {
	case call.Watch:
		m.Watchers++
		return
	case call.Read, call.Write, call.Remove:
	default:
		return
	}
	if p.Branch == call.Else || p.Scope != call.SingleKey || len(p.Key) == 0 {
		return
	}
	if n, _ := m.keys.value(maphash.Bytes(m.seed, p.Key)); n != nil {
		*n++
	}
	m.KeySize.add(int64(len(p.Key)))
	if p.Action == call.Write && p.Flags&call.KeepValue == 0 {
		m.ValueSize.add(int64(p.Value.Size))
	}
}

// hotKeyShare is the share of keys that HotShare counts as the most used keys.
const hotKeyShare = 0.2

// hotKeys returns how many of n keys HotShare counts as the most used keys. A load with the
// distribution hotspot has the same number of hot keys.
func hotKeys(n int) int { return int(math.Ceil(hotKeyShare * float64(n))) }

func (m *profileBuilder) finish() {
	m.Length = max(m.last-m.first, 1)
	used := 0.0
	for _, at := range m.connections.stored {
		used += float64(at.last - at.first)
	}
	used *= m.connections.weight()
	m.Connections = max(int(math.Round(used/float64(m.Length))), 1)
	m.DistinctKeys, m.KeysEstimated = int(float64(len(m.keys.stored))*m.keys.weight()), m.keys.weight() > 1
	m.InFlight = m.totalTime / float64(m.Length)
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
		m.PeakPerSecond = max(m.PeakPerSecond, n)
	}
	m.HotShare = hotShare(m.keys.stored)
}

// hotShare returns the share of the calls that went to the most used keys.
func hotShare(keys map[uint64]*uint64) float64 {
	counts, all, busy := make([]uint64, 0, len(keys)), uint64(0), uint64(0)
	for _, n := range keys {
		counts = append(counts, *n)
		all += *n
	}
	if all == 0 {
		return 0
	}
	slices.Sort(counts)
	for _, n := range counts[len(counts)-hotKeys(len(counts)):] {
		busy += n
	}
	return float64(busy) / float64(all)
}

// Calls returns the number of recorded calls that a load can send.
func (p *Profile) Calls() (n uint64) {
	for _, o := range p.Operations {
		n += o.Calls
	}
	return n
}

// PerSecond returns the mean rate of the recorded calls that a load can send, in calls per second.
func (p *Profile) PerSecond() float64 { return float64(p.Calls()) / (float64(p.Length) / 1e9) }
