package zookeeper

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// mostNames limits the number of names in one list that are checked for duplicates.
const mostNames = 1 << 16

// names detects duplicate names in lists of children. The lists are unordered, so names needs a
// hash table. Filling the table takes longer than parsing the list. Therefore, after a list of n
// names was checked, names skips the next n-1 lists. On average it inserts one name per list. All
// codecs of an event loop share one names value.
type names struct {
	seed  maphash.Seed
	slots []uint32 // offset of a name in the response, plus 1; 0 if the slot is empty
	left  int      // how many names of the list may still be inserted
	skip  int      // how many of the next lists to skip
}

func newNames() *names { return &names{seed: maphash.MakeSeed()} }

// begin starts a list of n names and reports whether the caller must insert the names.
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

// insert inserts a name and reports whether the list already had this name. The parameter `at` is
// the offset in the response at which the name's length starts. The name follows its length.
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
