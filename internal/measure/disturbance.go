package measure

// Disturbance is what the generator itself added to the operations' times, in
// one span of time. A nil histogram is an empty one.
//
// Sampled and Undisturbed are of the same operations, a sample of the
// successes in which each counts as often as it stands for others: once with
// the time that the loop's headline has (service time in a closed loop,
// response time in an open one), and once with that time less what the
// generator added to it. How far their percentiles are apart is how far the
// generator can have moved the headline's.
type Disturbance struct {
	// Lag is from an answer's arrival at this machine to the read call that
	// took it, of the sampled operations.
	Lag *Histogram
	// Own is, in an open loop, the part of sent - due that is the generator's
	// own, of every operation that was sent. Waiting is the rest, of those that
	// have one: no connection or member could take the operation, or the limit
	// of operations in flight was reached.
	Own, Waiting         *Histogram
	Sampled, Undisturbed *Histogram
	// Idle is, in a closed loop, the sum of sent - due of all operations that
	// were sent without waiting for a connection, in nanoseconds: the time in
	// which clients were free and the generator had not sent for them yet.
	Idle int64
}

// histograms lists the places of all histograms.
func (d *Disturbance) histograms() [5]**Histogram {
	return [5]**Histogram{&d.Lag, &d.Own, &d.Waiting, &d.Sampled, &d.Undisturbed}
}

// merge adds o, which stays as it is.
func (d *Disturbance) merge(o *Disturbance) {
	from := o.histograms()
	for i, to := range d.histograms() {
		*to = mergeHistogram(*to, *from[i])
	}
	d.Idle += o.Idle
}

// Link is what happened to the connections to one endpoint in the window.
type Link struct {
	Endpoint    string
	Connections int // when the window opened
	Fewest      int // at any time in it
	Lost        int // connections that were lost
	// LostAt is when there were fewer than at the opening for the first time,
	// and BackAt when there were as many again, for good: in seconds of the
	// window, -1 for never.
	LostAt, BackAt float64
}
