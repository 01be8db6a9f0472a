// Package replay sends a recording again: its calls at their times, with the revisions
// and leases of the store that they are sent to now.
package replay

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Plan is a recording made ready to be sent again, once. It is an app.Script.
type Plan struct {
	app.ScriptBase
	Header  call.Header
	Problem string // a sentence, where the recording was not read to its end
	// Left is how many calls are not sent again, by their method, and Gaps how many gaps
	// the recording has.
	Left map[string]uint64
	Gaps int
	// Connections is how many were in use at once at most, Keys how many different keys calls name, and
	// KeyBytes and ValueBytes how long those and the values written are in the mean.
	Connections          int
	Keys                 uint64
	KeyBytes, ValueBytes int

	store  store.Replayer
	calls  []*call.Call
	speed  float64
	prefix string
	salt   uint64

	needs    needs
	before   []call.Call
	states   []state // by call
	revised  []int64 // by call: the revision that it made now; 0: none that is known
	lates    []int64 // by call: how late it was sent, in nanoseconds; -1: it was not, or waited
	had      map[string]earlierNow
	told     told
	names    names
	places   *places // nil: a call may go over any connection
	watchers watchers
	base     int64           // the newest revision of what was written before
	conns    int             // connections that there are
	writers  map[int64]int32 // a revision's call
	made     []revision      // all of those, upwards
	waited   uint64
}

// state is how far a call is.
type state uint8

const (
	open state = iota
	held       // answered; of one with guards, they held
	refused
	failed
)

// revision is one that a recorded call made.
type revision struct {
	at int64
	by int32
}

// Options says how a recording is to be sent again.
type Options struct {
	Speed  float64 // as many times as fast as it was; above 0
	Prefix string  // stands before every key
	Salt   uint64  // leases get other numbers by it than in another replay
	// Connections is how many there are; 0 is as many as the recording has at once. Of a
	// store whose sessions are connections, recorded sessions share those.
	Connections int
	// MaxInFlight is how many calls may be under way at once.
	MaxInFlight int
	// Compactions sends those, too: they drop the history of all keys of the store.
	Compactions bool
}

// Read makes a plan of a recording, of the calls that the store sends again.
func Read(path string, st store.Replayer, o Options) (*Plan, error) {
	p := &Plan{Left: map[string]uint64{}, speed: o.Speed, prefix: o.Prefix, salt: o.Salt, store: st, had: map[string]earlierNow{}}
	connections, events := map[uint32]span{}, map[stream]uint64{}
	limit := limits{path: path, most: leastPlan, prefix: len(o.Prefix), speed: o.Speed}
	if about, err := os.Stat(path); err == nil { // else Each says why
		limit.most = mostPlan(about.Size())
	}
	var err error
	p.Header, p.Problem, err = call.ReadRecording(path, func(r call.Record) error {
		switch {
		case r.Gap != nil:
			p.Gaps++
		case r.Call.Told:
			at := stream{r.Call.Conn, r.Call.Stream, r.Call.Lease}
			if _, ok := events[at]; !ok {
				if err := limit.needs(mapEntryBytes); err != nil {
					return err
				}
			}
			events[at] += uint64(r.Call.Keys) // #nosec G115 -- not below 0
		case !st.Replays(r.Call), r.Call.Parts[0].Action == call.Compaction && !o.Compactions:
			if _, ok := p.Left[r.Call.Method]; !ok {
				if err := limit.needs(mapEntryBytes + len(r.Call.Method)); err != nil {
					return err
				}
			}
			p.Left[r.Call.Method]++
		default:
			if err := limit.call(r.Call); err != nil {
				return err
			}
			p.calls = append(p.calls, r.Call)
			connections[r.Call.Conn] = connections[r.Call.Conn].with(r.Call)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(p.calls) == 0 {
		return nil, fmt.Errorf("%s has no call that can be sent again", path)
	}
	slices.SortStableFunc(p.calls, func(a, b *call.Call) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	if err := limit.schedule(p.calls[0].At, p.calls[len(p.calls)-1].At); err != nil {
		return nil, err
	}
	p.Connections = atOnce(connections)
	if st.Capabilities().Ordered {
		p.places = placesOf(p.calls, connections, o.Connections)
		p.Connections = len(p.places.lines)
	}
	p.states, p.revised, p.lates = make([]state, len(p.calls)), make([]int64, len(p.calls)), make([]int64, len(p.calls))
	for n := range p.lates {
		p.lates[n] = -1
	}
	if p.conns = min(p.Connections, scenario.MaxConnections); o.Connections > 0 {
		p.conns = o.Connections
	}
	p.findWriters()
	p.findWatchers(events)
	p.findTold()
	p.findNames()
	p.findNeeds()
	p.measureKeys()
	p.findBefore()
	if err := limit.underWay(p, o.MaxInFlight); err != nil {
		return nil, err
	}
	return p, nil
}

// span is from a connection's first call to the end of its last.
type span struct {
	first, last int64
	used        bool
}

func (s span) with(c *call.Call) span {
	end := c.At + max(c.Took, 0)
	if !s.used {
		return span{c.At, end, true}
	}
	return span{min(s.first, c.At), max(s.last, end), true}
}

// atOnce is how many connections were in use at once at most.
func atOnce(connections map[uint32]span) (most int) {
	var begins, ends []int64
	for _, s := range connections {
		begins, ends = append(begins, s.first), append(ends, s.last)
	}
	slices.Sort(begins)
	slices.Sort(ends)
	over := 0
	for n, at := range begins {
		for ends[over] < at {
			over++
		}
		most = max(most, n+1-over)
	}
	return most
}

// Calls is how many there are.
func (p *Plan) Calls() uint64 { return uint64(len(p.calls)) }

// Prepared is how many operations are done before.
func (p *Plan) Prepared() uint64 { return uint64(len(p.before)) }

// Kinds is what the calls count as, with the number of each.
func (p *Plan) Kinds() map[Kind]uint64 {
	out := map[Kind]uint64{}
	for _, c := range p.calls {
		out[kindOf(c)]++
	}
	return out
}

// Kind is what a call counts as.
type Kind struct {
	Kind  kv.Kind
	Level kv.Consistency
}

// kindOf is what a call counts as; requests about leases count as keeping one alive.
func kindOf(c *call.Call) Kind {
	kind, level, ok := c.Kind()
	if !ok {
		kind, level = kv.KeepAlive, kv.None
	}
	return Kind{kind, level}
}

// wrote reports whether a part was done when it was recorded and wrote, or removed what
// may have been there.
func wrote(c *call.Call, part *call.Part) bool {
	if part.Action != call.Write && part.Action != call.Remove {
		return false
	}
	if part.Action == call.Remove && c.Keys == 0 {
		return false // nothing was there
	}
	return did(c, part)
}

// did reports whether a part was done when it was recorded.
func did(c *call.Call, part *call.Part) bool {
	if !c.OK() {
		return false
	}
	switch part.Branch {
	case call.Then:
		return c.Held || !c.Guarded
	case call.Else:
		return c.Guarded && !c.Held
	}
	return true
}

// findWriters finds which call made which revision.
func (p *Plan) findWriters() {
	p.writers = map[int64]int32{}
	for n, c := range p.calls {
		if c.Revision <= 0 || !slices.ContainsFunc(c.Parts, func(part call.Part) bool { return wrote(c, &part) }) {
			continue
		}
		if _, ok := p.writers[c.Revision]; !ok {
			p.writers[c.Revision] = int32(n)
			p.made = append(p.made, revision{c.Revision, int32(n)})
		}
	}
	slices.SortFunc(p.made, func(a, b revision) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
}

// measureKeys counts the different keys, and how long keys and values are.
func (p *Plan) measureKeys() {
	seen := map[string]struct{}{}
	var keys, values, written int
	for _, c := range p.calls {
		for i := range c.Parts {
			part := &c.Parts[i]
			if part.Scope == call.One && len(part.Key) > 0 {
				if _, ok := seen[string(part.Key)]; !ok {
					seen[string(part.Key)] = struct{}{}
					keys += len(part.Key)
				}
			}
			if part.Action == call.Write {
				values += part.Value.Size
				written++
			}
		}
	}
	p.Keys = uint64(max(len(seen), 1))
	p.KeyBytes = keys / int(p.Keys)
	p.ValueBytes = values / max(written, 1)
}

// Pacer implements app.Script.
func (p *Plan) Pacer() pace.Pacer { return p.schedule() }

func (p *Plan) schedule() *pace.Recorded {
	at := make([]int64, len(p.calls))
	for n, c := range p.calls {
		at[n] = c.At
	}
	return pace.NewRecorded(at, p.speed)
}

// Length is how long it takes, in nanoseconds.
func (p *Plan) Length() int64 { return p.schedule().Due(p.Calls()) }

// Source implements app.Script.
func (p *Plan) Source() engine.Source {
	s := &source{Plan: p, translator: translator{plan: p}}
	s.keys.Keys = &s.heard
	return s
}

// Outcome is what became of calls with guards, and of those that waited for others.
type Outcome struct {
	Waited                            uint64
	Guarded, Held, HeldAgain, HeldNow uint64
	// Watchers that were begun, the events that they were told when they were recorded,
	// and those now.
	Watchers, Events, EventsNow uint64
	// Gaps are by how many nanoseconds the times between calls that followed each other
	// were longer or shorter than the recording has them at this speed, from the least on;
	// where neither waited for an answer or a connection.
	Gaps []int64
}

// Outcome is known when the load is over.
func (p *Plan) Outcome() Outcome {
	o := Outcome{Waited: p.waited, Watchers: uint64(len(p.watchers.by)), Events: p.watchers.total, EventsNow: p.watchers.told}
	o.Gaps = p.gapErrors()
	for n, c := range p.calls {
		if !c.Guarded {
			continue
		}
		o.Guarded++
		now := p.states[n] == held
		switch did := c.OK() && c.Held; {
		case did && now:
			o.Held++
			o.HeldAgain++
		case did:
			o.Held++
		case now:
			o.HeldNow++
		}
	}
	return o
}

// gapErrors is Outcome.Gaps.
func (p *Plan) gapErrors() (all []int64) {
	for n := 1; n < len(p.lates); n++ {
		if a, b := p.lates[n-1], p.lates[n]; a >= 0 && b >= 0 {
			all = append(all, max(a-b, b-a))
		}
	}
	slices.Sort(all)
	return all
}

// none is a revision that no key has.
const none = math.MaxInt64
