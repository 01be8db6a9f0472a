//go:build linux

package e2e_test

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// emptyServer starts a server that responds to every call with an empty message.
func emptyServer(t *testing.T) (endpoint string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return stream.SendMsg(&emptypb.Empty{})
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// If all responses from a server are empty, no operation has a valid result.
func TestEmptyResponsesAreNotValid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := emptyServer(t)
	for _, args := range []string{
		"put --total 3000", "get --no-preload --total 3000", "range a b --total 3000", "list --no-preload --total 3000",
		"delete --no-preload --total 3000", "txn-put --total 3000", "cas --no-preload --total 3000",
	} {
		r := w.run(t, append(append([]string{"bench"}, strings.Fields(args)...), "--endpoints", endpoint, "--format", "json")...)
		if strings.Contains(r.stdout.String(), `"state": "valid"`) || strings.Contains(r.stdout.String(), `"state":"valid"`) {
			t.Errorf("the result of %s is valid:\n%.2000s", args, r.stdout.String())
		}
		if strings.Contains(r.stdout.String()+r.stderr.String(), "unknown flag") {
			t.Errorf("%s: %s", args, r.stderr.String())
		}
		if !strings.Contains(r.stdout.String()+r.stderr.String(), "the response") {
			t.Errorf("%s printed no message about the response:\n%.1000s\n%.1000s", args, r.stdout.String(), r.stderr.String())
		}
	}
}

// Two names for the same server are refused with a one-sentence error.
func TestTwoNamesOfOneServerAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t)
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil || !strings.HasPrefix(endpoint, "127.0.0.1:") {
		t.Skip("the null server does not listen at 127.0.0.1")
	}
	r := w.run(t, "bench", "put", "--total", "10", "--endpoints", endpoint+",localhost:"+port)
	if !strings.Contains(r.stderr.String(), "are the same server") || !strings.Contains(r.stderr.String(), "give one of them") {
		t.Errorf("%s%s", r.stdout.String(), r.stderr.String())
	}
}
