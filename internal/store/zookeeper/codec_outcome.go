package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// outcomeOf maps an error to how the operation ended, where the operation
// itself does not give it a meaning (a missing node that is read is a miss).
// Only what certainly did not change the store may become a definite outcome.
//
// A member looks at a write twice. What it finds before it proposes
// (PrepRequestProcessor) becomes an error in the log of transactions and
// nothing else: the session, the rights, the version, the parent. What it finds
// afterwards (FinalRequestProcessor) may come with a change that was made.
func outcomeOf(code jute.Code) kv.Outcome {
	switch code {
	case jute.OK:
		return kv.OK

	case jute.BadArguments, // a path or a name that cannot be
		jute.Unimplemented,
		jute.InvalidACL,
		jute.InvalidCallback,
		jute.NoChildrenForEphemerals,
		jute.EphemeralOnLocalSession,
		jute.NoWatcher,
		jute.ReconfigDisabled,
		jute.NoNode,     // a parent that is not there
		jute.NodeExists, // answered where a create was not expected to find one
		jute.BadVersion, // likewise
		jute.NotEmpty:   // a node with children is not deleted
		return kv.BadRequest

	case jute.NoAuth, jute.AuthFailed, jute.SessionClosedRequireSASLAuth:
		return kv.Denied

	case jute.SessionExpired, // looked at before the proposal
		jute.SessionMoved, // likewise: another member has the session now
		jute.ThrottledOp,  // waited too long to be looked at at all
		jute.ReconfigInProgress:
		return kv.Refused

	case jute.NotReadOnly, // a member without a quorum that only reads
		jute.NewConfigNoQuorum:
		return kv.NoLeader

	case jute.OperationTimeout, jute.RequestTimeout:
		return kv.StoreTimeout

	case jute.QuotaExceeded:
		return kv.NoSpace

	case jute.ConnectionLoss:
		return kv.ConnectionLost
	}
	// SystemError, RuntimeInconsistency, DataInconsistency, MarshallingError
	// (both processors answer it), UnknownSession, APIError (which proxies
	// answer to anything), and codes to come.
	return kv.StoreError
}
