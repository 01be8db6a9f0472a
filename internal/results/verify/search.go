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

// maxSearched is the maximum number of operations per key for which the check searches for a valid
// order. It uses the operations that ended first. The limit is necessary because the memory that
// the search needs grows with the square of the number of operations.
const maxSearched = 2000

// searchOperation is an operation on one key, in the form that the search for a valid order uses.
type searchOperation struct {
	kind     kv.Kind // Get, Put (also for deletes, which write Absent) or CAS
	value    uint64  // value that was read or written
	expected uint64  // CAS: expected value; UnknownValue: unknown
	outcome  role    // CAS: `wrote` if it succeeded, `read` if it had a conflict, `indefinite` if its outcome is unknown
}

// register is the state of a key during the search: the value of the key, or UnknownValue as long
// as no operation determines the value.
type register uint64

// step applies an operation to the register. It reports whether the operation's response is
// possible in the current state, and returns the next state.
func (r register) step(o *searchOperation) (bool, register) {
	was := uint64(r)
	can := func(value uint64) bool {
		return was == value || was == history.UnknownValue || value == history.UnknownValue
	}
	switch {
	case o.kind == kv.Get:
		if !can(o.value) {
			return false, r
		}
		if was == history.UnknownValue {
			return true, register(o.value)
		}
		return true, r
	case o.kind == kv.Put:
		return true, register(o.value)
	case o.outcome == read: // the operation had a conflict
		return o.expected == history.UnknownValue || was == history.UnknownValue || was != o.expected, r
	case can(o.expected):
		return true, register(o.value)
	}
	return o.outcome == indefinite, r // the write may not have been executed
}

// findOrder searches for an order of the operations that explains all responses. It stops after the
// duration timeLimit.
func findOrder(ops []porcupine.Operation, initial register, timeLimit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) { return state.(register).step(input.(*searchOperation)) },
	}, ops, timeLimit)
}

// search checks the history of a store that returns no revisions of writes. For each key in a
// sample, it searches for a valid order of the operations on that key.
func (c *checker) search() error {
	keys, of, err := c.sample()
	if err != nil {
		return err
	}
	var cut, open int
	until := time.Now().Add(c.opt.SearchTimeLimit)
	for _, key := range keys {
		one := of[key]
		if one.cutAt > 0 {
			cut++
		}
		if c.opt.Canceled != nil {
			if err := c.opt.Canceled(); err != nil {
				return err
			}
		}
		left := time.Until(until)
		if left <= 0 {
			open++
			continue
		}
		switch findOrder(one.operations(), register(history.UnknownValue), left) {
		case porcupine.Unknown:
			open++
		case porcupine.Illegal:
			c.found.add(one.finding(key, until))
		}
	}
	reference := "by their times and by the revisions of reads"
	if c.in.Header().BaseRevision == 0 {
		reference = "by their times. It used the revisions of reads only to find duplicates, because the first revision is unknown"
	}
	c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("the store returns no revisions of writes. The check compared operations %s. For %d of %d keys, it also searched for a valid order", reference, len(keys), c.result.Keys))
	if cut > 0 {
		c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("for %d of these keys, the search covered only the first %d operations", cut, maxSearched))
	}
	if open > 0 {
		c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("undecided: the search did not finish for %d of these keys within %s", open, c.opt.SearchTimeLimit))
	}
	return nil
}

// keyHistory holds the operations on a key in the sample.
type keyHistory struct {
	ops   []history.Op
	ords  []uint32
	cutAt int64 // time at which the history of this key is cut; 0: not cut
}

// sample returns the keys with the lowest hashes, and the operations on these keys.
func (c *checker) sample() (keys []uint64, histories map[uint64]*keyHistory, err error) {
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
	histories = map[uint64]*keyHistory{}
	err = c.forEachOperation(func(ord uint32, o *history.Op) {
		if r := roleOf(o); r == unchecked || r == notExecuted || r == sessionEnd || !in[mixed(o.Key)] || r == read && !isLinearizable(o) && !o.Final {
			return
		}
		k := histories[o.Key]
		if k == nil {
			k = &keyHistory{}
			histories[o.Key] = k
			keys = append(keys, o.Key)
		}
		k.add(ord, o)
	})
	slices.Sort(keys)
	return keys, histories, err
}

// add adds an operation. Callers must pass the operations in the order in which they ended. If the
// history is cut, the method ignores operations that ended later. The exceptions are writes that
// began before the cut, because such a write may have been executed before the cut.
func (k *keyHistory) add(ord uint32, o *history.Op) {
	if k.cutAt > 0 && (o.Invoked > k.cutAt || roleOf(o) == read) {
		return
	}
	k.ops, k.ords = append(k.ops, *o), append(k.ords, ord)
	if k.cutAt == 0 && len(k.ops) == maxSearched {
		k.cutAt = cutTime(o)
	}
}

// cutTime returns the time at which the history must be cut so that o is its last operation. This
// time is the end of the operation. For a write that represents data from before the history, the
// time is 1, because 0 means no cut.
func cutTime(o *history.Op) int64 { return max(o.Done, 1) }

// operations converts the operations on the key to the form that the search uses.
func (k *keyHistory) operations() (out []porcupine.Operation) {
	values := map[int64]uint64{0: history.Absent} // values that reads returned, by revision
	for i := range k.ops {
		if o := &k.ops[i]; o.Kind == kv.Get && o.ModRevision > 0 && o.Read != history.UnknownValue {
			values[o.ModRevision] = o.Read
		}
	}
	for i := range k.ops {
		o := &k.ops[i]
		s := &searchOperation{kind: kv.Put, value: o.Written, outcome: roleOf(o)}
		if k.cutAt > 0 && o.Done > k.cutAt {
			s.outcome = indefinite
		}
		returned := o.Done
		if s.outcome == indefinite {
			returned = 1<<63 - 1
		}
		switch {
		case o.Kind.Reads(), o.Kind == kv.Delete && s.outcome == read:
			s.kind, s.value = kv.Get, o.Read
			if o.Read == history.UnknownValue {
				continue // left out, because the response shows only that the key exists
			}
		case o.Kind == kv.CAS:
			s.kind, s.expected = kv.CAS, history.UnknownValue
			if v, ok := values[o.Expected]; ok {
				s.expected = v
			}
		}
		out = append(out, porcupine.Operation{ClientId: int(o.Session), Input: s, Call: o.Invoked, Return: returned})
	}
	return out
}

// finding finds the shortest prefix of the history that has no valid order, and returns a finding
// about the last operation of this prefix. The operations are in the order in which they ended. The
// method uses a binary search: if a prefix has no valid order, all longer prefixes have none
// either. The binary search ends at the time `until`.
func (k *keyHistory) finding(key uint64, until time.Time) finding {
	open := false
	n := 1 + sort.Search(len(k.ops)-1, func(i int) bool {
		limit := min(time.Second, time.Until(until))
		if limit <= 0 {
			open = true
			return false
		}
		part := keyHistory{ops: slices.Clip(k.ops[:i+1]), cutAt: cutTime(&k.ops[i])} // clipped, so that part.add does not overwrite k.ops
		for _, o := range k.ops[i+1:] {                                              // add the writes that began before the end of the prefix
			part.add(0, &o)
		}
		found := findOrder(part.operations(), register(history.UnknownValue), limit)
		open = open || found == porcupine.Unknown
		return found == porcupine.Illegal
	})
	last := min(n, len(k.ops)) - 1
	f := finding{kind: NoValidOrder, guarantee: history.Linearizable, key: key, operationCount: 1, ords: [3]uint32{k.ords[last]}, state: ", although the operations that ended before it have a valid order"}
	if open {
		f.state = " or an earlier response; the search timed out before it could identify which one"
	}
	for i := last - 1; i >= 0; i-- { // also include the last write that ended before the operation began
		if o := &k.ops[i]; o.IsExecutedWrite() && o.Done < k.ops[last].Invoked {
			f.operationCount, f.ords = 2, [3]uint32{k.ords[i], k.ords[last]}
			break
		}
	}
	return f
}

// mixedHeap is a heap of hashes with the highest hash first.
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
