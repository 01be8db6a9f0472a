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

// NewKeyRecorder implements app.Model.
func (s *Script) NewKeyRecorder(recorder *history.Recorder) app.KeyRecorder {
	c := &chronicle{script: s, recorder: recorder, candidates: make([]candidateRecord, s.CandidateCount()), leftKeys: app.NewLeftKeys(uint64(s.Offices))} // #nosec G115 -- a count
	for i := range c.candidates {
		if c.candidates[i].key.Number = uint64(i / s.Candidates); s.leases != nil { // #nosec G115 -- a count
			c.candidates[i].lease.ID = s.leases[i]
		}
	}
	switch s.way.Recipe {
	case EphemeralQueue:
		c.callRecorder = queueRecorder{}
	case LeaseRace:
		c.callRecorder = leaseRecorder{}
	case LeaseQueue:
		c.members = map[int64]uint64{}
		for i := range c.candidates {
			c.candidates[i].key.Number, c.members[s.leases[i]] = uint64(i), uint64(i) // #nosec G115 -- a count
		}
		c.callRecorder = leaseRecorder{queue: true}
	case SessionRace:
		c.callRecorder = lockRecorder{}
	default:
		c.callRecorder = nodeRecorder{}
	}
	s.chronicle = c
	return c
}

// Model implements app.Script.
func (s *Script) Model() app.Model { return s }

// MakeRead implements app.Model.
func (s *Script) MakeRead(number uint64, op *store.Op) {
	if s.way.Recipe != EphemeralQueue {
		return
	}
	if s.readBack == nil {
		s.readBack = &readBack{source: source{Script: s}, lists: map[uint32]*nodeList{}}
	}
	b := s.readBack
	b.setOfficeKey(int(number) * s.Candidates) // #nosec G115 -- below Offices
	b.key = append(b.key, '/')
	b.setCall(call.Part{Action: call.Read, Scope: call.Prefix, Key: b.key, Flags: call.Local | call.KeysOnly})
	b.names = store.RangeOp{Keys: b, KeysOnly: true}
	*op = store.Op{Kind: kv.Range, Consistency: kv.Local, Call: &b.call, Range: &b.names}
}

// Exists implements app.Model.
func (s *Script) Exists(ev *store.Event) bool {
	if s.readBack == nil {
		return true
	}
	for _, run := range s.readBack.listOf(ev).runs {
		if run == s.run {
			return true
		}
	}
	return false
}
