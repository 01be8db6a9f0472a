package verify

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// checkByTime checks the entries of a key for a store without revisions of writes. It uses the
// start and end times of the operations.
func (k *keyChecker) checkByTime(key uint64) {
	k.key = key
	k.splitByTime()
	k.indexWrites()
	k.findWriters()
	k.checkOneValuePerRevision()
	k.checkRevisionOrder()
	k.indexEnds()
	for i := range k.timed.reads {
		k.checkReadByTime(&k.timed.reads[i])
	}
	k.checkCASByTime()
}

func (k *keyChecker) splitByTime() {
	t := &k.timed
	t.writes, t.reads, t.byValue = t.writes[:0], t.reads[:0], t.byValue[:0]
	for i := range k.entries {
		e := &k.entries[i]
		x := timed{value: e.value, ord: e.ord, role: e.role, member: e.member, flags: e.flags}
		switch {
		case e.role == sessionEnd: // not checked, because a store without revisions does not report when a session ended
		case e.role == watchEvent: // treated like a read whose position in the order is unknown
			x.startedAt, x.endedAt, x.mod, x.answer = e.time, e.revision, e.versionRevision, e.lo
			t.reads = append(t.reads, x)
		case e.role == read && (!e.containsAny(isKnown) || e.containsAny(isConflict) && e.value == history.UnknownValue): // the response does not contain the previous state
		case e.role == read:
			x.startedAt, x.endedAt, x.mod = e.time, e.revision, e.versionRevision
			t.reads = append(t.reads, x)
		default:
			if x.startedAt, x.endedAt, x.expected = e.revision, e.time, e.versionRevision; e.role == indefinite {
				x.endedAt = never
			}
			if !e.containsAny(isDelete) {
				t.byValue = append(t.byValue, len(t.writes))
			}
			t.writes = append(t.writes, x)
		}
	}
	slices.SortStableFunc(t.byValue, func(a, b int) int { return cmp.Compare(t.writes[a].value, t.writes[b].value) })
}

// findWriters finds the write whose value each read returned. A read may also return data from
// before the history. findWriters recognizes such data by its revision or, if the first revision of
// the history is unknown, by the time of the read. The value is no evidence, because an earlier run
// may have written the same values.
func (k *keyChecker) findWriters() {
	t := &k.timed
	for i := range t.reads {
		r := &t.reads[i]
		if r.readFrom = noVersion; r.value == history.Absent {
			if r.role == watchEvent {
				k.checkDeletionByTime(r)
			}
			continue
		}
		if r.readFrom = unknownVersion; r.containsAny(keyExists) {
			continue
		}
		r.readFrom = beforeHistory
		if k.baseKnown && r.mod > 0 && r.mod <= k.base {
			continue
		}
		if r.role == watchEvent && r.value == history.UnknownValue && k.baseKnown && k.timed.puts.latestEnd(r.endedAt, k.timed.writes) < 0 {
			k.add(finding{kind: UnwrittenValue, guarantee: history.AtMostOnce, operationCount: 1, ords: [3]uint32{r.ord}, revision: r.mod})
		}
		w := k.writerOf(r)
		switch {
		case w >= 0 && (k.baseKnown || r.endedAt >= t.writes[w].startedAt):
			r.readFrom = w
			k.compareWithWriter(r)
		case w < 0 && k.baseKnown && r.mod > 0 && r.value != history.UnknownValue:
			r.readFrom = noSource
			k.add(finding{kind: UnwrittenValue, guarantee: history.AtMostOnce, operationCount: 1, ords: [3]uint32{r.ord}, revision: r.mod})
		}
	}
}

// writerOf returns the index of the write whose value a read returned, or -1 if there is none.
func (k *keyChecker) writerOf(r *timed) int {
	t := &k.timed
	i := sort.Search(len(t.byValue), func(i int) bool { return t.writes[t.byValue[i]].value >= r.value })
	if i == len(t.byValue) || t.writes[t.byValue[i]].value != r.value {
		return -1
	}
	return t.byValue[i]
}

// compareWithWriter compares a read with the write whose value the read returned.
func (k *keyChecker) compareWithWriter(r *timed) {
	w := &k.timed.writes[r.readFrom]
	f := finding{operationCount: 2, guarantee: history.AtMostOnce, ords: [3]uint32{w.ord, r.ord}, revision: r.mod}
	switch {
	case w.role == notExecuted:
		f.kind = RefusedWriteExecuted
	case r.endedAt < w.startedAt:
		f.kind = UnwrittenValue
	case k.baseKnown && w.mod > 0 && r.mod > 0 && r.mod != w.mod:
		f.kind = WriteAppliedTwice
	}
	if f.kind != "" {
		k.add(f)
	}
	if w.role == indefinite && !w.seen {
		k.resolved++
	}
	if w.seen = true; w.mod == 0 && k.baseKnown {
		w.mod = r.mod
	}
}

// checkOneValuePerRevision checks that no revision of the key has two different values.
func (k *keyChecker) checkOneValuePerRevision() {
	t := &k.timed
	t.shownVersions = t.shownVersions[:0]
	for i := range t.reads {
		if r := &t.reads[i]; r.mod > 0 && r.value != history.UnknownValue {
			t.shownVersions = append(t.shownVersions, shownVersion{rev: r.mod, value: r.value, ord: r.ord})
		}
	}
	slices.SortFunc(t.shownVersions, func(a, b shownVersion) int { return cmp.Or(cmp.Compare(a.rev, b.rev), cmp.Compare(a.ord, b.ord)) })
	for i := 1; i < len(t.shownVersions); i++ {
		if a, b := &t.shownVersions[i-1], &t.shownVersions[i]; a.rev == b.rev && a.value != b.value {
			k.add(finding{kind: TwoValuesAtRevision, guarantee: history.Snapshot, operationCount: 2, ords: [3]uint32{a.ord, b.ord}, revision: a.rev})
		}
	}
}

// checkRevisionOrder checks pairs of writes in which one write ended before the other began. The
// earlier write must have the lower revision. The revisions come from the reads that returned the
// versions.
func (k *keyChecker) checkRevisionOrder() {
	t := &k.timed
	t.acked = t.acked[:0]
	for i := range t.writes {
		if t.writes[i].mod > 0 {
			t.acked = append(t.acked, i)
		}
	}
	slices.SortStableFunc(t.acked, func(a, b int) int { return cmp.Compare(t.writes[a].mod, t.writes[b].mod) })
	last := -1 // among the writes with lower revisions: index of the write that began last
	for _, i := range t.acked {
		w := &t.writes[i]
		if last >= 0 && w.endedAt < t.writes[last].startedAt {
			low := &t.writes[last]
			k.add(finding{
				kind: ReorderedWrite, guarantee: history.RevisionOrder, operationCount: 2, ords: [3]uint32{w.ord, low.ord}, revision: w.mod,
				state: fmt.Sprintf("The first of these writes had ended before the second began, but reads return the first at revision %d and the second at revision %d.", w.mod, low.mod),
			})
		}
		if last < 0 || w.startedAt > t.writes[last].startedAt {
			last = i
		}
	}
}

// indexWrites orders the writes that may have been executed by their start times. It creates one
// index for deletes and one for other writes.
func (k *keyChecker) indexWrites() {
	t := &k.timed
	t.deletes.writes, t.puts.writes = t.deletes.writes[:0], t.puts.writes[:0]
	for i := range t.writes {
		of := &t.puts
		switch w := &t.writes[i]; {
		case w.role == notExecuted:
			continue
		case w.containsAny(isDelete):
			of = &t.deletes
		}
		of.writes = append(of.writes, i)
	}
	t.deletes.sort(t.writes)
	t.puts.sort(t.writes)
}

// indexEnds orders the acknowledged writes by their end times.
func (k *keyChecker) indexEnds() {
	t := &k.timed
	t.acked, t.latest, t.latestPut, t.latestDelete = t.acked[:0], t.latest[:0], t.latestPut[:0], t.latestDelete[:0]
	for i := range t.writes {
		if t.writes[i].role == wrote {
			t.acked = append(t.acked, i)
		}
	}
	slices.SortStableFunc(t.acked, func(a, b int) int { return cmp.Compare(t.writes[a].endedAt, t.writes[b].endedAt) })
	last, put, remove := -1, -1, -1
	later := func(i, other int) bool { return other < 0 || t.writes[i].startedAt > t.writes[other].startedAt }
	for _, i := range t.acked {
		if later(i, last) {
			last = i
		}
		switch {
		case t.writes[i].containsAny(isDelete) && later(i, remove):
			remove = i
		case !t.writes[i].containsAny(isDelete) && later(i, put):
			put = i
		}
		t.latest, t.latestPut, t.latestDelete = append(t.latest, last), append(t.latestPut, put), append(t.latestDelete, remove)
	}
}

// checkReadByTime checks that a read did not return an old version. The version is old if another
// write began after the version had been written, and ended before the read began.
func (k *keyChecker) checkReadByTime(r *timed) {
	t := &k.timed
	if r.readFrom == noSource || r.role != read || r.value == history.UnknownValue && r.mod == 0 && !r.containsAny(keyExists) {
		return
	}
	if r.flags&(isStrong|isFinal) == 0 {
		k.measureStalenessByTime(r)
		return
	}
	n := t.endedBefore(r.startedAt)
	if n == 0 {
		return
	}
	was := k.visibleUntil(r)
	between := t.latest[n-1]
	switch r.readFrom {
	case noVersion:
		between = t.latestPut[n-1]
	case unknownVersion:
		between = t.latestDelete[n-1]
	}
	if between < 0 || t.writes[between].startedAt <= was {
		return
	}
	w := &t.writes[between]
	f := finding{kind: StaleRead, guarantee: history.Linearizable, operationCount: 2, ords: [3]uint32{w.ord, r.ord}, state: w.stateInTime()}
	switch {
	case w.containsAny(isDelete) && r.containsAny(isFinal):
		f.kind, f.guarantee = ResurrectedWrite, history.Durable
	case !w.containsAny(isDelete) && (r.containsAny(isFinal) || !w.seen):
		f.kind, f.guarantee = LostWrite, history.Durable
	}
	if r.readFrom >= 0 {
		f.operationCount, f.ords = 3, [3]uint32{t.writes[r.readFrom].ord, w.ord, r.ord}
	}
	k.add(f)
}

// visibleUntil returns a time at which the version that a read returned had certainly been written.
// A write that began after this time comes after the version in every valid order.
func (k *keyChecker) visibleUntil(r *timed) int64 {
	t := &k.timed
	switch {
	case r.readFrom >= 0:
		return t.writes[r.readFrom].endedAt
	case r.readFrom == beforeHistory:
		return -1
	case r.readFrom == unknownVersion:
		return t.puts.latestEnd(r.endedAt, t.writes)
	}
	return t.deletes.latestEnd(r.endedAt, t.writes)
}

// measureStalenessByTime measures how stale a read was. It counts the writes that began after the
// returned version had been written and that ended before the read began, and measures the time
// since the first of these writes ended.
func (k *keyChecker) measureStalenessByTime(r *timed) {
	t := &k.timed
	of := k.staleReads.get(r.containsAny(isLease), k.members[r.member])
	of.reads++
	was, since, behind := k.visibleUntil(r), r.startedAt, int64(0)
	for i := t.endedBefore(r.startedAt) - 1; i >= 0 && behind < maxNewerVersions; i-- {
		w := &t.writes[t.acked[i]]
		if w.endedAt <= was {
			break
		}
		if w.startedAt > was && (r.readFrom != noVersion || !w.containsAny(isDelete)) && (r.readFrom != unknownVersion || w.containsAny(isDelete)) {
			behind++
			since = w.endedAt
		}
	}
	if behind > 0 {
		of.recordLag(behind, r.startedAt-since)
	}
}

// maxNewerVersions is the maximum number of newer versions that measureStalenessByTime counts for a
// stale read.
const maxNewerVersions = 1 << 12

// checkCASByTime checks two rules for compare-and-sets. Two of them must not succeed on the same
// version. A compare-and-set must not succeed on a version that another write had already replaced.
// The revision of such a write is between the revision of the version and the revision of the
// compare-and-set.
func (k *keyChecker) checkCASByTime() {
	t := &k.timed
	t.acked, t.latest = t.acked[:0], t.latest[:0] // here, the field acked is ordered by expected revision, and the field latest by revision
	for i := range t.writes {
		w := &t.writes[i]
		if w.role == wrote && w.containsAny(isCAS) && w.expected > 0 {
			t.acked = append(t.acked, i)
		}
		if w.mod > 0 {
			t.latest = append(t.latest, i)
		}
	}
	slices.SortStableFunc(t.acked, func(a, b int) int { return cmp.Compare(t.writes[a].expected, t.writes[b].expected) })
	slices.SortStableFunc(t.latest, func(a, b int) int { return cmp.Compare(t.writes[a].mod, t.writes[b].mod) })
	for n, i := range t.acked {
		w := &t.writes[i]
		f := finding{kind: CASOnWrongVersion, guarantee: history.CompareAndSet, operationCount: 2, ords: [3]uint32{0, w.ord}}
		if n > 0 && t.writes[t.acked[n-1]].expected == w.expected {
			f.ords[0] = t.writes[t.acked[n-1]].ord
			f.state = fmt.Sprintf("another compare-and-set had succeeded on revision %d", w.expected)
		} else if at := sort.Search(len(t.latest), func(i int) bool { return t.writes[t.latest[i]].mod >= w.mod }); w.mod > 0 && at > 0 {
			if x := &t.writes[t.latest[at-1]]; x.mod > w.expected {
				f.ords[0] = x.ord
				f.state = fmt.Sprintf("the key had value #%d of revision %d", x.value, x.mod)
			}
		}
		if f.state != "" {
			k.add(f)
		}
	}
}

// checkDeletionByTime checks a watch event that reports the deletion of the key at a revision. The
// event is wrong if the key existed and no delete of the key had begun. The key certainly existed
// in two cases: a response showed a version that was written during the load, at or below that
// revision, or the history records that the key existed before the load. If only a read showed a
// version from before the load, that version is no evidence, because it may have been deleted
// without a record.
func (k *keyChecker) checkDeletionByTime(r *timed) {
	t := &k.timed
	if !k.baseKnown || r.answer <= k.base || t.deletes.latestEnd(r.endedAt, t.writes) >= 0 {
		return
	}
	f := finding{kind: LostWrite, guarantee: history.Snapshot, operationCount: 2, ords: [3]uint32{0, r.ord}, revision: r.answer}
	for i := range t.reads {
		if x := &t.reads[i]; x.mod > k.base && x.mod <= r.answer {
			f.ords[0], f.state = x.ord, fmt.Sprintf("revision %d the key had the version of revision %d, and no delete had begun", r.answer, x.mod)
			k.add(f)
			return
		}
	}
	for i := range t.writes {
		if w := &t.writes[i]; w.role == wrote && w.endedAt == 0 && !w.containsAny(isDelete) {
			f.ords[0], f.state = w.ord, fmt.Sprintf("revision %d the key had existed since before the load, and no delete had begun", r.answer)
			k.add(f)
			return
		}
	}
}
