package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// outcomeOf maps an error code to an outcome, for codes that have no special meaning for the
// operation (reading a missing node is a miss, for example). Only codes that exclude any change
// of the store map to a definite error.
//
// A member checks a write twice. An error that it finds before the proposal
// (PrepRequestProcessor: session, rights, version, parent) is logged as an error transaction and
// changes nothing. An error that it finds afterwards (FinalRequestProcessor) can accompany a
// change that was made.
func outcomeOf(code jute.Code) kv.Outcome {
	switch code {
	case jute.OK:
		return kv.OK

	case jute.BadArguments, // an invalid path or name
		jute.Unimplemented,
		jute.InvalidACL,
		jute.InvalidCallback,
		jute.NoChildrenForEphemerals,
		jute.EphemeralOnLocalSession,
		jute.NoWatcher,
		jute.ReconfigDisabled,
		jute.NoNode,     // the parent does not exist
		jute.NodeExists, // for a create that did not expect an existing node
		jute.BadVersion, // for a request that did not expect a version conflict
		jute.NotEmpty:   // a node with children cannot be deleted
		return kv.BadRequest

	case jute.NoAuth, jute.AuthFailed, jute.SessionClosedRequireSASLAuth:
		return kv.Denied

	case jute.SessionExpired, // checked before the proposal
		jute.SessionMoved, // checked before the proposal: another member has the session now
		jute.ThrottledOp,  // waited too long in the queue and was not processed
		jute.ReconfigInProgress:
		return kv.Refused

	case jute.NotReadOnly, // the member has no quorum and only serves reads
		jute.NewConfigNoQuorum:
		return kv.NoLeader

	case jute.OperationTimeout, jute.RequestTimeout:
		return kv.StoreTimeout

	case jute.QuotaExceeded:
		return kv.NoSpace

	case jute.ConnectionLoss:
		return kv.ConnectionLost
	}
	// SystemError, RuntimeInconsistency, DataInconsistency, MarshallingError (returned by both
	// processors), UnknownSession, APIError (which proxies return for any failure), and unknown
	// codes.
	return kv.StoreError
}
