package etcd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// deliberately is a map from etcd's errors to the outcomes that the test expects. If a new version
// of etcd has a new error, the test fails until the error is added here.
var deliberately = map[string]kv.Outcome{
	"too many requests":             kv.Refused,
	"unhealthy cluster":             kv.Refused,
	"not leader":                    kv.Refused,
	"rpc not supported for learner": kv.Refused,

	"no leader":      kv.NoLeader,
	"leader changed": kv.LeaderChanged,

	"request timed out": kv.StoreTimeout,
	"request timed out, possibly due to previous leader failure":     kv.StoreTimeout,
	"request timed out, possibly due to connection lost":             kv.StoreTimeout,
	"request timed out, waiting for the applied index took too long": kv.StoreTimeout,
	"context deadline exceeded":                                      kv.StoreTimeout,

	"mvcc: database space exceeded": kv.NoSpace,

	"server stopped":   kv.StoreError,
	"request canceled": kv.StoreError,
	"watch canceled":   kv.StoreError,
	"corrupt cluster":  kv.StoreError,

	"root user does not exist":                           kv.Denied,
	"root user does not have root role":                  kv.Denied,
	"user name already exists":                           kv.Denied,
	"user name is empty":                                 kv.Denied,
	"user name not found":                                kv.Denied,
	"role name already exists":                           kv.Denied,
	"role name not found":                                kv.Denied,
	"role name is empty":                                 kv.Denied,
	"authentication failed, invalid user ID or password": kv.Denied,
	"permission not given":                               kv.Denied,
	"permission denied":                                  kv.Denied,
	"role is not granted to the user":                    kv.Denied,
	"permission is not granted to the role":              kv.Denied,
	"authentication is not enabled":                      kv.Denied,
	"invalid auth token":                                 kv.Denied,
	"invalid auth management":                            kv.Denied,
	"revision of auth store is old":                      kv.Denied,

	"key is not provided":                          kv.BadRequest,
	"key not found":                                kv.BadRequest,
	"value is provided":                            kv.BadRequest,
	"lease is provided":                            kv.BadRequest,
	"too many operations in txn request":           kv.BadRequest,
	"duplicate key given in txn request":           kv.BadRequest,
	"invalid client api version":                   kv.BadRequest,
	"invalid sort option":                          kv.BadRequest,
	"mvcc: required revision has been compacted":   kv.BadRequest,
	"mvcc: required revision is a future revision": kv.BadRequest,
	"requested lease not found":                    kv.BadRequest,
	"lease already exists":                         kv.BadRequest,
	"too large lease TTL":                          kv.BadRequest,
	"request is too large":                         kv.BadRequest,
	"not capable":                                  kv.BadRequest,
	"cluster ID mismatch":                          kv.BadRequest,

	"member ID already exist":                                        kv.BadRequest,
	"Peer URLs already exists":                                       kv.BadRequest,
	"re-configuration failed due to not enough started members":      kv.BadRequest,
	"given member URLs are invalid":                                  kv.BadRequest,
	"member not found":                                               kv.BadRequest,
	"can only promote a learner member":                              kv.BadRequest,
	"can only promote a learner member which is in sync with leader": kv.BadRequest,
	"too many learner members in cluster":                            kv.BadRequest,
	"bad leader transferee":                                          kv.BadRequest,
	"wrong downgrade target version format":                          kv.BadRequest,
	"invalid downgrade target version":                               kv.BadRequest,
	"cluster version not found during downgrade":                     kv.BadRequest,
	"cluster has a downgrade job in progress":                        kv.BadRequest,
	"no inflight downgrade job":                                      kv.BadRequest,
}

func TestEveryEtcdErrorIsMappedDeliberately(t *testing.T) {
	texts := rpcErrors(t)
	if len(texts) < 60 {
		t.Fatalf("only %d errors were found in etcd's api module", len(texts))
	}
	for _, text := range texts {
		short, ok := strings.CutPrefix(text, "etcdserver: ")
		want, known := deliberately[short]
		if !ok || !known {
			t.Errorf("etcd's error %q is not in the table", text)
			continue
		}
		// The code must not matter, because etcd sends some errors with the code Unknown.
		for _, code := range []codes.Code{codes.Unknown, codes.Unavailable, codes.InvalidArgument} {
			if got := OutcomeOf(code, []byte(text)); got != want {
				t.Errorf("%v %q is %v, want %v", code, text, got, want)
			}
		}
	}
}

// rpcErrors returns the texts of etcd's gRPC errors. It reads them from etcd's source code.
func rpcErrors(t *testing.T) (texts []string) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "go.etcd.io/etcd/api/v3/v3rpc/rpctypes").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(strings.TrimSpace(string(dir)), "error.go")
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		if lit, ok := call.Args[1].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		return true
	})
	return texts
}

func TestOtherErrors(t *testing.T) {
	for _, tc := range []struct {
		code codes.Code
		text string
		want kv.Outcome
	}{
		{codes.Unknown, "raft proposal dropped", kv.Refused},
		{codes.Unknown, "raft: stopped", kv.StoreError},
		{codes.Unknown, "etcdserver: request timed out, leader transfer took too long", kv.StoreTimeout},
		{codes.Unknown, "etcdserver: something new", kv.StoreError},
		{codes.Unavailable, "etcdserver: something new", kv.StoreError},
		{codes.ResourceExhausted, "grpc: received message larger than max (3 vs. 2)", kv.BadRequest},
		{codes.ResourceExhausted, "grpc: trying to send message larger than max (3 vs. 2)", kv.StoreError},
		{codes.Canceled, "context canceled", kv.StoreError},
		{codes.Unknown, "", kv.StoreError},
		{codes.InvalidArgument, "", kv.BadRequest},
		{codes.DeadlineExceeded, "context deadline exceeded", kv.StoreTimeout},
		{codes.NotFound, "", kv.BadRequest},
		{codes.AlreadyExists, "", kv.StoreError},
		{codes.PermissionDenied, "", kv.Denied},
		{codes.ResourceExhausted, "", kv.StoreError},
		{codes.FailedPrecondition, "", kv.StoreError},
		{codes.Aborted, "", kv.StoreError},
		{codes.OutOfRange, "", kv.BadRequest},
		{codes.Unimplemented, "unknown service etcdserverpb.KV", kv.BadRequest},
		{codes.Unimplemented, "delete is not implemented by kine", kv.BadRequest},
		{codes.Unknown, "lease keep alive is not supported", kv.BadRequest}, // also from kine
		{codes.Internal, "", kv.StoreError},
		{codes.Unavailable, "transport is closing", kv.StoreError},
		{codes.DataLoss, "", kv.StoreError},
		{codes.Unauthenticated, "", kv.Denied},
		{99, "", kv.StoreError},
	} {
		if got := OutcomeOf(tc.code, []byte(tc.text)); got != tc.want {
			t.Errorf("%v %q is %v, want %v", tc.code, tc.text, got, tc.want)
		}
	}
	for end, want := range map[h2.End]kv.Outcome{
		h2.Reset: kv.StoreError, h2.Refused: kv.Refused, h2.Unprocessed: kv.NotSent,
		h2.NotSent: kv.NotSent, h2.Broken: kv.ConnectionLost,
	} {
		if got := outcomeOfEnd(end); got != want {
			t.Errorf("end %d is %v, want %v", end, got, want)
		}
	}
}
