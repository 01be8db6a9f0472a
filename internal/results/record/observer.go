package record

import "github.com/quorumbench/quorumbench/internal/kv"

// Observer receives the data that a run records while the run is in progress, for example to
// display them. Several goroutines may call the functions at the same time. The functions must
// return quickly, and must neither keep nor modify their arguments. A function that is nil is not
// called.
type Observer struct {
	Event    func(Event)
	Machines func([]*MachineRow)
	Members  func([]MemberState)
}

// MemberState describes a member at one moment of a run.
type MemberState struct {
	Name string
	ID   uint64 // ID in replies, as in measure.Series; 0 if unknown
	Role kv.Role
	Lost bool // the member exited or does not respond
}

// Join returns an observer that passes the data to o and then to other.
func (o Observer) Join(other Observer) Observer {
	return Observer{Event: callBoth(o.Event, other.Event), Machines: callBoth(o.Machines, other.Machines), Members: callBoth(o.Members, other.Members)}
}

// callBoth returns a function that calls first and then second. Both may be nil.
func callBoth[T any](first, second func(T)) func(T) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(t T) {
		first(t)
		second(t)
	}
}

// Members passes the states of the cluster's members to the observer. The record does not contain
// these states, but only the events that result from changes of state.
func (t *TrialWriter) Members(all []MemberState) {
	if t.w.observer.Members != nil {
		t.w.observer.Members(all)
	}
}

// Observe makes o the observer of all trials. It must be called before the first trial begins.
func (w *Writer) Observe(o Observer) { w.observer = o }
