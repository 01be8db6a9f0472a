package jute

// A multi is an atomic list of operations. A MultiHeader{type int, done bool, err int} precedes
// each operation. A header with done set ends the list.

const multiHeaderLen = 9

func putMultiHeader(b []byte, op Op, done bool, code Code) []byte {
	return PutInt(PutBool(PutInt(b, int32(op)), done), int32(code))
}

// MultiOp is one operation in a multi.
type MultiOp struct {
	Op      Op // OpSetData, OpCreate, OpDelete or OpCheck
	Path    Path
	Data    []byte // for OpSetData and OpCreate
	Version int32  // for OpSetData, OpDelete and OpCheck
	ACL     ACL    // for OpCreate
	Mode    Mode   // for OpCreate
}

func (m *MultiOp) size() int {
	n := multiHeaderLen + m.Path.size() + 4
	switch m.Op {
	case OpCreate:
		n += SizeBuffer(m.Data) + len(m.ACL)
	case OpSetData:
		n += SizeBuffer(m.Data)
	}
	return n
}

func (m *MultiOp) appendTo(b []byte) []byte {
	b = putMultiHeader(b, m.Op, false, -1)
	switch m.Op {
	case OpCreate:
		return putCreate(b, m.Path, m.Data, m.ACL, m.Mode)
	case OpSetData:
		return putSetData(b, m.Path, m.Data, m.Version)
	}
	return PutInt(m.Path.appendTo(b), m.Version)
}

// Multi sends a request that executes all operations as one atomic transaction.
func (c *Conn) Multi(call Call, ops []MultiOp) {
	size := multiHeaderLen
	for i := range ops {
		size += ops[i].size()
	}
	b := c.call(OpMulti, call, size)
	for i := range ops {
		b = ops[i].appendTo(b)
	}
	putMultiHeader(b, OpError, true, -1)
}

// ReadMulti parses the record of a multi request that Multi or another client has written. It
// appends the operations to the given slice, without their times to live.
func ReadMulti(request []byte, to []MultiOp) (_ []MultiOp, ok bool) {
	r := NewReader(request)
	for {
		op, done, _ := Op(r.Int()), r.Bool(), r.Int()
		if done || !r.OK() {
			return to, r.OK()
		}
		m := MultiOp{}
		if !ReadChange(op, &r, &m) {
			return to, false
		}
		to = append(to, m)
	}
}

// ReadChange parses the record of an operation that can be part of a multi, without a MultiHeader.
// It returns false for any other operation. It ignores the time to live.
func ReadChange(op Op, r *Reader, m *MultiOp) bool {
	*m = MultiOp{Op: op, Path: Path{Rest: r.Buffer()}}
	switch op {
	case OpDelete, OpCheck:
		m.Version = r.Int()
	case OpSetData:
		m.Data, m.Version = r.Buffer(), r.Int()
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		m.Data = r.Buffer()
		before := r.Rest()
		for range r.Count(12) {
			r.Int()
			r.Buffer()
			r.Buffer()
		}
		m.ACL = ACL(before[:len(before)-len(r.Rest())])
		if m.Mode = Mode(r.Int()); op == OpCreateTTL {
			r.Long()
		}
	default:
		return false
	}
	return true
}

// MultiResult is the result of one operation in a multi.
type MultiResult struct {
	Op   Op // OpError in the results of all operations if any operation failed
	Code Code
	Stat Stat   // for OpSetData and OpCreate2
	Path []byte // for OpCreate and OpCreate2
}

// ReadMultiResults parses the next result in the reply to a multi. It returns false at the end of
// the results.
func ReadMultiResults(r *Reader, result *MultiResult) bool {
	op, done, code := Op(r.Int()), r.Bool(), Code(r.Int())
	if done || !r.OK() {
		return false
	}
	*result = MultiResult{Op: op, Code: code}
	switch op {
	case OpError:
		result.Code = Code(r.Int())
	case OpSetData:
		result.Stat = r.Stat()
	case OpCreate:
		result.Path = r.Buffer()
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		result.Path, result.Stat = r.Buffer(), r.Stat()
	case OpDelete, OpCheck:
	default:
		r.failed = true
	}
	return r.OK()
}
