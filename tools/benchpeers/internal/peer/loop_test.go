package peer

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// nullServer serves a store's protocol, in which every key is there.
func nullServer(t *testing.T, s store.NullServed) (endpoint string) {
	t.Helper()
	return storetest.ServeNull(t, s, 1, store.NullOptions{ValueSize: 256})[0]
}

// Each loop connects its library, reads, counts what it read, and ends.
func TestLoops(t *testing.T) {
	for _, c := range []struct {
		command string
		store   store.NullServed
		more    []string
	}{
		{clientV3Command, etcd.New(), []string{"--serializable"}},
		{goZooKeeperCommand, zookeeper.New(), nil},
	} {
		t.Run(c.command, func(t *testing.T) {
			args := append([]string{
				c.command, "--endpoint", nullServer(t, c.store), "--conns", "2", "--clients", "6",
				"--warmup", "10ms", "--window", "1s", "--key", "r0000000",
			}, c.more...)
			var out bytes.Buffer
			if ok, err := LoopMain(t.Context(), args, &out); !ok || err != nil {
				t.Fatal(ok, err)
			}
			var f Figures
			if err := json.Unmarshal(out.Bytes(), &f); err != nil {
				t.Fatal(err)
			}
			if f.Operations == 0 || f.PerSecond <= 0 || f.MaxRSS <= 0 {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// A loop whose server is not there ends with a sentence.
func TestLoopWithoutServer(t *testing.T) {
	args := []string{goZooKeeperCommand, "--endpoint", "127.0.0.1:1", "--key", "r0000000"}
	if ok, err := LoopMain(t.Context(), args, &bytes.Buffer{}); !ok || err == nil {
		t.Errorf("got %v, %v", ok, err)
	} else {
		t.Log(err)
	}
}
