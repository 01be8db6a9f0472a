package verify

import (
	"container/heap"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// mostSearched limits the operations of a key that are searched to the first that ended. The
// search's memory grows with the square of their number.
const mostSearched = 2000

// searched is an operation on one key, as input of the search for an order.
type searched struct {
	kind     kv.Kind // Get, Put (a delete writes Absent) or CAS
	value    uint64  // read or written
	expected uint64  // of a CAS: the value that it expects, Unseen if unknown
	outcome  role    // of a CAS: wrote, or read for a conflict; maybe: it may have been executed or not
}

// register is a key's state in the search: its value, or Unseen until the first response that shows
// it.
type register uint64

// step applies an operation to the register.
func (r register) step(o *searched) (bool, register) {
	was := uint64(r)
	can := func(value uint64) bool { return was == value || was == history.Unseen || value == history.Unseen }
	switch {
	case o.kind == kv.Get:
		if !can(o.value) {
			return false, r
		}
		if was == history.Unseen {
			return true, register(o.value)
		}
		return true, r
	case o.kind == kv.Put:
		return true, register(o.value)
	case o.outcome == read: // a conflict
		return o.expected == history.Unseen || was == history.Unseen || was != o.expected, r
	case can(o.expected):
		return true, register(o.value)
	}
	return o.outcome == maybe, r // a write that may have been executed was not
}

// decide searches for an order of operations that explains their responses.
func decide(ops []porcupine.Operation, first register, longest time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, _ any) (bool, any) { return state.(register).step(input.(*searched)) },
	}, ops, longest)
}

// search checks a history of a store without revisions: it searches an order for each key of a
// sample.
func (c *checker) search() error {
	keys, of, err := c.sample()
	if err != nil {
		return err
	}
	var cut, open int
	until := time.Now().Add(c.opt.Longest)
	for _, key := range keys {
		one := of[key]
		if one.until > 0 {
			cut++
		}
		left := time.Until(until)
		if left <= 0 {
			open++
			continue
		}
		switch decide(one.operations(), register(history.Unseen), left) {
		case porcupine.Unknown:
			open++
		case porcupine.Illegal:
			c.found.add(one.finding(key))
		}
	}
	reference := "against real time and the revisions of reads"
	if c.in.Header().Base == 0 {
		reference = "against real time, and revisions of reads only for duplicates, because the first revision is unknown"
	}
	c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("the store returns no revisions of writes: operations were checked %s, and %d of %d keys by a search for a valid order", reference, len(keys), c.result.Keys))
	if cut > 0 {
		c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("for %d of these keys, the search covered only the first %d operations", cut, mostSearched))
	}
	if open > 0 {
		c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("undecided: the search did not finish for %d of these keys within %s", open, c.opt.Longest))
	}
	return nil
}

// keyHistory holds the operations of a sampled key.
type keyHistory struct {
	ops   []history.Op
	ords  []uint32
	until int64 // operations that ended later are left out; 0 for none
}

// sample reads the keys whose mixed numbers are the lowest.
func (c *checker) sample() (keys []uint64, of map[uint64]*keyHistory, err error) {
	var lowest mixedHeap
	in := map[uint64]bool{}
	err = c.forEachOperation(func(_ uint32, o *history.Op) {
		m := mixed(o.Key)
		if roleOf(o) == unchecked || in[m] || len(lowest) == c.opt.Samples && m > lowest[0] {
			return
		}
		in[m] = true
		if heap.Push(&lowest, m); len(lowest) > c.opt.Samples {
			delete(in, heap.Pop(&lowest).(uint64))
		}
	})
	if err != nil {
		return nil, nil, err
	}
	of = map[uint64]*keyHistory{}
	err = c.forEachOperation(func(ord uint32, o *history.Op) {
		if r := roleOf(o); r == unchecked || r == refused || r == ending || !in[mixed(o.Key)] || r == read && !strong(o) && !o.Final {
			return
		}
		k := of[o.Key]
		if k == nil {
			k = &keyHistory{}
			of[o.Key] = k
			keys = append(keys, o.Key)
		}
		k.add(ord, o)
	})
	slices.Sort(keys)
	return keys, of, err
}

// add adds an operation, in the order of their ends. After until it adds only writes that had begun
// by then, because they may have been executed.
func (k *keyHistory) add(ord uint32, o *history.Op) {
	if k.until > 0 && (o.Invoked > k.until || roleOf(o) == read) {
		return
	}
	k.ops, k.ords = append(k.ops, *o), append(k.ords, ord)
	if k.until == 0 && len(k.ops) == mostSearched {
		k.until = cutTime(o)
	}
}

// cutTime returns the time at which a history is cut after an operation: its end, or 1 for data
// from before the history.
func cutTime(o *history.Op) int64 { return max(o.Done, 1) }

// operations returns the key's operations for the search.
func (k *keyHistory) operations() (out []porcupine.Operation) {
	values := map[int64]uint64{0: history.Absent} // by revision, as reads show it
	for i := range k.ops {
		if o := &k.ops[i]; o.Kind == kv.Get && o.Mod > 0 && o.Read != history.Unseen {
			values[o.Mod] = o.Read
		}
	}
	for i := range k.ops {
		o := &k.ops[i]
		s := &searched{kind: kv.Put, value: o.Written, outcome: roleOf(o)}
		if k.until > 0 && o.Done > k.until {
			s.outcome = maybe
		}
		returned := o.Done
		if s.outcome == maybe {
			returned = 1<<63 - 1
		}
		switch {
		case o.Kind.Reads(), o.Kind == kv.Delete && s.outcome == read:
			s.kind, s.value = kv.Get, o.Read
			if o.Read == history.Unseen {
				continue // the existence of the key says little
			}
		case o.Kind == kv.CAS:
			s.kind, s.expected = kv.CAS, history.Unseen
			if v, ok := values[o.Expected]; ok {
				s.expected = v
			}
		}
		out = append(out, porcupine.Operation{ClientId: int(o.Session), Input: s, Call: o.Invoked, Return: returned})
	}
	return out
}

// finding names the last operation of the shortest prefix, in the order of ends, that has no
// valid order. A binary search finds it, because a contradiction in a prefix is one in every
// longer prefix.
func (k *keyHistory) finding(key uint64) finding {
	open := false
	n := 1 + sort.Search(len(k.ops)-1, func(i int) bool {
		part := keyHistory{ops: slices.Clip(k.ops[:i+1]), until: cutTime(&k.ops[i])} // appending must not modify k
		for _, o := range k.ops[i+1:] {                                              // operations that had started
			part.add(0, &o)
		}
		found := decide(part.operations(), register(history.Unseen), time.Second)
		open = open || found == porcupine.Unknown
		return found == porcupine.Illegal
	})
	last := min(n, len(k.ops)) - 1
	f := finding{kind: NoOrder, promise: history.Linearizable, key: key, n: 1, ords: [3]uint32{k.ords[last]}, state: "; the operations that ended before it have a valid order"}
	if open {
		f.state = " or of an earlier one, because the search ran out of time"
	}
	for i := last - 1; i >= 0; i-- { // and the value that it should have returned
		if o := &k.ops[i]; o.Changes() && o.Done < k.ops[last].Invoked {
			f.n, f.ords = 2, [3]uint32{k.ords[i], k.ords[last]}
			break
		}
	}
	return f
}

// mixedHeap is a heap with the highest number first.
type mixedHeap []uint64

func (h mixedHeap) Len() int           { return len(h) }
func (h mixedHeap) Less(i, j int) bool { return h[i] > h[j] }
func (h mixedHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *mixedHeap) Push(x any)        { *h = append(*h, x.(uint64)) }
func (h *mixedHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
