package verify

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// text describes a violation.
func (f *finding) text(ops []history.Op, wrong *history.Op, counted bool) (out string) {
	for i := range ops {
		out += Sentence(&ops[i], counted) + "\n"
	}
	noun := asked(counted)
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
		out += fmt.Sprintf("Lease %x was gone within the time for which it had been kept alive.", wrong.Written)
	case HeldTwice:
		out += fmt.Sprintf("Client %d was told that the lock is its own before who had it with fencing token %d had given it back.", wrong.Session, f.revision)
	case TokenBack:
		out += fmt.Sprintf("Client %d got the lock with fencing token %d after another had got it with %d.", wrong.Session, wrong.Mod, f.revision)
	case Disagreement:
		out += f.state
	case WrongAnswer:
		out += Who + " got a response that does not fit its request: about another key, with a value that was never written to the key or had been replaced before, or ruled out by the store's protocol."
	case Reordered:
		if f.state != "" {
			return out + f.state
		}
		out += fmt.Sprintf("Revision %d had been served before %s began, which got revision %d, not a later one.", f.revision, who, wrong.At)
	case SameRevision:
		out += fmt.Sprintf("Two writes got one revision, %d.", f.revision)
	case Backwards:
		out += fmt.Sprintf("Client %d had been served at revision %d, and after that at revision %d.", wrong.Session, f.revision, wrong.At)
	case OtherValue:
		out += fmt.Sprintf("The key has two values at one revision, %d.", f.revision)
	case AppliedTwice:
		out += fmt.Sprintf("One write is there at two revisions, %d the second.", f.revision)
	case Invented:
		out += fmt.Sprintf("No write of the history can have made the version at revision %d.", f.revision)
	case RefusedThere:
		out += fmt.Sprintf("The store had refused that write, and it is there at revision %d.", f.revision)
	case Future:
		out += fmt.Sprintf("%s was served at revision %d and returned a version of revision %d.", Who, wrong.At, f.revision)
	case WrongConflict:
		out += fmt.Sprintf("%s asked for %s %d, which the key had, and was refused.", Who, noun, wrong.Expected)
	case WrongCAS:
		out += fmt.Sprintf("%s asked for %s %d and succeeded%s; before that, %s.", Who, noun, wrong.Expected, at(wrong.At), f.state)
	case NoOrder:
		out += "No order of the operations on this key explains the last of these answers" + f.state + "."
	default:
		out += fmt.Sprintf("When %s was served%s, %s.", who, at(wrong.At), f.state)
	}
	return out
}

// ofWatcher describes a violation of a guarantee of watches.
func (f *finding) ofWatcher(wrong *history.Op) string {
	switch f.kind {
	case EventLost:
		told := "was told of what came later"
		if wrong.Watch == history.Reached {
			told = fmt.Sprintf("was told that it has all up to revision %d", wrong.Mod)
		}
		return fmt.Sprintf("Watcher %d %s, and never of revision %d of key %d.", wrong.Session, told, f.revision, f.key)
	case EventTwice:
		return fmt.Sprintf("Watcher %d was told twice of revision %d of the key.", wrong.Session, f.revision)
	case EventLate:
		return fmt.Sprintf("Watcher %d was told of revision %d after a later one.", wrong.Session, f.revision)
	case EventSplit:
		return fmt.Sprintf("Watcher %d was told of revision %d in two messages.", wrong.Session, f.revision)
	case OtherKey:
		return fmt.Sprintf("Watcher %d was told at revision %d of a key that it does not watch.", wrong.Session, f.revision)
	case Untrue:
		return fmt.Sprintf("Watcher %d had been told that it has all up to revision %d, and was told of revision %d after that.", wrong.Session, f.revision, wrong.Mod)
	case LostWrite:
		return fmt.Sprintf("Watcher %d was told that key %d is gone: at %s.", wrong.Session, f.key, f.state)
	case WrongBefore:
		return fmt.Sprintf("Before revision %d, %s.", f.revision, f.state)
	}
	return ""
}

func at(revision int64) string {
	if revision == 0 {
		return ""
	}
	return fmt.Sprintf(" at revision %d", revision)
}

// by names the member that responded, if it is known.
func by(o *history.Op) string {
	if o.Member == 0 {
		return ""
	}
	return fmt.Sprintf(", by member %x", o.Member)
}

// keptAlive describes the result of a keep-alive.
func keptAlive(o *history.Op) string {
	switch o.Lock {
	case history.Granted:
		return fmt.Sprintf("Client %d, %s to %s: asked for lock %d by lease %x, and had it with fencing token %d%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, o.Written, o.Mod, by(o))
	case history.Released:
		return fmt.Sprintf("Client %d, %s to %s: gave lock %d back, which it had had with fencing token %d%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, o.Mod, by(o))
	}
	out := fmt.Sprintf("Client %d, %s to %s: keep-alive of lease %x: ", o.Session, clock(o.Invoked), clock(o.Done), o.Written)
	switch {
	case o.Outcome == kv.OK:
		out += fmt.Sprintf("it lives for %d s", o.Mod)
	case o.Outcome == kv.BadRequest && o.At > 0:
		out += "it is gone"
	case o.Outcome == kv.WrongAnswer:
		out += "the response was wrong"
	default:
		out += "no answer (" + o.Outcome.String() + ")"
	}
	return out + by(o) + "."
}

// told describes a watch event.
func told(o *history.Op) string {
	out := fmt.Sprintf("Watcher %d, %s: ", o.Session, clock(o.Done))
	switch o.Watch {
	case history.Began:
		out += fmt.Sprintf("created from key %d on", o.Key)
		if o.Outcome == kv.Miss {
			out = fmt.Sprintf("Watcher %d, %s: it was told that key %d is gone%s, and not since when", o.Session, clock(o.Done), o.Key, at(o.At))
		}
	case history.Reached:
		out += fmt.Sprintf("it was told of all up to revision %d", o.Mod)
	case history.Ended:
		out += fmt.Sprintf("ended by the store (%s)", o.Outcome)
	default:
		key := fmt.Sprintf("key %d", o.Key)
		if o.Outcome == kv.WrongAnswer {
			key = "a key that is none of the load's"
		}
		switch o.Read {
		case history.Absent:
			out += key + " was deleted"
		case history.Unseen:
			out += key + " was written"
		default:
			out += fmt.Sprintf("%s got value #%d", key, o.Read)
		}
		if out += at(o.Mod); o.Expected > 0 {
			out += ", before which it had that" + of(o.Expected)
		}
	}
	return out + by(o) + "."
}

// asked describes the condition of a compare-and-set.
func asked(counted bool) string {
	if counted {
		return "version"
	}
	return "revision"
}

// Sentence describes what an operation did, and when; counted is as in history.Header.
func Sentence(o *history.Op, counted bool) string {
	switch o.Kind {
	case kv.Ephemeral:
		return fmt.Sprintf("Client %d, %s to %s: closed the session with which key %d%s ends: done%s%s.", o.Session, clock(o.Invoked), clock(o.Done), o.Key, of(o.Mod), at(o.At), by(o))
	case kv.Watch:
		return told(o)
	case kv.KeepAlive:
		return keptAlive(o)
	}
	what := o.Kind.String()
	if o.Consistency != kv.None {
		what = o.Consistency.String() + " " + what
	}
	if what += " of"; !o.Kind.OneKey() {
		what += " several keys, of them"
	}
	out := fmt.Sprintf("Client %d, %s to %s: %s key %d", o.Session, clock(o.Invoked), clock(o.Done), what, o.Key)
	if o.Written != history.Absent {
		out += fmt.Sprintf(", writing value #%d", o.Written)
	}
	if compares(o) {
		out += fmt.Sprintf(" if its %s is %d", asked(counted), o.Expected)
	}
	switch {
	case o.Outcome == kv.WrongAnswer:
		out += ": the response was wrong"
	case !o.Answered() && o.Outcome.Definite():
		out += ": refused (" + o.Outcome.String() + ")"
	case !o.Answered():
		out += ": not known whether it was done (" + o.Outcome.String() + ")"
	case shows(o) && o.Read == history.Absent:
		out += ": the key was not there"
	case shows(o) && o.Read == history.Unseen:
		out += ": there" + of(o.Mod)
	case shows(o):
		out += fmt.Sprintf(": value #%d", o.Read) + of(o.Mod)
	case o.Outcome == kv.Conflict:
		out += ": refused, the key's version was another" + of(o.Mod)
	case o.Outcome == kv.Miss:
		out += ": there was nothing to delete"
	default:
		out += ": done"
	}
	out += at(o.At)
	return out + by(o) + "."
}

// Label describes an operation in a word or two.
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
		return out + ": not there"
	case shows(o) && o.Read == history.Unseen:
		return out + ": there"
	case shows(o):
		return out + fmt.Sprintf(": #%d", o.Read)
	case o.Outcome == kv.Conflict:
		return out + ": conflict"
	}
	return out
}

func labelOfWatch(o *history.Op) string {
	switch {
	case o.Watch == history.Began:
		return "watch"
	case o.Watch == history.Reached:
		return fmt.Sprintf("has all up to %d", o.Mod)
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

func labelOfKeepAlive(o *history.Op) string {
	switch {
	case o.Lock == history.Granted:
		return fmt.Sprintf("lock: token %d", o.Mod)
	case o.Lock == history.Released:
		return "unlock"
	case o.Outcome == kv.OK:
		return fmt.Sprintf("keep-alive: %d s", o.Mod)
	case o.Outcome == kv.BadRequest && o.At > 0:
		return "keep-alive: gone"
	}
	return "keep-alive: ?"
}

func of(mod int64) string {
	if mod == 0 {
		return ""
	}
	return fmt.Sprintf(" of revision %d", mod)
}

func clock(ns int64) string {
	return fmt.Sprintf("%.6f s", time.Duration(ns).Seconds())
}
