package replay_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// writeCalls writes a recording of n calls. It returns the recording's path.
func writeCalls(t *testing.T, of store.Store, n int, request func(i int) call.Call) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.qbrec")
	w, err := call.CreateRecording(path, &call.Header{Store: of.Name()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c := request(i)
		for before := w.Counts().Missed; ; {
			w.Call(&c)
			if now := w.Counts().Missed; now == before {
				break
			} else {
				before = now // wait until the calls are on disk
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func written(size int) call.Part {
	return call.Part{Action: call.Write, Key: []byte("a"), Value: call.Value{Size: size}}
}

// If a small recording describes a larger load than a scenario may contain, Read returns a
// one-sentence error before it allocates memory.
func TestRefusesSmallRecordingsWithLargeContent(t *testing.T) {
	settle.SkipUnderRace(t)
	one := func(parts ...call.Part) func(int) call.Call {
		return func(i int) call.Call {
			return call.Call{At: int64(i) * 1000, Duration: 1000, Conn: 1, Method: "KV/Put", Parts: parts}
		}
	}
	read := func(int) call.Call {
		return call.Call{Duration: 1000, Conn: 1, Method: "KV/Range", KeyCount: 1, ReplySize: 1 << 40, Parts: []call.Part{{Key: []byte("a")}}}
	}
	for name, c := range map[string]struct {
		calls int
		call  func(int) call.Call
		want  string
	}{
		"a value of 2 GiB":         {1, one(written(1<<31 - 1)), `reports 2147483647 B of keys and values in the "KV/Put" call at 0s, but a replayed call can have at most 64 MiB`},
		"many values in one call":  {1, one(repeat(written(1<<20), 200)...), `of keys and values in the "KV/Put" call at 0s, but a replayed call`},
		"a response of 1 TiB":      {1, read, `reports a response of 1 TiB to the "KV/Range" call at 0s`},
		"values of 1 GiB together": {1000, one(written(32 << 20)), "may have 1,000 calls in flight at once, which need 63 GiB of memory, but a load can need at most 4 GiB; set a smaller --max-in-flight, such as 64"},
		"73 years": {2, func(i int) call.Call {
			return call.Call{At: int64(i) << 60, Duration: 1, Conn: 1, Method: "KV/Put", Parts: []call.Part{written(1)}}
		}, "takes 320256 hours to replay at a --speed of 1, but a load can last at most 1000 hours; set a higher --speed"},
		"parts without end": {4000, one(repeat(written(0), call.MaxParts)...), "calls need more than 512 MiB of memory"},
	} {
		path := writeCalls(t, etcd.New(), c.calls, c.call)
		_, err := replay.Read(path, etcd.New(), replay.Options{Speed: 1, MaxInFlight: 100_000})
		if err == nil || !strings.HasPrefix(err.Error(), path+" ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := replay.Read(writeCalls(t, etcd.New(), 1000, one(written(32<<20))), etcd.New(), replay.Options{Speed: 1, MaxInFlight: 64})
	if err != nil {
		t.Errorf("the remedy of --max-in-flight does not help: %v", err)
	}
}

func repeat(p call.Part, n int) (all []call.Part) {
	for i := range n {
		p.Key = []byte(fmt.Sprint("key-", i))
		all = append(all, p)
	}
	return all
}

// Planning takes a limited time even if all sessions in a recording overlap, or all guards failed.
// If the time grew with the square of the number of sessions or guards, planning would take
// minutes.
func TestPlansManyOddCalls(t *testing.T) {
	settle.SkipUnderRace(t)
	sessions := func(i int) call.Call {
		return call.Call{At: int64(i), Duration: 1e12, Conn: uint32(i + 1), Method: "setData", Revision: int64(i + 1), Parts: []call.Part{written(1)}}
	}
	const n = 300_000
	losers := func(i int) call.Call {
		return call.Call{At: int64(i), Duration: 10, Conn: 1, Method: "KV/Txn", Guarded: true, GuardsHeld: i >= n/2, Parts: []call.Part{
			{Action: call.Compare, Target: call.Version, Key: []byte("a"), Number: 7, Version: 7},
			{Action: call.Write, Branch: call.Then, Key: []byte("a")},
		}}
	}
	plan, err := replay.Read(writeCalls(t, zookeeper.New(), n, sessions), zookeeper.New(), replay.Options{Speed: 1})
	if err != nil || plan.Connections != n {
		t.Errorf("error %v, plan %+v", err, plan)
	}
	if plan, err = replay.Read(writeCalls(t, etcd.New(), n, losers), etcd.New(), replay.Options{Speed: 1}); err != nil || plan.Calls() != n {
		t.Errorf("error %v, plan %+v", err, plan)
	}
}
