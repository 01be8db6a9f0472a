package nullserver

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// method is a gRPC method that the server knows.
type method struct {
	path     string
	scripted bool          // an operation, which the script counts and decides about; others are answered at once
	long     bool          // its calls stay open
	request  proto.Message // an empty one; nil for what is read by hand
}

// methodOf returns the method with a path, or nil.
func methodOf(path string) *method {
	for _, m := range [...]method{
		{path: pb.KV_Range_FullMethodName, scripted: true},
		{path: pb.KV_RangeStream_FullMethodName, scripted: true}, // answered with a stream of one message
		{path: pb.KV_Put_FullMethodName, scripted: true},
		{path: pb.KV_DeleteRange_FullMethodName, scripted: true, request: &pb.DeleteRangeRequest{}},
		{path: pb.KV_Txn_FullMethodName, scripted: true, request: &pb.TxnRequest{}},
		{path: pb.KV_Compact_FullMethodName, request: &pb.CompactionRequest{}},
		{path: pb.Watch_Watch_FullMethodName, long: true, request: &pb.WatchRequest{}},
		{path: pb.Lease_LeaseKeepAlive_FullMethodName, long: true, request: &pb.LeaseKeepAliveRequest{}},
		{path: pb.Lease_LeaseGrant_FullMethodName, request: &pb.LeaseGrantRequest{}},
		{path: pb.Lease_LeaseRevoke_FullMethodName, request: &pb.LeaseRevokeRequest{}},
		{path: pb.Maintenance_Status_FullMethodName, request: &pb.StatusRequest{}},
		{path: pb.Maintenance_Alarm_FullMethodName, request: &pb.AlarmRequest{}},
		{path: pb.Maintenance_Defragment_FullMethodName, request: &pb.DefragmentRequest{}},
		{path: pb.Cluster_MemberList_FullMethodName, request: &pb.MemberListRequest{}},
		{path: pb.Auth_Authenticate_FullMethodName, request: &pb.AuthenticateRequest{}},
	} {
		if m.path == path {
			return &m
		}
	}
	return nil
}

// parse reads a request of the method.
func (m *method) parse(request []byte) (proto.Message, error) {
	message := m.request.ProtoReflect().New().Interface()
	return message, unmarshal(request, message)
}

// keeper answers the operations. The request is valid until the call returns;
// the headers of answers that are not encoded carry the revision alone.
type keeper interface {
	appendRange(b []byte, id *identity, r *pb.RangeRequest, wrong null.Kind) ([]byte, error)
	appendPut(b []byte, id *identity, p *pb.PutRequest) ([]byte, error)
	delete(d *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error)
	txn(t *pb.TxnRequest, wrong null.Kind) (*pb.TxnResponse, error)
	Revision() int64
}

// room is where hot requests are parsed to, so that none is allocated.
type room struct {
	get pb.RangeRequest
	put pb.PutRequest
}

// member is one member of the null cluster.
type member struct {
	identity *identity
	keeper   keeper
	hub      *hub // nil: there are no watches and leases
	members  []*pb.Member
	noLocal  bool             // refuses local reads
	user     string           // NAME:PASSWORD; empty: no authentication
	errors   map[string]error // by their names in a script
}

// token is what Authenticate gives to everybody who knows the password.
const token = "null.1"

// admits says what is wrong with who sends a request.
func (m *member) admits(t tokenState) error {
	switch {
	case m.user == "" || t == tokenRight:
		return nil
	case t == tokenWrong:
		return rpctypes.ErrGRPCInvalidAuthToken
	}
	return rpctypes.ErrGRPCUserEmpty
}

// answer carries out a request and appends the response message to b, or says
// what is wrong with it.
func (m *member) answer(b []byte, method *method, request []byte, wrong null.Kind, room *room) ([]byte, error) {
	switch method.path {
	case pb.KV_Range_FullMethodName, pb.KV_RangeStream_FullMethodName:
		if err := m.parseRange(request, &room.get); err != nil {
			return b, err
		}
		if method.path == pb.KV_RangeStream_FullMethodName {
			return m.appendStreamed(b, &room.get, wrong)
		}
		return m.keeper.appendRange(b, m.identity, &room.get, wrong)
	case pb.KV_Put_FullMethodName:
		if err := parsePut(request, &room.put); err != nil {
			return b, err
		}
		if err := checkPut(&room.put); err != nil {
			return b, err
		}
		return m.keeper.appendPut(b, m.identity, &room.put)
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

// parseRange reads and checks what a Range or RangeStream asks for.
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

// appendStreamed appends a RangeStreamResponse{range_response: 1} that has all
// of the range.
func (m *member) appendStreamed(b []byte, r *pb.RangeRequest, wrong null.Kind) ([]byte, error) {
	switch {
	case r.SortOrder != pb.RangeRequest_NONE && reordered(r):
		return b, errStreamOrder
	case filtered(r):
		return b, errStreamFilter
	}
	all, err := m.keeper.appendRange(nil, m.identity, r, wrong)
	if err != nil {
		return b, err
	}
	return protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), all), nil
}

// call carries out a request that is not hot.
func (m *member) call(request proto.Message, wrong null.Kind) (proto.Message, error) {
	header := m.identity.header(m.keeper.Revision())
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
	case *pb.StatusRequest: // the first member leads, and what was written is applied
		return &pb.StatusResponse{
			Header: header, Version: version, StorageVersion: "3.7.0", Leader: MemberID(1), RaftTerm: term,
			RaftIndex: uint64(header.Revision), RaftAppliedIndex: uint64(header.Revision),
		}, nil
	case *pb.MemberListRequest:
		return &pb.MemberListResponse{Header: header, Members: m.members}, nil
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
		return &pb.LeaseRevokeResponse{Header: header}, m.hub.lease.revoke(r.ID)
	}
	return nil, errUnimplemented
}

func (m *member) delete(d *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	if err := checkDelete(d); err != nil {
		return nil, err
	}
	r, err := m.keeper.delete(d)
	if err == nil {
		r.Header = m.identity.header(r.Header.Revision)
	}
	return r, err
}

func (m *member) txn(t *pb.TxnRequest, wrong null.Kind) (*pb.TxnResponse, error) {
	if err := checkTxn(t); err != nil {
		return nil, err
	}
	r, err := m.keeper.txn(t, wrong)
	if err == nil {
		r.Header = m.identity.header(r.Header.Revision)
	}
	return r, err
}
