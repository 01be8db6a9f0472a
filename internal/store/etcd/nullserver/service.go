package nullserver

import (
	"github.com/quorumbench/quorumbench/internal/store/null"
)

// method is a gRPC method.
type method uint8

const (
	methodUnknown method = iota
	methodRange
	methodRangeStream // its answer is a stream of one message
	methodPut
	methodDeleteRange
	methodTxn
	methodStatus
	methodMemberList
	methodAuthenticate
	methodLeaseGrant
	methodLeaseRevoke
	methodWatch      // stays open
	methodKeepAlive  // stays open
	methodHeaderOnly // answered with a header and nothing else
)

// scripted reports whether the method is an operation, which the script counts
// and decides about; the others are administration and answered at once.
func (m method) scripted() bool { return m >= methodRange && m <= methodTxn }

func methodOf(path string) method {
	switch path {
	case "/etcdserverpb.KV/Range":
		return methodRange
	case "/etcdserverpb.KV/RangeStream":
		return methodRangeStream
	case "/etcdserverpb.KV/Put":
		return methodPut
	case "/etcdserverpb.KV/DeleteRange":
		return methodDeleteRange
	case "/etcdserverpb.KV/Txn":
		return methodTxn
	case "/etcdserverpb.Maintenance/Status":
		return methodStatus
	case "/etcdserverpb.Cluster/MemberList":
		return methodMemberList
	case "/etcdserverpb.Auth/Authenticate":
		return methodAuthenticate
	case "/etcdserverpb.Watch/Watch":
		return methodWatch
	case "/etcdserverpb.Lease/LeaseKeepAlive":
		return methodKeepAlive
	case "/etcdserverpb.Lease/LeaseGrant":
		return methodLeaseGrant
	case "/etcdserverpb.Lease/LeaseRevoke":
		return methodLeaseRevoke
	case "/etcdserverpb.KV/Compact", "/etcdserverpb.Maintenance/Alarm", "/etcdserverpb.Maintenance/Defragment":
		return methodHeaderOnly
	}
	return methodUnknown
}

// keeper answers the operations. The request is valid until the call returns.
type keeper interface {
	appendRange(b []byte, id *identity, r *rangeRequest, wrong null.Kind) ([]byte, *status)
	appendPut(b []byte, id *identity, p *putRequest) ([]byte, *status)
	appendDelete(b []byte, id *identity, d *deleteRequest) ([]byte, *status)
	appendTxn(b []byte, id *identity, t *txnRequest, wrong null.Kind) ([]byte, *status)
	currentRevision() int64
}

// room is where requests are parsed to, so that none is allocated.
type room struct {
	get    rangeRequest
	put    putRequest
	remove deleteRequest
	txn    txnRequest
}

// member is one member of the null cluster.
type member struct {
	identity *identity
	keeper   keeper
	hub      *hub               // nil: there are no watches and leases
	members  []byte             // the answer to MemberList, without its header
	noLocal  bool               // refuses local reads
	user     string             // NAME:PASSWORD; empty: no authentication
	errors   map[string]*status // by their names in a script
}

// token is what Authenticate gives to everybody who knows the password.
const token = "null.1"

// answer carries out a request and appends the response message to b, or says
// what is wrong with it.
func (m *member) answer(b []byte, method method, request []byte, wrong null.Kind, room *room) ([]byte, *status) {
	switch method {
	case methodRange, methodRangeStream:
		r := &room.get
		var ok bool
		*r, ok = parseRange(request)
		if err := checkRange(r, ok); err != nil {
			return b, err
		}
		if r.local && m.noLocal {
			return b, errNoLocal
		}
		if method == methodRange {
			return m.keeper.appendRange(b, m.identity, r, wrong)
		}
		return m.appendStreamed(b, r, wrong)
	case methodPut:
		p := &room.put
		var ok bool
		*p, ok = parsePut(request)
		if err := checkPut(p, ok); err != nil {
			return b, err
		}
		return m.keeper.appendPut(b, m.identity, p)
	case methodDeleteRange:
		d := &room.remove
		var ok bool
		*d, ok = parseDelete(request)
		if err := checkDelete(d, ok); err != nil {
			return b, err
		}
		return m.keeper.appendDelete(b, m.identity, d)
	case methodTxn:
		if err := room.txn.parse(request); err != nil {
			return b, err
		}
		return m.keeper.appendTxn(b, m.identity, &room.txn, wrong)
	case methodAuthenticate:
		return m.authenticate(b, request)
	case methodUnknown:
		return b, errUnimplemented
	case methodLeaseGrant, methodLeaseRevoke:
		switch {
		case m.hub == nil:
			return b, errUnimplemented
		case method == methodLeaseGrant:
			return m.hub.lease.grant(b, request, m)
		}
		return m.hub.lease.revoke(b, request, m)
	}
	revision := m.keeper.currentRevision()
	b = m.identity.appendHeader(b, revision)
	switch method {
	case methodStatus:
		b = appendStatus(b, revision)
	case methodMemberList:
		b = append(b, m.members...)
	}
	return b, nil
}

// appendStreamed appends a RangeStreamResponse{range_response: 1} that has all
// of the range.
func (m *member) appendStreamed(b []byte, r *rangeRequest, wrong null.Kind) ([]byte, *status) {
	switch {
	case r.order != orderNone && r.reordered():
		return b, errStreamOrder
	case r.filtered():
		return b, errStreamFilter
	}
	at := len(b)
	b, err := m.keeper.appendRange(b, m.identity, r, wrong)
	if err != nil {
		return b, err
	}
	return enclose(b, at, 1), nil
}

func (m *member) authenticate(b, request []byte) ([]byte, *status) {
	name, password, ok := parseAuth(request)
	switch {
	case !ok:
		return b, errMalformed
	case m.user == "":
		return b, errAuthDisabled
	case string(name)+":"+string(password) != m.user:
		return b, errAuthFailed
	}
	b = m.identity.appendHeader(b, m.keeper.currentRevision())
	return appendText(b, 2, token), nil
}

// The checks below are those of etcd's api/v3rpc/key.go.

func checkRange(r *rangeRequest, ok bool) *status {
	switch {
	case !ok:
		return errMalformed
	case len(r.key) == 0:
		return errEmptyKey
	case r.order < 0 || r.order > 2 || r.target < 0 || r.target > 4:
		return errSortOption
	}
	return nil
}

func checkPut(p *putRequest, ok bool) *status {
	switch {
	case !ok:
		return errMalformed
	case len(p.key) == 0:
		return errEmptyKey
	case p.ignoreValue && len(p.value) != 0:
		return errValueProvided
	case p.ignoreLease && p.lease != 0:
		return errLeaseProvided
	}
	return nil
}

func checkDelete(d *deleteRequest, ok bool) *status {
	switch {
	case !ok:
		return errMalformed
	case len(d.key) == 0:
		return errEmptyKey
	}
	return nil
}
