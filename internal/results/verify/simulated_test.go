package verify

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// memory is a history in memory.
type memory struct {
	header history.Header
	ops    []history.Op
}

func (m *memory) Header() *history.Header { return &m.header }

func (*memory) CompleteUntil() int64 { return math.MaxInt64 }

func (m *memory) Read(do func([]history.Op) error) error {
	for some := range slices.Chunk(m.ops, 3000) {
		if err := do(some); err != nil {
			return err
		}
	}
	return nil
}

// allGuarantees returns all guarantees.
func allGuarantees() map[history.Guarantee]string {
	out := map[history.Guarantee]string{}
	for _, p := range history.Guarantees {
		out[p] = "documentation"
	}
	return out
}

// lieKind is a kind of wrong behavior of a simulated store.
type lieKind string

const (
	noLie         lieKind = ""
	lieStaleRead  lieKind = "stale linearizable read"
	lieLost       lieKind = "lost write"
	lieTwice      lieKind = "write applied twice"
	lieReordered  lieKind = "reordered writes"
	lieCAS        lieKind = "wrong success of a compare-and-set"
	lieRefused    lieKind = "refused write executed"
	lieResurrects lieKind = "deleted key that comes back"
	lieTorn       lieKind = "range of two states"
	lieOutlives   lieKind = "key that outlives its session"
)

var lieKinds = []lieKind{lieStaleRead, lieLost, lieTwice, lieReordered, lieCAS, lieRefused, lieResurrects, lieTorn, lieOutlives}

// lie is a wrong response of the simulated store. A response proves the lie if the response
// contradicts a guarantee because of the lie. The check must find every lie that a response proves.
type lie struct {
	key    uint64
	ops    []int // numbers of the lie's operations in the simulation; a finding may be about any of them
	proven bool
	hinted bool  // a response shows that the lie's version existed, but does not show the value of the version, so other operations may explain the version
	rev    int64 // revision of the event that a watcher did not receive; 0 for other lies
}

type simVersion struct {
	rev, done int64 // done: time at which the write was acknowledged; the constant `forever` if it was not acknowledged
	value     uint64
	acked     bool // the write was acknowledged
	count     int64
}

const forever = int64(1) << 61

type simKey struct {
	versions               []simVersion
	known                  int64 // the version (or number of writes) that the last read by any client returned
	lie                    *lie  // the lie that the next response will prove
	was                    *lie  // the lie that a response from a revision below wasUntil will prove
	wasUntil               int64
	twice                  *lie // the lie that a response with the value of revision twiceAt will prove
	twiceAt                int64
	outlived               *lie // the lie that a response with the version outlivedOf, served at outlivedAt or later, will prove
	outlivedOf, outlivedAt int64
}

func (k *simKey) versionAt(rev int64) (v simVersion) {
	i, _ := slices.BinarySearchFunc(k.versions, rev+1, func(v simVersion, r int64) int { return cmp.Compare(v.rev, r) })
	if i == 0 {
		return v
	}
	return k.versions[i-1]
}

// add adds a version. It sets the version's count of writes from the count of the previous version.
func (k *simKey) add(v simVersion) {
	if n := len(k.versions); v.value != 0 {
		v.count = 1
		if n > 0 {
			v.count += k.versions[n-1].count
		}
	}
	k.versions = append(k.versions, v)
}

// version returns the number that a compare-and-set must expect to succeed on a version.
func (s *simulation) version(v *simVersion) int64 {
	if s.counted {
		return v.count
	}
	return v.mod()
}

func (v *simVersion) mod() int64 {
	if v.value == 0 {
		return 0
	}
	return v.rev
}

// simulation is a linearizable store with three members, and its clients. Each client waits for a
// response before it sends its next operation. During a crash, writes get no response. Optionally,
// the store lies.
type simulation struct {
	*rand.Rand
	lies    lieKind
	rate    float64 // share of operations that lie
	counted bool    // compare-and-sets compare the number of writes since the key was created
	keys    []simKey
	rev     int64
	value   uint64
	applied [3]int64
	crash   [2]int64 // start and end of the current or next crash
	events  eventHeap
	ops     []history.Op
	proven  []*lie
}

// event is the arrival of an operation at the store. If the field `again` is set, the operation is
// a write without a response that arrives late.
type event struct {
	at      int64
	client  uint32
	invoked int64
	again   func(now int64)
}

type eventHeap []event

func (h eventHeap) Len() int           { return len(h) }
func (h eventHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h eventHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)        { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

const simBase = 1000

// simulated returns a history of at least n operations, and its lies.
func simulated(seed uint64, n int, lies lieKind, rate float64) (*memory, []*lie) {
	return simulatedAs(seed, n, lies, rate, false)
}

func simulatedAs(seed uint64, n int, lies lieKind, rate float64, counted bool) (*memory, []*lie) {
	_, m, proven := simulatedBy(seed, n, lies, rate, counted)
	return m, proven
}

// simulatedBy simulates like simulated, and also returns the store.
func simulatedBy(seed uint64, n int, lies lieKind, rate float64, counted bool) (*simulation, *memory, []*lie) {
	s := &simulation{Rand: rand.New(rand.NewPCG(seed, 77)), lies: lies, rate: rate, counted: counted, rev: simBase, value: simBase}
	s.keys = make([]simKey, 1+s.IntN(max(n/20, 2)))
	for i := range s.keys {
		if s.IntN(3) > 0 { // the key existed before the history, perhaps written by a run that used the same values
			s.keys[i].versions = []simVersion{{rev: 1 + s.Int64N(simBase), value: 1 + s.Uint64N(simBase*2), acked: true, count: 1}}
		}
	}
	s.crash[1] = -1
	clients := 1 + s.IntN(40)
	for c := range clients {
		s.begin(uint32(c), s.Int64N(1_000_000))
	}
	for len(s.ops) < n {
		e := heap.Pop(&s.events).(event)
		if e.again != nil {
			e.again(e.at)
			continue
		}
		if e.at > s.crash[1] {
			next := e.at + s.Int64N(1+int64(n)*100_000)
			s.crash = [2]int64{next, next + s.Int64N(300_000_000)}
		}
		s.serve(&e)
	}
	for i := range s.keys { // at the end, read every key at every member
		for m := range uint64(3) {
			now := int64(1) << 60
			k := &s.keys[i]
			v := k.versionAt(s.rev)
			s.answer(history.Op{
				Kind: kv.Get, Consistency: kv.Local, Final: true, Key: uint64(i), Member: m, Invoked: now + int64(i), Done: now + int64(i),
				Session: 1 << 20, Revision: s.rev, ModRevision: v.mod(), Read: v.value, Outcome: outcomeOf(&v),
			}, k)
		}
	}
	if lies == lieReordered {
		s.reorder()
	}
	m, proven := s.history(seed)
	return s, m, proven
}

func outcomeOf(v *simVersion) kv.Outcome {
	if v.value == 0 {
		return kv.Miss
	}
	return kv.OK
}

func (s *simulation) begin(client uint32, now int64) {
	invoked := now + s.Int64N(100_000)
	heap.Push(&s.events, event{at: invoked + 1 + s.Int64N(1_000_000), client: client, invoked: invoked})
}

// serve creates the operation that arrives at the store, executes it, and schedules the client's
// next operation.
func (s *simulation) serve(e *event) {
	number := uint64(s.IntN(len(s.keys)))
	if s.IntN(2) == 0 {
		number = uint64(s.IntN(1 + len(s.keys)/50)) // some keys are used more often
	}
	o := history.Op{
		Session: e.client, Member: uint64(s.IntN(3)), Key: number, Invoked: e.invoked,
		Done: e.at + 1 + s.Int64N(1_000_000),
	}
	switch x := s.IntN(100); {
	case x < 30:
		o.Kind, o.Consistency = kv.Get, kv.Linearizable
	case x < 45:
		o.Kind, o.Consistency = kv.Get, kv.Local
	case x < 50:
		o.Kind, o.Consistency = kv.Range, kv.Linearizable+kv.Consistency(x%2)
	case x < 52:
		o.Kind, o.Consistency, o.Read = kv.Exists, kv.Linearizable, history.UnknownValue
	case x < 75:
		o.Kind = kv.Put
	case x < 80:
		o.Kind = kv.Delete
	case x < 92:
		o.Kind, o.Expected = kv.CAS, s.keys[number].known
	default:
		o.Kind = kv.Txn
	}
	if s.counted && o.Kind == kv.Txn {
		o.Expected = history.UnknownRevision
	}
	if o.Kind.HasValue() || o.Kind == kv.Txn {
		s.value++
		o.Written = s.value
	}
	down := e.at > s.crash[0]
	switch {
	case s.IntN(300) == 0:
		s.refuse(&o, e.at)
	case down && o.Kind.Writes() || s.IntN(1000) == 0:
		s.timeOut(&o, e.at)
	case o.Kind.Writes():
		s.write(&o, e.at)
	case o.Kind == kv.Range:
		s.readSeveral(&o)
	default:
		s.read(&o)
	}
	s.begin(e.client, o.Done)
}

func (s *simulation) refuse(o *history.Op, now int64) {
	o.Outcome, o.Read = kv.Refused, 0
	if s.counted && o.Kind != kv.CAS {
		o.Expected = history.UnknownRevision
	}
	n := len(s.ops)
	s.ops = append(s.ops, *o)
	if s.lies == lieRefused && o.Kind == kv.Put {
		k := &s.keys[o.Key]
		s.rev++
		k.add(simVersion{rev: s.rev, value: o.Written, done: forever})
		k.twice, k.twiceAt = s.plantLie(o.Key, n), s.rev
	}
}

// timeOut ends an operation without a response. If it is a write, it takes effect now, later or
// never.
func (s *simulation) timeOut(o *history.Op, now int64) {
	o.Outcome, o.Done = kv.TimedOut, o.Invoked+50_000_000
	if s.IntN(3) == 0 {
		o.Outcome = kv.LeaderChanged
		o.Done = now + 1
	}
	o.Read = 0
	if s.counted && o.Kind != kv.CAS {
		o.Expected = history.UnknownRevision
	}
	parts := s.parts(o)
	s.ops = append(s.ops, parts...)
	do := func(int64) {
		for _, c := range parts {
			if c.Kind == kv.CAS && s.version(s.keys[c.Key].current(s.rev)) != c.Expected {
				return
			}
		}
		if cur := s.keys[o.Key].current(s.rev); o.Kind == kv.Delete && cur.value == 0 || !o.Kind.Writes() {
			return
		}
		s.rev++
		for _, c := range parts {
			k := &s.keys[c.Key]
			k.replaced(s.rev)
			k.add(simVersion{rev: s.rev, value: c.Written, done: forever})
		}
	}
	switch s.IntN(3) {
	case 0:
		do(now)
	case 1:
		heap.Push(&s.events, event{at: now + s.Int64N(200_000_000), again: do})
	}
}

// replaced is called when a write at the given revision ends the state that a lie had caused. From
// then on, only responses from a lower revision prove the lie.
func (k *simKey) replaced(rev int64) {
	if k.lie != nil {
		k.was, k.wasUntil, k.lie = k.lie, rev, nil
	}
}

func (k *simKey) current(rev int64) *simVersion {
	v := k.versionAt(rev)
	return &v
}

// parts returns the writes of an operation: several for a transaction, otherwise one.
func (s *simulation) parts(o *history.Op) []history.Op {
	out := []history.Op{*o}
	for i := 1; o.Kind == kv.Txn && i < min(3, len(s.keys)); i++ {
		next := *o
		next.ContinuesPrevious, next.Key = true, (o.Key+uint64(i))%uint64(len(s.keys))
		out = append(out, next)
	}
	return out
}

func (s *simulation) lying(l lieKind) bool { return s.lies == l && s.Float64() < s.rate }

func (s *simulation) plantLie(key uint64, ops ...int) *lie {
	l := &lie{key: key, ops: ops}
	s.proven = append(s.proven, l)
	return l
}

func (s *simulation) write(o *history.Op, now int64) {
	k := &s.keys[o.Key]
	cur := k.versionAt(s.rev)
	n := len(s.ops)
	switch o.Kind {
	case kv.CAS:
		if s.version(&cur) != o.Expected {
			if older := k.versions; s.lies == lieCAS && o.Expected > 0 && cur.acked && s.version(&cur) > o.Expected && cur.rev > simBase && len(older) > 1 && s.Float64() < s.rate*20 {
				s.plantLie(o.Key, n).proven = true
				break
			}
			o.Outcome, o.Revision, o.ModRevision, o.Read = kv.Conflict, s.rev, cur.mod(), history.UnknownValue
			if cur.value == 0 {
				o.Read = history.Absent
			}
			if k.known = s.version(&cur); s.counted {
				o.ModRevision, o.Read = 0, history.UnknownValue
			}
			s.answer(*o, k)
			return
		}
		if k.lie != nil {
			k.lie.proven = true // the compare-and-set succeeds on a version that should have been replaced
		}
	case kv.Delete:
		if cur.value == 0 {
			o.Outcome, o.Revision = kv.Miss, s.rev
			s.answer(*o, k)
			return
		}
	}
	s.rev++
	o.Revision = s.rev
	if s.counted && o.Kind == kv.Put {
		o.Expected = cur.count
	}
	parts := s.parts(o)
	lost := o.Kind == kv.Put && s.lying(lieLost)
	gone := o.Kind == kv.Delete && s.lies == lieResurrects && s.Float64() < s.rate*20
	s.ops = append(s.ops, parts...)
	for _, c := range parts {
		k := &s.keys[c.Key]
		k.replaced(s.rev)
		if !lost && !gone {
			k.add(simVersion{rev: s.rev, value: c.Written, done: o.Done, acked: true})
		}
	}
	if lost || gone {
		k.lie = s.plantLie(o.Key, n)
	}
	if o.Kind == kv.Put && (s.lies == noLie || s.lies == lieOutlives) && s.IntN(10) == 0 {
		made, value := s.rev, o.Written
		heap.Push(&s.events, event{at: o.Done + s.Int64N(20_000_000), again: func(now int64) { s.close(o.Key, made, value, o.Session, now) }})
	}
	if o.Kind == kv.Put && s.lying(lieTwice) {
		heap.Push(&s.events, event{at: now + s.Int64N(20_000_000), again: func(int64) {
			s.rev++
			k.add(simVersion{rev: s.rev, value: o.Written, done: forever})
			k.twice, k.twiceAt = s.plantLie(o.Key, n), s.rev
		}})
	}
}

// close ends the session to which a version is bound, and deletes the version unless the store
// lies. The history always contains a possible delete. If the store does not lie, the response to
// the end of the session may be missing.
func (s *simulation) close(key uint64, made int64, value uint64, client uint32, now int64) {
	k := &s.keys[key]
	cur := k.versionAt(s.rev)
	s.rev++
	end := history.PossibleDelete(key, client, now, now)
	s.ops = append(s.ops, end)
	lies := cur.rev == made && s.lies == lieOutlives && s.Float64() < s.rate*100
	if cur.rev == made && !lies {
		k.replaced(s.rev)
		k.add(simVersion{rev: s.rev, done: forever})
	}
	if s.IntN(3) == 0 && !lies {
		return
	}
	end.Kind, end.Outcome, end.Written, end.ModRevision, end.Revision, end.Done = kv.Ephemeral, kv.OK, value, made, s.rev, now+1+s.Int64N(1_000_000)
	if lies {
		k.outlived, k.outlivedOf, k.outlivedAt = s.plantLie(key, len(s.ops)), made, s.rev
	}
	s.ops = append(s.ops, end)
}

func (s *simulation) read(o *history.Op) {
	k := &s.keys[o.Key]
	s.stateFor(o)
	v := k.versionAt(o.Revision)
	if o.Consistency == kv.Linearizable && s.lying(lieStaleRead) && v.acked && v.rev > simBase && v.done < o.Invoked {
		n := len(s.ops)
		s.plantLie(o.Key, n).proven = true
		if s.IntN(2) == 0 {
			o.Revision = v.rev - 1
		}
		v = k.versionAt(v.rev - 1)
	}
	if o.Read = v.value; o.Kind == kv.Exists && v.value != 0 {
		o.Read = history.UnknownValue
	}
	o.ModRevision, o.Outcome = v.mod(), outcomeOf(&v)
	if o.Kind == kv.Get && o.Consistency == kv.Linearizable {
		k.known = s.version(&v)
	}
	s.answer(*o, k)
}

// readSeveral reads several keys. If the store lies, it returns one of them from an earlier state.
func (s *simulation) readSeveral(o *history.Op) {
	s.stateFor(o)
	for i := range 1 + s.IntN(min(5, len(s.keys))) {
		part := *o
		part.ContinuesPrevious, part.Key = i > 0, (o.Key+uint64(i))%uint64(len(s.keys))
		k := &s.keys[part.Key]
		v := k.versionAt(o.Revision)
		if old := k.versionAt(v.rev - 1); old.value != 0 && v.acked && v.rev > simBase && s.lies == lieTorn && s.Float64() < s.rate*5 {
			s.plantLie(part.Key, len(s.ops)).proven = true
			v = old
		}
		part.Read, part.ModRevision = v.value, v.mod()
		s.answer(part, k)
	}
}

// stateFor sets the revision at which a read is served. A local read may be served at an older
// revision.
func (s *simulation) stateFor(o *history.Op) {
	o.Revision = s.rev
	if o.Consistency == kv.Local {
		m := &s.applied[o.Member]
		*m = max(*m, s.rev-s.Int64N(1+s.Int64N(200)))
		o.Revision = *m
	}
}

// answer records an operation whose response contains the state of a key, and marks the lies about
// this key that the response proves.
func (s *simulation) answer(o history.Op, k *simKey) {
	s.ops = append(s.ops, o)
	if l := k.lie; l != nil && o.Revision >= s.ops[l.ops[0]].Revision {
		l.proven = true
	}
	if l := k.was; l != nil && o.Revision >= s.ops[l.ops[0]].Revision && o.Revision < k.wasUntil {
		l.proven = true // if the response came from a later revision, it would only show that the member lags behind
	}
	if l := k.outlived; l != nil && o.ModRevision == k.outlivedOf && o.Revision >= k.outlivedAt {
		l.proven = true
	}
	if k.twice != nil && o.ModRevision == k.twiceAt && o.Read != history.UnknownValue {
		k.twice.proven = true
	} else if k.twice != nil && o.ModRevision == k.twiceAt {
		k.twice.hinted = true
	}
}

// reorder chooses pairs of writes in which the first write ended before the second one began, and
// swaps the revisions of the two writes.
func (s *simulation) reorder() {
	var writes []int
	for i := range s.ops {
		if o := &s.ops[i]; o.Kind == kv.Put && o.Outcome == kv.OK {
			writes = append(writes, i)
		}
	}
	for range int(float64(len(s.ops))*s.rate) + 1 {
		if len(writes) < 2 {
			return
		}
		a, b := writes[s.IntN(len(writes))], writes[s.IntN(len(writes))]
		if x, y := &s.ops[a], &s.ops[b]; x.Done < y.Invoked && x.Revision < y.Revision {
			x.Revision, y.Revision = y.Revision, x.Revision
			s.plantLie(y.Key, b).proven = true
		}
	}
}

// history returns the recorded operations in the order in which they ended, and updates the
// operation numbers in the lies to this order.
func (s *simulation) history(seed uint64) (*memory, []*lie) {
	order := make([]int, len(s.ops))
	for i := range order {
		order[i] = i
	}
	if seed%2 == 0 { // a coarse clock
		for i := range s.ops {
			s.ops[i].Invoked -= s.ops[i].Invoked % 100_000
			s.ops[i].Done -= s.ops[i].Done % 100_000
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.ops[a].Done, s.ops[b].Done) })
	m := &memory{header: history.Header{Store: "simulated", BaseRevision: simBase, VersionsCountWrites: s.counted, Guarantees: allGuarantees()}}
	delete(m.header.Guarantees, history.SessionOrder) // each read is served by a random member, so this guarantee does not hold
	places := make([]int, len(order))
	for at, i := range order {
		places[i] = at
		m.ops = append(m.ops, s.ops[i])
	}
	for _, l := range s.proven {
		for i := range l.ops {
			l.ops[i] = places[l.ops[i]]
		}
	}
	return m, s.proven
}
