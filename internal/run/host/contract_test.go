package host_test

import (
	"runtime"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/hosttest"
)

func TestLocal(t *testing.T) { hosttest.Run(t, host.NewLocal(nil, nil), t.TempDir()) }

// A machine has an address of its own, and its servers are there.
func TestLocalAtAnAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address")
	}
	h := host.NewLocal(nil, nil).At("127.0.0.9")
	hosttest.Run(t, h, t.TempDir())
	l, err := h.Ports(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if l.Address != "127.0.0.9" {
		t.Errorf("ports at %s", l.Address)
	}
	if _, err := host.NewLocal(nil, nil).At("192.0.2.1").Ports(t.Context(), 1); err == nil {
		t.Error("ports at the address of another machine")
	}
}
