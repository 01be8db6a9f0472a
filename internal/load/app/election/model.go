package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Keys implements app.Model.
func (s *Script) Keys() uint64 {
	if s.way.Recipe == LeaseQueue {
		return uint64(s.CandidateCount()) // #nosec G115 -- a count
	}
	return uint64(s.Offices) // #nosec G115 -- a count
}

// AppendKey implements app.Model.
func (s *Script) AppendKey(b []byte, number uint64) []byte {
	if s.way.Recipe == LeaseQueue {
		c := int(number) // #nosec G115 -- below CandidateCount
		return appendLeaseKey(b, s.prefix, c/s.Candidates, s.leases[c])
	}
	return append(AppendOffice(b, s.prefix, int(number)), leaderNode...) // #nosec G115 -- below Offices
}

// Steps implements app.Model.
func (s *Script) Steps(to *history.Recorder) app.Steps {
	c := &chronicle{script: s, to: to, of: make([]recorded, s.CandidateCount()), left: app.NewLeftKeys(uint64(s.Offices))} // #nosec G115 -- a count
	for i := range c.of {
		if c.of[i].key.Number = uint64(i / s.Candidates); s.leases != nil { // #nosec G115 -- a count
			c.of[i].lease.ID = s.leases[i]
		}
	}
	switch s.way.Recipe {
	case EphemeralQueue:
		c.calls = queueRecorder{}
	case LeaseRace:
		c.calls = leaseRecorder{}
	case LeaseQueue:
		c.members = map[int64]uint64{}
		for i := range c.of {
			c.of[i].key.Number, c.members[s.leases[i]] = uint64(i), uint64(i) // #nosec G115 -- a count
		}
		c.calls = leaseRecorder{queue: true}
	case SessionRace:
		c.calls = lockRecorder{}
	default:
		c.calls = nodeRecorder{}
	}
	s.records = c
	return c
}

// Model implements app.Script.
func (s *Script) Model() app.Model { return s }

// MakeRead implements app.Model.
func (s *Script) MakeRead(number uint64, op *store.Op) {
	if s.way.Recipe != EphemeralQueue {
		return
	}
	if s.back == nil {
		s.back = &readBack{source: source{Script: s}, lists: map[uint32]*nodeList{}}
	}
	b := s.back
	b.setOfficeKey(int(number) * s.Candidates) // #nosec G115 -- below Offices
	b.key = append(b.key, '/')
	b.setCall(call.Part{Action: call.Read, Scope: call.Prefix, Key: b.key, Flags: call.Local | call.KeysOnly})
	b.names = store.RangeOp{Keys: b, KeysOnly: true}
	*op = store.Op{Kind: kv.Range, Consistency: kv.Local, Call: &b.call, Range: &b.names}
}

// Exists implements app.Model.
func (s *Script) Exists(ev *store.Event) bool {
	if s.back == nil {
		return true
	}
	for _, run := range s.back.listOf(ev).runs {
		if run == s.run {
			return true
		}
	}
	return false
}
