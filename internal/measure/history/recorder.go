package history

// Recorder takes the operations of one loop. Its owner gives it empty blocks and
// takes full ones; nothing else is shared, and adding allocates nothing.
type Recorder struct {
	// Take returns an empty block, and Hand takes one that has operations. Both
	// are called once in a block.
	Take func() *Block
	Hand func(*Block)

	cur  *Block
	last int64 // when what was added last ended
}

// Add records an operation. One that ended before its predecessor is recorded as
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
		r.Hand(r.cur)
		r.cur = r.Take()
		r.cur.Append(o)
	}
}

// Flush hands over what there is: after it, all that was added can be read.
func (r *Recorder) Flush() {
	if r.cur != nil && r.cur.Len() > 0 {
		r.Hand(r.cur)
		r.cur = nil
	}
}
