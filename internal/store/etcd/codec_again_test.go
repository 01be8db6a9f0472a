package etcd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
)

// TestReplayedRequestDecodesAsRecordedCall checks that the passive decoder decodes a replayed
// request to the call that was recorded.
func TestReplayedRequestDecodesAsRecordedCall(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		want := randomReplayedCall(r)
		var b []byte
		if want.Method == methodTxn {
			b = message.AppendTxn(nil, want.Parts)
		} else {
			b = message.Append(nil, &want.Parts[0])
		}
		got := &call.Call{Method: want.Method}
		if !readRequest(&message.Reader{Redactor: &call.Redactor{}, Call: got}, want.Method, b) {
			t.Fatalf("readRequest rejected the request of %+v: %x", want, b)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%x: %s", b, d)
		}
		if !(Store{}).CanReplay(got) {
			t.Fatalf("CanReplay(%+v) is false", got)
		}
	}
}

// randomReplayedCall returns a random call that can be replayed.
func randomReplayedCall(r *rand.Rand) *call.Call {
	actions := []call.Action{call.Read, call.Write, call.Remove}
	methods := map[call.Action]string{call.Read: methodRange, call.Write: methodPut, call.Remove: methodDelete}
	if r.IntN(2) == 0 {
		a := actions[r.IntN(3)]
		return &call.Call{Method: methods[a], Parts: []call.Part{randomPart(r, a, call.Always)}}
	}
	c := &call.Call{Method: methodTxn}
	for range r.IntN(3) {
		c.Guarded = true
		c.Parts = append(c.Parts, randomCompare(r))
	}
	for _, branch := range []call.Branch{call.Then, call.Else} {
		for range 1 + r.IntN(2) {
			c.Parts = append(c.Parts, randomPart(r, actions[r.IntN(3)], branch))
		}
	}
	return c
}

func randomKey(r *rand.Rand) []byte { return fmt.Appendf(nil, "/a/%d/%d", r.IntN(20), r.IntN(1e6)) }

func randomCompare(r *rand.Rand) call.Part {
	p := call.Part{
		Action: call.Compare, Relation: call.Relation(r.IntN(4)), Target: call.Target(r.IntN(5)), Key: randomKey(r),
	}
	switch p.Target {
	case call.ValueTarget:
		p.Value = (&call.Redactor{}).RedactValue(randomKey(r))
	case call.LeaseTarget:
		p.Lease = r.Int64N(3) * r.Int64()
	default:
		p.Number = r.Int64N(3) * r.Int64N(1<<40)
	}
	return p
}

func randomPart(r *rand.Rand, a call.Action, branch call.Branch) call.Part {
	p := call.Part{Action: a, Branch: branch}
	some := func(flags ...call.Flags) {
		for _, f := range flags {
			if r.IntN(3) == 0 {
				p.Flags |= f
			}
		}
	}
	if a == call.Write {
		p.Key, p.Value, p.Lease = randomKey(r), (&call.Redactor{}).RedactValue(randomKey(r)), r.Int64N(2)*r.Int64()
		some(call.PreviousValue, call.KeepValue, call.KeepLease)
		return p
	}
	key := randomKey(r)
	switch r.IntN(4) {
	case 0:
		p.Key, p.Scope = key, call.FromKey
	case 1:
		(&call.Redactor{}).SetInterval(&p, []byte("/a/"), []byte("/a0"))
	case 2:
		(&call.Redactor{}).SetInterval(&p, append(key, 0), []byte("/a0"))
	default:
		(&call.Redactor{}).SetInterval(&p, key, nil)
	}
	if a == call.Remove {
		some(call.PreviousValue)
		return p
	}
	p.Limit, p.Number = r.Int64N(2)*r.Int64N(1000), r.Int64N(2)*r.Int64N(1<<40)
	some(call.Local, call.KeysOnly, call.CountOnly, call.Sorted, call.Descending)
	return p
}
