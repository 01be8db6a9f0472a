package record

// Observer receives what a run records while the run goes on, for a display. The functions are called
// from several goroutines. They must return at once, and must not keep or modify what they receive. A
// nil function receives nothing.
type Observer struct {
	Event    func(Event)
	Machines func([]*MachineRow)
}

// Observe makes all trials that begin later report to o.
func (w *Writer) Observe(o Observer) { w.observer = o }
