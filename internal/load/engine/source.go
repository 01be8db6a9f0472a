package engine

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Source generates the operations of one loop and checks their replies.
//
// For example, a source that puts 100 keys could turn operation 7 into a put of key 42: Fill sets
// op.Kind, op.Key and op.Value and returns 42 as ref. When the reply arrives, the loop passes this
// ref to Check, so Check needs no table of open operations.
type Source interface {
	// Fill sets the kind, consistency, key, end, limit and value of operation n of the phase.
	// `client` is the client that sends the operation. Fill returns a reference, for example the
	// key's number, which the loop passes to Check with the reply. The memory that op refers to
	// stays valid until the next call of Fill.
	Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) (ref uint64)
	// Kind returns the kind and consistency that Fill would set for operation n.
	Kind(phase measure.Phase, n uint64) (kv.Kind, kv.Consistency)
	// Shares returns all combinations of kind and consistency that occur in a phase, with the share
	// of each combination in the phase's operations.
	Shares(phase measure.Phase) []Share
	// Check checks a reply that reports no failure. It returns the event's outcome, or a more exact
	// one, such as kv.Miss, kv.Stale or kv.WrongResponse.
	Check(kind kv.Kind, ref uint64, ev *store.Event) kv.Outcome
}

// Share is a combination of kind and consistency, with its share (Fraction) of a phase's
// operations. The shares of a phase add up to 1.
type Share struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Fraction    float64
}

// Reactive is an optional interface of a Source whose operations depend on replies and events, such
// as an application or a recording. If a load with a Reactive source is an open loop, it has only
// one event loop. In such a load, an operation counts as in flight after its due time, even while
// it waits for another reply or for a connection. So the operation's timeout runs during this wait,
// and the operation does not end when the measurement window ends. In a closed loop,
// Ready, ConnectionIndex and OperationSent are called only for operations that Prompt returned. All
// operation numbers refer to the measured phase.
//
// A Source embeds ReactiveBase and overrides the methods that it needs. For example, an
// application that renews its lease 2 s after each reply overrides three of them: OperationEnded
// notes the time of the reply, NextPrompt returns that time plus 2 s, and Prompt returns the
// renewal when it is due.
type Reactive interface {
	Source

	// Ready reports whether operation n can be encoded: each reply that it depends on has arrived,
	// or will never arrive.
	Ready(n uint64) bool
	// ConnectionIndex returns the index, starting with 0, of the connection that operation n must
	// use. The operation waits until this connection accepts it. -1 means that the operation can
	// use any connection.
	ConnectionIndex(n uint64) int

	// OperationSent is called when operation n was sent. `late` is the operation's lateness in
	// nanoseconds, without the time that it waited for a reply or a connection. `waited` reports
	// whether the operation had to wait for a reply or a connection.
	OperationSent(n uint64, late int64, waited bool)
	// OperationFailed is called when operation n failed: no successful reply arrived, or Check
	// returned kv.WrongResponse. If no successful reply arrived, Check is not called.
	OperationFailed(n uint64)
	// OperationEnded is called with the outcome of operation n, after Check or OperationFailed.
	// `response` is the response time in nanoseconds. If the operation succeeded, `service` is the
	// service time in nanoseconds. OperationEnded is not called for operations that were due but
	// never started.
	OperationEnded(n uint64, o kv.Outcome, response, service int64)

	// HandleWatchEvent receives an event (store.WatchChange, store.WatchProgress or
	// store.WatchEnded) for a watcher that an operation of the source created. HandleWatchEvent is
	// not called in a loop that has Config.Watching.
	HandleWatchEvent(ev *store.Event)
	// ExpectsMore reports whether the source expects more events or will prompt more operations.
	// While the load drains, the loop calls ExpectsMore until it returns false.
	ExpectsMore(now int64) bool

	// Prompt returns the next operation that is not in the schedule but became necessary because of
	// a reply or an event, and that is due by the time `now`. n is the operation's number. It must
	// differ from all numbers in the schedule and from the numbers of all operations in flight. now
	// and due are in nanoseconds since the window opened, as in the schedule. The loop calls Prompt
	// until ok is false. It also calls Prompt at the beginning of each turn, so that a source
	// learns the time. After the window has closed, the loop counts prompted operations in the
	// window's last second, and calls Prompt only while ExpectsMore returns true. Otherwise an
	// application could prompt operations forever if the store never replied again.
	Prompt(now int64) (n uint64, due int64, ok bool)
	// NextPrompt returns the time at which Prompt will return an operation if no event arrives
	// before that time. math.MaxInt64 means never.
	NextPrompt() int64

	// ConnectionLost is called when the connection of a place has ended, after the source has
	// received the outcomes of the operations in flight on that connection. ConnectionLost is also
	// called when the load moves the place to a new connection. In this case, operations in flight
	// on the old connection can still complete. In both cases, the watchers on the old connection
	// no longer exist.
	ConnectionLost(place int)
	// SessionExpired is called when a place's connection could not resume its session because the
	// session had expired. By then, a new session has begun.
	SessionExpired(place int)
}

// ReactiveBase implements all methods that Reactive adds to Source. Its methods do nothing. Sources
// embed it.
type ReactiveBase struct{}

// Ready implements Reactive.
func (ReactiveBase) Ready(uint64) bool { return true }

// ConnectionIndex implements Reactive.
func (ReactiveBase) ConnectionIndex(uint64) int { return -1 }

// OperationSent implements Reactive.
func (ReactiveBase) OperationSent(uint64, int64, bool) {}

// OperationFailed implements Reactive.
func (ReactiveBase) OperationFailed(uint64) {}

// OperationEnded implements Reactive.
func (ReactiveBase) OperationEnded(uint64, kv.Outcome, int64, int64) {}

// HandleWatchEvent implements Reactive.
func (ReactiveBase) HandleWatchEvent(*store.Event) {}

// ExpectsMore implements Reactive.
func (ReactiveBase) ExpectsMore(int64) bool { return false }

// Prompt implements Reactive.
func (ReactiveBase) Prompt(int64) (n uint64, due int64, ok bool) { return 0, 0, false }

// NextPrompt implements Reactive.
func (ReactiveBase) NextPrompt() int64 { return math.MaxInt64 }

// ConnectionLost implements Reactive.
func (ReactiveBase) ConnectionLost(int) {}

// SessionExpired implements Reactive.
func (ReactiveBase) SessionExpired(int) {}
