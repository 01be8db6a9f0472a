package history

// Recorder records the operations of one loop. It gets empty blocks from Take and passes full
// ones to Hand; it shares nothing else, and Add does not allocate.
type Recorder struct {
	// Take returns an empty block, and Hand receives a block with operations. Each is called
	// once per block.
	Take    func() *Block
	Deliver func(*Block)

	cur  *Block
	last int64 // end of the last operation added
}

// Add records an operation. An operation that ended before its predecessor is recorded as
// ending with it.
func (r *Recorder) Add(o *Op) {
	if o.Done < r.last {
		longer := *o
		longer.Done = r.last
		o = &longer
	}
	r.last = o.Done
	if r.cur == nil {
		r.cur = r.Take()
	}
	if !r.cur.Append(o) {
		r.Deliver(r.cur)
		r.cur = r.Take()
		r.cur.Append(o)
	}
}

// Flush hands over the current block. Afterwards everything added can be read.
func (r *Recorder) Flush() {
	if r.cur != nil && r.cur.Len() > 0 {
		r.Deliver(r.cur)
		r.cur = nil
	}
}
