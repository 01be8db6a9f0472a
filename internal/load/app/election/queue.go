package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// ephemeralQueue imitates Curator's LeaderLatch. Each candidate creates a sequential ephemeral node
// and lists all nodes. It is leader if its own node has the lowest number. Otherwise it watches the
// node that precedes its own, and lists the nodes again when that node is deleted. A node's name
// contains the candidate's name, so that the candidate recognizes a node that a failed call
// created. Curator calls this feature protection.
type ephemeralQueue struct{ names *nodeList }

const latchInfix = "-latch-"

// sequenceDigits is the number of digits in the number that the store appends to a sequential
// node's name.
const sequenceDigits = 10

// nodeList holds the nodes in a listing: their candidates, runs and numbers. The next listing
// reuses its memory.
type nodeList struct {
	owners  []int32
	runs    []uint32
	numbers []int64 // the number that the store appended, plus one
}

// Begin implements store.Keys.
func (h *nodeList) Begin(uint32) bool {
	h.owners, h.runs, h.numbers = h.owners[:0], h.runs[:0], h.numbers[:0]
	return false
}

// Add implements store.Keys. It ignores nodes that no candidate created.
func (h *nodeList) Add(_ uint32, name, _ []byte, _ int64) {
	const head = NameSize
	if len(name) != head+len(latchInfix)+sequenceDigits || string(name[head:head+len(latchInfix)]) != latchInfix {
		return
	}
	c, run, ok := ParseCandidate(name[:head])
	order, fine := parseSequence(name)
	if ok && fine {
		h.owners, h.runs, h.numbers = append(h.owners, int32(c)), append(h.runs, run), append(h.numbers, order) // #nosec G115 -- six digits
	}
}

// parseSequence returns the number that the store appended to a node's name or path, plus one.
func parseSequence(name []byte) (order int64, ok bool) {
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
	s.key = append(s.key, latchInfix...)
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
		s.setNodeKey(c, s.run, k.ownNumber)
		s.setCall(call.Part{Action: call.Remove, Key: s.key})
	case Look:
		s.setOfficeKey(c)
		s.key = append(s.key, '/')
		s.setCall(call.Part{Action: call.Read, Scope: call.Prefix, Key: s.key, Flags: call.Local | call.KeysOnly})
		s.names = store.RangeOp{Keys: q.names, KeysOnly: true}
		op.Range = &s.names
	case Drop:
		s.setNodeKey(c, s.run, k.precedingNumber)
		s.setCall(call.Part{Action: call.Remove, Key: s.key})
	default:
		s.setNodeKey(int(k.precedingCandidate), k.precedingRun, k.precedingNumber)
		s.setAwaitCall(c, op)
	}
}

// Texts for wrong responses.
var (
	missingNumberText   = []byte("the store created a sequential node without a number")
	duplicateNumberText = []byte("two nodes in the same queue have the same number")
)

func (q *ephemeralQueue) handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	switch {
	case call == Resign:
		k.ownNumber = 0
		s.setNextCall(c, Stand, false)
	case call == Stand && ev.Outcome == kv.OK:
		order, ok := parseSequence(ev.Key)
		if !ok {
			s.setNextCall(c, Look, true)
			return outcomeWithText(ev, missingNumberText)
		}
		k.ownNumber = order
		s.setNextCall(c, Look, false)
	case call == Stand:
		s.setNextCall(c, Stand, true)
	case call == Look && ev.Outcome == kv.OK:
		return q.handleList(s, c, ev)
	case call == Look: // the office does not exist
		s.setNextCall(c, Look, true)
	// The node that precedes the candidate's own was deleted in the meantime.
	case ev.Outcome == kv.Miss || call == Drop:
		s.setNextCall(c, Look, false)
	}
	return ev.Outcome
}

// handleList handles a listing of the queue. If the candidate's own node is the first, the
// candidate becomes leader. Otherwise it waits for the deletion of the node that precedes its own.
func (q *ephemeralQueue) handleList(s *source, c int, ev *store.Event) kv.Outcome {
	k, h := &s.candidates[c], q.names
	if k.ownNumber == 0 { // a failed call may have created the candidate's node
		for i, owner := range h.owners {
			if int(owner) == c && h.runs[i] == s.run {
				k.ownNumber = h.numbers[i]
			}
		}
	}
	ownExists, sameNumberCount, leftoverNumber := false, 0, int64(0)
	k.precedingNumber = 0
	for i, order := range h.numbers {
		own := int(h.owners[i]) == c && h.runs[i] == s.run
		switch {
		case order == k.ownNumber:
			ownExists = ownExists || own
			sameNumberCount++
		case own:
			leftoverNumber = order
		case order < k.ownNumber && order > k.precedingNumber:
			k.precedingNumber, k.precedingCandidate, k.precedingRun = order, h.owners[i], h.runs[i]
		}
	}
	switch {
	case !ownExists:
		k.ownNumber = 0
		s.setNextCall(c, Stand, false)
	// A call without a response created this node. It must be removed, because other candidates
	// would wait forever for its deletion.
	case leftoverNumber != 0:
		k.precedingNumber = leftoverNumber
		s.setNextCall(c, Drop, false)
	case sameNumberCount > 1:
		s.setNextCall(c, Look, true)
		return outcomeWithText(ev, duplicateNumberText)
	case k.precedingNumber == 0:
		return outcomeWithText(ev, s.becomeLeader(c, k.ownNumber))
	default:
		s.setNextCall(c, Await, false)
	}
	return ev.Outcome
}

func (q *ephemeralQueue) handleChange(s *Script, c int, deleted bool) {
	switch {
	case s.isLeader(c):
	case deleted:
		s.setNextCall(c, Look, false)
	default:
		s.setNextCall(c, Await, false)
	}
}

func (q *ephemeralQueue) retryCall(_ *Script, _ int, failed Call) Call {
	if failed == Resign {
		return Resign
	}
	return Look
}

func (q *ephemeralQueue) handleExpiry(s *Script, c int) { s.candidates[c].ownNumber = 0 }
