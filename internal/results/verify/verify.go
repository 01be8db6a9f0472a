// Package verify says whether a store's answers were right, from the history of
// every operation of a load and the store's own order of them.
//
// A store that tells its revisions is checked in n log n. All answers at their
// revisions are one line of states: real time must agree with that line, each
// read must return what the line has at the read's own revision, and each
// compare-and-set must have found what it asked for. A write that may have
// happened or not takes part where its value, or its revision, was seen: at any
// time after it began, at most once. What a store does not promise is counted,
// and not called wrong. docs/decisions/0022 says what that rests on.
package verify

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Input is a history that can be read more than once.
type Input interface {
	// Header says what it is of, and what is promised.
	Header() *history.Header
	// Read calls do with all operations in the order in which they ended, some
	// at a time and each time from the beginning, until do returns an error.
	Read(do func([]history.Op) error) error
}

// PartialInput is an Input of which operations may be missing.
type PartialInput interface {
	Input
	// Until is, after a Read, from when on those may have had an effect: the
	// highest number there is where none is missing.
	Until() int64
}

// Kind says in what way an answer was wrong.
type Kind string

// The kinds.
const (
	Reordered     Kind = "reordered write"   // its revision is not after what had ended before it began
	StaleRead     Kind = "stale read"        // older than what was acknowledged before it began, or than its own revision
	LostWrite     Kind = "lost write"        // acknowledged, and never there
	Resurrected   Kind = "resurrected write" // deleted or overwritten, and there again
	AppliedTwice  Kind = "write applied twice"
	SameRevision  Kind = "one revision twice" // for two writes
	OtherValue    Kind = "two values at one revision"
	WrongCAS      Kind = "compare-and-set on another version"
	WrongConflict Kind = "conflict without a reason"
	Invented      Kind = "value that nobody wrote"
	RefusedThere  Kind = "refused write that was done"
	Partial       Kind = "transaction done in part"
	Future        Kind = "read of a later version" // than its own revision
	Backwards     Kind = "client that went back in time"
	NoOrder       Kind = "no order explains the key" // found by search
	EventLost     Kind = "watch event missed"        // though a later one came
	EventTwice    Kind = "watch event twice"
	EventLate     Kind = "watch event out of order"
	EventSplit    Kind = "watch events of half a revision"
	OtherKey      Kind = "watch event of another key" // than the watcher's
	Untrue        Kind = "untrue watch progress"
	WrongBefore   Kind = "watch event with a wrong value before"
	Outlived      Kind = "key that outlived its session"
	EarlyEnd      Kind = "lease that ended early"
	HeldTwice     Kind = "lock held by two"
	TokenBack     Kind = "fencing token that went back"
	Disagreement  Kind = "members disagree" // on the revision of a version, and of all after it
	WrongAnswer   Kind = "wrong answer"     // by itself: another key, a value that was never written, or what the protocol rules out
)

// keyless are the kinds of what is no single key's.
var keyless = []Kind{SameRevision, EarlyEnd, HeldTwice, TokenBack}

// Violation is an answer that breaks a promise.
type Violation struct {
	Kind    Kind
	Promise history.Promise
	Source  string // where the store's documentation makes the promise
	Key     uint64 // nothing, of those that are keyless
	// Ops is the smallest history that shows it, in the order in which the
	// operations began; Wrong is the place of the one whose answer is wrong.
	Ops   []history.Op
	Wrong int
	Text  string // in words, a line for each operation and a sentence
}

// Result is what the check of a history found.
type Result struct {
	Operations uint64 // without what watchers were told
	Judged     uint64 // of them, those that were held to the promises
	// Keys is how many keys have operations that were checked.
	Keys uint64
	// Violations are the first of each kind; Counts has all.
	Violations []Violation
	Counts     map[Kind]uint64
	// Consequences counts the violations that members that disagree explain. They are
	// in neither Violations nor Counts.
	Consequences map[Kind]uint64
	// NotPromised counts what would be wrong at a store that promised it.
	NotPromised map[history.Promise]uint64
	// Indefinite writes may have been done or not; Resolved is how many of them
	// were seen to be.
	Indefinite, Resolved uint64
	// Staleness of the reads that may be old, by consistency and member.
	Staleness []Staleness
	// Watches is what watchers were told; nil where there were none.
	Watches *Watches
	// Leases is what became of the leases that were kept alive; nil where none was.
	Leases *Leases
	// Locks is what became of locks; nil where none was had.
	Locks *Locks
	// Undecided are sentences about what could not be checked, and why.
	Undecided []string
}

// Right reports whether no promise was seen broken.
func (r *Result) Right() bool { return len(r.Counts) == 0 }

// Options bound the check; its zero value is for people.
type Options struct {
	Keep      int           // violations of each kind to show; 0: 3
	Partition int           // operations of keys that are held at once; 0: 16 million
	Samples   int           // keys searched where the store tells no order; 0: 200
	Longest   time.Duration // of all these searches; 0: 30 s
}

const (
	defaultKeep      = 3
	defaultPartition = 16_000_000
	defaultSamples   = 200
	defaultLongest   = 30 * time.Second
	mostFound        = 1 << 17 // violations of which more is kept than their number
	mostOperations   = 1<<32 - 1
)

// Check checks a history. It reads it several times, so that its memory is some
// 64 bytes for each of opt.Partition operations.
func Check(in Input, opt Options) (*Result, error) {
	c, err := checkerOf(in, opt)
	if err != nil {
		return nil, err
	}
	return c.check()
}

func checkerOf(in Input, opt Options) (*checker, error) {
	opt.Keep = cmp.Or(opt.Keep, defaultKeep)
	opt.Partition = cmp.Or(opt.Partition, defaultPartition)
	opt.Samples = cmp.Or(opt.Samples, defaultSamples)
	opt.Longest = cmp.Or(opt.Longest, defaultLongest)
	s, err := surveyOf(in)
	if err != nil {
		return nil, err
	}
	c := &checker{
		in: in, opt: opt, survey: s,
		found: findings{promises: promisesOf(in.Header()), limit: math.MaxUint32}, old: newStalenesses(),
		result: Result{Operations: s.operations - s.told - s.parts, Judged: s.operations - s.told - s.parts, Indefinite: s.indefinite, Undecided: s.undecided()},
	}
	if p, ok := in.(PartialInput); ok && p.Until() < math.MaxInt64 {
		err = c.restrict(p.Until())
	}
	return c, err
}

// promisesOf returns a store's promises and the one that every protocol makes, each with
// its source.
func promisesOf(h *history.Header) map[history.Promise]string {
	all := map[history.Promise]string{history.Fitting: "the store's protocol"}
	maps.Copy(all, h.Promises)
	return all
}

// restrict leaves out what was found of operations that ended at a time or later.
func (c *checker) restrict(until int64) error {
	judged := uint32(0)
	c.result.Judged = 0
	err := c.in.Read(func(ops []history.Op) error {
		for i := range ops {
			if ops[i].Done < until {
				if judged++; !aside(&ops[i]) && !ops[i].Joined {
					c.result.Judged++
				}
			}
		}
		return nil
	})
	c.found.limit = judged
	if left := c.survey.operations - uint64(judged); left > 0 {
		c.result.Undecided = append(c.result.Undecided, fmt.Sprintf("not decided: %s before the end of a history that is not whole, whose answers may be of operations that are missing", text.Plural(left, "operation")))
	}
	return err
}

func (c *checker) check() (*Result, error) {
	var err error
	switch {
	case c.survey.unordered > 0:
		err = c.untold()
	default:
		err = c.ordered()
	}
	if err != nil {
		return nil, err
	}
	if err := c.wrongAnswers(); err != nil {
		return nil, err
	}
	if err := c.explainByDisagreement(); err != nil {
		return nil, err
	}
	c.result.Counts, c.result.NotPromised = c.found.counts, c.found.notPromised
	c.result.Staleness = c.old.list()
	if c.result.Violations, err = c.explained(); err != nil {
		return nil, err
	}
	return &c.result, nil
}

// wrongAnswers adds each operation whose response was found wrong when it arrived. A wrong
// watch event is a kind of its own (OtherKey).
func (c *checker) wrongAnswers() error {
	if c.survey.wrong == 0 {
		return nil
	}
	return c.each(func(ord uint32, o *history.Op) {
		if o.Outcome == kv.WrongAnswer && o.Kind != kv.Watch && !o.Joined {
			c.found.add(finding{kind: WrongAnswer, promise: history.Fitting, key: o.Key, n: 1, ords: [3]uint32{ord}})
		}
	})
}

// checker checks one history.
type checker struct {
	in     Input
	opt    Options
	survey survey
	found  findings
	old    *stalenesses
	result Result

	table     table // of one part after the other, as the next
	revisions []revision
}

// ordered checks a history whose store tells its order: its keys in parts, each
// in a reading of its own, and the order of all in the first.
func (c *checker) ordered() error {
	parts := int(c.survey.operations/uint64(c.opt.Partition)) + 1
	txns := transactions{at: map[uint32]int64{}}
	for part := range parts {
		if err := c.part(func(key uint64) bool { return parts == 1 || int(mixed(key)>>33)%parts == part }, part == 0, &txns); err != nil {
			return err
		}
	}
	c.found.again()
	for siblings := txns.siblings(); len(siblings) > 0; siblings = txns.siblings() {
		if err := c.part(func(key uint64) bool { return siblings[key] }, false, &txns); err != nil {
			return err
		}
	}
	return nil
}

// part checks the keys that are in it, and the order of all operations if it is
// the first.
func (c *checker) part(in func(uint64) bool, first bool, txns *transactions) error {
	c.table.reset()
	c.revisions = c.revisions[:0]
	p := &pass{
		checker: c, in: in, first: first, again: len(txns.again) > 0, txns: txns,
		seen: newSweep(c.survey.longest), watchers: newWatchers(),
	}
	if err := c.each(p.take); err != nil {
		return err
	}
	var beside sync.WaitGroup
	beside.Go(func() { c.doubles(c.revisions) })
	c.keys(p)
	beside.Wait()
	return nil
}

// pass is one reading of the history.
type pass struct {
	*checker
	in           func(uint64) bool // the keys, and the revisions, that it is for
	first, again bool
	untold       bool // keys are checked by the times of their operations
	txns         *transactions
	seen         *sweep
	sessions     sessions
	watchers     *watchers
	leases       leases
	locks        locks
	members      []uint64 // by their small numbers
	ord, head    uint32   // of the operation, and of the transaction that it is of
}

func (p *pass) take(ord uint32, o *history.Op) {
	p.ord = ord
	if o.Kind == kv.Watch {
		p.told(o)
		return
	}
	if o.Kind == kv.KeepAlive {
		p.kept(o)
		return
	}
	if !o.Joined {
		p.head = p.ord
	}
	role := roleOf(o)
	mine := role != unchecked && p.in(o.Key)
	ordered := p.first && o.At > 0
	var limit bound
	if mine || ordered {
		limit = p.seen.before(o.Invoked)
	}
	if ordered {
		p.orderOf(o, role, p.ord, &limit)
		p.sessions.check(&p.found, o, role, p.ord)
	}
	if role == wrote && !o.Joined && !p.again && p.in(uint64(o.At)) {
		p.revisions = append(p.revisions, revision{o.At, p.ord})
	}
	if mine {
		e := entryOf(o, role, p.ord, limit.acked)
		e.member = p.member(o)
		p.txns.enter(&e, o, p.head)
		p.table.add(o.Key, &e)
	}
	p.seen.ended(o, role, p.ord)
}

// kept takes what is known of a lease, or of a lock.
func (p *pass) kept(o *history.Op) {
	switch {
	case !p.first:
	case o.Lock != history.NoHold:
		p.locks.take(o, p.ord)
	default:
		p.leases.keptAlive(&p.found, o, p.ord)
	}
}

// mostMembers of a history are told apart.
const mostMembers = 256

// member is a small number for the one that answered.
func (p *pass) member(o *history.Op) uint8 {
	for i, id := range p.members {
		if id == o.Member {
			return uint8(i)
		}
	}
	if len(p.members) < mostMembers {
		p.members = append(p.members, o.Member)
	}
	return uint8(len(p.members) - 1)
}

// keys checks each key of a pass, on all processors.
func (c *checker) keys(p *pass) {
	workers := runtime.GOMAXPROCS(0)
	out := make(chan *keyChecker, workers)
	for w := range workers {
		go func() {
			k := &keyChecker{
				base: c.survey.base, counted: c.in.Header().Counted, based: c.in.Header().Base > 0,
				found: &c.found, txns: p.txns, old: newStalenesses(), members: p.members, watchers: p.watchers,
			}
			for i := w; i < len(p.table.names); i += workers {
				k.entries = p.table.entries(i, k.entries[:0])
				if p.untold {
					k.inTime(p.table.names[i])
				} else {
					k.check(p.table.names[i])
				}
			}
			out <- k
		}()
	}
	for range workers {
		if k := <-out; !p.again { // else these keys were counted before
			c.result.Resolved += k.resolved
			c.old.add(k.old)
		}
	}
	if p.first && len(p.watchers.all) > 0 {
		c.result.Watches = &p.watchers.total
	}
	if p.first && len(p.leases.of) > 0 {
		c.result.Leases = p.leases.total()
	}
	if p.first && len(p.locks.all) > 0 {
		c.result.Locks = p.locks.check(&c.found, &p.leases)
	}
	if !p.again {
		c.result.Keys += uint64(len(p.table.names))
	}
}

// revision is that of a write.
type revision struct {
	at  int64
	ord uint32
}

// doubles finds revisions that several writes were given. A store numbers its
// writes, so no two of one history have the same.
func (c *checker) doubles(all []revision) {
	slices.SortFunc(all, func(a, b revision) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ord, b.ord)) })
	for i := 1; i < len(all); i++ {
		if all[i].at == all[i-1].at {
			c.found.add(finding{kind: SameRevision, promise: history.Order, ords: [3]uint32{all[i-1].ord, all[i].ord}, n: 2, revision: all[i].at})
		}
	}
}

// mixed is a number's bits, mixed.
func mixed(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
