package zookeeper

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// mostNames limits the names of one list that are compared with each other.
const mostNames = 1 << 16

// names detects a duplicate name in a list of children. The lists are unordered, so it needs a
// hash table. Filling the table costs more than parsing the list, so after a list of n names the
// next n-1 lists are skipped: one name per list is inserted on average. All codecs of an event
// loop share one names.
type names struct {
	seed  maphash.Seed
	slots []uint32 // offset of a name in the response, plus 1; 0: empty
	left  int      // names of the list that can still be inserted
	skip  int      // lists to skip
}

func newNames() *names { return &names{seed: maphash.MakeSeed()} }

// begin starts a list of n names and reports whether its names should be inserted.
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

// insert inserts the name that starts, with its length, at offset at of a response. It reports
// whether the list already had that name.
func (d *names) insert(answer []byte, at int, name []byte) bool {
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
