package measure

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// A second of a load with faults is known in slots.
const (
	Slots      = 100 // of a second
	SlotLength = 10  // milliseconds
)

// mostGroups bounds the groups of a second, whose members a server names.
const mostGroups = 64

// Fine is how a second of a load with faults went within, by when operations ended.
type Fine struct {
	// Done are successes; Definite are errors of operations that did not happen, reads
	// among them, and Indefinite those of writes that may have.
	Done, Definite, Indefinite [Slots]uint32
	Groups                     []Group
	// Waits are the times without a success of single clients of a closed loop that ended
	// in this second, of LeastWait at least, by client. Crowded says that there were more
	// than are kept.
	Waits   []Wait
	Crowded bool
	// Watch is nil where watchers were told nothing and no lease was found to have ended.
	Watch *FineWatch
}

// LeastWait is the shortest time without a success of a client that is kept, and the
// shortest by which an event is late, in milliseconds, and mostWaits how many of a second are.
const (
	LeastWait = 100
	mostWaits = 1 << 13
)

// Wait is a time without a success of one client.
type Wait struct {
	Client uint32 // its number among all of the load
	At     uint32 // when it ended, in milliseconds after the second began: to 1000, where the load ended
	Length uint32 // in milliseconds
}

// Group is the successes of one operation that one member answered.
type Group struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Member      uint64     // 0: it is not known
	Alive       [16]uint64 // as that of Second
}

// Note takes an operation that ended so many nanoseconds after the second began.
func (f *Fine) Note(s *Series, o kv.Outcome, at int64) {
	ms := min(max(at/1_000_000, 0), 999)
	slot := ms / SlotLength
	switch {
	case !o.Failed():
		f.Done[slot]++
		g := f.group(Group{Kind: s.Kind, Consistency: s.Consistency, Member: s.Member})
		g.Alive[ms>>6] |= 1 << (ms & 63)
	case o.Definite() || !s.Kind.Writes():
		f.Definite[slot]++
	default:
		f.Indefinite[slot]++
	}
}

// Waited takes a client that had no success for so many nanoseconds, until so many after
// the second began.
func (f *Fine) Waited(client uint32, length, at int64) {
	if length >= LeastWait*1_000_000 {
		f.wait(Wait{client, uint32(min(max(at/1_000_000, 0), 1000)), uint32(min(length/1_000_000, 1<<32-1))}) // #nosec G115 -- bounded
	}
}

// wait adds one in its place, so that what is merged is the same in any order.
func (f *Fine) wait(w Wait) {
	if len(f.Waits) >= mostWaits {
		f.Crowded = true
		return
	}
	at, _ := slices.BinarySearchFunc(f.Waits, w, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.At, b.At), cmp.Compare(a.Length, b.Length))
	})
	f.Waits = slices.Insert(f.Waits, at, w)
}

// group is the group like one; of those beyond mostGroups, that of no member. Groups
// are in an order, so that what is merged is the same in whichever order it came.
func (f *Fine) group(like Group) *Group {
	at := 0
	for ; at < len(f.Groups); at++ {
		g := &f.Groups[at]
		if c := cmp.Or(cmp.Compare(g.Member, like.Member), cmp.Compare(g.Kind, like.Kind), cmp.Compare(g.Consistency, like.Consistency)); c == 0 {
			return g
		} else if c > 0 {
			break
		}
	}
	if len(f.Groups) >= mostGroups && like.Member != 0 {
		like.Member = 0
		return f.group(like)
	}
	like.Alive = [16]uint64{}
	f.Groups = slices.Insert(f.Groups, at, like)
	return &f.Groups[at]
}

// merge adds another's, which stays as it is.
func (f *Fine) merge(o *Fine) {
	for i := range f.Done {
		f.Done[i] += o.Done[i]
		f.Definite[i] += o.Definite[i]
		f.Indefinite[i] += o.Indefinite[i]
	}
	for i := range o.Groups {
		to := f.group(o.Groups[i])
		for k, word := range o.Groups[i].Alive {
			to.Alive[k] |= word
		}
	}
	for _, w := range o.Waits {
		f.wait(w)
	}
	f.Crowded = f.Crowded || o.Crowded
	if o.Watch != nil {
		f.watch().merge(o.Watch)
	}
}

func (c *coder) fine(at **Fine) {
	there := uint64(0)
	if *at != nil {
		there = 1
	}
	c.number(&there, 1)
	if there == 0 || c.err != nil {
		return
	}
	if c.reading {
		*at = &Fine{}
	}
	f := *at
	for _, counts := range []*[Slots]uint32{&f.Done, &f.Definite, &f.Indefinite} {
		for i := range counts {
			small(c, 1<<32-1, &counts[i])
		}
	}
	n := uint64(len(f.Groups))
	c.number(&n, mostGroups+uint64(kv.NumKinds)*uint64(kv.NumConsistencies))
	for i := range int(n) {
		if c.reading {
			if c.err != nil {
				return
			}
			f.Groups = append(f.Groups, Group{})
		}
		g := &f.Groups[i]
		small(c, uint64(kv.NumKinds-1), &g.Kind)
		small(c, uint64(kv.NumConsistencies-1), &g.Consistency)
		c.number(&g.Member, anyNumber)
		for k := range g.Alive {
			c.number(&g.Alive[k], anyNumber)
		}
	}
	c.waits(f)
	c.fineWatch(&f.Watch)
}

func (c *coder) waits(f *Fine) {
	n, crowded := uint64(len(f.Waits)), uint64(0)
	if f.Crowded {
		crowded = 1
	}
	c.number(&n, mostWaits)
	c.number(&crowded, 1)
	f.Crowded = crowded == 1
	for i := range int(n) {
		if c.reading {
			if c.err != nil {
				return
			}
			f.Waits = append(f.Waits, Wait{})
		}
		w := &f.Waits[i]
		small(c, 1<<32-1, &w.Client, &w.Length)
		small(c, 1000, &w.At)
	}
}

// Course is how a whole window of a load with faults went.
type Course struct {
	// Done, Definite and Indefinite are those of Fine, by slot of the window.
	Done, Definite, Indefinite []uint32
	// Members are the successes by who answered, 0 where that is not known, and
	// Operations by what was asked.
	Members    map[uint64]*Pulse
	Operations map[Asked]*Pulse
	// P99 of the response times by the second in which operations were due.
	P99 []Figure
	// Clients is how many a closed loop has, and Waits their times without a success
	// (Fine.Waits) as milliseconds of the window. Crowded says that not all were kept.
	Clients int
	Waits   []ClientGap
	Crowded bool
	// Watched is nil where watchers were told nothing and no lease was found to have ended.
	Watched *Watched
}

// ClientGap is a time without a success of one client.
type ClientGap struct {
	Client uint32
	Gap
}

// Asked is an operation with its consistency.
type Asked struct {
	Kind        kv.Kind
	Consistency kv.Consistency
}

// Add adds a second of the window, of which no part was added before, with its p99.
func (c *Course) Add(s *Second, p99 Figure) {
	for len(c.P99) <= s.Index {
		c.P99 = append(c.P99, Figure{})
		for _, counts := range []*[]uint32{&c.Done, &c.Definite, &c.Indefinite} {
			*counts = append(*counts, make([]uint32, Slots)...)
		}
	}
	c.P99[s.Index] = p99
	for _, p := range c.Members {
		p.add(s.Index, &[16]uint64{}) // as long as the others, also where it has no more
	}
	for _, p := range c.Operations {
		p.add(s.Index, &[16]uint64{})
	}
	c.Clients = max(c.Clients, s.Clients)
	c.watched(s)
	if s.Fine == nil {
		return
	}
	for _, w := range s.Fine.Waits {
		to := 1000*s.Index + int(w.At)
		c.Waits = append(c.Waits, ClientGap{w.Client, Gap{to - int(w.Length), to}})
	}
	c.Crowded = c.Crowded || s.Fine.Crowded
	at := s.Index * Slots
	copy(c.Done[at:], s.Fine.Done[:])
	copy(c.Definite[at:], s.Fine.Definite[:])
	copy(c.Indefinite[at:], s.Fine.Indefinite[:])
	if c.Members == nil {
		c.Members, c.Operations = map[uint64]*Pulse{}, map[Asked]*Pulse{}
	}
	for i := range s.Fine.Groups {
		g := &s.Fine.Groups[i]
		member := g.Member
		if c.Members[member] == nil && len(c.Members) >= mostGroups {
			member = 0
		}
		pulseOf(c.Members, member).add(s.Index, &g.Alive)
		pulseOf(c.Operations, Asked{g.Kind, g.Consistency}).add(s.Index, &g.Alive)
	}
}

// watched adds what watchers were told in a second, and which leases ended.
func (c *Course) watched(s *Second) {
	var f *FineWatch
	if s.Fine != nil {
		f = s.Fine.Watch
	}
	if c.Watched == nil && f != nil {
		c.Watched = &Watched{Events: &Pulse{}, Leases: map[int64]LeaseGone{}}
	}
	if c.Watched != nil {
		c.Watched.add(s.Index, f)
	}
}

func pulseOf[K comparable](all map[K]*Pulse, of K) *Pulse {
	if all[of] == nil {
		all[of] = &Pulse{}
	}
	return all[of]
}
