package null

import "sync/atomic"

// Counts says how many operations a server was asked for, by what it decided
// to do with them: the truth that a generator's figures are held against. It
// may be read while the server runs.
type Counts struct{ kinds [NumKinds]atomic.Uint64 }

// Of is the number of operations with one fate.
func (c *Counts) Of(k Kind) uint64 { return c.kinds[k].Load() }

// Total is the number of operations.
func (c *Counts) Total() (n uint64) {
	for i := range c.kinds {
		n += c.kinds[i].Load()
	}
	return n
}

// Add counts an operation; nil counts nothing.
func (c *Counts) Add(k Kind) {
	if c != nil {
		c.kinds[k].Add(1)
	}
}
