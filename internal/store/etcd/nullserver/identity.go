package nullserver

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fixed parts of a null cluster's identity. The numbers are as long as
// etcd's, which are hashes, so that answers have the same size.
const (
	clusterID   = 0xce6e756c6c000000
	firstMember = 0x8e6e756c6c000001
	term        = 2
	version     = "3.7.0-null"
)

// identity is what every answer of one member says about it: the fields of
// etcdserverpb.ResponseHeader, encoded but for the revision between them.
type identity struct {
	member uint64
	before []byte // cluster_id, member_id
	after  []byte // raft_term
}

func newIdentity(member uint64) *identity {
	id := &identity{member: member}
	id.before = appendUint(id.before, 1, clusterID)
	id.before = appendUint(id.before, 2, member)
	id.after = appendUint(id.after, 4, term)
	return id
}

// appendHeader appends the header as field 1, where all responses have it.
func (id *identity) appendHeader(b []byte, revision int64) []byte {
	size := len(id.before) + sizeInt(revision) + len(id.after)
	b = append(b, 1<<3|byte(protowire.BytesType), byte(size)) // at most 45 bytes
	b = append(b, id.before...)
	b = appendUint(b, 3, uint64(revision))
	return append(b, id.after...)
}

// MemberID is the id of the n-th member, from 1.
func MemberID(n int) uint64 { return firstMember + uint64(n-1) }

// members is the answer to Cluster.MemberList, without its header.
func members(urls []string) []byte {
	var b []byte
	for i, url := range urls {
		at := len(b)
		b = appendUint(b, 1, MemberID(i+1))
		b = appendText(b, 2, fmt.Sprintf("null%d", i+1))
		b = appendText(b, 4, url)
		b = enclose(b, at, 2)
	}
	return b
}

// appendStatus appends the answer to Maintenance.Status without its header:
// the first member leads, and what was written is applied.
func appendStatus(b []byte, revision int64) []byte {
	b = appendText(b, 2, version)
	b = appendUint(b, 4, MemberID(1))
	b = appendUint(b, 5, uint64(revision))
	b = appendUint(b, 6, term)
	b = appendUint(b, 7, uint64(revision))
	return appendText(b, 11, "3.7.0")
}
