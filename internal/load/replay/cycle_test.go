package replay

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// model is a store that executes calls one at a time, and creates the records that a relay would
// create. The guards in its clients' calls contain versions from earlier responses.
type model struct {
	// revisions is set if the model behaves like ZooKeeper: responses contain the store's revision,
	// and a key's version is the number of its writes. Otherwise a key's version is the revision of
	// its last write, and responses to writes contain no version.
	revisions bool
	at        int64               // newest revision
	keys      map[string]int64    // versions of the existing keys
	responses map[string][]answer // by key: the versions in responses, the latest one last
	*rand.Rand
}

// answer is a version in a response, and the time of the response.
type answer struct{ version, at int64 }

// randomCall executes a random call at the given time.
func (m *model) randomCall(now int64) *call.Call {
	c := &call.Call{At: now - 1 - m.Int64N(80)}
	c.Duration = now + 1 + m.Int64N(80) - c.At
	names := []string{"j", "k"}
	if m.IntN(2) == 0 {
		slices.Reverse(names)
	}
	key, other := names[0], names[1]
	guard := func(key string) (part call.Part, held bool) {
		part = call.Part{Action: call.Compare, Target: call.Modified, Key: []byte(key)}
		known := slices.DeleteFunc(slices.Clone(m.responses[key]), func(a answer) bool { return a.at > c.At })
		if len(known) > 0 {
			part.Number = known[len(known)-1-m.IntN(min(3, len(known)))].version
		}
		now, there := m.keys[key]
		return part, there == (part.Number > 0) && now == part.Number
	}
	write := func(key string, held bool) call.Part {
		part := call.Part{Action: call.Write, Branch: call.Then, Key: []byte(key)}
		if c.Guarded, c.GuardsHeld = true, held; !held {
			return part
		}
		c.KeyCount++
		if m.keys[key]++; !m.revisions {
			m.keys[key] = m.at
			return part
		}
		part.Version = m.keys[key]
		m.responses[key] = append(m.responses[key], answer{part.Version, c.At + c.Duration})
		return part
	}
	what := m.IntN(10)
	if what >= 3 || !m.revisions {
		m.at++
	}
	switch {
	case what < 3: // reads of one key or of both keys
		if m.revisions || what > 0 {
			names = names[:1]
		}
		for _, key := range names {
			version := m.keys[key]
			if c.Parts = append(c.Parts, call.Part{Action: call.Read, Key: []byte(key), Version: version}); version > 0 {
				m.responses[key] = append(m.responses[key], answer{version, c.At + c.Duration})
			}
		}
	case what < 5: // a write with a guard on the written key's version
		part, held := guard(key)
		c.Parts = []call.Part{part, write(key, held)}
	case what == 5: // a write with an additional guard on the other key's version
		part, held := guard(key)
		second, too := guard(other)
		c.Parts = []call.Part{part, second, write(other, held && too)}
	case what < 8: // a creation
		_, there := m.keys[key]
		c.Parts = []call.Part{{Action: call.Compare, Target: call.Created, Key: []byte(key)}, write(key, !there)}
	default: // a removal
		if _, ok := m.keys[key]; ok {
			c.KeyCount = 1
		}
		delete(m.keys, key)
		c.Parts = []call.Part{{Action: call.Remove, Key: []byte(key)}}
	}
	if m.revisions {
		c.Revision = m.at
	}
	return c
}

// cycle returns a cycle of calls that wait for each other, or nil if there is none.
func cycle(p *Plan) []int32 {
	state := make([]byte, len(p.calls))
	var path []int32
	var visit func(n int32) bool
	visit = func(n int32) bool {
		path, state[n] = append(path, n), 1
		for _, m := range p.needs.callsFor(uint64(n)) {
			if state[m] == 1 {
				path = append(path[slices.Index(path, m):], m)
				return true
			}
			if state[m] == 0 && visit(m) {
				return true
			}
		}
		path, state[n] = path[:len(path)-1], 2
		return false
	}
	for n := range p.calls {
		if state[n] == 0 && visit(int32(n)) {
			return path
		}
	}
	return nil
}

// If the recorded store executes calls one at a time, no call waits directly or indirectly for
// itself, no matter how long responses take.
func TestNoCallWaitsForItself(t *testing.T) {
	for _, revisions := range []bool{false, true} {
		for seed := range uint64(settle.RandomCases(3000, 30)) {
			m := &model{revisions: revisions, keys: map[string]int64{}, responses: map[string][]answer{}, Rand: rand.New(rand.NewPCG(seed, 1))}
			p, order := &Plan{}, map[*call.Call]int{}
			for n := range 30 {
				c := m.randomCall(int64(n) * 10)
				p.calls, order[c] = append(p.calls, c), n
			}
			slices.SortStableFunc(p.calls, func(a, b *call.Call) int { return cmp.Compare(a.At, b.At) })
			p.findWriters()
			p.findVersions()
			p.findNeeds()
			text := ""
			for _, n := range cycle(p) {
				c := p.calls[n]
				text += fmt.Sprintf("\n  call %d, executed as %d, from %d to %d, revision %d, held %v: %+v", n, order[c], c.At, c.At+c.Duration, c.Revision, c.GuardsHeld, c.Parts)
			}
			if text != "" {
				t.Fatalf("with revisions %v and seed %d, these calls wait for each other:%s", revisions, seed, text)
			}
		}
	}
}
