package message

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Field is one field of a received message. Its value is a varint or bytes.
type Field struct {
	Number protowire.Number // 0 if the field has another wire type
	Varint uint64
	Bytes  []byte // refers to the message; nil if the value is a varint
}

// Next parses the first field of a message and returns the rest of the message. ok is false if
// the message is malformed.
func Next(b []byte) (f Field, rest []byte, ok bool) {
	number, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, nil, false
	}
	b = b[n:]
	f.Number = number
	switch typ {
	case protowire.VarintType:
		f.Varint, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		f.Bytes, n = protowire.ConsumeBytes(b)
	default:
		f.Number, n = 0, protowire.ConsumeFieldValue(number, typ, b)
	}
	if n < 0 {
		return f, nil, false
	}
	return f, b[n:], true
}

// Reader parses requests into the parts of a call. It stores keys and values in the form in which a
// recording contains them. The keys and values of a recording may be redacted. Reader skips unknown
// fields.
type Reader struct {
	Redactor *call.Redactor
	Call     *call.Call
	end      []byte // range_end in the request that is being parsed
	key      []byte
	value    []byte
}

// Read parses the request for an action, for example a PutRequest for the action call.Write.
func (r *Reader) Read(a call.Action, b []byte) bool { return r.read(a, call.Always, b) }

func (r *Reader) read(a call.Action, branch call.Branch, b []byte) bool {
	p := r.part(a, branch)
	r.key, r.end, r.value = nil, nil, nil
	ok := forEachField(b, func(f Field) bool {
		for i := range requests[a] {
			if known := &requests[a][i]; known.number == f.Number {
				r.storeField(p, known, &f)
				break
			}
		}
		return true
	})
	switch a {
	case call.Read, call.Write, call.Remove, call.Watch:
		if len(r.end) == 1 && r.end[0] == 0 { // all keys from r.key on
			p.Scope, p.Key = call.FromKey, r.Redactor.RedactKey(r.key)
			break
		}
		r.Redactor.SetInterval(p, r.key, r.end)
	case call.Compare:
		p.Key = r.Redactor.RedactKey(r.key)
	}
	if a == call.Write {
		p.Value = r.Redactor.RedactValue(r.value)
	}
	return ok
}

// part adds a part to the call. The pointer is valid until the next part is added.
func (r *Reader) part(a call.Action, b call.Branch) *call.Part {
	r.Call.Parts = append(r.Call.Parts, call.Part{Action: a, Branch: b})
	return &r.Call.Parts[len(r.Call.Parts)-1]
}

// storeField stores the value of a field in a part. It ignores a field with the wrong wire
// type.
func (r *Reader) storeField(p *call.Part, known *field, f *Field) {
	switch text := f.Bytes != nil; {
	case known.source == filters:
		takeFilters(p, f)
		return
	case known.source == compared && known.target == call.ValueTarget && text:
		p.Value = r.Redactor.RedactValue(f.Bytes)
		return
	case text && known.source == key:
		r.key = f.Bytes
		return
	case text && known.source == end:
		r.end = f.Bytes
		return
	case text && known.source == value:
		r.value = f.Bytes
		return
	case text:
		return
	}
	switch n := int64(f.Varint); known.source {
	case number:
		p.Number = n
	case limit:
		p.Limit = n
	case lease:
		p.Lease = n
	case compared:
		switch known.target {
		case call.Version, call.Created, call.Modified:
			p.Number = n
		case call.LeaseTarget:
			p.Lease = n
		}
	case flag:
		p.Flags |= flagIf(n != 0, known.flag)
	case order:
		p.Flags |= flagIf(f.Varint == sortDescending, call.Descending)
	case orderBy:
		p.Flags |= flagIf(n != 0, call.Sorted)
	case relation:
		p.Relation = call.Relation(min(f.Varint, maxRelation))
	case target:
		p.Target = call.Target(min(f.Varint, maxTarget))
	}
}

// takeFilters stores a watcher's filters. f is either a single filter or a packed list of filters.
func takeFilters(p *call.Part, f *Field) {
	if f.Bytes == nil {
		p.Flags |= flagIf(f.Varint == filterNoWrites, call.SkipWrites) | flagIf(f.Varint == filterNoRemovals, call.SkipRemovals)
	}
	for _, n := range f.Bytes {
		p.Flags |= flagIf(uint64(n) == filterNoWrites, call.SkipWrites) | flagIf(uint64(n) == filterNoRemovals, call.SkipRemovals)
	}
}

// ReadTxn parses a TxnRequest.
func (r *Reader) ReadTxn(b []byte) bool {
	return forEachField(b, func(f Field) bool {
		ok := true
		switch {
		case f.Bytes == nil:
		case f.Number == txnCompare:
			r.Call.Guarded = true
			ok = r.read(call.Compare, call.Always, f.Bytes)
		case f.Number == txnSuccess:
			ok = r.readOp(call.Then, f.Bytes)
		case f.Number == txnFailure:
			ok = r.readOp(call.Else, f.Bytes)
		}
		return ok && len(r.Call.Parts) <= call.MaxParts
	})
}

// readOp parses a RequestOp. A nested transaction becomes a part with the action call.OtherAction.
func (r *Reader) readOp(branch call.Branch, b []byte) bool {
	return forEachField(b, func(f Field) bool {
		switch {
		case f.Bytes == nil:
		case f.Number == opRange:
			return r.read(call.Read, branch, f.Bytes)
		case f.Number == opPut:
			return r.read(call.Write, branch, f.Bytes)
		case f.Number == opDelete:
			return r.read(call.Remove, branch, f.Bytes)
		case f.Number == opTxn:
			r.part(call.OtherAction, branch)
		}
		return true
	})
}

// ReadWatch parses a WatchRequest. In a part with the action Unwatch, Number is the watcher's
// number plus 1, because watchers are numbered from 0.
func (r *Reader) ReadWatch(b []byte) bool {
	before := len(r.Call.Parts)
	ok := forEachField(b, func(f Field) bool {
		switch {
		case f.Bytes == nil || len(r.Call.Parts) > before:
		case f.Number == watchCreate:
			return r.read(call.Watch, call.Always, f.Bytes)
		case f.Number == watchCancel:
			p := r.part(call.Unwatch, call.Always)
			p.Number = 1
			return forEachField(f.Bytes, func(f Field) bool {
				if f.Number == cancelWatcher && f.Bytes == nil {
					p.Number = int64(f.Varint) + 1
				}
				return true
			})
		}
		return true
	})
	if len(r.Call.Parts) == before { // the request is for a progress notification, or is unknown
		r.part(call.OtherAction, call.Always)
	}
	return ok
}

// forEachField calls the function `do` for each field of a message, until a call returns false.
// forEachField returns true if the message is well-formed and all calls returned true.
func forEachField(b []byte, do func(Field) bool) bool {
	for len(b) > 0 {
		f, rest, ok := Next(b)
		if !ok || !do(f) {
			return false
		}
		b = rest
	}
	return true
}

func flagIf(set bool, f call.Flags) call.Flags {
	if set {
		return f
	}
	return 0
}
