package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
	return slices.ContainsFunc(c.Space, func(s Space) bool { return s.Defragmented })
}

// CleanedUp records what came of a clean-up, also of a trial that is aborted
// then.
func (t *TrialWriter) CleanedUp(c *Cleanup) error {
	return t.change(func(at *Trial) { at.Cleanup = c })
}

// Hashes are the hashes of their data that the members reported after the load.
type Hashes struct {
	Seconds float64      `json:"seconds"` // how long it took to ask all
	Members []MemberHash `json:"members"` // empty with Failure
	// Failure is one sentence: why they could not be compared.
	Failure string `json:"failure,omitempty"`
}

// Took is how long it took to ask all, to the microsecond.
func (h *Hashes) Took() time.Duration {
	return time.Duration(h.Seconds * 1e9).Round(time.Microsecond)
}

// MemberHash is one member's, of all keys and values up to a revision.
type MemberHash struct {
	Name      string `json:"name,omitempty"` // the member's, as everywhere in the record
	Endpoint  string `json:"endpoint"`
	Hash      uint64 `json:"hash"`
	Revision  int64  `json:"revision"`
	Compacted int64  `json:"compacted_revision"`
	DBSize    *int64 `json:"db_size_bytes"` // null if it is not known
}

// Member is what the record calls the member: its name, or its endpoint where
// that is all there is.
func (m *MemberHash) Member() string { return cmp.Or(m.Name, m.Endpoint) }

// named is h with the members' names; h stays as it is.
func (h *Hashes) named(members []Member) *Hashes {
	if h == nil {
		return nil
	}
	out := *h
	out.Members = slices.Clone(h.Members)
	for i := range out.Members {
		m := &out.Members[i]
		for _, e := range members {
			if e.Endpoint == m.Endpoint {
				m.Name = e.Name
			}
		}
	}
	return &out
}

// disagreement says how the members differ; empty if they do not. Those that
// have compacted to other revisions were not compared.
func (h *Hashes) disagreement() string {
	if h.Failure != "" {
		return ""
	}
	parts, differ := make([]string, 0, len(h.Members)), false
	for i := range h.Members {
		m := &h.Members[i]
		parts = append(parts, fmt.Sprintf("%s has the hash %d", m.Member(), m.Hash))
		differ = differ || m.Hash != h.Members[0].Hash
	}
	if !differ {
		return ""
	}
	return fmt.Sprintf("at revision %d %s", h.Members[0].Revision, strings.Join(parts, ", "))
}
