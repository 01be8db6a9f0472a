package discovery

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// lookupDelay is the delay between the registration of an instance and its reads by clients. The
// delay is fixed because the schedule cannot know when a client's watch reports the instance. In
// addition, each read waits for the response to the registration.
const lookupDelay = 10 * time.Millisecond

// entry is a scheduled call.
type entry struct {
	call   Call
	object uint32 // the instance
	client uint32 // for Lookup: the client that reads the instance
}

// schedule lists the calls of a load in the order of their due times.
type schedule struct {
	numbering
	due     []int64 // nanoseconds since the start of the load
	entries []entry
}

// lifetime holds the times at which an instance is added and removed, and the time until which its
// health must not change.
type lifetime struct{ added, removed, busyUntil time.Duration }

// newSchedule returns the schedule of a load, which depends only on the configuration, the prefix
// and the length.
func newSchedule(c config, prefix string, length time.Duration) *schedule {
	addedCount := c.addedCount(length)
	s := &schedule{numbering: newNumbering(c, prefix, length)}
	stream := uint64(0x6d62)
	if c.catalog {
		stream = 0x6361
	}
	r := rand.New(rand.NewPCG(c.seed, stream))
	lives := make([]lifetime, s.count())
	for i := range lives {
		lives[i] = lifetime{added: -minGap, removed: length + minGap}
		if !s.existsAtStart(uint32(i)) {
			lives[i].added = length // the instance does not exist yet at the start
		}
	}
	line := app.Timeline[entry]{Length: length}
	s.addChanges(&line, r, lives, addedCount)
	if c.catalog {
		s.addFailures(&line, r, lives, int(c.health*length.Seconds()))
		s.addComparisons(&line, r, int(c.comparisonRate()*length.Seconds()))
	}
	s.due, s.entries = line.Sorted()
	return s
}

// addChanges adds the calls that register new instances and the calls that deregister old ones. The
// oldest instance of a service is deregistered first. Without a catalog, addChanges also adds the
// lookups in which clients read the new instances.
func (s *schedule) addChanges(timeline *app.Timeline[entry], r *rand.Rand, lives []lifetime, addedCount int) {
	order := r.Perm(s.services) // the order in which the services take turns
	for i := range addedCount {
		added, removed := s.change(order, i)
		lives[added].added, lives[removed].removed = randomDueTime(r, timeline.Length, i, addedCount), randomDueTime(r, timeline.Length, i, addedCount)
		timeline.Add(lives[added].added, entry{call: Register, object: added})
		if !s.catalog {
			for _, client := range s.users(added / s.numbersPerService) {
				timeline.Add(lives[added].added+lookupDelay, entry{Lookup, added, client})
			}
		}
		timeline.Add(lives[removed].removed, entry{call: Deregister, object: removed})
	}
}

// randomDueTime returns a random due time for the i-th of `count` calls, which are spread evenly
// over the given length.
func randomDueTime(r *rand.Rand, length time.Duration, i, count int) time.Duration {
	return time.Duration((float64(i) + r.Float64()) / float64(count) * float64(length))
}

// maxTries limits how many random instances are tried for a health change. If none of them is
// suitable, the change is omitted. The limit is needed because all instances may be new or about to
// be removed.
const maxTries = 1000

// addFailures adds two calls for each of `count` instances: one reports the instance's check as
// critical, and the other later reports the check as passing again.
func (s *schedule) addFailures(timeline *app.Timeline[entry], r *rand.Rand, lives []lifetime, count int) {
	within := max(timeline.Length-criticalDuration, 0)
	for i := range count {
		at := randomDueTime(r, within, i, count)
		for range maxTries {
			n := r.Uint32N(s.count())
			l := &lives[n]
			if l.added > at-minGap || l.removed < at+criticalDuration+minGap || l.busyUntil > at {
				continue
			}
			l.busyUntil = at + criticalDuration + minGap
			timeline.Add(at, entry{call: Fail, object: n})
			timeline.Add(at+criticalDuration, entry{call: Pass, object: n})
			break
		}
	}
}

// addComparisons adds `count` comparisons with the catalog. They are made by the nodes whose
// instances exist before the load.
func (s *schedule) addComparisons(timeline *app.Timeline[entry], r *rand.Rand, count int) {
	for i := range count {
		timeline.Add(randomDueTime(r, timeline.Length, i, count), entry{call: Compare, object: s.initialInstance(uint64(i % s.initial()))})
	}
}

// countByKind returns the number of calls of each kind.
func (s *schedule) countByKind() []uint64 {
	n := make([]uint64, numCalls)
	for _, e := range s.entries {
		n[e.call]++
	}
	return n
}
