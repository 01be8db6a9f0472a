package verify

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/text"
)

// survey is what is known of a history as a whole.
type survey struct {
	operations uint64
	told       uint64 // of them, those that are none by themselves
	parts      uint64 // of them, further keys of transactions and ranges
	longest    int64  // an operation lasted, in nanoseconds
	base       int64  // versions up to this revision can be from before
	indefinite uint64
	unordered  uint64 // writes that were done, and whose revision is not told
	others     uint64 // operations that are not checked
	wrong      uint64 // operations whose response was wrong by itself
}

// aside reports whether o is not an operation itself: a watch event, or the end of a lock or
// session.
func aside(o *history.Op) bool {
	return o.Kind == kv.Watch || o.Kind == kv.Ephemeral || o.Lock != history.NoHold
}

const mostOperations = 1<<32 - 1

func surveyOf(in Input) (s survey, err error) {
	first := int64(1<<63 - 1)
	err = in.Read(func(ops []history.Op) error {
		for i := range ops {
			o := &ops[i]
			if o.Outcome == kv.WrongAnswer && o.Kind != kv.Watch {
				s.wrong++
			}
			if aside(o) {
				s.told++
				continue
			}
			if o.Joined {
				s.parts++
			}
			if o.Kind == kv.KeepAlive {
				continue
			}
			s.longest = max(s.longest, o.Done-o.Invoked)
			switch role := roleOf(o); {
			case role == unchecked && o.Outcome.Failed(): // no answer, and nothing to check
			case role == unchecked:
				s.others++
			case role == wrote && o.At == 0:
				s.unordered++
			case role == wrote:
				first = min(first, o.At)
			case role == maybe:
				s.indefinite++
			}
		}
		if s.operations += uint64(len(ops)); s.operations > mostOperations {
			return errors.New("the history has more than 4,294,967,295 operations: verify it in parts")
		}
		return nil
	})
	if s.base = in.Header().Base; s.base == 0 {
		s.base = first - 1 // earlier revisions were written by other clients
	}
	return s, err
}

func (s *survey) undecided() (why []string) {
	if s.others > 0 {
		why = append(why, fmt.Sprintf("not verified: %s whose keys are not in the history (counts, ranges of none, ranges of stores whose ranges are not judged, and transactions that compare nothing and write nothing)", text.Plural(s.others, "operation")))
	}
	return why
}
