package zookeeper

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// mostNames is how many names of one list are compared with each other.
const mostNames = 1 << 16

// names finds a name that a list of children has twice. The lists have no order,
// so it takes a table. That costs more than to read the list, so after a list of
// n names n-1 lists are passed over: on the average one name a list is entered.
// All codecs of an event loop share one.
type names struct {
	seed  maphash.Seed
	slots []uint32 // where in the answer a name lies, plus 1; 0: nothing
	left  int      // how many more names of the list are entered
	skip  int      // lists to be passed over
}

func newNames() *names { return &names{seed: maphash.MakeSeed()} }

// begin begins a list of n names, and reports whether they are to be entered.
func (d *names) begin(n int) bool {
	d.left = 0
	if d.skip > 0 {
		d.skip--
		return false
	}
	d.left = min(n, mostNames)
	d.skip = max(d.left-1, 0)
	if size := 2 << bits.Len(uint(d.left)); size > cap(d.slots) {
		d.slots = make([]uint32, size)
	} else {
		d.slots = d.slots[:size]
		clear(d.slots)
	}
	return true
}

// again enters the name that begins, with its length, at a place in an answer,
// and reports whether it was there already.
func (d *names) again(answer []byte, at int, name []byte) bool {
	if d.left == 0 {
		return false
	}
	d.left--
	mask := uint64(len(d.slots) - 1)
	for i := maphash.Bytes(d.seed, name) & mask; ; i = (i + 1) & mask {
		switch there := d.slots[i]; {
		case there == 0:
			d.slots[i] = uint32(at) + 1
			return false
		case bytes.Equal(nameAt(answer, there-1), name):
			return true
		}
	}
}

func nameAt(answer []byte, place uint32) []byte {
	b := jute.NewReader(answer[place:])
	return b.Buffer()
}
