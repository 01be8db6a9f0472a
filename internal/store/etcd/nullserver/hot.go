package nullserver

import (
	"bytes"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/store/null"
)

// The functions in this file parse and answer Range and Put requests without the generated code,
// which allocates memory. The null server must need little CPU time, because a measurement of the
// load generator would attribute the null server's CPU time to the load generator.

// unmarshal parses a message into m and overwrites m's previous contents.
func unmarshal(b []byte, m proto.Message) error {
	if proto.Unmarshal(b, m) != nil {
		return errMalformed
	}
	return nil
}

// encode encodes a message that the server created. Encoding such a message cannot fail.
func encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// parseRange parses a RangeRequest without copying: the byte fields of r refer to b. If the
// request has fields that a load never sends, parseRange uses the generated code.
func parseRange(b []byte, r *pb.RangeRequest) error {
	*r = pb.RangeRequest{}
	for rest := b; len(rest) > 0; {
		var f message.Field
		var ok bool
		if f, rest, ok = message.Next(rest); !ok {
			return unmarshal(b, r)
		}
		switch f.Number {
		case message.RangeKey:
			r.Key = f.Bytes
		case message.RangeEnd:
			r.RangeEnd = f.Bytes
		case message.RangeLimit:
			r.Limit = int64(f.Varint)
		case message.RangeRevision:
			r.Revision = int64(f.Varint)
		case message.RangeSerializable:
			r.Serializable = f.Varint != 0
		case message.RangeKeysOnly:
			r.KeysOnly = f.Varint != 0
		case message.RangeCountOnly:
			r.CountOnly = f.Varint != 0
		default:
			return unmarshal(b, r)
		}
	}
	return nil
}

// parsePut parses a PutRequest in the same way as parseRange.
func parsePut(b []byte, p *pb.PutRequest) error {
	*p = pb.PutRequest{}
	for rest := b; len(rest) > 0; {
		var f message.Field
		var ok bool
		if f, rest, ok = message.Next(rest); !ok {
			return unmarshal(b, p)
		}
		switch f.Number {
		case message.PutKey:
			p.Key = f.Bytes
		case message.PutValue:
			p.Value = f.Bytes
		default:
			return unmarshal(b, p)
		}
	}
	return nil
}

// appendUint appends a varint field with the given tag. It appends nothing if v is 0, because proto3
// omits zeros.
func appendUint(b []byte, tag byte, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, tag), v)
}

// appendBytes appends a field with the given tag, whose value is bytes, a string or a message.
func appendBytes[T string | []byte](b []byte, tag byte, v T) []byte {
	b = protowire.AppendVarint(append(b, tag), uint64(len(v)))
	return append(b, v...)
}

// sizeInt returns the number of bytes that appendUint appends for v.
func sizeInt(v int64) int {
	if v == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(uint64(v))
}

// appendHeader appends the header of a response.
func (id *identity) appendHeader(b []byte, revision int64) []byte {
	size := len(id.encodedIDs) + sizeInt(revision) + len(id.encodedTerm)
	b = append(b, message.HeaderTag, byte(size)) // at most 45 bytes
	b = append(b, id.encodedIDs...)
	b = appendUint(b, message.RevisionTag, uint64(revision))
	return append(b, id.encodedTerm...)
}

// revisions holds a key's revisions and version.
type revisions struct {
	create, mod int64
	version     int64 // number of writes since the key was created
}

// appendKV appends an mvccpb.KeyValue as a key of a RangeResponse, or as the previous key of a
// PutResponse, which has the same tag. The parameter `wrong` specifies how to damage the key or
// value, if at all.
func appendKV[K string | []byte](b []byte, key K, value []byte, at revisions, wrong null.Kind) []byte {
	if wrong != null.CorrectResponse {
		key, value := damage([]byte(key), value, wrong)
		return appendKV(b, key, value, at, null.CorrectResponse)
	}
	size := 1 + protowire.SizeBytes(len(key)) + sizeInt(at.create) + sizeInt(at.mod) + sizeInt(at.version)
	if len(value) > 0 {
		size += 1 + protowire.SizeBytes(len(value))
	}
	b = protowire.AppendVarint(append(b, message.RangeKVTag), uint64(size))
	b = appendBytes(b, message.KeyTag, key)
	b = appendUint(b, message.CreateRevisionTag, uint64(at.create))
	b = appendUint(b, message.ModRevisionTag, uint64(at.mod))
	b = appendUint(b, message.VersionTag, uint64(at.version))
	if len(value) > 0 {
		b = appendBytes(b, message.ValueTag, value)
	}
	return b
}

// damage returns the key and value with the damage that the script demands.
func damage(key, value []byte, wrong null.Kind) (_, _ []byte) {
	switch {
	case wrong == null.WrongKey && len(key) > 0:
		key = bytes.Clone(key)
		key[len(key)-1] ^= 1
	case wrong == null.WrongValue && len(value) == 0:
		value = []byte{'?'}
	case wrong == null.WrongValue:
		value = bytes.Clone(value)
		value[0] ^= 1
	}
	return key, value
}
