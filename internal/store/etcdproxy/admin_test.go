package etcdproxy_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcdproxy"
)

// TestPausedEtcdMemberDoesNotMakeOtherProxiesFail checks the status of a cluster in which one etcd
// member is paused. The query of this etcd member uses up the time limit, but a proxy with another
// etcd member must not be reported as failed.
func TestPausedEtcdMemberDoesNotMakeOtherProxiesFail(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections but sends nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	still, lives, gone := "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"
	admin, err := etcdproxy.NewAdmin("proxy", store.Access{
		Endpoints: []string{still, lives, gone}, Backends: map[string]string{still: l.Addr().String(), gone: l.Addr().String()},
	}, func(ctx context.Context, _ store.Access, endpoint string, _ bool) error {
		if endpoint == gone {
			return errors.New("it is gone")
		}
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	status, err := admin.Status(ctx)
	if err != nil || len(status.Members) != 3 {
		t.Fatalf("the status is %+v, %v", status, err)
	}
	if m := status.Members[1]; m.Err != nil || m.Endpoint != lives {
		t.Errorf("the status of the working proxy is %+v", m)
	}
	if m := status.Members[0]; m.Err == nil || m.Endpoint != still || !strings.Contains(m.Err.Error(), "the etcd member behind proxy at "+still) {
		t.Errorf("the status of the proxy with a hung etcd member is %+v", m)
	}
	// The errors of the proxy and of its etcd member must both be reported.
	if m := status.Members[2]; m.Err == nil || !strings.Contains(m.Err.Error(), "it is gone") || !strings.Contains(m.Err.Error(), "the etcd member behind") {
		t.Errorf("the status of the proxy that is gone is %+v", m)
	}
}
