package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRunProcess(t *testing.T) {
	f := runProcess(t.Context(), "sh", "-c", "echo out; echo words >&2; exit 3")
	if string(f.stdout) != "out\n" || f.err == nil || !strings.Contains(f.err.Error(), "words") {
		t.Errorf("got %q, %v", f.stdout, f.err)
	}
	if f := runProcess(t.Context(), "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"); f.err != nil || f.cpu <= 0 {
		t.Errorf("the process used %v of processor time, %v", f.cpu, f.err)
	}
}

func TestRunProcessEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := runProcess(ctx, "sleep", "60"); !errors.Is(f.err, context.Canceled) {
		t.Errorf("got %v", f.err)
	}
}

func TestStartServer(t *testing.T) {
	s, err := StartServer(t.Context(), "sh", "-c", "echo 127.0.0.1:1; exec sleep 60")
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if s.Endpoint != "127.0.0.1:1" {
		t.Errorf("the endpoint is %q", s.Endpoint)
	}
	if _, err := StartServer(t.Context(), "sh", "-c", "echo no port >&2; exit 1"); err == nil || !strings.Contains(err.Error(), "no port") {
		t.Errorf("got %v", err)
	}
}

func TestLoopMainRefusesInvalidInput(t *testing.T) {
	for _, args := range [][]string{nil, {"--rounds", "3"}, {"client"}, {"client", "{}"}, {clientV3Command, "work"}} {
		if ok, err := LoopMain(t.Context(), args, nil); ok || err != nil {
			t.Errorf("%v are accepted as arguments of a loop: %v", args, err)
		}
	}
}
