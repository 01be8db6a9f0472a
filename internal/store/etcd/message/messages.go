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
	maxRelation                                              = uint64(call.NotEqual)
	maxTarget                                                = uint64(call.LeaseTarget)
)

// partField identifies the field of call.Part that holds the value of a request's field.
type partField uint8

const (
	key        partField = iota // Key
	end                         // End, depending on Scope
	value                       // Value
	number                      // Number
	limit                       // Limit
	lease                       // Lease
	maxCreated                  // MaxCreateRevision
	flag                        // one of the Flags
	order                       // the flags Sorted and Descending
	orderBy                     // the property by which a Sorted read is sorted
	filters                     // the flags SkipWrites and SkipRemovals
	relation                    // Relation
	target                      // Target
	compared                    // the value to compare with, if the target of the Compare is field.target
)

// field describes one field of a request.
type field struct {
	number protowire.Number
	source partField
	flag   call.Flags
	target call.Target
}

// requests contains the fields of each request. The index is the action of the call.Part that the
// request represents.
var requests = [...][]field{
	call.Read: { // RangeRequest
		{number: RangeKey, source: key},
		{number: RangeEnd, source: end},
		{number: RangeLimit, source: limit},
		{number: RangeRevision, source: number},
		{number: 5, source: order},
		{number: 6, source: orderBy},
		{number: RangeSerializable, source: flag, flag: call.Local},
		{number: RangeKeysOnly, source: flag, flag: call.KeysOnly},
		{number: RangeCountOnly, source: flag, flag: call.CountOnly},
		{number: 13, source: maxCreated},
	},
	call.Write: { // PutRequest
		{number: PutKey, source: key},
		{number: PutValue, source: value},
		{number: 3, source: lease},
		{number: 4, source: flag, flag: call.PreviousValue},
		{number: 5, source: flag, flag: call.KeepValue},
		{number: 6, source: flag, flag: call.KeepLease},
	},
	call.Remove: { // DeleteRangeRequest
		{number: 1, source: key},
		{number: 2, source: end},
		{number: 3, source: flag, flag: call.PreviousValue},
	},
	call.Compare: { // Compare
		{number: 1, source: relation},
		{number: compareTarget, source: target},
		{number: compareKey, source: key},
		{number: 4, source: compared, target: call.Version},
		{number: 5, source: compared, target: call.Created},
		{number: compareModified, source: compared, target: call.Modified},
		{number: 7, source: compared, target: call.ValueTarget},
		{number: 8, source: compared, target: call.LeaseTarget},
	},
	call.Watch: { // WatchCreateRequest
		{number: 1, source: key},
		{number: 2, source: end},
		{number: 3, source: number},
		{number: 4, source: flag, flag: call.Progress},
		{number: 5, source: filters},
		{number: 6, source: flag, flag: call.PreviousValue},
		{number: 8, source: flag, flag: call.Fragment},
	},
	call.Grant: { // LeaseGrantRequest
		{number: 1, source: number},
		{number: 2, source: lease},
	},
	call.Revoke:     {{number: 1, source: lease}},  // LeaseRevokeRequest
	call.KeepAlive:  {{number: 1, source: lease}},  // LeaseKeepAliveRequest
	call.Compaction: {{number: 1, source: number}}, // CompactionRequest
	call.AskStatus:  nil,                           // StatusRequest
}
