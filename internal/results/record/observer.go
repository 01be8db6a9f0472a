package record

// Observer receives the data that a run records while the run is in progress, for example to
// display them. Several goroutines may call the functions at the same time. The functions must
// return quickly, and must neither keep nor modify their arguments. A function that is nil is not
// called.
type Observer struct {
	Event    func(Event)
	Machines func([]*MachineRow)
}

// Join returns an observer that passes the data to o and then to other.
func (o Observer) Join(other Observer) Observer {
	return Observer{Event: callBoth(o.Event, other.Event), Machines: callBoth(o.Machines, other.Machines)}
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

// Observe makes o the observer of all trials that begin after this call.
func (w *Writer) Observe(o Observer) { w.observer = o }
