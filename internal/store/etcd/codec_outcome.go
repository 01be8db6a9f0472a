package etcd

import (
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// OutcomeOf maps a gRPC status that is not OK to how the operation ended. Only
// what certainly did not change the store may become a definite outcome. The
// text decides before the code, for etcd sends some errors as Unknown.
func OutcomeOf(code codes.Code, text []byte) kv.Outcome {
	if rest, ok := strings.CutPrefix(string(text), "etcdserver: "); ok {
		if o, ok := outcomeOfText(rest); ok {
			return o
		}
	}
	switch string(text) {
	case "raft proposal dropped": // by the member itself, before it went anywhere
		return kv.Refused
	case "raft: stopped": // perhaps after it was taken
		return kv.StoreError
	}
	switch {
	case strings.HasPrefix(string(text), "grpc: received message larger than max"):
		return kv.BadRequest // read, and not given to etcd
	case lacks(code, string(text)):
		return kv.BadRequest
	}
	return outcomeOfCode(code)
}

// lacks reports whether a status says that a server does not have the call at all. Servers
// that stand in for etcd do not have all of its calls, and kine says so of leases and
// maintenance in an error without a code of its own.
func lacks(code codes.Code, text string) bool {
	return code == codes.Unimplemented || code == codes.Unknown && strings.HasSuffix(text, " is not supported")
}

// outcomeOfText maps etcd's own errors (rpctypes/error.go in etcd's api
// module), without their prefix.
func outcomeOfText(text string) (kv.Outcome, bool) {
	switch text {
	case "too many requests", // too far behind with applying; checked before the proposal
		"unhealthy cluster",             // a reconfiguration that was not begun
		"not leader",                    // answered by the member alone
		"rpc not supported for learner": // refused on arrival
		return kv.Refused, true

	case "no leader": // refused on arrival
		return kv.NoLeader, true

	case "leader changed":
		return kv.LeaderChanged, true

	case "request timed out",
		"request timed out, possibly due to previous leader failure",
		"request timed out, possibly due to connection lost",
		"request timed out, waiting for the applied index took too long",
		"request timed out, leader transfer took too long",
		"context deadline exceeded":
		return kv.StoreTimeout, true

	case "mvcc: database space exceeded", "no space":
		return kv.NoSpace, true

	case "server stopped", // perhaps with the proposal under way
		"request canceled", "request cancelled", // likewise
		"watch canceled",
		"corrupt cluster":
		return kv.StoreError, true
	}
	switch {
	case isDenied(text):
		return kv.Denied, true
	case isBadRequest(text):
		return kv.BadRequest, true
	}
	return 0, false
}

// isDenied knows the errors of authentication and permission.
func isDenied(text string) bool {
	switch text {
	case "authentication failed, invalid user ID or password", "permission denied",
		"permission not given", "invalid auth token", "revision of auth store is old",
		"authentication is not enabled", "invalid auth management",
		"root user does not exist", "root user does not have root role",
		"user name already exists", "user name is empty", "user name not found",
		"role name already exists", "role name not found", "role name is empty",
		"role is not granted to the user", "permission is not granted to the role":
		return true
	}
	return false
}

// isBadRequest knows the errors of requests that cannot be served as they are;
// a member finds them before it proposes, or all find them instead of applying.
func isBadRequest(text string) bool {
	switch text {
	case "key is not provided", "key not found", "value is provided", "lease is provided",
		"too many operations in txn request", "duplicate key given in txn request",
		"invalid client api version", "invalid sort option", "request is too large",
		"mvcc: required revision has been compacted",
		"mvcc: required revision is a future revision",
		"requested lease not found", "lease already exists", "too large lease TTL",
		"not capable", "unknown method", "cluster ID mismatch",

		"member ID already exist", "Peer URLs already exists", "member not found",
		"re-configuration failed due to not enough started members",
		"given member URLs are invalid", "can only promote a learner member",
		"can only promote a learner member which is in sync with leader",
		"too many learner members in cluster", "bad leader transferee",

		"wrong downgrade target version format", "invalid downgrade target version",
		"cluster version not found during downgrade",
		"cluster has a downgrade job in progress", "no inflight downgrade job":
		return true
	}
	return false
}

// outcomeOfCode maps a status whose text is not known.
func outcomeOfCode(code codes.Code) kv.Outcome {
	switch code {
	case codes.DeadlineExceeded:
		return kv.StoreTimeout
	case codes.Unauthenticated, codes.PermissionDenied:
		return kv.Denied
	case codes.InvalidArgument, // found when the request is looked at
		codes.OutOfRange,
		codes.NotFound:
		return kv.BadRequest
	}
	// Canceled, Unknown, AlreadyExists, ResourceExhausted, FailedPrecondition,
	// Aborted, Internal, Unavailable, DataLoss, and codes to come: the server,
	// or a proxy before it, may have said so after the proposal.
	return kv.StoreError
}

// outcomeOfEnd maps a call that ended without a gRPC status.
func outcomeOfEnd(end h2.End) kv.Outcome {
	switch end {
	case h2.Refused:
		return kv.Refused
	case h2.Unprocessed, h2.NotSent:
		return kv.NotSent
	case h2.Broken:
		return kv.ConnectionLost
	}
	return kv.StoreError // reset in mid-way
}
