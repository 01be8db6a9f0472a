package measure

// Counts are what a second, a window and a trial's result count, under their
// names in the result. A new one has its field and its place in all here, and the
// engine counts it.
type Counts struct {
	BytesIn  uint64 `json:"bytes_in"`
	BytesOut uint64 `json:"bytes_out"`
	Extra    uint64 `json:"extra_requests"` // beyond the first that successes took
	Late     uint64 `json:"late_answers"`   // that came after their operation had timed out
}

// all are the counts, for adding and for passing on.
func (c *Counts) all() []*uint64 { return []*uint64{&c.BytesIn, &c.BytesOut, &c.Extra, &c.Late} }

// AddCounts adds another second's or shard's.
func (c *Counts) AddCounts(o *Counts) {
	to := c.all()
	for i, n := range o.all() {
		*to[i] += *n
	}
}
