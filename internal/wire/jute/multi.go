package jute

// A multi is a list of operations that happen all or none: before each stands
// MultiHeader{type int, done bool, err int}, and one that is done ends it.

const multiHeaderLen = 9

func putMultiHeader(b []byte, op Op, done bool, code Code) []byte {
	return PutInt(PutBool(PutInt(b, int32(op)), done), int32(code))
}

// MultiOp is one operation of a multi.
type MultiOp struct {
	Op      Op // OpSetData, OpCreate, OpDelete or OpCheck
	Path    Path
	Data    []byte // OpSetData, OpCreate
	Version int32  // OpSetData, OpDelete, OpCheck
	ACL     ACL    // OpCreate
	Mode    Mode   // OpCreate
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

func (m *MultiOp) put(b []byte) []byte {
	b = putMultiHeader(b, m.Op, false, -1)
	switch m.Op {
	case OpCreate:
		return putCreate(b, m.Path, m.Data, m.ACL, m.Mode)
	case OpSetData:
		return putSetData(b, m.Path, m.Data, m.Version)
	}
	return PutInt(m.Path.put(b), m.Version)
}

// Multi asks for operations that happen all or none.
func (c *Conn) Multi(call Call, ops []MultiOp) {
	size := multiHeaderLen
	for i := range ops {
		size += ops[i].size()
	}
	b := c.call(OpMulti, call, size)
	for i := range ops {
		b = ops[i].put(b)
	}
	putMultiHeader(b, OpError, true, -1)
}

// ReadMulti appends the operations of a multi as Multi wrote it, or another client. Times
// to live are passed over.
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

// ReadChange reads the request of an operation that may also be one of a multi: what follows
// its header. It returns false for other operations. A time to live is passed over.
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

// MultiResult is how one operation of a multi ended.
type MultiResult struct {
	Op   Op // OpError for all when one failed
	Code Code
	Stat Stat   // OpSetData, OpCreate2
	Path []byte // OpCreate, OpCreate2
}

// ReadMultiResults reads an answer to a multi, one result at each call, until
// it returns false.
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
