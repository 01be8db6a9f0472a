package record

import (
	"fmt"
	"strings"
)

// Hashes is what the members told, after the load, of the hash of their data.
type Hashes struct {
	Seconds float64      `json:"seconds"` // how long it took to ask all
	Members []MemberHash `json:"members"` // empty with Failure
	// Failure is one sentence: why they could not be compared.
	Failure string `json:"failure,omitempty"`
}

// MemberHash is one member's, of all keys and values up to a revision.
type MemberHash struct {
	Endpoint  string `json:"endpoint"`
	Hash      uint64 `json:"hash"`
	Revision  int64  `json:"revision"`
	Compacted int64  `json:"compacted_revision"`
	DBSize    *int64 `json:"db_size_bytes"` // null if it is not known
}

// disagreement says how the members differ; empty if they do not. Those that
// have compacted to other revisions were not compared.
func (h *Hashes) disagreement() string {
	if h.Failure != "" {
		return ""
	}
	parts, differ := make([]string, 0, len(h.Members)), false
	for _, m := range h.Members {
		parts = append(parts, fmt.Sprintf("%s has the hash %d", m.Endpoint, m.Hash))
		differ = differ || m.Hash != h.Members[0].Hash
	}
	if !differ {
		return ""
	}
	return fmt.Sprintf("at revision %d %s", h.Members[0].Revision, strings.Join(parts, ", "))
}
