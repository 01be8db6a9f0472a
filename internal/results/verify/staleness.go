package verify

import (
	"cmp"
	"maps"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

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

func (k memberAndLevel) level() kv.Consistency {
	if k.lease {
		return kv.LeaderLease
	}
	return kv.Local
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

// list describes the reads by consistency level and member.
func (s *stalenesses) list() (out []record.Staleness) {
	byLevelAndMember := func(a, b memberAndLevel) int {
		return cmp.Or(cmp.Compare(a.level(), b.level()), cmp.Compare(a.member, b.member))
	}
	for _, k := range slices.SortedFunc(maps.Keys(s.byServer), byLevelAndMember) {
		one := s.byServer[k]
		x := record.Staleness{Consistency: k.level().String(), Member: record.ID(k.member), Reads: one.reads}
		if one.versions != nil {
			x.StaleReads = uint64(one.versions.TotalCount())
			x.Versions, x.Times = distribution(one.versions, one.reads), distribution(one.times, one.reads)
		}
		out = append(out, x)
	}
	return out
}

// distribution returns the distribution of n values. The histogram h contains only the values that
// are not 0.
func distribution(h *hdrhistogram.Histogram, n uint64) record.Spread {
	if h.TotalCount() == 0 {
		return record.Spread{}
	}
	at := func(q float64) int64 {
		above := (1 - q) * float64(n)
		in := float64(h.TotalCount())
		if in <= above {
			return 0
		}
		return h.ValueAtQuantile(100 * (1 - above/in))
	}
	return record.Spread{P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: h.Max()}
}
