package engine

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Source says what each operation is. A Source belongs to one loop.
type Source interface {
	// Fill makes the n-th operation of the phase for a client: its kind,
	// consistency, key, end, limit and value. It returns a reference that
	// comes back with the answer, such as the key's number. The memory it
	// gives to op stays as it is until the next Fill.
	Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) (ref uint64)
	// Kind is what Fill would make it.
	Kind(phase measure.Phase, n uint64) (kv.Kind, kv.Consistency)
	// Shares are all that a phase's operations can be, with the share of each.
	Shares(phase measure.Phase) []Share
	// Check judges a successful answer; it returns the event's outcome, or
	// kv.WrongAnswer.
	Check(kind kv.Kind, ref uint64, ev *store.Event) kv.Outcome
}

// Share is a part of a phase's operations; the shares' sum is 1.
type Share struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Of          float64
}

// Reactive is the optional interface of a Source whose operations depend on what the store
// does: applications and recordings. A load that is an open loop with such a source has one
// event loop. Each of its operations that is due is in flight from then on, also while it
// waits for an answer or a connection; its timeout runs, and the window's end does not end
// it. In a closed loop only Failed and Ended are called. Numbers are those of the measured
// phase. A Source embeds ReactiveBase, and implements the methods that it needs.
type Reactive interface {
	Source

	// Ready reports whether the n-th operation can be made: what it needs is known, or will
	// never be.
	Ready(n uint64) bool
	// Place returns the number, from 0, of the connection that the n-th operation is sent
	// on, and whose end it waits for; -1: any connection.
	Place(n uint64) int

	// Sent takes by how many nanoseconds the n-th operation was sent late, and whether it
	// waited for an answer or a connection, which is not in that.
	Sent(n uint64, late int64, waited bool)
	// Failed takes that the n-th operation failed, and so was not given to Check.
	Failed(n uint64)
	// Ended takes how the n-th operation ended, after Check or Failed, with its response
	// time and, if it succeeded, its service time, in nanoseconds. It is not called for an
	// operation that was due and never taken up.
	Ended(n uint64, o kv.Outcome, response, service int64)

	// Notified takes an event of a watcher that an operation began: store.Notify,
	// store.Seen or store.Ended. A loop with Watching of its own has no such watchers.
	Notified(ev *store.Event)
	// Awaits reports, while the load drains, whether the source waits for more events, or
	// for what it prompts itself. It is asked again until it does not.
	Awaits(now int64) bool

	// Prompt returns the next operation that answers or events have made due by now,
	// besides those of the schedule: since when it is due, and its number, which no
	// operation of the schedule and none in flight has. Times are in nanoseconds since the
	// window opened, as the schedule's. It is called until there is none, and at the
	// beginning of each turn: that is how a source knows what time it is. When the window
	// has closed, what is prompted is counted in its last second, and Prompt is called only
	// as long as Awaits allows it: a store that does not come back would have something
	// prompted, and in flight, for ever.
	Prompt(now int64) (n uint64, due int64, ok bool)
	// NextPrompt returns when Prompt has an operation next, if nothing comes before;
	// math.MaxInt64: never.
	NextPrompt() int64

	// Lost takes that a place's connection has ended, after the ends of the operations that
	// were in flight on it, or that the place has another connection now, while operations
	// that are in flight on the old one may still be answered. What watched on it is gone.
	Lost(place int)
	// Expired takes that the session of a place's connection, which was to be taken up
	// again, has ended. Another has begun.
	Expired(place int)
}

// ReactiveBase implements the methods of Reactive that a Source does not have by itself, with
// no effect.
type ReactiveBase struct{}

// Ready implements Reactive.
func (ReactiveBase) Ready(uint64) bool { return true }

// Place implements Reactive.
func (ReactiveBase) Place(uint64) int { return -1 }

// Sent implements Reactive.
func (ReactiveBase) Sent(uint64, int64, bool) {}

// Failed implements Reactive.
func (ReactiveBase) Failed(uint64) {}

// Ended implements Reactive.
func (ReactiveBase) Ended(uint64, kv.Outcome, int64, int64) {}

// Notified implements Reactive.
func (ReactiveBase) Notified(*store.Event) {}

// Awaits implements Reactive.
func (ReactiveBase) Awaits(int64) bool { return false }

// Prompt implements Reactive.
func (ReactiveBase) Prompt(int64) (n uint64, due int64, ok bool) { return 0, 0, false }

// NextPrompt implements Reactive.
func (ReactiveBase) NextPrompt() int64 { return math.MaxInt64 }

// Lost implements Reactive.
func (ReactiveBase) Lost(int) {}

// Expired implements Reactive.
func (ReactiveBase) Expired(int) {}
