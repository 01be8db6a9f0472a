package kubernetes

import (
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lists collects the keys in responses to listings, so that they can be verified.
type lists struct {
	chronicle *chronicle
	// The collected responses are indexed by the operation's tag, because several can be in flight.
	responses []listResponse
	// The memory of the last response, for reuse. There are many tags and a listing of all pods is
	// long, so not every tag keeps its own memory.
	spare   []object
	asRange store.RangeOp
}

// listResponse is the response to a listing.
type listResponse struct {
	passed bool // the codec has passed the response's keys to Add
	keys   int  // number of keys in the response
	found  []object
}

// object is an object of this load that appears in the response to a listing.
type object struct {
	number, value uint64
	revision      int64
}

// lookBack limits the verification that removed pods are absent from listings. Every listing shows
// that all removed pods are absent, but the number of these pods grows with time. So only the last
// lookBack pods before the oldest existing pod are verified.
const lookBack = 100

// Begin implements store.Keys.
func (l *lists) Begin(tag uint32) bool {
	for int(tag) >= len(l.responses) {
		l.responses = append(l.responses, listResponse{})
	}
	a := &l.responses[tag]
	if a.found == nil {
		a.found, l.spare = l.spare, nil
	}
	*a = listResponse{passed: true, found: a.found[:0]}
	return true
}

// Add implements store.Keys.
func (l *lists) Add(tag uint32, key, value []byte, revision int64) {
	a := &l.responses[tag]
	a.keys++
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
	if !l.collects(e) || int(tag) >= len(l.responses) || !l.responses[tag].passed || !o.Answered() {
		o.Read = history.Unseen // it is unknown which keys the response covers
		c.to.Add(o)
		return
	}
	a := &l.responses[tag]
	a.passed = false
	r, k := e.Call.Resource(), c.script.keys
	next, behind := uint64(k.First[r]), uint64(k.First[r+1])
	if r == Pods {
		next += uint64(max(int(c.script.oldest)-lookBack, 0))
	}
	limit := 0
	switch e.Call {
	case ListPods:
		limit = ListLimit
	case ListOne:
		limit = 1
	}
	if limit > 0 && a.keys >= limit {
		behind = next
		if n := len(a.found); n > 0 {
			behind = max(a.found[n-1].number+1, next)
		}
	}
	part := func(found object) {
		o.Key, o.Read, o.Mod = found.number, found.value, found.revision
		c.to.Add(o)
		o.Joined = true
	}
	for _, found := range a.found {
		if found.number < next || found.number >= behind {
			continue
		}
		for ; next < found.number; next++ {
			part(object{number: next})
		}
		part(found)
		next++
	}
	for ; next < behind; next++ {
		part(object{number: next})
	}
	if !o.Joined {
		o.Read = history.Unseen
		c.to.Add(o)
	}
	l.spare, a.found = a.found, nil
}
