package verify

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// text describes a violation: one line for each operation, and a line that explains the violation.
func (f *finding) text(ops []history.Op, wrong *history.Op, counted bool) (out string) {
	for i := range ops {
		out += Sentence(&ops[i], counted) + "\n"
	}
	noun := conditionOf(counted)
	who := fmt.Sprintf("client %d's %s", wrong.Session, wrong.Kind)
	Who := fmt.Sprintf("Client %d's %s", wrong.Session, wrong.Kind)
	if wrong.Kind == kv.Watch {
		if why := f.ofWatcher(wrong); why != "" {
			return out + why
		}
		who = fmt.Sprintf("watcher %d's event", wrong.Session)
		Who = fmt.Sprintf("Watcher %d's event", wrong.Session)
	}
	switch f.kind {
	case EarlyEnd:
		out += fmt.Sprintf("Lease %x ended before its renewed time to live had passed.", wrong.Written)
	case HeldTwice:
		out += fmt.Sprintf("Client %d acquired the lock before the holder with fencing token %d had released it.", wrong.Session, f.revision)
	case TokenBack:
		out += fmt.Sprintf("Client %d acquired the lock with fencing token %d, but another client had already acquired the lock with token %d. A later token must be higher.", wrong.Session, wrong.Mod, f.revision)
	case Disagreement:
		out += f.state
	case WrongResponse:
		out += Who + " received a response that does not match the request: the response contains another key, contains a value that was never written or was already replaced, or violates the protocol."
	case Reordered:
		if f.state != "" {
			return out + f.state
		}
		out += fmt.Sprintf("The store had returned revision %d before %s began, but that operation received revision %d, which is not higher.", f.revision, who, wrong.At)
	case SameRevision:
		out += fmt.Sprintf("Two writes have the same revision, %d.", f.revision)
	case Backwards:
		out += fmt.Sprintf("Client %d was served at revision %d, and afterwards at the lower revision %d.", wrong.Session, f.revision, wrong.At)
	case OtherValue:
		out += fmt.Sprintf("The key has two values at revision %d.", f.revision)
	case AppliedTwice:
		out += fmt.Sprintf("One write took effect at two revisions; the second is %d.", f.revision)
	case Invented:
		out += fmt.Sprintf("No write in the history explains the version at revision %d.", f.revision)
	case RefusedThere:
		out += fmt.Sprintf("The store had refused this write, but it took effect at revision %d.", f.revision)
	case Future:
		out += fmt.Sprintf("%s was served at revision %d, but returned a version of revision %d.", Who, wrong.At, f.revision)
	case WrongConflict:
		out += fmt.Sprintf("%s expected %s %d. The key met this condition, but the store reported a conflict.", Who, noun, wrong.Expected)
	case WrongCAS:
		out += fmt.Sprintf("%s expected %s %d and succeeded%s; before that, %s.", Who, noun, wrong.Expected, atRevision(wrong.At), f.state)
	case NoOrder:
		out += "No order of the operations on this key explains the last of these responses" + f.state + "."
	default:
		out += fmt.Sprintf("When %s was served%s, %s.", who, atRevision(wrong.At), f.state)
	}
	return out
}

// ofWatcher explains a violation of a guarantee for watches. It returns an empty string for
// violations of other guarantees.
func (f *finding) ofWatcher(wrong *history.Op) string {
	switch f.kind {
	case EventLost:
		received := "received later events"
		if wrong.Watch == history.Reached {
			received = fmt.Sprintf("was notified that it had received all events up to revision %d", wrong.Mod)
		}
		return fmt.Sprintf("Watcher %d %s, but it never received revision %d of key %d.", wrong.Session, received, f.revision, f.key)
	case EventTwice:
		return fmt.Sprintf("Watcher %d received revision %d of the key twice.", wrong.Session, f.revision)
	case EventLate:
		return fmt.Sprintf("Watcher %d received revision %d after a later revision.", wrong.Session, f.revision)
	case EventSplit:
		return fmt.Sprintf("Watcher %d received revision %d in two messages.", wrong.Session, f.revision)
	case OtherKey:
		return fmt.Sprintf("Watcher %d received an event at revision %d for a key that it does not watch.", wrong.Session, f.revision)
	case Untrue:
		return fmt.Sprintf("Watcher %d was notified that it had received all events up to revision %d, but afterwards it received an event of revision %d.", wrong.Session, f.revision, wrong.Mod)
	case LostWrite:
		return fmt.Sprintf("Watcher %d was notified that key %d is deleted, but at %s.", wrong.Session, f.key, f.state)
	case WrongBefore:
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
	switch o.Lock {
	case history.Granted:
		return fmt.Sprintf("Client %d, %s to %s: requested lock %d with lease %x and acquired it with fencing token %d%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, o.Written, o.Mod, byMember(o))
	case history.Released:
		return fmt.Sprintf("Client %d, %s to %s: released lock %d with fencing token %d%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, o.Mod, byMember(o))
	}
	out := fmt.Sprintf("Client %d, %s to %s: keep-alive of lease %x: ", o.Session, clock(o.Invoked), clock(o.Done), o.Written)
	switch {
	case o.Outcome == kv.OK:
		out += fmt.Sprintf("renewed for %d s", o.Mod)
	case o.Outcome == kv.BadRequest && o.At > 0:
		out += "expired or revoked"
	case o.Outcome == kv.WrongAnswer:
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
	case history.Began:
		out += fmt.Sprintf("created, starting at key %d", o.Key)
		if o.Outcome == kv.Miss {
			out = fmt.Sprintf("Watcher %d, %s: was notified that key %d is deleted%s, without the revision of the delete", o.Session, clock(o.Done), o.Key, atRevision(o.At))
		}
	case history.Reached:
		out += fmt.Sprintf("received all events up to revision %d", o.Mod)
	case history.Ended:
		out += fmt.Sprintf("ended by the store (%s)", o.Outcome)
	default:
		key := fmt.Sprintf("key %d", o.Key)
		if o.Outcome == kv.WrongAnswer {
			key = "a key outside the load"
		}
		switch o.Read {
		case history.Absent:
			out += key + " was deleted"
		case history.Unseen:
			out += key + " was written"
		default:
			out += fmt.Sprintf("%s got value #%d", key, o.Read)
		}
		if out += atRevision(o.Mod); o.Expected > 0 {
			out += ", replacing the version" + ofRevision(o.Expected)
		}
	}
	return out + byMember(o) + "."
}

// conditionOf returns the word for the number that a compare-and-set compares. counted has the
// meaning of history.Header.Counted.
func conditionOf(counted bool) string {
	if counted {
		return "version"
	}
	return "revision"
}

// Sentence describes an operation with its times. counted has the meaning of
// history.Header.Counted.
func Sentence(o *history.Op, counted bool) string {
	switch o.Kind {
	case kv.Ephemeral:
		return fmt.Sprintf("Client %d, %s to %s: closed the session of key %d%s: done%s%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, ofRevision(o.Mod), atRevision(o.At), byMember(o))
	case kv.Watch:
		return describeWatch(o)
	case kv.KeepAlive:
		return describeKeepAlive(o)
	}
	what := o.Kind.String()
	if o.Consistency != kv.None {
		what = o.Consistency.String() + " " + what
	}
	if what += " of"; !o.Kind.HasOneKey() {
		what += " several keys, including"
	}
	out := fmt.Sprintf("Client %d, %s to %s: %s key %d", o.Session, clock(o.Invoked), clock(o.Done), what, o.Key)
	if o.Written != history.Absent {
		out += fmt.Sprintf(", writing value #%d", o.Written)
	}
	if compares(o) {
		out += fmt.Sprintf(" if its %s is %d", conditionOf(counted), o.Expected)
	}
	switch {
	case o.Outcome == kv.WrongAnswer:
		out += ": the response was wrong"
	case !o.Answered() && o.Outcome.Definite():
		out += ": refused (" + o.Outcome.String() + ")"
	case !o.Answered():
		out += ": outcome unknown (" + o.Outcome.String() + ")"
	case shows(o) && o.Read == history.Absent:
		out += ": no such key"
	case shows(o) && o.Read == history.Unseen:
		out += ": exists" + ofRevision(o.Mod)
	case shows(o):
		out += fmt.Sprintf(": value #%d", o.Read) + ofRevision(o.Mod)
	case o.Outcome == kv.Conflict:
		out += ": conflict"
		if o.Mod > 0 {
			out += ", the key had the version" + ofRevision(o.Mod)
		}
	case o.Outcome == kv.Miss:
		out += ": no key to delete"
	default:
		out += ": done"
	}
	out += atRevision(o.At)
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
	if compares(o) {
		out += fmt.Sprintf(" if %d", o.Expected)
	}
	switch {
	case o.Outcome == kv.WrongAnswer:
		return out + ": wrong response"
	case !o.Answered() && o.Outcome.Definite():
		return out + ": refused"
	case !o.Answered():
		return out + ": ?"
	case shows(o) && o.Read == history.Absent:
		return out + ": no key"
	case shows(o) && o.Read == history.Unseen:
		return out + ": exists"
	case shows(o):
		return out + fmt.Sprintf(": #%d", o.Read)
	case o.Outcome == kv.Conflict:
		return out + ": conflict"
	}
	return out
}

// labelOfWatch describes, in a few words, a message that a watcher received.
func labelOfWatch(o *history.Op) string {
	switch {
	case o.Watch == history.Began:
		return "watch"
	case o.Watch == history.Reached:
		return fmt.Sprintf("complete up to %d", o.Mod)
	case o.Watch == history.Ended:
		return "watch: ended"
	case o.Outcome == kv.WrongAnswer:
		return "event: another key"
	case o.Read == history.Absent:
		return "event: deleted"
	case o.Read == history.Unseen:
		return "event"
	}
	return fmt.Sprintf("event: #%d", o.Read)
}

// labelOfKeepAlive describes a keep-alive or a lock operation in a few words.
func labelOfKeepAlive(o *history.Op) string {
	switch {
	case o.Lock == history.Granted:
		return fmt.Sprintf("lock: token %d", o.Mod)
	case o.Lock == history.Released:
		return "unlock"
	case o.Outcome == kv.OK:
		return fmt.Sprintf("keep-alive: %d s", o.Mod)
	case o.Outcome == kv.BadRequest && o.At > 0:
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
	return fmt.Sprintf("%.6f s", time.Duration(ns).Seconds())
}
