package verdict

// Worker is one of several that generated the load.
type Worker struct {
	Name string
	// Lost is why it was lost before the load's end; empty if it was not.
	Lost string
}

// workerLost asks whether all workers told what they did to the end.
func workerLost(f *Figures) finding {
	for i := range f.Workers {
		if w := &f.Workers[i]; w.Lost != "" {
			return invalid("worker %s was lost, and the load ended there: %s", w.Name, w.Lost)
		}
	}
	return fine()
}
