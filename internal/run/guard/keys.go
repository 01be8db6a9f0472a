package guard

import (
	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Interval is an interval of keys: from From up to but not including End, as
// store.RangeOp has it.
type Interval struct{ From, End []byte }

// Below is the interval of all keys that begin with a prefix, which is not empty.
func Below(prefix string) Interval { return Interval{[]byte(prefix), after(prefix)} }

// OfKeys is the interval of the keys of a key space.
func OfKeys(prefix string, size int, n uint64) (Interval, error) {
	space, err := keys.NewSpace(prefix, size, n)
	if err != nil {
		return Interval{}, err
	}
	last := space.Append(nil, n-1)
	return Interval{space.Append(nil, 0), append(last, 0)}, nil
}

// after is the first key that is after all keys with the prefix; a zero byte
// where there is none, as etcd has it.
func after(prefix string) []byte {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return []byte{0}
}

// examples takes a few keys of an answer.
type examples struct{ keys []string }

func (*examples) Begin(uint32) bool { return false }

func (e *examples) Add(_ uint32, key, _ []byte, _ int64) {
	if len(e.keys) < mostExamples {
		e.keys = append(e.keys, string(key))
	}
}

// mostExamples is how many keys a list asks for.
const mostExamples = 3
