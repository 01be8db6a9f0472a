package call

import (
	"encoding/binary"
	"errors"
	"math"
)

// Limits for the records in a block. They ensure that a reader needs no more memory than the
// frame's header states.
const (
	blockSize = 256 << 10 // size before compression at which a block is written
	// MaxParts is the maximum number of parts in a recorded call. A call with more parts is omitted
	// from the recording and counted in a Gap.
	MaxParts = 1024
	maxText  = 4096 // maximum length in bytes of a method's name or of the reason for a gap
	maxKey   = 64 << 10
	// maxTime limits the times in records (73 years in nanoseconds), so that the sum of two times
	// fits into an int64.
	maxTime    = math.MaxInt64 / 4
	maxWritten = 512 << 10 // maximum size of a record in bytes; below the maximum size of a frame
)

// A record consists of one byte for its kind, followed by varints. Every block can be decoded
// without the earlier blocks: the first time in a block is absolute. A method's name is written
// when it first occurs in the block; later records refer to it by number.
const (
	recordCall = 1
	recordGap  = 2

	callPushed   = 1 << 0
	callGuarded  = 1 << 1
	callHeld     = 1 << 2
	callAnswered = 1 << 3
	callLease    = 1 << 4
	callStream   = 1 << 5
	callMask     = 1<<6 - 1

	partEnd     = 1 << 0
	partValue   = 1 << 1
	partText    = 1 << 2
	partNumber  = 1 << 3
	partLimit   = 1 << 4
	partLease   = 1 << 5
	partVersion = 1 << 6
	partMask    = 1<<7 - 1
)

// block encodes records in the order in which the calls ended.
type block struct {
	buf      []byte
	count    int
	lastTime int64 // At of the previous record
	methods  map[string]uint64
}

func newBlock() *block { return &block{methods: map[string]uint64{}} }

func (b *block) reset() {
	b.buf, b.count, b.lastTime = b.buf[:0], 0, 0
	clear(b.methods)
}

func (b *block) time(at int64) {
	b.buf = binary.AppendVarint(b.buf, at-b.lastTime)
	b.lastTime = at
}

func (b *block) text(s []byte) {
	b.buf = binary.AppendUvarint(b.buf, uint64(len(s)))
	b.buf = append(b.buf, s...)
}

func (b *block) gap(g *Gap) {
	b.buf = append(b.buf, recordGap)
	b.time(g.At)
	b.buf = binary.AppendUvarint(b.buf, uint64(g.Conn))
	b.buf = binary.AppendUvarint(b.buf, g.MissingCalls)
	b.text([]byte(g.Reason[:min(len(g.Reason), maxText)]))
	b.count++
}

// call appends a call to the block. If the call exceeds a limit, such as maxWritten, the method
// returns false and leaves the block unchanged.
func (b *block) call(c *Call) bool {
	start, last, pushed := len(b.buf), b.lastTime, len(b.methods)
	flags := flagBit(c.Pushed, callPushed) | flagBit(c.Guarded, callGuarded) | flagBit(c.GuardsHeld, callHeld) |
		flagBit(c.Answered(), callAnswered) | flagBit(c.Lease != 0, callLease) | flagBit(c.Stream != 0, callStream)
	b.buf = append(b.buf, recordCall, flags)
	b.time(c.At)
	if c.Answered() {
		b.buf = binary.AppendUvarint(b.buf, uint64(c.Duration))
	}
	b.buf = binary.AppendUvarint(b.buf, uint64(c.Conn))
	if c.Stream != 0 {
		b.buf = binary.AppendUvarint(b.buf, uint64(c.Stream))
	}
	b.method(c.Method)
	for _, n := range [...]uint64{uint64(c.Code), uint64(c.RequestSize), uint64(c.ReplySize), uint64(c.Revision), uint64(c.KeyCount)} {
		b.buf = binary.AppendUvarint(b.buf, n)
	}
	if c.Lease != 0 {
		b.buf = binary.AppendVarint(b.buf, c.Lease)
	}
	b.buf = binary.AppendUvarint(b.buf, uint64(len(c.Parts)))
	fits := len(c.Parts) <= MaxParts
	for i := range c.Parts {
		p := &c.Parts[i]
		fits = fits && len(p.Key) <= maxKey && len(p.End) <= maxKey
		if b.part(p); !fits || len(b.buf)-start > maxWritten {
			fits = false
			break
		}
	}
	if !fits {
		b.buf, b.lastTime = b.buf[:start], last
		if len(b.methods) > pushed {
			delete(b.methods, c.Method[:min(len(c.Method), maxText)])
		}
		return false
	}
	b.count++
	return true
}

// method appends the number by which the block refers to a method. When a method occurs for the
// first time, the appended number is 0, and the method's name follows.
func (b *block) method(name string) {
	name = name[:min(len(name), maxText)]
	if n, ok := b.methods[name]; ok {
		b.buf = binary.AppendUvarint(b.buf, n)
		return
	}
	b.buf = append(b.buf, 0)
	b.text([]byte(name))
	b.methods[name] = uint64(len(b.methods)) + 1
}

func (b *block) part(p *Part) {
	present := flagBit(len(p.End) > 0, partEnd) | flagBit(p.Value.Size > 0 || p.Value.Hash != 0, partValue) | flagBit(p.Value.Text != nil, partText) |
		flagBit(p.Number != 0, partNumber) | flagBit(p.Limit != 0, partLimit) | flagBit(p.Lease != 0, partLease) | flagBit(p.Version != 0, partVersion)
	b.buf = append(b.buf, byte(p.Action)|byte(p.Branch)<<4|byte(p.Relation)<<6, byte(p.Scope)|byte(p.Target)<<4, present)
	b.buf = binary.AppendUvarint(b.buf, uint64(p.Flags))
	b.text(p.Key)
	if present&partEnd != 0 {
		b.text(p.End)
	}
	if present&partValue != 0 {
		b.buf = binary.AppendUvarint(b.buf, uint64(p.Value.Size))
		b.buf = binary.LittleEndian.AppendUint64(b.buf, p.Value.Hash)
	}
	if present&partText != 0 {
		b.text(p.Value.Text)
	}
	if present&partNumber != 0 {
		b.buf = binary.AppendVarint(b.buf, p.Number)
	}
	if present&partLimit != 0 {
		b.buf = binary.AppendVarint(b.buf, p.Limit)
	}
	if present&partLease != 0 {
		b.buf = binary.AppendVarint(b.buf, p.Lease)
	}
	if present&partVersion != 0 {
		b.buf = binary.AppendVarint(b.buf, p.Version)
	}
}

func flagBit(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

var errDamagedRecord = errors.New("the recording is damaged: a record in it cannot be read")

// DecodeBlock calls the function do for each record in a block. The records refer to memory in b.
// DecodeBlock does not panic on damaged input. Every record that is passed to that function
// respects the limits of Call, Part and Gap.
func DecodeBlock(b []byte, do func(Record) error) error {
	r := decoder{b: b}
	for len(r.b) > 0 {
		var rec Record
		switch r.byte() {
		case recordCall:
			rec.Call = r.call()
		case recordGap:
			rec.Gap = &Gap{At: r.time(), Conn: r.uint32(), MissingCalls: r.uvarint(), Reason: string(r.text(maxText))}
		default:
			r.damaged = true
		}
		if r.damaged {
			return errDamagedRecord
		}
		if err := do(rec); err != nil {
			return err
		}
	}
	return nil
}

// decoder decodes records from a block.
type decoder struct {
	b        []byte
	damaged  bool
	lastTime int64
	methods  []string
}

func (r *decoder) call() *Call {
	c := &Call{Duration: -1}
	flags := r.byte()
	c.Pushed, c.Guarded, c.GuardsHeld = flags&callPushed != 0, flags&callGuarded != 0, flags&callHeld != 0
	c.At = r.time()
	if flags&callAnswered != 0 {
		if c.Duration = r.positive(); c.Duration > maxTime {
			r.damaged = true
		}
	}
	c.Conn = r.uint32()
	if flags&callStream != 0 {
		c.Stream = r.uint32()
	}
	c.Method = r.method()
	code := r.uvarint()
	c.Code = uint16(code)
	c.RequestSize, c.ReplySize = int(r.positive()), int(r.positive())
	c.Revision, c.KeyCount = r.positive(), r.positive()
	if flags&callLease != 0 {
		c.Lease = r.varint()
	}
	n := r.uvarint()
	if flags > callMask || code > math.MaxUint16 || n > MaxParts {
		r.damaged = true
	}
	for range n {
		if r.damaged {
			return c
		}
		c.Parts = append(c.Parts, r.part())
	}
	return c
}

func (r *decoder) part() (p Part) {
	x, y, present := r.byte(), r.byte(), r.byte()
	p.Action, p.Branch, p.Relation = Action(x&0xf), Branch(x>>4&3), Relation(x>>6)
	p.Scope, p.Target = Scope(y&0xf), Target(y>>4)
	flags := r.uvarint()
	p.Flags = Flags(flags)
	if p.Action >= numActions || p.Branch >= numBranches || p.Scope >= numScopes || p.Target >= numTargets || present > partMask || flags > allFlags {
		r.damaged = true
	}
	p.Key = r.text(maxKey)
	if present&partEnd != 0 {
		p.End = r.text(maxKey)
	}
	if present&partValue != 0 {
		p.Value.Size, p.Value.Hash = int(min(r.positive(), math.MaxInt32)), r.uint64()
	}
	if present&partText != 0 {
		p.Value.Text = r.text(maxWritten)
	}
	if present&partNumber != 0 {
		p.Number = r.varint()
	}
	if present&partLimit != 0 {
		p.Limit = r.varint()
	}
	if present&partLease != 0 {
		p.Lease = r.varint()
	}
	if present&partVersion != 0 {
		p.Version = r.varint()
	}
	return p
}

func (r *decoder) method() string {
	n := r.uvarint()
	if n > 0 {
		if n > uint64(len(r.methods)) {
			r.damaged = true
			return ""
		}
		return r.methods[n-1]
	}
	name := string(r.text(maxText))
	r.methods = append(r.methods, name)
	return name
}

func (r *decoder) time() int64 {
	r.lastTime += r.varint()
	if r.lastTime < 0 || r.lastTime > maxTime {
		r.damaged = true
		r.lastTime = 0
	}
	return r.lastTime
}

func (r *decoder) fail() { r.damaged, r.b = true, nil }

func (r *decoder) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	x := r.b[0]
	r.b = r.b[1:]
	return x
}

func (r *decoder) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

// positive decodes an unsigned number. The number must fit into an int64.
func (r *decoder) positive() int64 {
	x := r.uvarint()
	if x > math.MaxInt64 {
		r.fail()
		return 0
	}
	return int64(x)
}

func (r *decoder) varint() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *decoder) uint32() uint32 {
	x := r.uvarint()
	if x > math.MaxUint32 {
		r.fail()
	}
	return uint32(x)
}

func (r *decoder) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	x := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return x
}

func (r *decoder) text(maxLen int) []byte {
	n := r.uvarint()
	if n > uint64(min(len(r.b), maxLen)) {
		r.fail()
		return nil
	}
	t := r.b[:n:n]
	r.b = r.b[n:]
	return t
}
