package etcd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/store"
)

// TestWhatIsSentAgainIsWhatWasHeard: a tap understands the request that is made of a
// recorded call as the same call.
func TestWhatIsSentAgainIsWhatWasHeard(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		want := againCall(r)
		var b []byte
		switch p := &want.Parts[0]; {
		case want.Method == methodTxn:
			b = appendTxn(nil, want.Parts)
		case p.Action == recording.Read:
			b = appendRange(nil, p)
		case p.Action == recording.Write:
			b = appendPut(nil, p)
		default:
			b = appendRemove(nil, p)
		}
		got := &recording.Call{Method: want.Method}
		read := tapRequest{t: &tap{cfg: store.TapConfig{Veil: &recording.Veil{}}}, c: got}
		if read.read(want.Method, b); !read.ok {
			t.Fatalf("%+v is malformed: %x", want, b)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%x: %s", b, d)
		}
		if !(Store{}).Replays(got) {
			t.Fatalf("%+v is not sent again", got)
		}
	}
}

// againCall is a request of any shape that is sent again.
func againCall(r *rand.Rand) *recording.Call {
	actions := []recording.Action{recording.Read, recording.Write, recording.Remove}
	methods := map[recording.Action]string{recording.Read: methodRange, recording.Write: methodPut, recording.Remove: methodDelete}
	if r.IntN(2) == 0 {
		a := actions[r.IntN(3)]
		return &recording.Call{Method: methods[a], Parts: []recording.Part{againPart(r, a, recording.Always)}}
	}
	c := &recording.Call{Method: methodTxn}
	for range r.IntN(3) {
		c.Guarded = true
		c.Parts = append(c.Parts, againCompare(r))
	}
	for _, branch := range []recording.Branch{recording.Then, recording.Else} {
		for range 1 + r.IntN(2) {
			c.Parts = append(c.Parts, againPart(r, actions[r.IntN(3)], branch))
		}
	}
	return c
}

func againKey(r *rand.Rand) []byte { return fmt.Appendf(nil, "/a/%d/%d", r.IntN(20), r.IntN(1e6)) }

func againCompare(r *rand.Rand) recording.Part {
	p := recording.Part{
		Action: recording.Compare, Relation: recording.Relation(r.IntN(4)), Target: recording.Target(r.IntN(5)), Key: againKey(r),
	}
	switch p.Target {
	case recording.ValueIs:
		p.Value = (&recording.Veil{}).Value(againKey(r))
	case recording.LeaseIs:
		p.Lease = r.Int64N(3) * r.Int64()
	default:
		p.Number = r.Int64N(3) * r.Int64N(1<<40)
	}
	return p
}

func againPart(r *rand.Rand, a recording.Action, branch recording.Branch) recording.Part {
	p := recording.Part{Action: a, Branch: branch}
	some := func(flags ...recording.Flags) {
		for _, f := range flags {
			if r.IntN(3) == 0 {
				p.Flags |= f
			}
		}
	}
	if a == recording.Write {
		p.Key, p.Value, p.Lease = againKey(r), (&recording.Veil{}).Value(againKey(r)), r.Int64N(2)*r.Int64()
		some(recording.Before, recording.KeepValue, recording.KeepLease)
		return p
	}
	key := againKey(r)
	switch r.IntN(4) {
	case 0:
		p.Key, p.Scope = key, recording.From
	case 1:
		(&recording.Veil{}).Keys(&p, []byte("/a/"), []byte("/a0"))
	case 2:
		(&recording.Veil{}).Keys(&p, append(key, 0), []byte("/a0"))
	default:
		(&recording.Veil{}).Keys(&p, key, nil)
	}
	if a == recording.Remove {
		some(recording.Before)
		return p
	}
	p.Limit, p.Number = r.Int64N(2)*r.Int64N(1000), r.Int64N(2)*r.Int64N(1<<40)
	some(recording.Local, recording.KeysOnly, recording.CountOnly, recording.Sorted, recording.Descending)
	return p
}
