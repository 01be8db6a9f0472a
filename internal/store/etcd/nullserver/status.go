package nullserver

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errNoLocal is what servers that stand in for etcd answer, such as kine.
var errNoLocal = status.Error(codes.Unimplemented, "serializable is not implemented")

// What a gRPC server answers before etcd sees the request.
var (
	errMalformed     = status.Error(codes.Internal, "grpc: the request is no valid message of its method")
	errCompressed    = status.Error(codes.Unimplemented, "grpc: the null server takes no compressed requests")
	errTooLarge      = status.Error(codes.ResourceExhausted, "grpc: the request is larger than the null server takes")
	errUnimplemented = status.Error(codes.Unimplemented, "the null server does not implement this method")
	errStreamOrder   = status.Error(codes.Unimplemented, "RangeStream does not support custom sort orders")
	errStreamFilter  = status.Error(codes.Unimplemented, "RangeStream does not support revision filters")
	errNestedTxn     = status.Error(codes.Unimplemented, "the null server takes no transaction inside a transaction")
)

// scriptErrors is what error=NAME means here: the outcomes that a store's
// errors are mapped to, each as etcd says it, and gRPC's codes by their names.
func scriptErrors() map[string]error {
	errors := map[string]error{
		"refused":        rpctypes.ErrGRPCRequestTooManyRequests,
		"no_leader":      rpctypes.ErrGRPCNoLeader,
		"leader_changed": rpctypes.ErrGRPCLeaderChanged,
		"store_timeout":  rpctypes.ErrGRPCTimeout,
		"no_space":       rpctypes.ErrGRPCNoSpace,
		"denied":         rpctypes.ErrGRPCPermissionDenied,
		"bad_request":    rpctypes.ErrGRPCRequestTooLarge,
		"store_error":    rpctypes.ErrGRPCCorrupt,
		"stopped":        rpctypes.ErrGRPCStopped,
		"token":          rpctypes.ErrGRPCInvalidAuthToken,
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		name := snakeCase(code.String())
		errors[name] = status.Error(code, "null server: "+name+", as its script says")
	}
	return errors
}

// snakeCase makes invalid_argument of InvalidArgument.
func snakeCase(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Errors lists the names that error=NAME may have in this server's script.
func Errors() []string { return slices.Sorted(maps.Keys(scriptErrors())) }
