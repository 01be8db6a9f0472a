package measure

// Counts are what a second, a window and a trial's result count alike, under
// their names in the result. A new one has its field and its sum here, and the
// engine counts it.
type Counts struct {
	BytesIn  uint64 `json:"bytes_in"`
	BytesOut uint64 `json:"bytes_out"`
	Extra    uint64 `json:"extra_requests"` // beyond the first that successes took
}

// AddCounts adds another second's or shard's.
func (c *Counts) AddCounts(o *Counts) {
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
	c.Extra += o.Extra
}
