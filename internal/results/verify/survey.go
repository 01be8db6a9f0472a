package verify

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/text"
)

// survey summarizes a history.
type survey struct {
	operations uint64
	aside      uint64 // number of records that do not represent operations, such as watch events
	parts      uint64 // number of records for the second and further keys of a transaction or range
	longest    int64  // duration of the longest operation, in nanoseconds
	base       int64  // highest revision from before the history
	indefinite uint64
	unordered  uint64 // acknowledged writes without a revision
	others     uint64 // operations that the check ignores, because their responses contain no keys
	wrong      uint64 // operations whose responses were already recognized as wrong when they arrived
}

// isAuxiliary reports whether a record does not represent an operation: a message to a watcher, the
// end of a session, or the acquisition or release of a lock.
func isAuxiliary(o *history.Op) bool {
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
			if isAuxiliary(o) {
				s.aside++
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
			case role == unchecked && o.Outcome.Failed(): // without a response, there is nothing to check
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
			return errors.New("the history has more than 4,294,967,295 operations; verify a shorter run")
		}
		return nil
	})
	if s.base = in.Header().Base; s.base == 0 {
		s.base = first - 1 // other clients wrote the earlier revisions
	}
	return s, err
}

func (s *survey) undecided() (why []string) {
	if s.others > 0 {
		why = append(why, fmt.Sprintf("not verified: %s for which the history contains no keys (counts, empty or unordered ranges, empty transactions)", text.Plural(s.others, "operation")))
	}
	return why
}
