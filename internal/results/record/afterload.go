package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cleanup reports the removal of the keys that a load wrote.
type Cleanup struct {
	Deleted int64 `json:"deleted"` // keys
	// Revision is the revision up to which the history was compacted, or 0 if the history was not
	// compacted.
	Revision int64 `json:"compacted_revision,omitempty"`
	// Space holds the database sizes of the members that report a size.
	Space []Space `json:"space,omitempty"`
	// Failure is a sentence with the reason if keys of the load are, or may be, still in the store.
	// Failure is empty otherwise.
	Failure string `json:"error,omitempty"`
	// NotReclaimed is a sentence with the reason if the keys were removed, but disk space was not
	// freed. NotReclaimed is empty otherwise.
	NotReclaimed string `json:"not_reclaimed,omitempty"`
}

// Space holds the sizes of one member's database before and after the clean-up, in bytes.
type Space struct {
	Member       string `json:"member"`
	Endpoint     string `json:"endpoint"`
	Before       int64  `json:"bytes_before"` // before the load's keys were removed
	After        int64  `json:"bytes_after"`  // after the clean-up
	Defragmented bool   `json:"defragmented"`
}

// FreedBytes returns the number of bytes that the clean-up returned to the file system.
func (s *Space) FreedBytes() int64 { return max(s.Before-s.After, 0) }

// Err returns an error if the clean-up failed, and nil if it succeeded or was not
// requested.
func (c *Cleanup) Err() error {
	switch {
	case c == nil:
		return nil
	case c.Failure != "":
		return fmt.Errorf("some keys that the load wrote may still exist: %s", c.Failure)
	case c.NotReclaimed != "":
		return fmt.Errorf("the load's keys were removed, but the disk space was not freed: %s", c.NotReclaimed)
	}
	return nil
}

// Defragmented reports whether any member was defragmented.
func (c *Cleanup) Defragmented() bool {
	return slices.ContainsFunc(c.Space, func(s Space) bool { return s.Defragmented })
}

// WriteCleanup records the result of a clean-up. It also works for a trial that was aborted during
// the clean-up.
func (t *TrialWriter) WriteCleanup(c *Cleanup) error {
	return t.change(func(at *Trial) { at.Cleanup = c })
}

// Hashes holds the hashes that the members reported after the load. Each member hashes the data
// that it stores.
type Hashes struct {
	Seconds float64      `json:"seconds"` // how long it took to query all members
	Members []MemberHash `json:"members"` // empty if Failure is set
	// Failure is a sentence that explains why the hashes could not be compared.
	Failure string `json:"failure,omitempty"`
}

// Duration returns the time that it took to query all members, rounded to the microsecond.
func (h *Hashes) Duration() time.Duration {
	return time.Duration(h.Seconds * 1e9).Round(time.Microsecond)
}

// MemberHash is one member's hash of all keys and values up to Revision.
type MemberHash struct {
	Name      string `json:"name,omitempty"` // the member's name, as in the rest of the record
	Endpoint  string `json:"endpoint"`
	Hash      uint64 `json:"hash"`
	Revision  int64  `json:"revision"`
	Compacted int64  `json:"compacted_revision"`
	DBSize    *int64 `json:"db_size_bytes"` // null if it is not known
}

// Member returns the member's name, or its endpoint if it has no name.
func (m *MemberHash) Member() string { return cmp.Or(m.Name, m.Endpoint) }

// withMemberNames returns a copy of h in which each entry has its member's name.
func (h *Hashes) withMemberNames(members []Member) *Hashes {
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

// disagreement returns a list of the members' hashes if the hashes differ, and "" otherwise.
// h.Members does not include members that compacted to a different revision, because their hashes
// cannot be compared.
func (h *Hashes) disagreement() string {
	if h.Failure != "" {
		return ""
	}
	parts, differ := make([]string, 0, len(h.Members)), false
	for i := range h.Members {
		m := &h.Members[i]
		parts = append(parts, fmt.Sprintf("%s has hash %d", m.Member(), m.Hash))
		differ = differ || m.Hash != h.Members[0].Hash
	}
	if !differ {
		return ""
	}
	return fmt.Sprintf("at revision %d %s", h.Members[0].Revision, strings.Join(parts, ", "))
}
