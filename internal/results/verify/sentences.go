package verify

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/text"
)

// explanation states why the operation `wrong` violates a guarantee. countsWrites has the meaning of
// history.Header.VersionsCountWrites.
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

// describeKeepAlive describes a keep-alive, or an acquisition or release of a lock.
func describeKeepAlive(o *history.Op) string {
	switch o.LockChange {
	case history.Granted:
		return fmt.Sprintf("Client %d, %s to %s: requested lock %d with lease %x and acquired it with fencing token %d%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, o.Written, o.ModRevision, byMember(o))
	case history.Released:
		return fmt.Sprintf("Client %d, %s to %s: released lock %d with fencing token %d%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, o.ModRevision, byMember(o))
	}
	out := fmt.Sprintf("Client %d, %s to %s: keep-alive of lease %x: ", o.Session, clock(o.Invoked), clock(o.Done), o.Written)
	switch {
	case o.Outcome == kv.OK:
		out += fmt.Sprintf("renewed for %d s", o.ModRevision)
	case o.Outcome == kv.BadRequest && o.Revision > 0:
		out += "expired or revoked"
	case o.Outcome == kv.WrongResponse:
		out += "the response was wrong"
	default:
		out += "no response (" + o.Outcome.String() + ")"
	}
	return out + byMember(o) + "."
}

// describeWatch describes a message that a watcher received.
func describeWatch(o *history.Op) string {
	out := fmt.Sprintf("Watcher %d, %s: ", o.Session, clock(o.Done))
	switch o.Watch {
	case history.WatchStarted:
		out += fmt.Sprintf("created, starting at key %d", o.Key)
		if o.Outcome == kv.Miss {
			out = fmt.Sprintf("Watcher %d, %s: was notified that key %d is deleted%s, without the revision of the delete", o.Session, clock(o.Done), o.Key, atRevision(o.Revision))
		}
	case history.ProgressReached:
		out += fmt.Sprintf("received all events up to revision %d", o.ModRevision)
	case history.WatchEnded:
		out += fmt.Sprintf("ended by the store (%s)", o.Outcome)
	default:
		key := fmt.Sprintf("key %d", o.Key)
		if o.Outcome == kv.WrongResponse {
			key = "a key outside the load"
		}
		switch o.Read {
		case history.Absent:
			out += key + " was deleted"
		case history.UnknownValue:
			out += key + " was written"
		default:
			out += fmt.Sprintf("%s got value #%d", key, o.Read)
		}
		if out += atRevision(o.ModRevision); o.Expected > 0 {
			out += ", replacing the version" + ofRevision(o.Expected)
		}
	}
	return out + byMember(o) + "."
}

// conditionOf returns the word for the number that a compare-and-set compares. countsWrites has the
// meaning of history.Header.VersionsCountWrites.
func conditionOf(countsWrites bool) string {
	if countsWrites {
		return "version"
	}
	return "revision"
}

// Sentence describes an operation with its times. countsWrites has the meaning of
// history.Header.VersionsCountWrites.
func Sentence(o *history.Op, countsWrites bool) string {
	switch o.Kind {
	case kv.Ephemeral:
		return fmt.Sprintf("Client %d, %s to %s: closed the session of key %d%s: done%s%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, ofRevision(o.ModRevision), atRevision(o.Revision), byMember(o))
	case kv.Watch:
		return describeWatch(o)
	case kv.KeepAlive:
		return describeKeepAlive(o)
	}
	what := o.Kind.String()
	if o.Consistency != kv.NoConsistency {
		what = o.Consistency.String() + " " + what
	}
	if what += " of"; !o.Kind.HasOneKey() {
		what += " several keys, including"
	}
	out := fmt.Sprintf("Client %d, %s to %s: %s key %d", o.Session, clock(o.Invoked), clock(o.Done), what, o.Key)
	if o.Written != history.Absent {
		out += fmt.Sprintf(", writing value #%d", o.Written)
	}
	if isConditional(o) {
		out += fmt.Sprintf(" if its %s is %d", conditionOf(countsWrites), o.Expected)
	}
	switch {
	case o.Outcome == kv.WrongResponse:
		out += ": the response was wrong"
	case !o.HasStoreData() && o.Outcome.Definite():
		out += ": refused (" + o.Outcome.String() + ")"
	case !o.HasStoreData():
		out += ": outcome unknown (" + o.Outcome.String() + ")"
	case showsState(o) && o.Read == history.Absent:
		out += ": no such key"
	case showsState(o) && o.Read == history.UnknownValue:
		out += ": exists" + ofRevision(o.ModRevision)
	case showsState(o):
		out += fmt.Sprintf(": value #%d", o.Read) + ofRevision(o.ModRevision)
	case o.Outcome == kv.Conflict:
		out += ": conflict"
		if o.ModRevision > 0 {
			out += ", the key had the version" + ofRevision(o.ModRevision)
		}
	case o.Outcome == kv.Miss:
		out += ": no key to delete"
	default:
		out += ": done"
	}
	out += atRevision(o.Revision)
	return out + byMember(o) + "."
}

// Label describes an operation in a few words.
func Label(o *history.Op) string {
	switch o.Kind {
	case kv.Ephemeral:
		return "session's end"
	case kv.Watch:
		return labelOfWatch(o)
	case kv.KeepAlive:
		return labelOfKeepAlive(o)
	}
	out := o.Kind.String()
	if o.Written != history.Absent {
		out += fmt.Sprintf(" #%d", o.Written)
	}
	if isConditional(o) {
		out += fmt.Sprintf(" if %d", o.Expected)
	}
	switch {
	case o.Outcome == kv.WrongResponse:
		return out + ": wrong response"
	case !o.HasStoreData() && o.Outcome.Definite():
		return out + ": refused"
	case !o.HasStoreData():
		return out + ": ?"
	case showsState(o) && o.Read == history.Absent:
		return out + ": no key"
	case showsState(o) && o.Read == history.UnknownValue:
		return out + ": exists"
	case showsState(o):
		return out + fmt.Sprintf(": #%d", o.Read)
	case o.Outcome == kv.Conflict:
		return out + ": conflict"
	}
	return out
}

// labelOfWatch describes, in a few words, a message that a watcher received.
func labelOfWatch(o *history.Op) string {
	switch {
	case o.Watch == history.WatchStarted:
		return "watch"
	case o.Watch == history.ProgressReached:
		return fmt.Sprintf("complete up to %d", o.ModRevision)
	case o.Watch == history.WatchEnded:
		return "watch: ended"
	case o.Outcome == kv.WrongResponse:
		return "event: another key"
	case o.Read == history.Absent:
		return "event: deleted"
	case o.Read == history.UnknownValue:
		return "event"
	}
	return fmt.Sprintf("event: #%d", o.Read)
}

// labelOfKeepAlive describes a keep-alive or a lock operation in a few words.
func labelOfKeepAlive(o *history.Op) string {
	switch {
	case o.LockChange == history.Granted:
		return fmt.Sprintf("lock: token %d", o.ModRevision)
	case o.LockChange == history.Released:
		return "unlock"
	case o.Outcome == kv.OK:
		return fmt.Sprintf("keep-alive: %d s", o.ModRevision)
	case o.Outcome == kv.BadRequest && o.Revision > 0:
		return "keep-alive: expired"
	}
	return "keep-alive: ?"
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
