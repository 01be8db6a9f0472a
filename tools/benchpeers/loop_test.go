package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// nullServer starts a null server for a store's protocol. Every key exists on this server.
func nullServer(t *testing.T, s store.NullServerProvider) (endpoint string) {
	t.Helper()
	return storetest.ServeNull(t, s, 1, store.NullOptions{ValueSize: 256})[0]
}

// Each loop must connect its library, read, count the reads, and end.
func TestLoops(t *testing.T) {
	for _, c := range []struct {
		command string
		store   store.NullServerProvider
	}{
		{clientV3Command, etcd.New()},
		{goZooKeeperCommand, zookeeper.New()},
	} {
		t.Run(c.command, func(t *testing.T) {
			w := local()
			w.Endpoint, w.Connections, w.Clients, w.Warmup, w.Window = nullServer(t, c.store), 2, 6, 10*time.Millisecond, time.Second
			f, err := loopIn(t, c.command, w)
			if err != nil {
				t.Fatal(err)
			}
			if f.Operations == 0 || f.PerSecond <= 0 || f.MaxRSS <= 0 {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// Without a server, a loop must end with an error.
func TestLoopWithoutServer(t *testing.T) {
	w := local()
	w.Endpoint, w.Connections, w.Clients = "127.0.0.1:1", 1, 1
	_, err := loopIn(t, goZooKeeperCommand, w)
	if err == nil {
		t.Error("the loop connected")
	}
	t.Log(err)
}

// loopIn runs a loop in this process, with the arguments that a separate process would receive.
func loopIn(t *testing.T, command string, w Work) (f Figures, err error) {
	t.Helper()
	work, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	ok, err := LoopMain(t.Context(), []string{command, string(work)}, &out)
	if !ok {
		t.Fatalf("%s is not recognized as a loop command", command)
	}
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(out.Bytes(), &f)
}
