package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// outcomeOf maps an error code to an outcome. The caller handles the codes that have a special
// meaning for its operation: for example, NoNode is a miss for a read. Only a code that excludes
// any change of the data maps to a definite error.
//
// A member checks a write twice. If it finds an error before the proposal (PrepRequestProcessor:
// session, rights, version, parent), it logs an error transaction and changes nothing. If it finds
// an error afterwards (FinalRequestProcessor), the write may have changed the data.
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
		jute.NodeExists, // returned for a create that does not handle an existing node
		jute.BadVersion, // returned for a request that does not handle a version conflict
		jute.NotEmpty:   // a node with children cannot be deleted
		return kv.BadRequest

	case jute.NoAuth, jute.AuthFailed, jute.SessionClosedRequireSASLAuth:
		return kv.Denied

	case jute.SessionExpired, // checked before the proposal
		jute.SessionMoved, // checked before the proposal: the session has moved to another member
		jute.ThrottledOp,  // the request waited too long in the queue and was not processed
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
	// The remaining codes are:
	//   - SystemError, RuntimeInconsistency, DataInconsistency and UnknownSession
	//   - MarshallingError, which both processors return
	//   - APIError, which a proxy returns for any failure
	//   - unknown codes
	return kv.StoreError
}
