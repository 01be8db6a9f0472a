package nullserver

import (
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// The fixed parts of a null cluster's identity. The numbers are as long as
// etcd's, which are hashes, so that answers have the same size.
const (
	clusterID   = 0xce6e756c6c000000
	firstMember = 0x8e6e756c6c000001
	term        = 2
	version     = "3.7.0-null"
)

// identity is what every answer of one member says about it.
type identity struct {
	member uint64
	before []byte // a header's cluster_id and member_id, encoded
	after  []byte // its raft_term
}

func newIdentity(member uint64) *identity {
	id := &identity{member: member}
	id.before = appendUint(appendUint(nil, 1, clusterID), 2, member)
	id.after = appendUint(nil, 4, term)
	return id
}

// header is the header of an answer.
func (id *identity) header(revision int64) *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: clusterID, MemberId: id.member, Revision: revision, RaftTerm: term}
}

// MemberID is the id of the n-th member, from 1.
func MemberID(n int) uint64 { return firstMember + uint64(n-1) }

// members are those that Cluster.MemberList answers with.
func members(urls []string) (list []*pb.Member) {
	for i, url := range urls {
		list = append(list, &pb.Member{ID: MemberID(i + 1), Name: fmt.Sprintf("null%d", i+1), ClientURLs: []string{url}})
	}
	return list
}
