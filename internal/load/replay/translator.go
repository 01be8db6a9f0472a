package replay

import (
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// translator converts recorded calls to the calls to send. Each converted call reuses the memory of
// the previous one.
type translator struct {
	plan  *Plan
	call  call.Call
	bytes []byte
}

func (t *translator) translate(n uint64, c *call.Call) *call.Call {
	parts := append(t.call.Parts[:0], c.Parts...)
	t.call, t.bytes = *c, t.bytes[:0]
	t.call.Parts = parts
	for i := range parts {
		if part := &parts[i]; part.Action == call.Grant && part.Lease == 0 {
			part.Lease = c.Lease // the store chose the number of the lease
		}
		t.part(guardAt{int32(n), int32(i)}, &parts[i])
	}
	return &t.call
}

func (t *translator) part(at guardAt, part *call.Part) {
	part.Name = t.plan.names.ofLease(part.Lease)
	part.Lease = t.lease(part.Lease)
	switch part.Action {
	case call.Grant, call.Revoke, call.KeepAlive, call.Unwatch:
		return
	case call.Compaction:
		part.Number = t.plan.compactedAt(part.Number)
		return
	case call.Watch:
		part.Number = t.plan.watchedFrom(part.Number)
	case call.Compare:
		switch part.Target {
		case call.Modified, call.Created, call.Version:
			part.Number = t.plan.presentGuard(at, part)
		case call.ValueIs:
			part.Value.Text = t.value(&part.Value)
		}
	case call.Read:
		if part.Number > 0 {
			part.Number = t.plan.revisionAt(part.Number)
		}
	case call.Write:
		part.Value.Text = t.value(&part.Value)
	}
	t.keys(part)
}

// keys sets the keys in a part to their names in this replay, including the prefix.
func (t *translator) keys(part *call.Part) {
	if name := t.plan.names.ofKey(part.Key); len(name) > 0 {
		part.Key = name
	}
	if part.Flags&call.Sequential != 0 {
		part.End = nil // the store chooses the name
	}
	prefix := t.plan.prefix
	if prefix == "" {
		return
	}
	part.Key = t.prefixed(part.Key)
	switch part.Scope {
	case call.Rest, call.Interval:
		part.End = t.prefixed(part.End)
	case call.From: // the range ends after the last key that has the prefix
		part.Scope = call.Rest
		part.End = t.prefixed(nil)
	}
}

func (t *translator) prefixed(key []byte) []byte {
	at := len(t.bytes)
	t.bytes = append(append(t.bytes, t.plan.prefix...), key...)
	return t.bytes[at:len(t.bytes):len(t.bytes)]
}

// letters contains the characters of base64url, of which the values in all loads consist.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// value returns the recorded value. If only the hash of the value is recorded, it returns a value
// of the same size that depends only on the hash, so that equal values stay equal.
func (t *translator) value(v *call.Value) []byte {
	if v.Text != nil {
		return v.Text
	}
	at := len(t.bytes)
	x := v.Hash
	for left := v.Size; left > 0; {
		x += 0x9e3779b97f4a7c15 // SplitMix64
		bits := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		bits = (bits ^ bits>>27) * 0x94d049bb133111eb
		for range min(left, 10) {
			t.bytes = append(t.bytes, letters[bits&63])
			bits >>= 6
			left--
		}
	}
	return t.bytes[at:len(t.bytes):len(t.bytes)]
}

// lease returns the number that a recorded lease has in this replay. The number is positive, and
// differs between replays on the same store.
func (t *translator) lease(recorded int64) int64 {
	if recorded == 0 {
		return 0
	}
	x := (uint64(recorded) + t.plan.salt) * 0x9e3779b97f4a7c15
	return int64(max((x^x>>29)>>1, 1))
}
