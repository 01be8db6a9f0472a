// Package message encodes and decodes the requests in etcd's API. It contains tables that describe
// the fields of each request. The codec, the passive decoder and the null server share these
// tables, so each field number is defined only once. The tables follow etcdserverpb/rpc.proto and
// v3lockpb/v3lock.proto in etcd's api module.
package message

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Field numbers in the requests that most loads send. These requests have hand-written encoders
// or parsers: RangeRequest, PutRequest, and the Compare in a compare-and-set.
const (
	RangeKey          protowire.Number = 1
	RangeEnd          protowire.Number = 2
	RangeLimit        protowire.Number = 3
	RangeRevision     protowire.Number = 4
	RangeSerializable protowire.Number = 7
	RangeKeysOnly     protowire.Number = 8
	RangeCountOnly    protowire.Number = 9

	PutKey   protowire.Number = 1
	PutValue protowire.Number = 2

	compareTarget, compareKey, compareModified protowire.Number = 2, 3, 6
)

// Numbers of fields whose values are messages, and numbers of enum values.
const (
	txnCompare, txnSuccess, txnFailure      protowire.Number = 1, 2, 3    // TxnRequest
	opRange, opPut, opDelete, opTxn         protowire.Number = 1, 2, 3, 4 // RequestOp
	watchCreate, watchCancel, watchProgress protowire.Number = 1, 2, 3    // WatchRequest
	cancelWatcher                           protowire.Number = 1          // WatchCancelRequest
	authenticateName, authenticatePassword  protowire.Number = 1, 2       // AuthenticateRequest
	lockName, lockLease, unlockKey          protowire.Number = 1, 2, 1    // LockRequest, UnlockRequest
	sortAscending, sortDescending           uint64           = 1, 2       // RangeRequest.SortOrder
	sortByCreation, sortByChange            uint64           = 2, 3       // RangeRequest.SortTarget
	filterNoWrites, filterNoRemovals        uint64           = 0, 1       // WatchCreateRequest.FilterType
	mostRelation                                             = uint64(call.NotEqual)
	mostTarget                                               = uint64(call.LeaseIs)
)

// member identifies the field of call.Part that has the same value as a given field of a request.
type member uint8

const (
	key      member = iota // Key
	end                    // End, depending on Scope
	value                  // Value
	number                 // Number
	limit                  // Limit
	lease                  // Lease
	oldest                 // Oldest
	flag                   // one of the Flags
	order                  // the flags Sorted and Descending
	orderBy                // the property by which a Sorted read is sorted
	filters                // the flags NoWrites and NoRemovals
	relation               // Relation
	target                 // Target
	compared               // the value to compare with, if the target of the Compare is field.target
)

// field describes one field of a request.
type field struct {
	number protowire.Number
	holds  member
	flag   call.Flags
	target call.Target
}

// requests contains the fields of each request. The index is the action of the call.Part that the
// request represents.
var requests = [...][]field{
	call.Read: { // RangeRequest
		{number: RangeKey, holds: key},
		{number: RangeEnd, holds: end},
		{number: RangeLimit, holds: limit},
		{number: RangeRevision, holds: number},
		{number: 5, holds: order},
		{number: 6, holds: orderBy},
		{number: RangeSerializable, holds: flag, flag: call.Local},
		{number: RangeKeysOnly, holds: flag, flag: call.KeysOnly},
		{number: RangeCountOnly, holds: flag, flag: call.CountOnly},
		{number: 13, holds: oldest},
	},
	call.Write: { // PutRequest
		{number: PutKey, holds: key},
		{number: PutValue, holds: value},
		{number: 3, holds: lease},
		{number: 4, holds: flag, flag: call.Before},
		{number: 5, holds: flag, flag: call.KeepValue},
		{number: 6, holds: flag, flag: call.KeepLease},
	},
	call.Remove: { // DeleteRangeRequest
		{number: 1, holds: key},
		{number: 2, holds: end},
		{number: 3, holds: flag, flag: call.Before},
	},
	call.Compare: { // Compare
		{number: 1, holds: relation},
		{number: compareTarget, holds: target},
		{number: compareKey, holds: key},
		{number: 4, holds: compared, target: call.Version},
		{number: 5, holds: compared, target: call.Created},
		{number: compareModified, holds: compared, target: call.Modified},
		{number: 7, holds: compared, target: call.ValueIs},
		{number: 8, holds: compared, target: call.LeaseIs},
	},
	call.Watch: { // WatchCreateRequest
		{number: 1, holds: key},
		{number: 2, holds: end},
		{number: 3, holds: number},
		{number: 4, holds: flag, flag: call.Progress},
		{number: 5, holds: filters},
		{number: 6, holds: flag, flag: call.Before},
		{number: 8, holds: flag, flag: call.Fragment},
	},
	call.Grant: { // LeaseGrantRequest
		{number: 1, holds: number},
		{number: 2, holds: lease},
	},
	call.Revoke:     {{number: 1, holds: lease}},  // LeaseRevokeRequest
	call.KeepAlive:  {{number: 1, holds: lease}},  // LeaseKeepAliveRequest
	call.Compaction: {{number: 1, holds: number}}, // CompactionRequest
	call.AskStatus:  nil,                          // StatusRequest
}
