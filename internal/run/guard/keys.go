package guard

import (
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Interval is an interval of keys that includes From and excludes End, as in store.RangeOp.
type Interval struct{ From, End []byte }

// PrefixInterval returns the interval of all keys that begin with a prefix, which must not be
// empty.
func PrefixInterval(prefix string) Interval {
	end := call.PrefixEnd([]byte(prefix))
	if end == nil {
		end = []byte{0} // etcd's encoding of "no end"
	}
	return Interval{[]byte(prefix), end}
}

// KeySpaceInterval returns the interval from the first to the last of the n keys in a key space.
func KeySpaceInterval(prefix string, size int, n uint64) (Interval, error) {
	space, err := keys.NewSpace(prefix, size, n)
	if err != nil {
		return Interval{}, err
	}
	last := space.Append(nil, n-1)
	return Interval{space.Append(nil, 0), append(last, 0)}, nil
}

// examples collects the names of the first keys in a response.
type examples struct{ keys []string }

func (*examples) Begin(uint32) bool { return false }

func (e *examples) Add(_ uint32, key, _ []byte, _ int64) {
	if len(e.keys) < maxExamples {
		e.keys = append(e.keys, string(key))
	}
}

// maxExamples is the maximum number of key names that a request asks for as examples.
const maxExamples = 3
