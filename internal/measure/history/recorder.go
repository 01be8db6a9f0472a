package history

// Recorder records the operations of one loop. It receives empty blocks from Take and passes full
// blocks to Deliver. It shares no other data with other goroutines. Add does not allocate memory.
type Recorder struct {
	// Take returns an empty block. Deliver receives a block with operations. Both functions are
	// called once per block.
	Take    func() *Block
	Deliver func(*Block)

	cur  *Block
	last int64 // end of the last operation that was added
}

// Add records an operation. If the operation ended before the previous operation, Add records that
// it ended together with the previous operation.
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

// Flush passes the current block to Deliver, so that Deliver has received all added operations.
func (r *Recorder) Flush() {
	if r.cur != nil && r.cur.Len() > 0 {
		r.Deliver(r.cur)
		r.cur = nil
	}
}
