package measure

// Watch is what watchers got in one span of time: events of the writes of the
// phase that they belong to, in the second in which they arrived.
type Watch struct {
	Delivered  uint64 // distinct events
	Duplicated uint64 // events that had come before
	Reordered  uint64 // of Delivered: came after a later write of their key
	Untimed    uint64 // of Delivered: it is not known when their write was due
	// FromDue and FromSent are the arrival less when the write was due, and
	// less when it was sent. An event can arrive before its write's own answer.
	FromDue, FromSent *Histogram
}

// Any reports whether there is anything in it.
func (w *Watch) Any() bool { return w.Delivered|w.Duplicated != 0 }

// merge adds another's counts and histograms.
func (w *Watch) merge(o *Watch) {
	w.Delivered += o.Delivered
	w.Duplicated += o.Duplicated
	w.Reordered += o.Reordered
	w.Untimed += o.Untimed
	w.FromDue = mergeHistogram(w.FromDue, o.FromDue)
	w.FromSent = mergeHistogram(w.FromSent, o.FromSent)
}

// WatchTotals is what the watchers of a whole load got, its warm-up included.
type WatchTotals struct {
	Watchers int
	// Created is how long it took to create each of them, the first time, and
	// CreatedSeconds from when the first was asked for until the last was there.
	Created        *Histogram
	CreatedSeconds float64
	// Acknowledged is how many writes of watched keys the store acknowledged.
	Acknowledged uint64
	// Expected is how many events those make: one for each watcher of the key.
	Expected  uint64
	Delivered uint64 // distinct events
	// Lost is how many events did not come: versions of a key that were passed
	// over, or acknowledged writes without an event, whichever is more for a
	// watcher and key.
	Lost       uint64
	Duplicated uint64
	Reordered  uint64
	Untimed    uint64 // delivered, and it is not known when their write was due
	Foreign    uint64 // of Untimed: not written by this load, or damaged
	Wrong      uint64 // of keys that the watcher does not watch
	// Impossible is how many arrived before their write was sent. Any makes
	// the times void.
	Impossible uint64
	// Resubscribed is how often a watcher was created again after its
	// connection or stream was lost; Ended is how many the store ended for
	// good, and EndedText why the first one.
	Resubscribed uint64
	Ended        uint64
	EndedText    string
}
