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
		t.translatePart(guardID{int32(n), int32(i)}, &parts[i])
	}
	return &t.call
}

func (t *translator) translatePart(guard guardID, part *call.Part) {
	part.Name = t.plan.names.leaseName(part.Lease)
	part.Lease = t.replayLease(part.Lease)
	switch part.Action {
	case call.Grant, call.Revoke, call.KeepAlive, call.Unwatch:
		return
	case call.Compaction:
		part.Number = t.plan.replayCompaction(part.Number)
		return
	case call.Watch:
		part.Number = t.plan.replayWatchStart(part.Number)
	case call.Compare:
		switch part.Target {
		case call.Modified, call.Created, call.Version:
			part.Number = t.plan.replayGuardValue(guard, part)
		case call.ValueTarget:
			part.Value.Text = t.replayValue(&part.Value)
		}
	case call.Read:
		if part.Number > 0 {
			part.Number = t.plan.revisionAt(part.Number)
		}
	case call.Write:
		part.Value.Text = t.replayValue(&part.Value)
	}
	t.translateKeys(part)
}

// translateKeys sets the keys in a part to their names in this replay, including the prefix.
func (t *translator) translateKeys(part *call.Part) {
	if name := t.plan.names.keyName(part.Key); len(name) > 0 {
		part.Key = name
	}
	if part.Flags&call.Sequential != 0 {
		part.End = nil // the store chooses the name
	}
	prefix := t.plan.prefix
	if prefix == "" {
		return
	}
	part.Key = t.addPrefix(part.Key)
	switch part.Scope {
	case call.LaterPage, call.Interval:
		part.End = t.addPrefix(part.End)
	case call.FromKey: // the range ends after the last key that has the prefix
		part.Scope = call.LaterPage
		part.End = t.addPrefix(nil)
	}
}

func (t *translator) addPrefix(key []byte) []byte {
	at := len(t.bytes)
	t.bytes = append(append(t.bytes, t.plan.prefix...), key...)
	return t.bytes[at:len(t.bytes):len(t.bytes)]
}

// letters contains the characters of base64url. In all loads, values consist of these characters.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// replayValue returns the recorded value. If only the hash of the value is recorded, it returns a
// value of the same size that depends only on the hash, so that equal values stay equal.
func (t *translator) replayValue(v *call.Value) []byte {
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

// replayLease returns the number that a recorded lease has in this replay. The number is positive,
// and differs between replays on the same store.
func (t *translator) replayLease(recorded int64) int64 {
	if recorded == 0 {
		return 0
	}
	x := (uint64(recorded) + t.plan.salt) * 0x9e3779b97f4a7c15
	return int64(max((x^x>>29)>>1, 1))
}
