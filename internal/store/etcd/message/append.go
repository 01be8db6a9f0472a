package message

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Append appends the request that the part describes.
func Append(b []byte, p *call.Part) []byte {
	fields := requests[p.Action]
	for i := range fields {
		b = appendField(b, &fields[i], p)
	}
	return b
}

func appendField(b []byte, f *field, p *call.Part) []byte {
	switch f.source {
	case key:
		return appendKey(b, f.number, p)
	case end:
		return appendEnd(b, f.number, p)
	case value:
		return AppendText(b, f.number, p.Value.Text)
	case number:
		return AppendNumber(b, f.number, uint64(p.Number))
	case limit:
		return AppendNumber(b, f.number, uint64(p.Limit))
	case lease:
		return AppendNumber(b, f.number, uint64(p.Lease))
	case maxCreated:
		return AppendNumber(b, f.number, uint64(p.MaxCreateRevision))
	case relation:
		return AppendNumber(b, f.number, uint64(p.Relation))
	case target:
		return AppendNumber(b, f.number, uint64(p.Target))
	case compared:
		return appendCompared(b, f, p)
	case filters:
		return appendFilters(b, f.number, p.Flags)
	case order:
		switch {
		case p.Flags&call.Descending != 0:
			return AppendNumber(b, f.number, sortDescending)
		case p.Flags&call.Sorted != 0:
			return AppendNumber(b, f.number, sortAscending)
		}
	case orderBy:
		// A recording does not contain the sort target. So a sorted read is sorted by mod_revision,
		// unless an application requests an order by create_revision.
		switch {
		case p.Flags&call.Sorted != 0 && p.Target == call.Created:
			return AppendNumber(b, f.number, sortByCreation)
		case p.Flags&call.Sorted != 0:
			return AppendNumber(b, f.number, sortByChange)
		}
	case flag:
		if p.Flags&f.flag != 0 {
			return AppendNumber(b, f.number, 1)
		}
	}
	return b
}

// appendKey appends the key of a request. If an interval starts at the empty key, it appends
// the first possible key instead, because etcd refuses an empty key.
func appendKey(b []byte, n protowire.Number, p *call.Part) []byte {
	if len(p.Key) == 0 && p.Scope != call.SingleKey {
		return AppendText(b, n, []byte{0})
	}
	return AppendText(b, n, p.Key)
}

// appendEnd appends the end of a request's interval, unless the request is for a single key.
func appendEnd(b []byte, n protowire.Number, p *call.Part) []byte {
	if p.Scope == call.SingleKey {
		return b
	}
	at := len(b)
	switch p.Scope {
	case call.Prefix:
		b = appendPrefixEnd(b, p.Key)
	case call.LaterPage:
		b = appendPrefixEnd(b, p.End)
	case call.FromKey:
		b = append(b, 0)
	default:
		b = append(b, p.End...)
	}
	return Wrap(b, at, n)
}

// appendPrefixEnd appends the first key after all keys with the prefix. If there is no such
// key, it appends a zero byte, which means that the interval has no end.
func appendPrefixEnd(b, prefix []byte) []byte {
	at := len(b)
	b = append(b, prefix...)
	for len(b) > at && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) == at {
		return append(b, 0)
	}
	b[len(b)-1]++
	return b
}

// appendCompared appends the value to compare with. It appends even the value 0, because the
// field belongs to a oneof, whose fields must not be omitted.
func appendCompared(b []byte, f *field, p *call.Part) []byte {
	if p.Target != f.target {
		return b
	}
	switch f.target {
	case call.ValueTarget:
		return protowire.AppendBytes(appendTag(b, f.number, protowire.BytesType), p.Value.Text)
	case call.LeaseTarget:
		return AppendVarint(b, f.number, uint64(p.Lease))
	}
	return AppendVarint(b, f.number, uint64(p.Number))
}

func appendFilters(b []byte, n protowire.Number, flags call.Flags) []byte {
	if flags&call.SkipWrites != 0 {
		b = AppendVarint(b, n, filterNoWrites)
	}
	if flags&call.SkipRemovals != 0 {
		b = AppendVarint(b, n, filterNoRemovals)
	}
	return b
}

// AppendTxn appends a TxnRequest that consists of the comparisons and operations in parts.
func AppendTxn(b []byte, parts []call.Part) []byte {
	for i := range parts {
		p, at := &parts[i], len(b)
		b = Append(b, p)
		op, branch := opRange, txnSuccess
		switch p.Action {
		case call.Compare:
			b = Wrap(b, at, txnCompare)
			continue
		case call.Write:
			op = opPut
		case call.Remove:
			op = opDelete
		}
		if p.Branch == call.Else {
			branch = txnFailure
		}
		b = Wrap(Wrap(b, at, op), at, branch)
	}
	return b
}

// AppendWatch appends a WatchRequest that creates a watcher.
func AppendWatch(b []byte, p *call.Part) []byte {
	at := len(b)
	return Wrap(Append(b, p), at, watchCreate)
}

// AppendProgress appends a WatchRequest that requests a progress notification.
func AppendProgress(b []byte) []byte { return Wrap(b, len(b), watchProgress) }

// AppendCancel appends a WatchRequest that cancels a watcher.
func AppendCancel(b []byte, watcher uint64) []byte {
	at := len(b)
	return Wrap(AppendNumber(b, cancelWatcher, watcher), at, watchCancel)
}

// AppendAuthenticate appends an AuthenticateRequest.
func AppendAuthenticate(b []byte, user, password string) []byte {
	b = AppendText(b, authenticateName, []byte(user))
	return AppendText(b, authenticatePassword, []byte(password))
}

// AppendLock appends a LockRequest.
func AppendLock(b, name []byte, lease uint64) []byte {
	return AppendVarint(AppendText(b, lockName, name), lockLease, lease)
}

// AppendUnlock appends an UnlockRequest.
func AppendUnlock(b, key []byte) []byte { return AppendText(b, unlockKey, key) }

// AppendText appends a bytes field, unless text is empty.
func AppendText(b []byte, n protowire.Number, text []byte) []byte {
	switch size := len(text); {
	case size == 0:
		return b
	case size < 1<<7: // nearly all keys
		b = append(b, byte(n)<<3|byte(protowire.BytesType), byte(size))
	case size < 1<<14: // most values
		b = append(b, byte(n)<<3|byte(protowire.BytesType), byte(size)|0x80, byte(size>>7))
	default:
		b = protowire.AppendVarint(appendTag(b, n, protowire.BytesType), uint64(size))
	}
	return append(b, text...)
}

// SizeText returns the number of bytes that AppendText appends for text.
func SizeText(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return 1 + protowire.SizeBytes(len(text))
}

// AppendNumber appends a varint field, unless v is 0.
func AppendNumber(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return AppendVarint(b, n, v)
}

// AppendVarint appends a varint field.
func AppendVarint(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(appendTag(b, n, protowire.VarintType), v)
}

// appendTag appends a field's tag. The tag has one byte, because all field numbers are below
// 16.
func appendTag(b []byte, n protowire.Number, t protowire.Type) []byte {
	return append(b, byte(n)<<3|byte(t))
}

// Wrap turns b[start:] into the value of a field: it inserts the field's tag and size at b[start].
func Wrap(b []byte, start int, n protowire.Number) []byte {
	size := len(b) - start
	if size < 1<<7 { // nearly always
		b = append(b, 0, 0)
		copy(b[start+2:], b[start:])
		b[start], b[start+1] = byte(n)<<3|byte(protowire.BytesType), byte(size)
		return b
	}
	head := 1 + protowire.SizeVarint(uint64(size))
	var room [11]byte
	b = append(b, room[:head]...)
	copy(b[start+head:], b[start:start+size])
	protowire.AppendVarint(appendTag(b[:start], n, protowire.BytesType), uint64(size))
	return b
}
