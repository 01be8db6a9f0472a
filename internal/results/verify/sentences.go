package verify

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/text"
)

// explanation states why the operation `wrong` violates a guarantee. countsWrites has the meaning
// of history.Header.VersionsCountWrites.
func (f *finding) explanation(wrong *history.Op, countsWrites bool) string {
	noun := conditionOf(countsWrites)
	who := fmt.Sprintf("client %d's %s", wrong.Session, wrong.Kind)
	Who := fmt.Sprintf("Client %d's %s", wrong.Session, wrong.Kind)
	if wrong.Kind == kv.Watch {
		if reason := f.ofWatcher(wrong); reason != "" {
			return reason
		}
		who = fmt.Sprintf("watcher %d's event", wrong.Session)
		Who = fmt.Sprintf("Watcher %d's event", wrong.Session)
	}
	switch f.kind {
	case EarlyLeaseEnd:
		return fmt.Sprintf("Lease %x ended before its renewed time to live had passed.", wrong.Written)
	case TwoLockHolders:
		return fmt.Sprintf("Client %d acquired the lock before the holder with fencing token %d had released it.", wrong.Session, f.revision)
	case TokenDecreased:
		return fmt.Sprintf("Client %d acquired the lock with fencing token %d, but another client had already acquired the lock with token %d. A later token must be higher.", wrong.Session, wrong.ModRevision, f.revision)
	case MembersDisagree:
		return f.state
	case WrongResponse:
		return Who + " received a response that does not match the request: the response contains another key, contains a value that was never written or was already replaced, or violates the protocol."
	case ReorderedWrite:
		if f.state != "" {
			return f.state
		}
		return fmt.Sprintf("The store had returned revision %d before %s began, but that operation received revision %d, which is not higher.", f.revision, who, wrong.Revision)
	case DuplicateRevision:
		return fmt.Sprintf("Two writes have the same revision, %d.", f.revision)
	case RevisionDecreased:
		return fmt.Sprintf("Client %d was served at revision %d, and afterwards at the lower revision %d.", wrong.Session, f.revision, wrong.Revision)
	case TwoValuesAtRevision:
		return fmt.Sprintf("The key has two values at revision %d.", f.revision)
	case WriteAppliedTwice:
		return fmt.Sprintf("One write took effect at two revisions; the second is %d.", f.revision)
	case UnwrittenValue:
		return fmt.Sprintf("No write in the history explains the version at revision %d.", f.revision)
	case RefusedWriteExecuted:
		return fmt.Sprintf("The store had refused this write, but it took effect at revision %d.", f.revision)
	case ReadOfFutureVersion:
		return fmt.Sprintf("%s was served at revision %d, but returned a version of revision %d.", Who, wrong.Revision, f.revision)
	case UnjustifiedConflict:
		return fmt.Sprintf("%s expected %s %d. The key met this condition, but the store reported a conflict.", Who, noun, wrong.Expected)
	case CASOnWrongVersion:
		return fmt.Sprintf("%s expected %s %d and succeeded%s; before that, %s.", Who, noun, wrong.Expected, atRevision(wrong.Revision), f.state)
	case NoValidOrder:
		return "No order of the operations on this key explains the last of these responses" + f.state + "."
	}
	return fmt.Sprintf("When %s was served%s, %s.", who, atRevision(wrong.Revision), f.state)
}

// ofWatcher explains a violation of a guarantee for watches. It returns an empty string for
// violations of other guarantees.
func (f *finding) ofWatcher(wrong *history.Op) string {
	switch f.kind {
	case MissingEvent:
		received := "received later events"
		if wrong.Watch == history.ProgressReached {
			received = fmt.Sprintf("was notified that it had received all events up to revision %d", wrong.ModRevision)
		}
		return fmt.Sprintf("Watcher %d %s, but it never received revision %d of key %d.", wrong.Session, received, f.revision, f.key)
	case DuplicateEvent:
		return fmt.Sprintf("Watcher %d received revision %d of the key twice.", wrong.Session, f.revision)
	case ReorderedEvent:
		return fmt.Sprintf("Watcher %d received revision %d after a later revision.", wrong.Session, f.revision)
	case SplitEvent:
		return fmt.Sprintf("Watcher %d received revision %d in two messages.", wrong.Session, f.revision)
	case EventOfWrongKey:
		return fmt.Sprintf("Watcher %d received an event at revision %d for a key that it does not watch.", wrong.Session, f.revision)
	case WrongWatchProgress:
		return fmt.Sprintf("Watcher %d was notified that it had received all events up to revision %d, but afterwards it received an event of revision %d.", wrong.Session, f.revision, wrong.ModRevision)
	case LostWrite:
		return fmt.Sprintf("Watcher %d was notified that key %d is deleted, but at %s.", wrong.Session, f.key, f.state)
	case WrongPreviousValue:
		return fmt.Sprintf("Before revision %d, %s.", f.revision, f.state)
	}
	return ""
}

// atRevision returns the words " at revision N", or an empty string if the revision is unknown.
func atRevision(revision int64) string {
	if revision == 0 {
		return ""
	}
	return fmt.Sprintf(" at revision %d", revision)
}

// byMember returns the words ", by member N" for the member that served an operation, or an empty
// string if the member is unknown.
func byMember(o *history.Op) string {
	if o.Member == 0 {
		return ""
	}
	return fmt.Sprintf(", by member %x", o.Member)
}

// conditionOf returns the word for the number that a compare-and-set compares. countsWrites has the
// meaning of history.Header.VersionsCountWrites.
func conditionOf(countsWrites bool) string {
	if countsWrites {
		return "version"
	}
	return "revision"
}

// describe returns a sentence that describes an operation with its times, and a label that
// describes it in a few words. countsWrites has the meaning of history.Header.VersionsCountWrites.
func describe(o *history.Op, countsWrites bool) (sentence, label string) {
	subject := fmt.Sprintf("Client %d, %s to %s: ", o.Session, clock(o.Invoked), clock(o.Done))
	switch o.Kind {
	case kv.Ephemeral:
		sentence, label = fmt.Sprintf("closed the session of key %d%s: done%s", o.Key, ofRevision(o.ModRevision), atRevision(o.Revision)), "session's end"
	case kv.Watch:
		subject = fmt.Sprintf("Watcher %d, %s: ", o.Session, clock(o.Done))
		sentence, label = describeWatch(o)
	case kv.KeepAlive:
		sentence, label = describeKeepAlive(o)
	default:
		request, shortRequest := describeRequest(o, countsWrites)
		outcome, shortOutcome := describeOutcome(o)
		sentence, label = request+outcome+atRevision(o.Revision), shortRequest+shortOutcome
	}
	return subject + sentence + byMember(o) + ".", label
}

// describeKeepAlive describes a keep-alive, or an acquisition or release of a lock.
func describeKeepAlive(o *history.Op) (sentence, label string) {
	switch o.LockChange {
	case history.Granted:
		return fmt.Sprintf("requested lock %d with lease %x and acquired it with fencing token %d", o.Key, o.Written, o.ModRevision), fmt.Sprintf("lock: token %d", o.ModRevision)
	case history.Released:
		return fmt.Sprintf("released lock %d with fencing token %d", o.Key, o.ModRevision), "unlock"
	}
	sentence, label = fmt.Sprintf("keep-alive of lease %x: ", o.Written), "keep-alive: "
	switch {
	case o.Outcome == kv.OK:
		return sentence + fmt.Sprintf("renewed for %d s", o.ModRevision), label + fmt.Sprintf("%d s", o.ModRevision)
	case o.Outcome == kv.BadRequest && o.Revision > 0:
		return sentence + "expired or revoked", label + "expired"
	case o.Outcome == kv.WrongResponse:
		return sentence + "the response was wrong", label + "?"
	}
	return sentence + "no response (" + o.Outcome.String() + ")", label + "?"
}

// describeWatch describes a message that a watcher received.
func describeWatch(o *history.Op) (sentence, label string) {
	switch o.Watch {
	case history.WatchStarted:
		if o.Outcome == kv.Miss {
			return fmt.Sprintf("was notified that key %d was deleted%s; the revision of the delete is unknown", o.Key, atRevision(o.Revision)), "watch"
		}
		return fmt.Sprintf("created, starting at key %d", o.Key), "watch"
	case history.ProgressReached:
		return fmt.Sprintf("was notified that it had received all events up to revision %d", o.ModRevision), fmt.Sprintf("complete up to %d", o.ModRevision)
	case history.WatchEnded:
		return fmt.Sprintf("ended by the store (%s)", o.Outcome), "watch: ended"
	}
	key := fmt.Sprintf("key %d", o.Key)
	if o.Outcome == kv.WrongResponse {
		key = "a key outside the load"
	}
	switch o.Read {
	case history.Absent:
		sentence, label = key+" was deleted", "event: deleted"
	case history.UnknownValue:
		sentence, label = key+" was written", "event"
	default:
		sentence, label = fmt.Sprintf("%s got value #%d", key, o.Read), fmt.Sprintf("event: #%d", o.Read)
	}
	if o.Outcome == kv.WrongResponse {
		label = "event: another key"
	}
	if sentence += atRevision(o.ModRevision); o.Expected > 0 {
		sentence += ", replacing the version" + ofRevision(o.Expected)
	}
	return sentence, label
}

// describeRequest describes the request of an operation on keys.
func describeRequest(o *history.Op, countsWrites bool) (sentence, label string) {
	sentence, label = o.Kind.String(), o.Kind.String()
	if o.Consistency != kv.NoConsistency {
		sentence = o.Consistency.String() + " " + sentence
	}
	if sentence += " of"; !o.Kind.HasOneKey() {
		sentence += " several keys, including"
	}
	sentence += fmt.Sprintf(" key %d", o.Key)
	if o.Written != history.Absent {
		sentence += fmt.Sprintf(", writing value #%d", o.Written)
		label += fmt.Sprintf(" #%d", o.Written)
	}
	if isConditional(o) {
		sentence += fmt.Sprintf(" if its %s is %d", conditionOf(countsWrites), o.Expected)
		label += fmt.Sprintf(" if %d", o.Expected)
	}
	return sentence, label
}

// describeOutcome describes the outcome of an operation on keys.
func describeOutcome(o *history.Op) (sentence, label string) {
	switch {
	case o.Outcome == kv.WrongResponse:
		return ": the response was wrong", ": wrong response"
	case !o.HasStoreData() && o.Outcome.Definite():
		return ": refused (" + o.Outcome.String() + ")", ": refused"
	case !o.HasStoreData():
		return ": outcome unknown (" + o.Outcome.String() + ")", ": ?"
	case showsState(o) && o.Read == history.Absent:
		return ": no such key", ": no key"
	case showsState(o) && o.Read == history.UnknownValue:
		return ": exists" + ofRevision(o.ModRevision), ": exists"
	case showsState(o):
		return fmt.Sprintf(": value #%d", o.Read) + ofRevision(o.ModRevision), fmt.Sprintf(": #%d", o.Read)
	case o.Outcome == kv.Conflict && o.ModRevision > 0:
		return ": conflict, the key had the version" + ofRevision(o.ModRevision), ": conflict"
	case o.Outcome == kv.Conflict:
		return ": conflict", ": conflict"
	case o.Outcome == kv.Miss:
		return ": no key to delete", ""
	}
	return ": done", ""
}

// ofRevision returns the words " of revision N" for a version, or an empty string if the revision
// is unknown.
func ofRevision(mod int64) string {
	if mod == 0 {
		return ""
	}
	return fmt.Sprintf(" of revision %d", mod)
}

// clock formats a time in the history.
func clock(ns int64) string {
	return text.FixedSeconds(time.Duration(ns).Seconds(), 6)
}
