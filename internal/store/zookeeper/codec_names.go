package zookeeper

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// maxCheckedNames limits the number of names in one list that are checked for duplicates.
const maxCheckedNames = 1 << 16

// duplicateDetector detects duplicate names in lists of children. The lists are unordered, so it
// needs a hash table. Filling the table takes longer than parsing the list. Therefore, after a list
// of n names was checked, the detector skips the next n-1 lists. On average it inserts one name per
// list. All codecs of an event loop share one duplicateDetector.
type duplicateDetector struct {
	seed        maphash.Seed
	slots       []uint32 // offset of a name in the response, plus 1; 0 if the slot is empty
	insertsLeft int      // how many names of the list may still be inserted
	listsToSkip int      // how many of the next lists to skip
}

func newDuplicateDetector() *duplicateDetector { return &duplicateDetector{seed: maphash.MakeSeed()} }

// begin starts a list of n names and reports whether the caller must insert the names.
func (d *duplicateDetector) begin(n int) bool {
	d.insertsLeft = 0
	if d.listsToSkip > 0 {
		d.listsToSkip--
		return false
	}
	d.insertsLeft = min(n, maxCheckedNames)
	d.listsToSkip = max(d.insertsLeft-1, 0)
	if size := 2 << bits.Len(uint(d.insertsLeft)); size > cap(d.slots) {
		d.slots = make([]uint32, size)
	} else {
		d.slots = d.slots[:size]
		clear(d.slots)
	}
	return true
}

// insert inserts a name and reports whether the list already had this name. The parameter `offset`
// is the offset in the response at which the name's length starts. The name follows its length.
func (d *duplicateDetector) insert(answer []byte, offset int, name []byte) bool {
	if d.insertsLeft == 0 {
		return false
	}
	d.insertsLeft--
	mask := uint64(len(d.slots) - 1)
	for i := maphash.Bytes(d.seed, name) & mask; ; i = (i + 1) & mask {
		switch there := d.slots[i]; {
		case there == 0:
			d.slots[i] = uint32(offset) + 1
			return false
		case bytes.Equal(nameAt(answer, there-1), name):
			return true
		}
	}
}

func nameAt(answer []byte, offset uint32) []byte {
	b := jute.NewReader(answer[offset:])
	return b.Buffer()
}
