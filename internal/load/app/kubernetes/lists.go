package kubernetes

import (
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lists takes the keys of the answers to lists, for who checks them.
type lists struct {
	of *chronicle
	// By the operations' tags, since several answers can be under way at once.
	answers []listed
	spare   []object // the memory of the last answer, for the next: a list of all pods is long, and tags are many
	asRange store.RangeOp
}

// listed is the answer to a list.
type listed struct {
	told  bool // its keys were handed out
	keys  int  // how many there were
	found []object
}

// object is one of the load's, as a list has it.
type object struct {
	number, value uint64
	revision      int64
}

// lookBack is how many pods before the oldest that is there a list is held to: that those
// are gone is said by all lists, and by no fewer with time.
const lookBack = 100

// Begin implements store.Keys.
func (l *lists) Begin(tag uint32) bool {
	for int(tag) >= len(l.answers) {
		l.answers = append(l.answers, listed{})
	}
	a := &l.answers[tag]
	if a.found == nil {
		a.found, l.spare = l.spare, nil
	}
	*a = listed{told: true, found: a.found[:0]}
	return true
}

// Add implements store.Keys.
func (l *lists) Add(tag uint32, key, value []byte, revision int64) {
	a := &l.answers[tag]
	a.keys++
	for _, r := range [...]Resource{Pods, MasterLeases} {
		if number, ok := l.of.script.keys.Number(r, key); ok {
			a.found = append(a.found, object{uint64(number), l.of.identity(uint64(number), value), revision})
			return
		}
	}
}

// wanted reports whether the keys of a list are to be handed out: those of further pages
// are of the first page's revision, and not of now.
func (l *lists) wanted(e Entry) bool {
	switch e.Call {
	case ListPods:
		return e.Object == 0
	case ListOne, ListKeys, ListMasterLeases:
		return true
	}
	return false
}

// listed records a list: a part for each key that its answer covers, those that are not
// there too. Keys are in the order of their numbers, so that what is covered ends with the
// last key where the answer has as many as the limit allows.
func (c *chronicle) listed(e Entry, tag uint32, o *history.Op) {
	l := &c.lists
	if !l.wanted(e) || int(tag) >= len(l.answers) || !l.answers[tag].told || !o.Answered() {
		o.Read = history.Unseen // of which keys it tells is not known
		c.to.Add(o)
		return
	}
	a := &l.answers[tag]
	a.told = false
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
