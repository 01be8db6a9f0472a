package verify

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// granted returns the acquisition of a lock, and released returns the release of a lock. A client's
// lease has the same number as the client. Times are in seconds.
func granted(client uint32, token, invoked, done int64) history.Op {
	return history.Op{Kind: kv.KeepAlive, LockChange: history.Granted, Session: client, Written: uint64(client), ModRevision: token, Invoked: invoked * 1e9, Done: done * 1e9}
}

func released(client uint32, token, invoked, done int64) history.Op {
	o := granted(client, token, invoked, done)
	o.LockChange = history.Released
	return o
}

func otherLock(o history.Op) history.Op { o.Key = 1; return o }

func TestLocks(t *testing.T) {
	for name, c := range map[string]struct {
		ops      []history.Op
		want     Kind
		says     string
		outlived uint64
	}{
		"one after the other":                 {ops: []history.Op{granted(1, 11, 1, 2), released(1, 11, 3, 5), granted(2, 12, 1, 4), released(2, 12, 6, 7)}},
		"given back and granted":              {ops: []history.Op{granted(1, 11, 1, 2), released(1, 11, 3, 4), granted(1, 13, 5, 6), released(1, 13, 7, 8), granted(2, 12, 1, 5)}},
		"granted to two":                      {ops: []history.Op{granted(1, 11, 1, 2), granted(2, 12, 1, 3), released(1, 11, 4, 5), released(2, 12, 6, 7)}, want: TwoLockHolders, says: "Client 2 acquired the lock before the holder with fencing token 11 had released it."},
		"a token that goes back":              {ops: []history.Op{granted(1, 12, 1, 2), released(1, 12, 3, 4), granted(2, 11, 5, 6), released(2, 11, 7, 8)}, want: TokenDecreased, says: "Client 2 acquired the lock with fencing token 11, but another client had already acquired the lock with token 12. A later token must be higher."},
		"a token far back":                    {ops: []history.Op{granted(1, 12, 1, 2), released(1, 12, 3, 4), granted(3, 13, 5, 6), released(3, 13, 7, 7), granted(2, 11, 8, 9), released(2, 11, 10, 11)}, want: TokenDecreased},
		"one token twice":                     {ops: []history.Op{granted(1, 11, 1, 2), released(1, 11, 3, 4), granted(2, 11, 5, 6), released(2, 11, 7, 8)}, want: TokenDecreased},
		"had again by one key":                {ops: []history.Op{granted(1, 11, 1, 2), released(1, 11, 3, 4), granted(1, 11, 5, 6), released(1, 11, 7, 8), granted(2, 12, 5, 9)}},
		"another lock":                        {ops: []history.Op{granted(1, 11, 1, 2), otherLock(granted(2, 12, 1, 3)), released(1, 11, 4, 5), otherLock(released(2, 12, 6, 7))}},
		"not known to be freed":               {ops: []history.Op{granted(1, 11, 1, 2), granted(2, 12, 1, 3), released(2, 12, 6, 7)}},
		"granted late, not known to be freed": {ops: []history.Op{granted(2, 12, 1, 3), granted(1, 11, 1, 4), released(2, 12, 6, 7)}},
		"a lease that had ended":              {ops: []history.Op{keepAlive(1, 1, 1, 2), keepAlive(2, 1, 1, 9), granted(1, 11, 1, 2), granted(2, 12, 1, 4), released(1, 11, 5, 6), released(2, 12, 6, 7)}, outlived: 1},
		"a lease that lived":                  {ops: []history.Op{keepAlive(1, 1, 1, 2), keepAlive(2, 1, 1, 9), granted(1, 11, 1, 2), keepAlive(1, 2, 3, 5), granted(2, 12, 1, 4), released(1, 11, 5, 6), released(2, 12, 6, 7)}, want: TwoLockHolders},
		"a lease not kept alive":              {ops: []history.Op{keepAlive(2, 1, 1, 9), granted(1, 11, 1, 2), granted(2, 12, 1, 4), released(1, 11, 5, 6), released(2, 12, 6, 7)}, outlived: 1},
		"released, never granted":             {ops: []history.Op{released(1, 11, 1, 2), granted(2, 12, 1, 4)}},
	} {
		m := line()
		m.ops = c.ops
		slices.SortStableFunc(m.ops, func(a, b history.Op) int { return int(a.Done - b.Done) })
		r, _ := checked(t, m, Options{})
		if r.Locks == nil || r.Locks.OverlappingHolds != c.outlived || r.Operations != uint64(slices.IndexFunc(append(m.ops, history.Op{LockChange: history.Granted}), func(o history.Op) bool { return o.LockChange != 0 })) && c.outlived == 0 && c.want == "" {
			t.Errorf("%s: %d operations, %+v", name, r.Operations, r.Locks)
		}
		if c.want == "" && len(r.WrongByKind) > 0 || c.want != "" && (r.WrongByKind[c.want] != 1 || len(r.WrongByKind) != 1) {
			t.Errorf("%s: %v", name, r.WrongByKind)
		}
		for _, v := range r.Violations {
			if !strings.HasSuffix(v.Explanation, c.says) || strings.Contains(story(&v), "%!") || !strings.Contains(story(&v), "acquired it with fencing token") {
				t.Error(story(&v))
			}
		}
	}
}

// lockLie is a kind of wrong behavior of a simulated lock.
type lockLie int

const (
	lockHonest lockLie = iota
	lockGrantsTwice
	lockGoesBack
)

// simulatedLocks returns a history of n acquisitions of a lock, and the number of its lies.
// Clients request the lock, wait in the order of their tokens, acquire the lock, and hold it until
// they release it or their lease expires. A lie grants the lock to a second client, or with a token
// that is too low.
func simulatedLocks(seed uint64, n int, lie lockLie) (m *memory, lies int) {
	r := rand.New(rand.NewPCG(seed, 5))
	m = line()
	now, token := int64(1e9), int64(1000)
	clients := 2 + r.IntN(20)
	busy := make([]int64, clients) // by client: time until which the client is busy
	const ttl = 50
	kept, lease := make([]int64, clients), make([]uint64, clients)
	for c := range lease {
		lease[c] = uint64(c)
	}
	keep := r.IntN(2) == 0 // whether clients send keep-alives; otherwise, their leases last longer than the load
	alive := func(c int, at int64) {
		if keep && at > kept[c] {
			kept[c] = at
			m.ops = append(m.ops, history.Op{Kind: kv.KeepAlive, Written: lease[c], Session: uint32(c), Invoked: at, Done: at + 1e6, Revision: 5, ModRevision: ttl})
		}
	}
	hold := func(c int, token, asked, got, freed, done int64) {
		g := granted(uint32(c), token, 0, 0)
		g.Invoked, g.Done = asked, got
		f := released(uint32(c), token, 0, 0)
		f.Invoked, f.Done = freed, done
		g.Written, f.Written = lease[c], lease[c]
		m.ops = append(m.ops, g, f)
		busy[c] = done
	}
	free := func() int {
		for {
			if c := r.IntN(clients); busy[c] < now {
				return c
			}
			now += 20e6
		}
	}
	for range n {
		c := free()
		token += 2 + r.Int64N(5)
		asked, got := now-r.Int64N(min(max(now-busy[c], 1), 10e9)), now+r.Int64N(5e6)
		alive(c, asked)
		freed := got + r.Int64N(20e6)
		if keep && r.IntN(50) == 0 { // the client stops sending keep-alives, and its lease expires while it holds the lock
			now = max(now, kept[c]+ttl*1e9+1)
			freed = now + r.Int64N(1e12)
			hold(c, token, asked, got, freed, freed+r.Int64N(1e6))
			lease[c], kept[c] = lease[c]+uint64(clients), 0
			continue
		}
		hold(c, token, asked, got, freed, freed+r.Int64N(1e6))
		if r.IntN(20) == 0 {
			switch lie {
			case lockGrantsTwice:
				if d := free(); d != c && got < freed {
					lies++
					second := got + r.Int64N(freed-got)
					alive(d, min(asked, now))
					hold(d, token+1, min(asked, now), second, freed+r.Int64N(20e6), freed+30e6)
					freed += 20e6
				}
			case lockGoesBack:
				now = freed + 1
				if d := free(); d != c {
					lies++
					alive(d, now)
					hold(d, token-1, now, now+1e6, now+2e6, now+3e6)
					freed = now + 2e6
				}
			}
			token += 2
		}
		now = max(now, freed+1)
	}
	slices.SortStableFunc(m.ops, func(a, b history.Op) int { return int(min(max(a.Done-b.Done, -1), 1)) })
	return m, lies
}

// TestLiesOfLocksAreFound checks that a correct lock causes no finding, even if holders outlive
// their leases, and that every lie of a lock causes a finding.
func TestLiesOfLocksAreFound(t *testing.T) {
	for seed := range uint64(60) {
		for lie, kind := range map[lockLie]Kind{lockHonest: "", lockGrantsTwice: TwoLockHolders, lockGoesBack: TokenDecreased} {
			m, lies := simulatedLocks(seed, 150, lie)
			r, err := Check(m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			found := uint64(0)
			for _, n := range r.WrongByKind {
				found += n
			}
			if found != uint64(lies) || found != r.WrongByKind[kind] {
				t.Fatalf("seed %d, %q: there are %d wrong responses, but the check found %v: %+v", seed, kind, lies, r.WrongByKind, r.Violations)
			}
			var slow uint64
			if slow = provenSlowly(m.ops); slow != found {
				t.Fatalf("seed %d, %q: the slow comparison found %d wrong holds, but the check found %d", seed, kind, slow, found)
			}
		}
	}
}

// provenSlowly counts the holds that began while a client with a lower token certainly held the
// lock. Unlike check, it compares all pairs of holds.
func provenSlowly(ops []history.Op) (n uint64) {
	until := map[uint64]int64{}
	for i := range ops {
		if o := &ops[i]; o.LockChange == history.NoLockChange {
			until[o.Written] = max(until[o.Written], o.Invoked+o.ModRevision*1e9)
		}
	}
	sure := func(g *history.Op) int64 {
		freed := int64(0) // a hold without a known release proves nothing
		for i := range ops {
			if o := &ops[i]; o.LockChange == history.Released && o.Session == g.Session && o.ModRevision == g.ModRevision {
				freed = o.Invoked
			}
		}
		switch end, known := until[g.Written]; {
		case known:
			return min(freed, end)
		case len(until) > 0:
			return 0
		}
		return freed
	}
	var holds []history.Op
	var ends []int64
	for i := range ops {
		if ops[i].LockChange == history.Granted {
			holds, ends = append(holds, ops[i]), append(ends, sure(&ops[i]))
		}
	}
	for i := range holds {
		for k := range holds {
			if holds[k].ModRevision < holds[i].ModRevision && ends[k] > holds[i].Done {
				n++
				break
			}
		}
	}
	return n
}
