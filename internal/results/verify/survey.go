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
	operations      uint64
	nonOperations   uint64 // number of records that do not represent operations, such as watch events
	furtherParts    uint64 // number of records for the second and further keys of a transaction or range
	longest         int64  // duration of the longest operation, in nanoseconds
	earlierRevision int64  // highest revision from before the history
	indefinite      uint64
	unordered       uint64 // acknowledged writes without a revision
	ignored         uint64 // operations that the check ignores, because their responses contain no keys
	wrong           uint64 // operations whose responses were already recognized as wrong when they arrived
}

// isAuxiliary reports whether a record does not represent an operation: a message to a watcher, the
// end of a session, or the acquisition or release of a lock.
func isAuxiliary(o *history.Op) bool {
	return o.Kind == kv.Watch || o.Kind == kv.Ephemeral || o.LockChange != history.NoLockChange
}

const maxOperations = 1<<32 - 1

func surveyOf(in Input) (s survey, err error) {
	first := int64(1<<63 - 1)
	err = in.Read(func(ops []history.Op) error {
		for i := range ops {
			o := &ops[i]
			if o.Outcome == kv.WrongResponse && o.Kind != kv.Watch {
				s.wrong++
			}
			if isAuxiliary(o) {
				s.nonOperations++
				continue
			}
			if o.ContinuesPrevious {
				s.furtherParts++
			}
			if o.Kind == kv.KeepAlive {
				continue
			}
			s.longest = max(s.longest, o.Done-o.Invoked)
			switch role := roleOf(o); {
			case role == unchecked && o.Outcome.Failed(): // without a response, there is nothing to check
			case role == unchecked:
				s.ignored++
			case role == wrote && o.Revision == 0:
				s.unordered++
			case role == wrote:
				first = min(first, o.Revision)
			case role == indefinite:
				s.indefinite++
			}
		}
		if s.operations += uint64(len(ops)); s.operations > maxOperations {
			return errors.New("the history has more than 4,294,967,295 operations; verify a shorter run")
		}
		return nil
	})
	if s.earlierRevision = in.Header().BaseRevision; s.earlierRevision == 0 {
		s.earlierRevision = first - 1 // other clients wrote the earlier revisions
	}
	return s, err
}

func (s *survey) undecided() (reasons []string) {
	if s.ignored > 0 {
		reasons = append(reasons, fmt.Sprintf("not verified: %s for which the history contains no keys (counts, empty or unordered ranges, empty transactions)", text.Plural(s.ignored, "operation")))
	}
	return reasons
}
