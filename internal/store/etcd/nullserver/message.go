package nullserver

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// The requests, as etcd's rpc.proto defines them. Their slices lie in the
// message that they were read from.

type rangeRequest struct {
	key, end             []byte
	limit, revision      int64
	order, target        int64
	keysOnly, countOnly  bool
	local                bool // serializable
	lags                 bool // the member that answers does
	minMod, maxMod       int64
	minCreate, maxCreate int64
}

type putRequest struct {
	key, value               []byte
	lease                    int64
	prevKV                   bool
	ignoreValue, ignoreLease bool
}

type deleteRequest struct {
	key, end []byte
	prevKV   bool
}

// next reads one field. It returns the value of a varint or the bytes of a
// string, bytes or message; other fields are passed over with number 0.
func next(b []byte) (number protowire.Number, value uint64, data, rest []byte, ok bool) {
	number, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, 0, nil, nil, false
	}
	b = b[n:]
	switch typ {
	case protowire.VarintType:
		value, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		data, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(number, typ, b)
		number = 0
	}
	if n < 0 {
		return 0, 0, nil, nil, false
	}
	return number, value, data, b[n:], true
}

func parseRange(b []byte) (r rangeRequest, ok bool) {
	for len(b) > 0 {
		number, value, data, rest, ok := next(b)
		if !ok {
			return r, false
		}
		b = rest
		switch number {
		case 1:
			r.key = data
		case 2:
			r.end = data
		case 3:
			r.limit = int64(value)
		case 4:
			r.revision = int64(value)
		case 5:
			r.order = int64(value)
		case 6:
			r.target = int64(value)
		case 7:
			r.local = value != 0
		case 8:
			r.keysOnly = value != 0
		case 9:
			r.countOnly = value != 0
		case 10:
			r.minMod = int64(value)
		case 11:
			r.maxMod = int64(value)
		case 12:
			r.minCreate = int64(value)
		case 13:
			r.maxCreate = int64(value)
		}
	}
	return r, true
}

func parsePut(b []byte) (p putRequest, ok bool) {
	for len(b) > 0 {
		number, value, data, rest, ok := next(b)
		if !ok {
			return p, false
		}
		b = rest
		switch number {
		case 1:
			p.key = data
		case 2:
			p.value = data
		case 3:
			p.lease = int64(value)
		case 4:
			p.prevKV = value != 0
		case 5:
			p.ignoreValue = value != 0
		case 6:
			p.ignoreLease = value != 0
		}
	}
	return p, true
}

func parseDelete(b []byte) (d deleteRequest, ok bool) {
	for len(b) > 0 {
		number, value, data, rest, ok := next(b)
		if !ok {
			return d, false
		}
		b = rest
		switch number {
		case 1:
			d.key = data
		case 2:
			d.end = data
		case 3:
			d.prevKV = value != 0
		}
	}
	return d, true
}

// parseAuth reads AuthenticateRequest: a name and a password.
func parseAuth(b []byte) (name, password []byte, ok bool) {
	for len(b) > 0 {
		number, _, data, rest, ok := next(b)
		if !ok {
			return nil, nil, false
		}
		b = rest
		switch number {
		case 1:
			name = data
		case 2:
			password = data
		}
	}
	return name, password, true
}

// appendUint appends a varint field, which proto3 leaves out when it is 0.
func appendUint(b []byte, number protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, number, protowire.VarintType)
	return protowire.AppendVarint(b, v)
}

// appendText appends a string field.
func appendText(b []byte, number protowire.Number, s string) []byte {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendString(b, s)
}

// enclose makes what was appended to b from at on the contents of a field of
// length-delimited type, by moving it to make room for tag and length.
func enclose(b []byte, at int, number protowire.Number) []byte {
	size := len(b) - at
	room := protowire.SizeTag(number) + protowire.SizeVarint(uint64(size))
	var zero [16]byte
	b = append(b, zero[:room]...)
	copy(b[at+room:], b[at:at+size])
	head := protowire.AppendTag(b[:at], number, protowire.BytesType)
	protowire.AppendVarint(head, uint64(size))
	return b
}

// appendKV appends an mvccpb.KeyValue as the given field. wrong damages it.
func appendKV[K string | []byte](b []byte, number protowire.Number, key K, value []byte, create, mod, version int64, wrong null.Kind) []byte {
	damaged := wrong == null.WrongValue
	if damaged && len(value) == 0 {
		value, damaged = []byte{'?'}, false
	}
	size := 1 + protowire.SizeBytes(len(key)) + sizeInt(create) + sizeInt(mod) + sizeInt(version)
	if len(value) > 0 {
		size += 1 + protowire.SizeBytes(len(value))
	}
	b = protowire.AppendTag(b, number, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(key)))
	b = append(b, key...)
	if wrong == null.WrongKey && len(key) > 0 {
		b[len(b)-1] ^= 1
	}
	b = appendUint(b, 2, uint64(create))
	b = appendUint(b, 3, uint64(mod))
	b = appendUint(b, 4, uint64(version))
	if len(value) > 0 {
		b = protowire.AppendTag(b, 5, protowire.BytesType)
		b = protowire.AppendBytes(b, value)
		if damaged {
			b[len(b)-len(value)] ^= 1
		}
	}
	return b
}

// sizeInt is the size of what appendUint appends for a number below 16.
func sizeInt(v int64) int {
	if v == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(uint64(v))
}
