package record

import "fmt"

// Cleanup is what came of removing what a load wrote.
type Cleanup struct {
	Deleted int64 `json:"deleted"` // keys
	// Revision is that up to which the history was compacted; 0: it was not.
	Revision int64 `json:"compacted_revision,omitempty"`
	// Space is what the members' databases took, as far as they say it.
	Space []Space `json:"space,omitempty"`
	// Failure is a sentence where keys are left, or may be, or where space was not
	// given back.
	Failure string `json:"error,omitempty"`
}

// Space is one member's database, in bytes.
type Space struct {
	Member       string `json:"member"`
	Endpoint     string `json:"endpoint"`
	Before       int64  `json:"bytes_before"` // with the load's keys, as they were removed
	After        int64  `json:"bytes_after"`  // when all was done
	Defragmented bool   `json:"defragmented"`
}

// GivenBack is how many bytes its file system has again.
func (s *Space) GivenBack() int64 { return max(s.Before-s.After, 0) }

// Err is a sentence about what failed; nil where nothing did, or nothing was asked
// for.
func (c *Cleanup) Err() error {
	if c == nil || c.Failure == "" {
		return nil
	}
	return fmt.Errorf("what was written may not have been removed: %s", c.Failure)
}

// Defragmented reports whether any member was.
func (c *Cleanup) Defragmented() bool {
	for i := range c.Space {
		if c.Space[i].Defragmented {
			return true
		}
	}
	return false
}

// CleanedUp records what came of a clean-up, also of a trial that is aborted
// then.
func (t *TrialWriter) CleanedUp(c *Cleanup) error {
	return t.w.update(func(r *Run) { r.Trials[t.index].Cleanup = c })
}
