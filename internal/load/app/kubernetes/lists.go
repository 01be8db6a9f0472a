package kubernetes

import (
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lists collects the keys in responses to listings, so that they can be verified.
type lists struct {
	chronicle *chronicle
	// The collected responses are indexed by the operation's tag, because several listings can be
	// in flight.
	responses []listResponse
	// The memory of the last response, for reuse. There are many tags and a listing of all pods is
	// long, so not every tag keeps its own memory.
	spare   []object
	rangeOp store.RangeOp
}

// listResponse is the response to a listing.
type listResponse struct {
	received bool // the codec has passed the response's keys to Add
	keyCount int  // number of keys in the response
	found    []object
}

// object is an object of this load that appears in the response to a listing.
type object struct {
	number, value uint64
	revision      int64
}

// maxAbsentPods limits the verification that removed pods are absent from listings. Every listing
// shows that all removed pods are absent, but the number of these pods grows with time. So only the
// last maxAbsentPods pods before the oldest existing pod are verified.
const maxAbsentPods = 100

// Begin implements store.Keys.
func (l *lists) Begin(tag uint32) bool {
	for int(tag) >= len(l.responses) {
		l.responses = append(l.responses, listResponse{})
	}
	a := &l.responses[tag]
	if a.found == nil {
		a.found, l.spare = l.spare, nil
	}
	*a = listResponse{received: true, found: a.found[:0]}
	return true
}

// Add implements store.Keys.
func (l *lists) Add(tag uint32, key, value []byte, revision int64) {
	a := &l.responses[tag]
	a.keyCount++
	for _, r := range [...]Resource{Pods, MasterLeases} {
		if number, ok := l.chronicle.script.keys.Number(r, key); ok {
			a.found = append(a.found, object{uint64(number), l.chronicle.identity(uint64(number), value), revision})
			return
		}
	}
}

// collects reports whether the keys in the response to a listing are collected. For ListPods, only
// the first page is collected, because the later pages are read at the revision of the first page
// and not at the current revision.
func (l *lists) collects(e Entry) bool {
	switch e.Call {
	case ListPods:
		return e.Object == 0
	case ListOne, ListKeys, ListMasterLeases:
		return true
	}
	return false
}

// recordList records a listing as one part for each key that the response covers, including keys
// that do not exist. Keys sort in the order of their objects' numbers. So if the number of keys in
// a response reaches the limit, the response covers only the objects up to its last key.
func (c *chronicle) recordList(e Entry, tag uint32, o *history.Op) {
	l := &c.lists
	if !l.collects(e) || int(tag) >= len(l.responses) || !l.responses[tag].received || !o.HasStoreData() {
		o.Read = history.UnknownValue // it is unknown which keys the response covers
		c.recorder.Add(o)
		return
	}
	a := &l.responses[tag]
	a.received = false
	r, k := e.Call.Resource(), c.script.keys
	next, end := uint64(k.First[r]), uint64(k.First[r+1])
	if r == Pods {
		next += uint64(max(int(c.script.oldestPod)-maxAbsentPods, 0))
	}
	limit := 0
	switch e.Call {
	case ListPods:
		limit = ListLimit
	case ListOne:
		limit = 1
	}
	if limit > 0 && a.keyCount >= limit {
		end = next
		if n := len(a.found); n > 0 {
			end = max(a.found[n-1].number+1, next)
		}
	}
	addRead := func(found object) {
		o.Key, o.Read, o.ModRevision = found.number, found.value, found.revision
		c.recorder.Add(o)
		o.ContinuesPrevious = true
	}
	for _, found := range a.found {
		if found.number < next || found.number >= end {
			continue
		}
		for ; next < found.number; next++ {
			addRead(object{number: next})
		}
		addRead(found)
		next++
	}
	for ; next < end; next++ {
		addRead(object{number: next})
	}
	if !o.ContinuesPrevious {
		o.Read = history.UnknownValue
		c.recorder.Add(o)
	}
	l.spare, a.found = a.found, nil
}
