package record

// Observer receives the data that a run records while the run is in progress, for example to
// display them. Several goroutines may call the functions at the same time. The functions must
// return quickly, and must neither keep nor modify their arguments. A function that is nil is not
// called.
type Observer struct {
	Event    func(Event)
	Machines func([]*MachineRow)
}

// Observe makes o the observer of all trials that begin after this call.
func (w *Writer) Observe(o Observer) { w.observer = o }
