package replay

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Options holds the parameters for a replay.
type Options struct {
	Speed  float64 // speed of the replay relative to the recording; above 0
	Prefix string  // the prefix that is added to every key
	Salt   uint64  // makes the numbers of leases differ from those in other replays
	// Connections is the number of connections. 0 stands for the highest number of connections that
	// the recording used at the same time. If each connection is a session of the store, the
	// recorded sessions share these connections.
	Connections int
	// MaxInFlight is the maximum number of calls in flight.
	MaxInFlight int
	// Compactions is set if the replay sends compactions. A compaction deletes the history of all
	// keys in the store.
	Compactions bool
}

// Read returns a plan with the calls in a recording that the store can repeat.
func Read(path string, st store.Replayer, o Options) (*Plan, error) {
	p := &Plan{Omitted: map[string]uint64{}, speed: o.Speed, prefix: o.Prefix, salt: o.Salt, store: st, preloaded: map[string]preloaded{}}
	r := reader{plan: p, options: o, connections: map[uint32]span{}, events: map[stream]uint64{},
		limit: limits{path: path, maxBytes: minPlanLimit, prefix: len(o.Prefix), speed: o.Speed}}
	if about, err := os.Stat(path); err == nil { // if there is an error, ReadRecording returns it, too
		r.limit.maxBytes = maxPlanBytes(about.Size())
	}
	var err error
	if p.Header, p.Problem, err = call.ReadRecording(path, r.takeRecord); err != nil {
		return nil, err
	}
	if len(p.calls) == 0 {
		return nil, fmt.Errorf("%s contains no call that can be replayed", path)
	}
	slices.SortStableFunc(p.calls, func(a, b *call.Call) int { return cmp.Compare(a.At, b.At) })
	if err := r.limit.checkLength(p.calls[0].At, p.calls[len(p.calls)-1].At); err != nil {
		return nil, err
	}
	r.planConnections()
	p.states, p.newRevisions, p.lateness = make([]state, len(p.calls)), make([]int64, len(p.calls)), make([]int64, len(p.calls))
	for n := range p.lateness {
		p.lateness[n] = -1
	}
	p.findWriters()
	p.findWatchers(r.events)
	p.findVersions()
	p.findNames()
	p.findNeeds()
	p.measureKeys()
	p.findPreexisting()
	if err := r.limit.checkInFlight(p, o.MaxInFlight); err != nil {
		return nil, err
	}
	return p, nil
}

// reader fills a plan from a recording.
type reader struct {
	plan        *Plan
	options     Options
	limit       limits
	connections map[uint32]span
	events      map[stream]uint64 // number of events that each watcher received in the recording
}

// takeRecord adds a record's call to the plan, or counts it as a call that is not sent again.
func (r *reader) takeRecord(record call.Record) error {
	p, c := r.plan, record.Call
	switch {
	case record.Gap != nil:
		p.Gaps++
	case c.Pushed:
		at := stream{c.Conn, c.Stream, c.Lease}
		if _, ok := r.events[at]; !ok {
			if err := r.limit.addBytes(mapEntryBytes); err != nil {
				return err
			}
		}
		r.events[at] += uint64(c.KeyCount) // #nosec G115 -- not below 0
	case !p.store.CanReplay(c), c.Parts[0].Action == call.Compaction && !r.options.Compactions:
		if _, ok := p.Omitted[c.Method]; !ok {
			if err := r.limit.addBytes(mapEntryBytes + len(c.Method)); err != nil {
				return err
			}
		}
		p.Omitted[c.Method]++
	default:
		if err := r.limit.addCall(c); err != nil {
			return err
		}
		p.calls = append(p.calls, c)
		r.connections[c.Conn] = r.connections[c.Conn].extend(c)
	}
	return nil
}

// planConnections sets the number of connections, and determines which calls must use the same
// connection.
func (r *reader) planConnections() {
	p := r.plan
	p.Connections = maxConcurrent(r.connections)
	if p.store.Capabilities().OrderedResponses {
		p.places = newPlaces(p.calls, r.connections, r.options.Connections)
		p.Connections = len(p.places.callsByPlace)
	}
	if p.connCount = min(p.Connections, scenario.MaxConnections); r.options.Connections > 0 {
		p.connCount = r.options.Connections
	}
}

// maxConcurrent returns the highest number of connections that were in use at the same time.
func maxConcurrent(connections map[uint32]span) (highest int) {
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
		highest = max(highest, n+1-over)
	}
	return highest
}

// findWriters finds the calls that created the recorded revisions.
func (p *Plan) findWriters() {
	p.writers = map[int64]int32{}
	for n, c := range p.calls {
		if c.Revision <= 0 || !slices.ContainsFunc(c.Parts, func(part call.Part) bool { return wroteKey(c, &part) }) {
			continue
		}
		if _, ok := p.writers[c.Revision]; !ok {
			p.writers[c.Revision] = int32(n)
			p.revisions = append(p.revisions, revision{c.Revision, int32(n)})
		}
	}
	slices.SortFunc(p.revisions, func(a, b revision) int {
		if a.number < b.number {
			return -1
		}
		return 1
	})
}

// measureKeys counts the different keys, and computes the mean sizes of keys and values.
func (p *Plan) measureKeys() {
	seen := map[string]struct{}{}
	var keys, values, written int
	for _, c := range p.calls {
		for i := range c.Parts {
			part := &c.Parts[i]
			if part.Scope == call.SingleKey && len(part.Key) > 0 {
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
