package verify

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Staleness describes how old the responses of one member were to reads at one consistency level,
// if reads at this level may be stale. A response is compared with the versions that had been
// acknowledged when the read started.
type Staleness struct {
	Consistency kv.Consistency
	Member      uint64
	Reads       uint64
	Behind      uint64 // reads that returned an old version
	// Versions and Nanoseconds are distributions over all reads: the number of newer versions, and
	// the time for which the first newer version had existed.
	Versions, Nanoseconds Distribution
}

// Distribution describes values, most of which are 0.
type Distribution struct{ P50, P90, P99, P999, Max int64 }

// staleness collects the staleness of reads at one member and consistency level.
type staleness struct {
	reads           uint64
	versions, times *hdrhistogram.Histogram // of stale reads; nil if there are none
}

func (s *staleness) recordLag(versions, since int64) {
	if s.versions == nil {
		s.versions = hdrhistogram.New(1, 1<<31, 2)
		s.times = hdrhistogram.New(1000, 1<<43, 2)
	}
	_ = s.versions.RecordValue(min(versions, 1<<31)) // limited to the range of the histogram
	_ = s.times.RecordValue(min(since, 1<<43))       // limited to the range of the histogram
}

type stalenesses struct {
	by map[server]*staleness
	// last and at store the last lookup, because successive reads are often served by the same
	// member.
	last server
	at   *staleness
}

type server struct {
	lease  bool
	member uint64
}

func newStalenesses() *stalenesses { return &stalenesses{by: map[server]*staleness{}} }

// get returns the staleness for a member and a level. It creates the entry if it is missing.
func (s *stalenesses) get(lease bool, member uint64) *staleness {
	k := server{lease, member}
	if s.at != nil && s.last == k {
		return s.at
	}
	if s.by[k] == nil {
		s.by[k] = &staleness{}
	}
	s.last, s.at = k, s.by[k]
	return s.at
}

func (s *stalenesses) add(other *stalenesses) {
	for k, o := range other.by {
		into := s.get(k.lease, k.member)
		into.reads += o.reads
		switch {
		case o.versions == nil:
		case into.versions == nil:
			into.versions, into.times = o.versions, o.times
		default:
			into.versions.Merge(o.versions)
			into.times.Merge(o.times)
		}
	}
}

func (s *stalenesses) list() (out []Staleness) {
	for k, one := range s.by {
		x := Staleness{Consistency: kv.Local, Member: k.member, Reads: one.reads}
		if k.lease {
			x.Consistency = kv.Lease
		}
		if one.versions != nil {
			x.Behind = uint64(one.versions.TotalCount())
			x.Versions, x.Nanoseconds = distribution(one.versions, one.reads), distribution(one.times, one.reads)
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Staleness) int {
		return cmp.Or(cmp.Compare(a.Consistency, b.Consistency), cmp.Compare(a.Member, b.Member))
	})
	return out
}

// distribution returns the distribution of n values. The values that are not in h are 0.
func distribution(h *hdrhistogram.Histogram, n uint64) Distribution {
	if h.TotalCount() == 0 {
		return Distribution{}
	}
	at := func(q float64) int64 {
		above := (1 - q) * float64(n)
		in := float64(h.TotalCount())
		if in <= above {
			return 0
		}
		return h.ValueAtQuantile(100 * (1 - above/in))
	}
	return Distribution{at(0.5), at(0.9), at(0.99), at(0.999), h.Max()}
}
