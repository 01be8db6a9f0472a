package kubernetes

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Entry is a call in the schedule.
type Entry struct {
	Call Call
	// Object is the number of the call's object. For ListPods it is the number of the page,
	// starting with 0. For Count it is an index in Schedule.Counted.
	Object uint32
}

// Schedule lists the calls of a load, ordered by due time.
type Schedule struct {
	Objects
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
	Counted []string // paths whose objects are counted
}

// NewSchedule returns the calls that become due in a load of the given length. The schedule depends
// only on the configuration and the length.
func NewSchedule(c Config, length time.Duration) *Schedule {
	m := scheduleBuilder{Config: c, timeline: app.Timeline[Entry]{Length: length}, random: rand.New(rand.NewPCG(c.Seed, 0x6b38)), counted: countedPaths()}
	m.numberObjects()
	m.addRepeated()
	m.addLists()
	m.addChurn()
	return m.schedule()
}

type scheduleBuilder struct {
	Config
	timeline app.Timeline[Entry] // entries that create events get their numbers later
	random   *rand.Rand
	objects  Objects
	counted  []string
	// Number of pods that exist at the start and whose creation began less than maxStepsDuration
	// before the load.
	youngPods int
	newPods   int // number of pods that are created during the load
}

// numberObjects assigns numbers to the objects.
func (m *scheduleBuilder) numberObjects() {
	counts := [NumResources]int{
		Nodes: m.Nodes, Leases: m.Nodes + electedComponents + 1, ReplicaSets: m.sets(), EndpointSlices: m.sets(), Endpoints: m.sets(), MasterLeases: 1, Pods: m.pods(),
	}
	m.youngPods = min(int(m.Churn*maxStepsDuration.Seconds()), m.pods())
	m.newPods = int(m.Churn * m.timeline.Length.Seconds())
	at := uint32(0)
	for r := range NumResources {
		m.objects.First[r], m.objects.Before[r] = at, uint32(counts[r])
		at += uint32(counts[r])
		if r == Pods {
			at += uint32(m.newPods)
		}
	}
	m.objects.First[NumResources] = at // events come last; the method `schedule` counts them
}

// add adds a call if it becomes due during the load.
func (m *scheduleBuilder) add(at time.Duration, call Call, object uint32) {
	m.timeline.Add(at, Entry{call, object})
}

// addPeriodic adds a call once per period. The first call is due at a random time in the first
// period.
func (m *scheduleBuilder) addPeriodic(period time.Duration, call Call, object uint32) {
	for at := time.Duration(m.random.Int64N(int64(period))); at < m.timeline.Length; at += period {
		m.add(at, call, object)
	}
}

// addRepeated adds the periodic calls that do not depend on the churn.
func (m *scheduleBuilder) addRepeated() {
	first := &m.objects.First
	for i := range uint32(m.Nodes) {
		m.addPeriodic(leaseRenewal, UpdateLease, first[Leases]+i)
		m.addPeriodic(nodeStatus, UpdateNode, first[Nodes]+i)
	}
	for i := range uint32(electedComponents) {
		m.addPeriodic(electionRetry, UpdateLease, first[Leases]+uint32(m.Nodes)+i)
	}
	m.addPeriodic(identityRenewal, UpdateLease, first[Leases]+uint32(m.Nodes)+electedComponents)
	m.addPeriodic(m.listInterval(), ListKeys, 0)
	for at := time.Duration(m.random.Int64N(int64(masterRenewal))); at < m.timeline.Length; at += masterRenewal {
		for i, call := range masterCalls {
			m.add(at+time.Duration(i)*5*time.Millisecond, call, first[MasterLeases])
		}
	}
	for i := range m.counted {
		m.addPeriodic(countInterval, Count, uint32(i))
	}
	m.addPeriodic(readinessInterval, Health, 0)
	m.addPeriodic(livenessInterval, Health, 0)
	m.addPeriodic(statusInterval, Status, 0)
	for at := m.compactInterval(); at < m.timeline.Length; at += m.compactInterval() {
		m.add(at, MarkCompaction, 0)
		// The first MarkCompaction reads the revision up to which the first Compact compacts.
		if at > m.compactInterval() && !m.Uncompacted {
			m.add(at+10*time.Millisecond, Compact, 0)
		}
	}
}

// addLists adds the listings of pods.
func (m *scheduleBuilder) addLists() {
	m.addPeriodic(smallListInterval, ListOne, 0)
	n := pages(m.pods(), listPage)
	// All pages of a listing are read within half of the listing's interval, so that no page
	// overlaps with the next listing.
	between := min(pageDelay, m.listInterval()/time.Duration(2*n))
	for at := time.Duration(m.random.Int64N(int64(m.listInterval()))); at < m.timeline.Length; at += m.listInterval() {
		for page := range n {
			m.add(at+time.Duration(page)*between, ListPods, uint32(page))
		}
	}
}

// addChurn adds the calls that create and remove pods. It includes pods whose creation or removal
// began shortly before the load. Time is divided into gaps of equal length. In each gap, one pod is
// created and one pod is removed, each at a random time.
func (m *scheduleBuilder) addChurn() {
	if m.Churn == 0 {
		return
	}
	gap := float64(time.Second) / m.Churn
	place := func(i int) time.Duration { return time.Duration((float64(i) + m.random.Float64()) * gap) }
	firstPod := m.objects.First[Pods]
	for i := -m.youngPods; i < m.newPods; i++ {
		m.addLife(createSteps, place(i), firstPod+uint32(m.pods()+i))
	}
	for i := -m.youngPods; i < m.newPods; i++ { // the oldest pods are removed first
		m.addLife(removeSteps, place(i), firstPod+uint32(m.youngPods+i))
	}
}

// addLife adds the calls of a pod's creation or removal.
func (m *scheduleBuilder) addLife(life []step, from time.Duration, pod uint32) {
	set := (pod - m.objects.First[Pods]) % uint32(m.sets())
	for _, s := range life {
		object := pod
		if r := s.call.Resource(); r != Pods {
			object = m.objects.First[r] + set
		}
		m.add(from+s.delay, s.call, object)
	}
}

// schedule returns the finished schedule. It numbers the events. If the current lease is too old or
// already has the maximum number of events, it adds the grant of a new lease before the next event.
func (m *scheduleBuilder) schedule() *Schedule {
	due, entries := m.timeline.Sorted()
	s := &Schedule{Objects: m.objects, Counted: m.counted, Due: make([]int64, 0, len(due)), Entries: make([]Entry, 0, len(due))}
	granted, with := -int64(leaseReuse), leaseObjects
	event := s.First[NumResources]
	for i, e := range entries {
		if e.Call == CreateEvent {
			if with == leaseObjects || due[i]-granted >= int64(leaseReuse) {
				s.Due, s.Entries = append(s.Due, due[i]), append(s.Entries, Entry{Call: GrantLease})
				granted, with = due[i], 0
			}
			with++
			e.Object = event
			event++
		}
		s.Due, s.Entries = append(s.Due, due[i]), append(s.Entries, e)
	}
	s.First[NumResources] = event
	return s
}

// CountByKind returns the number of calls of each kind.
func (s *Schedule) CountByKind() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}
