package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// ephemeralQueue imitates Curator's LeaderLatch. Each candidate creates a sequential ephemeral node
// and lists all nodes. It is leader if its own node has the lowest number. Otherwise it watches the
// node that precedes its own, and lists the nodes again when that node is deleted. A node's name
// contains the candidate's name, so that the candidate recognizes a node that a failed call created
// (Curator's protection).
type ephemeralQueue struct{ names *nodeList }

const latch = "-latch-"

// sequenceDigits is the number of digits in the number that the store appends to a sequential
// node's name.
const sequenceDigits = 10

// nodeList holds the nodes in a listing: their candidates, runs and numbers. The next listing
// reuses its memory.
type nodeList struct {
	of    []int32
	runs  []uint32
	order []int64 // the number that the store appended, plus one
}

// Begin implements store.Keys.
func (h *nodeList) Begin(uint32) bool {
	h.of, h.runs, h.order = h.of[:0], h.runs[:0], h.order[:0]
	return false
}

// Add implements store.Keys. It ignores nodes that no candidate created.
func (h *nodeList) Add(_ uint32, name, _ []byte, _ int64) {
	const head = NameSize
	if len(name) != head+len(latch)+sequenceDigits || string(name[head:head+len(latch)]) != latch {
		return
	}
	c, run, ok := ParseCandidate(name[:head])
	order, fine := sequence(name)
	if ok && fine {
		h.of, h.runs, h.order = append(h.of, int32(c)), append(h.runs, run), append(h.order, order) // #nosec G115 -- six digits
	}
}

// sequence returns the number that the store appended to a node's name or path, plus one.
func sequence(name []byte) (order int64, ok bool) {
	if len(name) < sequenceDigits {
		return 0, false
	}
	for _, d := range name[len(name)-sequenceDigits:] {
		if d < '0' || d > '9' {
			return 0, false
		}
		order = order*10 + int64(d-'0')
	}
	return order + 1, true
}

// setNodeKey sets the source's key to the key of the node that a candidate created in a run. The
// parameter `order` is the node's number, or 0 if the node has not been created yet and therefore
// has no number.
func (s *source) setNodeKey(c int, run uint32, order int64) {
	s.setOfficeKey(c)
	s.key = AppendCandidate(append(s.key, '/'), c, run)
	s.key = append(s.key, latch...)
	if order == 0 {
		return
	}
	at := len(s.key)
	s.key = append(s.key, "0000000000"...)
	for i, n := len(s.key)-1, order-1; i >= at; i-- {
		s.key[i] = '0' + byte(n%10)
		n /= 10
	}
}

func (q *ephemeralQueue) fill(s *source, c int, request Call, op *store.Op) {
	k := &s.candidates[c]
	switch request {
	case Stand:
		s.setNodeKey(c, s.run, 0)
		s.setCall(call.Part{Action: call.Write, Flags: call.Ephemeral | call.Sequential, Key: s.key, Value: s.setName(c)})
	case Resign:
		s.setNodeKey(c, s.run, k.own)
		s.setCall(call.Part{Action: call.Remove, Key: s.key})
	case Look:
		s.setOfficeKey(c)
		s.key = append(s.key, '/')
		s.setCall(call.Part{Action: call.Read, Scope: call.Prefix, Key: s.key, Flags: call.Local | call.KeysOnly})
		s.names = store.RangeOp{Keys: q.names, KeysOnly: true}
		op.Range = &s.names
	case Drop:
		s.setNodeKey(c, s.run, k.before)
		s.setCall(call.Part{Action: call.Remove, Key: s.key})
	default:
		s.setNodeKey(int(k.ahead), k.run, k.before)
		s.await(c, op)
	}
}

// Texts for wrong responses.
var (
	notNumbered = []byte("the store created a sequential node without a number")
	twiceThere  = []byte("two nodes in the same queue have the same number")
)

func (q *ephemeralQueue) handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	switch {
	case call == Resign:
		k.own = 0
		s.want(c, Stand, false)
	case call == Stand && ev.Outcome == kv.OK:
		order, ok := sequence(ev.Key)
		if !ok {
			s.want(c, Look, true)
			return outcomeOf(ev, notNumbered)
		}
		k.own = order
		s.want(c, Look, false)
	case call == Stand:
		s.want(c, Stand, true)
	case call == Look && ev.Outcome == kv.OK:
		return q.handleList(s, c, ev)
	case call == Look: // the office does not exist
		s.want(c, Look, true)
	// The node that precedes the candidate's own was deleted in the meantime.
	case ev.Outcome == kv.Miss || call == Drop:
		s.want(c, Look, false)
	}
	return ev.Outcome
}

// handleList handles a listing of the queue. If the candidate's own node is the first, the
// candidate becomes leader. Otherwise it waits for the deletion of the node that precedes its own.
func (q *ephemeralQueue) handleList(s *source, c int, ev *store.Event) kv.Outcome {
	k, h := &s.candidates[c], q.names
	if k.own == 0 { // a failed call may have created the candidate's node
		for i, of := range h.of {
			if int(of) == c && h.runs[i] == s.run {
				k.own = h.order[i]
			}
		}
	}
	there, same, lost := false, 0, int64(0)
	k.before = 0
	for i, order := range h.order {
		own := int(h.of[i]) == c && h.runs[i] == s.run
		switch {
		case order == k.own:
			there = there || own
			same++
		case own:
			lost = order
		case order < k.own && order > k.before:
			k.before, k.ahead, k.run = order, h.of[i], h.runs[i]
		}
	}
	switch {
	case !there:
		k.own = 0
		s.want(c, Stand, false)
	// A call without a response created this node. It must be removed, because other candidates
	// would wait forever for its deletion.
	case lost != 0:
		k.before = lost
		s.want(c, Drop, false)
	case same > 1:
		s.want(c, Look, true)
		return outcomeOf(ev, twiceThere)
	case k.before == 0:
		return outcomeOf(ev, s.becomeLeader(c, k.own))
	default:
		s.want(c, Await, false)
	}
	return ev.Outcome
}

func (q *ephemeralQueue) handleChange(s *Script, c int, gone bool) {
	switch {
	case s.isLeader(c):
	case gone:
		s.want(c, Look, false)
	default:
		s.want(c, Await, false)
	}
}

func (q *ephemeralQueue) retryCall(_ *Script, _ int, failed Call) Call {
	if failed == Resign {
		return Resign
	}
	return Look
}

func (q *ephemeralQueue) handleExpiry(s *Script, c int) { s.candidates[c].own = 0 }
