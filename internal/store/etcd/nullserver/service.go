package nullserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/store/null"
)

// The identity that every null cluster has. The IDs are as long as etcd's IDs, which are hashes, so
// that replies have the same size as etcd's.
const (
	clusterID   = 0xce6e756c6c000000
	firstMember = 0x8e6e756c6c000001
	term        = 2
	version     = "3.7.0-null"
)

func newIdentity(member uint64) *identity {
	id := &identity{member: member}
	id.encodedIDs = appendUint(appendUint(nil, message.ClusterIDTag, clusterID), message.MemberIDTag, member)
	id.encodedTerm = appendUint(nil, message.TermTag, term)
	return id
}

// header returns the header for a reply.
func (id *identity) header(revision int64) *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: clusterID, MemberId: id.member, Revision: revision, RaftTerm: term}
}

// memberID returns the ID of the n-th member, where the first member is number 1.
func memberID(n int) uint64 { return firstMember + uint64(n-1) }

// parse parses a request for the method.
func (m *method) parse(request []byte) (proto.Message, error) {
	message := m.request.ProtoReflect().New().Interface()
	return message, unmarshal(request, message)
}

// admits returns an error if a request with this token state must be denied.
func (m *member) admits(t tokenState) error {
	switch {
	case m.user == "" || t == tokenRight:
		return nil
	case t == tokenWrong:
		return rpctypes.ErrGRPCInvalidAuthToken
	}
	return rpctypes.ErrGRPCUserEmpty
}

// answer executes a request and appends the response message to b. If the request is invalid,
// it returns the error to reply with.
func (m *member) answer(b []byte, method *method, request []byte, wrong null.Kind, room *requestScratch) ([]byte, error) {
	switch method.path {
	case pb.KV_Range_FullMethodName, pb.KV_RangeStream_FullMethodName:
		if err := m.parseRange(request, &room.get); err != nil {
			return b, err
		}
		if method.path == pb.KV_RangeStream_FullMethodName {
			return m.appendStreamed(b, &room.get, wrong)
		}
		return m.backend.appendRange(b, m.identity, &room.get, wrong)
	case pb.KV_Put_FullMethodName:
		if err := parsePut(request, &room.put); err != nil {
			return b, err
		}
		if err := checkPut(&room.put); err != nil {
			return b, err
		}
		return m.backend.appendPut(b, m.identity, &room.put, wrong)
	}
	message, err := method.parse(request)
	if err != nil {
		return b, err
	}
	reply, err := m.call(message, wrong)
	if err != nil {
		return b, err
	}
	return proto.MarshalOptions{}.MarshalAppend(b, reply)
}

// parseRange parses a Range or RangeStream request, and returns an error if it is invalid.
func (m *member) parseRange(request []byte, r *pb.RangeRequest) error {
	if err := parseRange(request, r); err != nil {
		return err
	}
	if err := checkRange(r); err != nil {
		return err
	}
	if r.Serializable && m.noLocal {
		return errNoLocal
	}
	return nil
}

// appendStreamed appends a RangeStreamResponse that contains the whole range.
func (m *member) appendStreamed(b []byte, r *pb.RangeRequest, wrong null.Kind) ([]byte, error) {
	switch {
	case r.SortOrder != pb.RangeRequest_NONE && reordered(r):
		return b, errStreamOrder
	case filtered(r):
		return b, errStreamFilter
	}
	all, err := m.backend.appendRange(nil, m.identity, r, wrong)
	if err != nil {
		return b, err
	}
	return appendBytes(b, message.StreamRangeTag, all), nil
}

// call executes a request of any method except Range, RangeStream and Put.
func (m *member) call(request proto.Message, wrong null.Kind) (proto.Message, error) {
	header := m.identity.header(m.backend.Revision())
	switch r := request.(type) {
	case *pb.DeleteRangeRequest:
		return m.delete(r)
	case *pb.TxnRequest:
		return m.txn(r, wrong)
	case *pb.CompactionRequest:
		return &pb.CompactionResponse{Header: header}, nil
	case *pb.AlarmRequest:
		return &pb.AlarmResponse{Header: header}, nil
	case *pb.DefragmentRequest:
		return &pb.DefragmentResponse{Header: header}, nil
	case *pb.StatusRequest: // the first member is the leader; every member has applied all writes
		return &pb.StatusResponse{
			Header: header, Version: version, StorageVersion: "3.7.0", Leader: memberID(1), RaftTerm: term,
			RaftIndex: uint64(header.Revision), RaftAppliedIndex: uint64(header.Revision),
		}, nil
	case *pb.MemberListRequest:
		list := &pb.MemberListResponse{Header: header}
		for i, url := range m.members {
			list.Members = append(list.Members, &pb.Member{ID: memberID(i + 1), Name: fmt.Sprintf("null%d", i+1), ClientURLs: []string{url}})
		}
		return list, nil
	case *pb.AuthenticateRequest:
		switch {
		case m.user == "":
			return nil, rpctypes.ErrGRPCAuthNotEnabled
		case r.Name+":"+r.Password != m.user:
			return nil, rpctypes.ErrGRPCAuthFailed
		}
		return &pb.AuthenticateResponse{Header: header, Token: token}, nil
	}
	if m.hub == nil {
		return nil, errUnimplemented
	}
	switch r := request.(type) {
	case *pb.LeaseGrantRequest:
		id, ttl, err := m.hub.lease.grant(r)
		return &pb.LeaseGrantResponse{Header: header, ID: id, TTL: ttl}, err
	case *pb.LeaseRevokeRequest:
		return &pb.LeaseRevokeResponse{Header: header}, m.backend.(*memory).endLease(r.ID)
	}
	return nil, errUnimplemented
}

func (m *member) delete(d *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	if err := checkDelete(d); err != nil {
		return nil, err
	}
	r, err := m.backend.delete(d)
	if err == nil {
		r.Header = m.identity.header(r.Header.Revision)
	}
	return r, err
}

func (m *member) txn(t *pb.TxnRequest, wrong null.Kind) (*pb.TxnResponse, error) {
	if err := checkTxn(t); err != nil {
		return nil, err
	}
	r, err := m.backend.txn(t, wrong)
	if err == nil {
		r.Header = m.identity.header(r.Header.Revision)
	}
	return r, err
}

// errNoLocal is the error that servers without local reads, such as kine, return.
var errNoLocal = status.Error(codes.Unimplemented, "serializable is not implemented")

// Errors that etcd's gRPC server returns before etcd handles the request.
var (
	errMalformed     = status.Error(codes.Internal, "grpc: the request is not a valid message for its method")
	errCompressed    = status.Error(codes.Unimplemented, "grpc: the null server does not accept compressed requests")
	errTooLarge      = status.Error(codes.ResourceExhausted, "grpc: the request is larger than the null server accepts")
	errUnimplemented = status.Error(codes.Unimplemented, "the null server does not implement this method")
	errStreamOrder   = status.Error(codes.Unimplemented, "RangeStream does not support custom sort orders")
	errStreamFilter  = status.Error(codes.Unimplemented, "RangeStream does not support revision filters")
	errNestedTxn     = status.Error(codes.Unimplemented, "the null server does not accept nested transactions")
)

// scriptErrors maps each NAME that a script may use in error=NAME to an error. Most names are of
// two kinds. The name of an outcome stands for an etcd error that has this outcome. The name of a
// gRPC code stands for an error with this code.
func scriptErrors() map[string]error {
	errors := map[string]error{
		"refused":        rpctypes.ErrGRPCRequestTooManyRequests,
		"no_leader":      rpctypes.ErrGRPCNoLeader,
		"leader_changed": rpctypes.ErrGRPCLeaderChanged,
		"store_timeout":  rpctypes.ErrGRPCTimeout,
		"no_space":       rpctypes.ErrGRPCNoSpace,
		"denied":         rpctypes.ErrGRPCPermissionDenied,
		"bad_request":    rpctypes.ErrGRPCRequestTooLarge,
		"store_error":    rpctypes.ErrGRPCCorrupt,
		"stopped":        rpctypes.ErrGRPCStopped,
		"token":          rpctypes.ErrGRPCInvalidAuthToken,
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		name := snakeCase(code.String())
		errors[name] = status.Error(code, "null server: "+name+", injected by its script")
	}
	return errors
}

// snakeCase converts a name such as InvalidArgument to invalid_argument.
func snakeCase(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// errorNames returns the names that a script for this server may use in error=NAME, sorted.
func errorNames() []string { return slices.Sorted(maps.Keys(scriptErrors())) }
