package etcd

import (
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// OutcomeOf maps a gRPC status other than OK to an outcome. It returns a definite error only if the
// status proves that the store did not change. The text takes precedence over the code, because
// etcd sends some errors with the code Unknown.
func OutcomeOf(code codes.Code, text []byte) kv.Outcome {
	if rest, ok := strings.CutPrefix(string(text), "etcdserver: "); ok {
		if o, ok := outcomeOfText(rest); ok {
			return o
		}
	}
	switch string(text) {
	case "raft proposal dropped": // the proposal was dropped before it was sent to other members
		return kv.Refused
	case "raft: stopped": // the proposal may already have been accepted
		return kv.StoreError
	}
	switch {
	case strings.HasPrefix(string(text), "grpc: received message larger than max"):
		return kv.BadRequest // gRPC rejected the request before etcd's handler received it
	case isUnimplemented(code, string(text)):
		return kv.BadRequest
	}
	return outcomeOfCode(code)
}

// isUnimplemented reports whether a status means that the server does not implement the call.
// Servers that imitate etcd implement only some calls. For lease and maintenance calls, kine sends
// an error with the code Unknown and a text that ends with "is not supported".
func isUnimplemented(code codes.Code, text string) bool {
	return code == codes.Unimplemented || code == codes.Unknown && strings.HasSuffix(text, " is not supported")
}

// outcomeOfText returns the outcome for the text of one of etcd's own errors, without the prefix
// "etcdserver: ". The texts are in rpctypes/error.go in etcd's api module.
func outcomeOfText(text string) (kv.Outcome, bool) {
	switch text {
	case "too many requests", // too many entries wait to be applied; etcd checks this before it proposes the request
		"unhealthy cluster",             // the member did not start the membership change
		"not leader",                    // the contacted member refused the request
		"rpc not supported for learner": // the learner refused the request at once
		return kv.Refused, true

	case "no leader": // the member refused the request at once
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

	case "server stopped", // the request may already have been proposed
		"request canceled", "request cancelled", // the request may already have been proposed
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

// isDenied reports whether a text is an authentication or permission error.
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

// isBadRequest reports whether a text means that the request is invalid. Either the contacted
// member detects the error before it proposes the request, or every member detects the error when
// it applies the request. In both cases the store does not change.
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

// outcomeOfCode returns the outcome for the code of a status whose text is not known.
func outcomeOfCode(code codes.Code) kv.Outcome {
	switch code {
	case codes.DeadlineExceeded:
		return kv.StoreTimeout
	case codes.Unauthenticated, codes.PermissionDenied:
		return kv.Denied
	case codes.InvalidArgument, // etcd found the error when it validated the request
		codes.OutOfRange,
		codes.NotFound:
		return kv.BadRequest
	}
	// Canceled, Unknown, AlreadyExists, ResourceExhausted, FailedPrecondition, Aborted, Internal,
	// Unavailable, DataLoss, and any code of a later gRPC version: the server, or a proxy in front
	// of it, may have sent the status after the request was proposed.
	return kv.StoreError
}

// outcomeOfEnd returns the outcome of a call that ended without a gRPC status.
func outcomeOfEnd(end h2.End) kv.Outcome {
	switch end {
	case h2.Refused:
		return kv.Refused
	case h2.Unprocessed, h2.NotSent:
		return kv.NotSent
	case h2.Broken:
		return kv.ConnectionLost
	}
	return kv.StoreError // the stream was reset before the response was complete
}
