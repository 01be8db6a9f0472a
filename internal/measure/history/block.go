package history

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// BlockSize is the size of a block in bytes. A block contains about three thousand operations.
const BlockSize = 64 << 10

const (
	maxRow     = 96  // maximum number of bytes of an encoded operation
	maxMembers = 255 // maximum number of members per block; further members are recorded as unknown
)

// A row encodes one operation. It starts with two bytes of flags, which determine the values that
// follow. Numbers are varints. If a value is usually close to the value in the previous row, only
// the difference is stored. Each block is encoded independently of the others.
//
// For example, a get that found its key takes about 20 bytes: 2 bytes of flags, the member's index,
// the difference between Done and the previous row's Done, Done - Invoked, the session, the key,
// Read, and the differences for Revision and ModRevision.
var _ [headKind + 1 - kv.NumKinds]struct{} // does not compile unless each kind fits into four bits

const (
	headKind    = 0x0f
	headLevel   = 4 // number of bits to shift
	headJoined  = 1 << 6
	headOutcome = 1 << 7 // set if an outcome other than OK follows

	hasWritten  = 1 << 0
	hasRead     = 1 << 1
	hasUnseen   = 1 << 2
	hasAt       = 1 << 3
	hasMod      = 1 << 4
	hasExpected = 1 << 5
	isFinal     = 1 << 6
	newMember   = 1 << 7 // set if the eight bytes of a new member follow
)

// context holds the values of the previous row that are needed to encode or decode the next row.
type context struct {
	done, at    int64
	written     uint64
	members     [maxMembers + 1]uint64
	memberCount int
}

// Block contains encoded operations in the order in which they ended. Only one goroutine at a time
// may use it. Append does not allocate memory.
//
// Invariant: Done never decreases within a block.
type Block struct {
	buf   []byte
	count int
	prev  context
}

// NewBlock returns an empty block.
func NewBlock() *Block { return &Block{buf: make([]byte, 0, BlockSize)} }

// Reset removes all operations from the block.
func (b *Block) Reset() {
	b.buf, b.count = b.buf[:0], 0
	b.prev.done, b.prev.at, b.prev.written, b.prev.memberCount = 0, 0, 0, 0
}

// Bytes returns the encoded operations for Decode. The slice is valid until the next call of Append
// or Reset.
func (b *Block) Bytes() []byte { return b.buf }

// Len returns the number of operations in the block.
func (b *Block) Len() int { return b.count }

// Append adds an operation. If the block is full, Append returns false and does not change the
// block. If the operation ended before the previous operation, Append records that it ended
// together with the previous operation. The longer duration cannot cause a false violation.
func (b *Block) Append(o *Op) bool {
	if len(b.buf)+maxRow > cap(b.buf) {
		return false
	}
	p := &b.prev
	done := max(o.Done, p.done)
	// at most one of Consistency, Watch and LockChange is not 0
	head := byte(o.Kind)&headKind | byte(o.Consistency)<<headLevel | byte(o.Watch)<<headLevel | byte(o.LockChange)<<headLevel
	if o.ContinuesPrevious {
		head |= headJoined
	}
	if o.Outcome != kv.OK {
		head |= headOutcome
	}
	member, isNew := p.member(o.Member)
	flags := presenceFlags(o)
	if isNew {
		flags |= newMember
	}
	w := append(b.buf, head, flags)
	if head&headOutcome != 0 {
		w = append(w, byte(o.Outcome))
	}
	w = append(w, member)
	if isNew {
		w = binary.LittleEndian.AppendUint64(w, o.Member)
	}
	w = binary.AppendUvarint(w, uint64(done-p.done))
	w = binary.AppendUvarint(w, uint64(max(done-o.Invoked, 0)))
	w = binary.AppendUvarint(w, uint64(o.Session))
	w = binary.AppendUvarint(w, o.Key)
	p.done = done
	if flags&hasWritten != 0 {
		w = binary.AppendVarint(w, int64(o.Written-p.written))
		p.written = o.Written
	}
	if flags&hasRead != 0 {
		w = binary.AppendUvarint(w, o.Read)
	}
	if flags&hasAt != 0 {
		w = binary.AppendVarint(w, o.Revision-p.at)
		p.at = o.Revision
	}
	if flags&hasMod != 0 {
		w = binary.AppendVarint(w, p.at-o.ModRevision)
	}
	if flags&hasExpected != 0 {
		w = binary.AppendVarint(w, p.at-o.Expected)
	}
	b.buf = w
	b.count++
	return true
}

// presenceFlags returns the second byte of flags, without the flag newMember.
func presenceFlags(o *Op) (flags byte) {
	if o.Written != Absent {
		flags |= hasWritten
	}
	switch o.Read {
	case Absent:
	case UnknownValue:
		flags |= hasUnseen
	default:
		flags |= hasRead
	}
	if o.Revision != 0 {
		flags |= hasAt
	}
	if o.ModRevision != 0 {
		flags |= hasMod
	}
	if o.Expected != 0 {
		flags |= hasExpected
	}
	if o.Final {
		flags |= isFinal
	}
	return flags
}

// member returns the index of a member in the block, and adds the member if needed. The index
// maxMembers stands for an unknown member, and for every member that no longer fits in the block's
// list.
func (c *context) member(id uint64) (index byte, isNew bool) {
	for i, m := range c.members[:c.memberCount] {
		if m == id {
			return byte(i), false
		}
	}
	if c.memberCount == maxMembers {
		return maxMembers, false
	}
	c.members[c.memberCount] = id
	c.memberCount++
	return byte(c.memberCount - 1), true
}

var errInvalidRow = errors.New("the history is damaged: an operation in it cannot be read")

// Decode decodes the operations in a block and appends them to ops. No input makes Decode panic.
// All returned operations meet the constraints of Op.
func Decode(b []byte, ops []Op) ([]Op, error) {
	r := row{b: b}
	for len(r.b) > 0 {
		ops = append(ops, Op{})
		if o := &ops[len(ops)-1]; !r.decode(o) {
			return ops[:len(ops)-1], errInvalidRow
		}
	}
	return ops, nil
}

// row decodes rows from the bytes of a block.
type row struct {
	b         []byte
	isInvalid bool
	prev      context
}

// decode decodes one row, and reports whether the row is valid.
func (r *row) decode(o *Op) bool {
	head, flags := r.byte(), r.byte()
	o.Kind = kv.Kind(head & headKind)
	switch level := head >> headLevel & 3; o.Kind {
	case kv.Watch:
		o.Watch = WatchEvent(level)
	case kv.KeepAlive:
		o.LockChange = LockChange(level)
	default:
		o.Consistency = kv.Consistency(level)
	}
	o.ContinuesPrevious = head&headJoined != 0
	o.Final = flags&isFinal != 0
	if head&headOutcome != 0 {
		o.Outcome = kv.Outcome(r.byte())
	}
	p := &r.prev
	if !r.member(o, flags&newMember != 0) {
		return false
	}
	o.Done = addChecked(p.done, int64(r.uvarint()))
	o.Invoked = addChecked(o.Done, -int64(r.uvarint()))
	session := r.uvarint()
	o.Session = uint32(session)
	o.Key = r.uvarint()
	if flags&hasWritten != 0 {
		p.written += uint64(r.varint())
		o.Written = p.written
	}
	switch {
	case flags&hasUnseen != 0:
		o.Read = UnknownValue
	case flags&hasRead != 0:
		o.Read = r.uvarint()
	}
	if flags&hasAt != 0 {
		o.Revision = addChecked(p.at, r.varint())
		p.at = o.Revision
	}
	if flags&hasMod != 0 {
		o.ModRevision = addChecked(p.at, -r.varint())
	}
	if flags&hasExpected != 0 {
		o.Expected = addChecked(p.at, -r.varint())
	}
	p.done = o.Done
	return !r.isInvalid && o.Kind < kv.NumKinds && o.Consistency < kv.NumConsistencies && o.Outcome < kv.NumOutcomes && o.LockChange <= Released &&
		session < 1<<32 && inRange(o.Done) && inRange(o.Invoked) && inRange(o.Revision) && inRange(o.ModRevision) &&
		(inRange(o.Expected) || o.Expected == UnknownRevision)
}

// member decodes the member of an operation, and reports whether it is valid.
func (r *row) member(o *Op, isNew bool) bool {
	index, p := int(r.byte()), &r.prev
	switch {
	case isNew:
		if index != p.memberCount || index >= maxMembers || len(r.b) < 8 {
			return false
		}
		p.members[index] = binary.LittleEndian.Uint64(r.b)
		p.memberCount++
		r.b = r.b[8:]
	case index >= p.memberCount && index != maxMembers:
		return false
	}
	o.Member = p.members[index]
	return true
}

// byte decodes one byte.
func (r *row) byte() byte {
	if len(r.b) == 0 {
		r.isInvalid = true
		return 0
	}
	x := r.b[0]
	r.b = r.b[1:]
	return x
}

// uvarint decodes an unsigned varint.
func (r *row) uvarint() uint64 {
	if len(r.b) > 2 { // fast path: most varints have at most two bytes
		x, y := uint64(r.b[0]), uint64(r.b[1])
		switch {
		case x < 0x80:
			r.b = r.b[1:]
			return x
		case y < 0x80:
			r.b = r.b[2:]
			return x&0x7f | y<<7
		}
	}
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.isInvalid, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return x
}

// varint decodes a signed varint.
func (r *row) varint() int64 {
	x := r.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

// inRange reports whether a time or revision is in the valid range.
func inRange(x int64) bool { return x >= 0 && x <= maxInt }

// addChecked returns a+b. If b is out of range, the result is also out of range.
func addChecked(a, b int64) int64 {
	if b < -maxInt-1 || b > maxInt {
		return -maxInt
	}
	return a + b
}

// Check returns an error if the operation cannot be recorded.
func (o *Op) Check() error {
	switch {
	case o.Kind >= kv.NumKinds, o.Consistency >= kv.NumConsistencies, o.Outcome >= kv.NumOutcomes:
		return fmt.Errorf("operation kind %d, consistency level %d or outcome %d is out of range", o.Kind, o.Consistency, o.Outcome)
	case o.Watch > WatchEnded, o.Kind == kv.Watch && o.Consistency != kv.NoConsistency, o.Kind != kv.Watch && o.Watch != 0:
		return fmt.Errorf("an operation of kind %s cannot have consistency level %d and watch event type %d", o.Kind, o.Consistency, o.Watch)
	case o.LockChange > Released, o.Kind == kv.KeepAlive && o.Consistency != kv.NoConsistency, o.Kind != kv.KeepAlive && o.LockChange != 0:
		return fmt.Errorf("an operation of kind %s cannot have consistency level %d and lock change %d", o.Kind, o.Consistency, o.LockChange)
	case !inRange(o.Invoked), !inRange(o.Done), o.Invoked > o.Done:
		return fmt.Errorf("an operation cannot start at %d and end at %d; both times must be between 0 and 2^62-1, in this order", o.Invoked, o.Done)
	case !inRange(o.Revision), !inRange(o.ModRevision), !inRange(o.Expected) && o.Expected != UnknownRevision:
		return fmt.Errorf("the revisions %d, %d and %d must be between 0 and 2^62-1", o.Revision, o.ModRevision, o.Expected)
	}
	return nil
}
