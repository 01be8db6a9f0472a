package verify

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Staleness describes how stale the data was that one member returned to reads at one consistency
// level. It exists only for levels at which reads may be stale. The check compares each response
// with the versions that had been acknowledged when the read began.
type Staleness struct {
	Consistency kv.Consistency
	Member      uint64
	Reads       uint64
	StaleReads  uint64 // number of reads that returned an old version
	// Versions is the distribution of the number of newer versions that had been acknowledged when
	// a read began. Nanoseconds is the distribution of the time since the first of these versions
	// was acknowledged. Both include all reads.
	Versions, Nanoseconds Distribution
}

// Distribution holds percentiles and the maximum of a set of values, most of which are 0.
type Distribution struct{ P50, P90, P99, P999, Max int64 }

// staleness collects how stale the reads were at one member and consistency level.
type staleness struct {
	reads           uint64
	versions, times *hdrhistogram.Histogram // of stale reads; nil if there are none
}

func (s *staleness) recordLag(versions, duration int64) {
	if s.versions == nil {
		s.versions = hdrhistogram.New(1, 1<<31, 2)
		s.times = hdrhistogram.New(1000, 1<<43, 2)
	}
	_ = s.versions.RecordValue(min(versions, 1<<31)) // capped at the upper limit of the histogram
	_ = s.times.RecordValue(min(duration, 1<<43))    // capped at the upper limit of the histogram
}

type stalenesses struct {
	byServer map[memberAndLevel]*staleness
	// lastServer and lastEntry store the last lookup, because successive reads are often served by
	// the same member.
	lastServer memberAndLevel
	lastEntry  *staleness
}

type memberAndLevel struct {
	lease  bool
	member uint64
}

func newStalenesses() *stalenesses { return &stalenesses{byServer: map[memberAndLevel]*staleness{}} }

// get returns the entry for a member and a consistency level. It creates the entry if necessary.
func (s *stalenesses) get(lease bool, member uint64) *staleness {
	k := memberAndLevel{lease, member}
	if s.lastEntry != nil && s.lastServer == k {
		return s.lastEntry
	}
	if s.byServer[k] == nil {
		s.byServer[k] = &staleness{}
	}
	s.lastServer, s.lastEntry = k, s.byServer[k]
	return s.lastEntry
}

func (s *stalenesses) add(other *stalenesses) {
	for k, o := range other.byServer {
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
	for k, one := range s.byServer {
		x := Staleness{Consistency: kv.Local, Member: k.member, Reads: one.reads}
		if k.lease {
			x.Consistency = kv.LeaderLease
		}
		if one.versions != nil {
			x.StaleReads = uint64(one.versions.TotalCount())
			x.Versions, x.Nanoseconds = distribution(one.versions, one.reads), distribution(one.times, one.reads)
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Staleness) int {
		return cmp.Or(cmp.Compare(a.Consistency, b.Consistency), cmp.Compare(a.Member, b.Member))
	})
	return out
}

// distribution returns the distribution of n values. The histogram h contains only the values that
// are not 0.
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
