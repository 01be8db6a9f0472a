package nullserver

import (
	"sort"

	"google.golang.org/grpc/codes"
)

// status is a gRPC status other than OK: what the trailers say instead of an
// answer. A nil *status is OK.
type status struct {
	code codes.Code
	text string
}

// What etcd answers (api/v3/v3rpc/rpctypes). The official client recognizes
// these errors by their text.
var (
	errEmptyKey      = &status{codes.InvalidArgument, "etcdserver: key is not provided"}
	errKeyNotFound   = &status{codes.InvalidArgument, "etcdserver: key not found"}
	errValueProvided = &status{codes.InvalidArgument, "etcdserver: value is provided"}
	errLeaseProvided = &status{codes.InvalidArgument, "etcdserver: lease is provided"}
	errTooManyOps    = &status{codes.InvalidArgument, "etcdserver: too many operations in txn request"}
	errDuplicateKey  = &status{codes.InvalidArgument, "etcdserver: duplicate key given in txn request"}
	errSortOption    = &status{codes.InvalidArgument, "etcdserver: invalid sort option"}
	errCompacted     = &status{codes.OutOfRange, "etcdserver: mvcc: required revision has been compacted"}
	errFutureRev     = &status{codes.OutOfRange, "etcdserver: mvcc: required revision is a future revision"}
	errLeaseExists   = &status{codes.FailedPrecondition, "etcdserver: lease already exists"}
	errLeaseNotFound = &status{codes.NotFound, "etcdserver: requested lease not found"}
	errAuthFailed    = &status{codes.InvalidArgument, "etcdserver: authentication failed, invalid user ID or password"}
	errAuthDisabled  = &status{codes.FailedPrecondition, "etcdserver: authentication is not enabled"}
	errUserEmpty     = &status{codes.InvalidArgument, "etcdserver: user name is empty"}
	errAuthToken     = &status{codes.Unauthenticated, "etcdserver: invalid auth token"}
)

// errNoLocal is what servers that stand in for etcd answer, such as kine.
var errNoLocal = &status{codes.Unimplemented, "serializable is not implemented"}

// What a gRPC server answers before etcd sees the request.
var (
	errMalformed     = &status{codes.Internal, "grpc: the request is no valid message of its method"}
	errCompressed    = &status{codes.Unimplemented, "grpc: the null server takes no compressed requests"}
	errTooLarge      = &status{codes.ResourceExhausted, "grpc: the request is larger than the null server takes"}
	errUnimplemented = &status{codes.Unimplemented, "the null server does not implement this method"}
	errStreamOrder   = &status{codes.Unimplemented, "RangeStream does not support custom sort orders"}
	errStreamFilter  = &status{codes.Unimplemented, "RangeStream does not support revision filters"}
	errNestedTxn     = &status{codes.Unimplemented, "the null server takes no transaction inside a transaction"}
)

// scriptErrors is what error=NAME means here: the outcomes that a store's
// errors are mapped to, each as etcd says it, and gRPC's codes by their names.
func scriptErrors() map[string]*status {
	errors := map[string]*status{
		"refused":        {codes.ResourceExhausted, "etcdserver: too many requests"},
		"no_leader":      {codes.Unavailable, "etcdserver: no leader"},
		"leader_changed": {codes.Unavailable, "etcdserver: leader changed"},
		"store_timeout":  {codes.Unavailable, "etcdserver: request timed out"},
		"no_space":       {codes.ResourceExhausted, "etcdserver: mvcc: database space exceeded"},
		"denied":         {codes.PermissionDenied, "etcdserver: permission denied"},
		"bad_request":    {codes.InvalidArgument, "etcdserver: request is too large"},
		"store_error":    {codes.DataLoss, "etcdserver: corrupt cluster"},
		"stopped":        {codes.Unavailable, "etcdserver: server stopped"},
		"token":          errAuthToken,
	}
	for name, code := range map[string]codes.Code{
		"canceled": codes.Canceled, "unknown": codes.Unknown, "invalid_argument": codes.InvalidArgument,
		"deadline_exceeded": codes.DeadlineExceeded, "not_found": codes.NotFound,
		"already_exists": codes.AlreadyExists, "permission_denied": codes.PermissionDenied,
		"resource_exhausted": codes.ResourceExhausted, "failed_precondition": codes.FailedPrecondition,
		"aborted": codes.Aborted, "out_of_range": codes.OutOfRange, "unimplemented": codes.Unimplemented,
		"internal": codes.Internal, "unavailable": codes.Unavailable, "data_loss": codes.DataLoss,
		"unauthenticated": codes.Unauthenticated,
	} {
		errors[name] = &status{code, "null server: " + name + ", as its script says"}
	}
	return errors
}

// Errors lists the names that error=NAME may have in this server's script.
func Errors() []string {
	var names []string
	for name := range scriptErrors() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
