package verify

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// finding is a violation, by the numbers of its operations. The last is the one
// whose answer is wrong.
type finding struct {
	kind     Kind
	promise  history.Promise
	key      uint64
	n        int
	ords     [3]uint32
	revision int64  // that of the version that should have been there, or of the clash
	state    string // what that was, where no operation says it
}

func (f *finding) wrong() uint32 { return f.ords[f.n-1] }

// answer is one that is wrong in a way.
type answer struct {
	kind     Kind
	promised bool
	ord      uint32
}

// findings collects what was found, from any goroutine.
type findings struct {
	promises map[history.Promise]string
	// limit is the number of the first operation that what is missing of the
	// history may explain.
	limit uint32

	mu          sync.Mutex
	all         []finding
	counts      map[Kind]uint64
	known       map[answer]bool // nil until keys are checked again
	weak        []answer        // the first of notPromised
	notPromised map[history.Promise]uint64
}

func (f *findings) add(x finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x.wrong() >= f.limit {
		return
	}
	promised := f.promises[x.promise] != ""
	a := answer{x.kind, promised, x.wrong()}
	if f.known[a] {
		return
	}
	if f.known != nil {
		f.known[a] = true
	}
	if !promised {
		if f.notPromised == nil {
			f.notPromised = map[history.Promise]uint64{}
		}
		if f.notPromised[x.promise]++; len(f.weak) < mostFound {
			f.weak = append(f.weak, a)
		}
		return
	}
	if f.counts == nil {
		f.counts = map[Kind]uint64{}
	}
	if f.counts[x.kind]++; f.counts[x.kind] <= mostFound {
		f.all = append(f.all, x)
	}
}

// again leaves out what was found before from now on.
func (f *findings) again() {
	f.known = map[answer]bool{}
	for i := range f.all {
		f.known[answer{f.all[i].kind, true, f.all[i].wrong()}] = true
	}
	for _, a := range f.weak {
		f.known[a] = true
	}
}

// explained reads the operations of the first findings of each kind.
func (c *checker) explained() ([]Violation, error) {
	kept := c.found.first(c.opt.Keep)
	want := map[uint32]history.Op{}
	for i := range kept {
		for _, ord := range kept[i].ords[:kept[i].n] {
			want[ord] = history.Op{}
		}
	}
	if len(want) == 0 {
		return nil, nil
	}
	ord := uint32(0)
	err := c.in.Read(func(ops []history.Op) error {
		for i := range ops {
			if _, ok := want[ord]; ok {
				want[ord] = ops[i]
			}
			ord++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []Violation
	for i := range kept {
		f := &kept[i]
		v := Violation{Kind: f.kind, Promise: f.promise, Source: c.found.promises[f.promise], Key: f.key}
		ords := slices.Clone(f.ords[:f.n])
		slices.SortStableFunc(ords, func(a, b uint32) int {
			x, y := want[a], want[b]
			return cmp.Compare(x.Invoked, y.Invoked)
		})
		for k, ord := range ords {
			v.Ops = append(v.Ops, want[ord])
			if ord == f.wrong() {
				v.Wrong = k
			}
		}
		v.Text = f.text(v.Ops, &v.Ops[v.Wrong])
		out = append(out, v)
	}
	return out, nil
}

// first is the first of each kind, each with a wrong answer of its own: one
// answer can be wrong in several ways.
func (f *findings) first(keep int) (kept []finding) {
	slices.SortFunc(f.all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.wrong(), b.wrong()), cmp.Compare(a.ords[0], b.ords[0]))
	})
	of := map[Kind]int{}
	for i := range f.all {
		x := &f.all[i]
		if n := len(kept); n > 0 && kept[n-1].kind == x.kind && kept[n-1].wrong() == x.wrong() {
			continue
		}
		if of[x.kind] < keep {
			of[x.kind]++
			kept = append(kept, *x)
		}
	}
	return kept
}

// text is a violation in words.
func (f *finding) text(ops []history.Op, wrong *history.Op) (out string) {
	for i := range ops {
		out += Sentence(&ops[i]) + "\n"
	}
	who := fmt.Sprintf("client %d's %s", wrong.Session, wrong.Kind)
	Who := fmt.Sprintf("Client %d's %s", wrong.Session, wrong.Kind)
	switch f.kind {
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
		out += fmt.Sprintf("%s asked for revision %d, which the key had, and was refused.", Who, wrong.Expected)
	case WrongCAS:
		out += fmt.Sprintf("%s asked for revision %d and succeeded at revision %d; before that, %s.", Who, wrong.Expected, wrong.At, f.state)
	case NoOrder:
		out += "No order of the operations on this key explains the last of these answers" + f.state + "."
	default:
		out += fmt.Sprintf("When %s was served%s, %s.", who, at(wrong.At), f.state)
	}
	return out
}

func at(revision int64) string {
	if revision == 0 {
		return ""
	}
	return fmt.Sprintf(" at revision %d", revision)
}

// Sentence says in words what an operation did, and when.
func Sentence(o *history.Op) string {
	out := fmt.Sprintf("Client %d, %s to %s: %s of key %d", o.Session, clock(o.Invoked), clock(o.Done), o.Kind, o.Key)
	if o.Consistency != kv.None {
		out = fmt.Sprintf("Client %d, %s to %s: %s %s of key %d", o.Session, clock(o.Invoked), clock(o.Done), o.Consistency, o.Kind, o.Key)
	}
	if o.Written != history.Absent {
		out += fmt.Sprintf(", writing value #%d", o.Written)
	}
	if o.Kind == kv.CAS && o.Expected != history.AnyMod {
		out += fmt.Sprintf(" if its revision is %d", o.Expected)
	}
	switch {
	case !o.Answered() && o.Outcome.Definite():
		out += ": refused (" + o.Outcome.String() + ")"
	case !o.Answered():
		out += ": not known whether it was done (" + o.Outcome.String() + ")"
	case o.Kind.Reads() && o.Read == history.Absent:
		out += ": the key was not there"
	case o.Kind.Reads() && o.Read == history.Unseen:
		out += ": there" + of(o.Mod)
	case o.Kind.Reads():
		out += fmt.Sprintf(": value #%d", o.Read) + of(o.Mod)
	case o.Outcome == kv.Conflict:
		out += ": refused, the key's version was another" + of(o.Mod)
	case o.Outcome == kv.Miss:
		out += ": there was nothing to delete"
	default:
		out += ": done"
	}
	out += at(o.At)
	if o.Member != 0 {
		out += fmt.Sprintf(", by member %x", o.Member)
	}
	return out + "."
}

// Label says the same in a word or two.
func Label(o *history.Op) string {
	out := o.Kind.String()
	if o.Written != history.Absent {
		out += fmt.Sprintf(" #%d", o.Written)
	}
	if o.Kind == kv.CAS && o.Expected != history.AnyMod {
		out += fmt.Sprintf(" if %d", o.Expected)
	}
	switch {
	case !o.Answered() && o.Outcome.Definite():
		return out + ": refused"
	case !o.Answered():
		return out + ": ?"
	case o.Kind.Reads() && o.Read == history.Absent:
		return out + ": not there"
	case o.Kind.Reads() && o.Read == history.Unseen:
		return out + ": there"
	case o.Kind.Reads():
		return out + fmt.Sprintf(": #%d", o.Read)
	case o.Outcome == kv.Conflict:
		return out + ": conflict"
	}
	return out
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
