package load_test

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// YieldTo lowers the priority of a thread only if this process has event loops.
func TestYieldToLowersThePriority(t *testing.T) {
	type elsewhere struct{ load.Worker }
	for name, c := range map[string]struct {
		beside load.Worker
		by     int
	}{
		"here":                        {&load.Local{}, 10},
		"here, with a name":           {load.NamedWorker{Worker: &load.Local{}, Name: "w1"}, 10},
		"elsewhere":                   {elsewhere{}, 0},
		"several elsewhere":           {load.Workers{elsewhere{}, load.NamedWorker{Worker: elsewhere{}, Name: "w2"}}, 0},
		"several elsewhere, and here": {load.Workers{elsewhere{}, load.NamedWorker{Worker: &load.Local{}, Name: "w2"}}, 10},
		"none":                        {load.Workers{}, 0},
	} {
		done := make(chan int)
		go func() { // the thread ends with this goroutine, or gets its old priority back
			runtime.LockOSThread()
			nicer := func() int {
				n, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
				if err != nil {
					t.Error(err)
				}
				return 20 - n // the system call returns 20 - niceness
			}
			before := nicer()
			load.YieldTo(c.beside)
			done <- nicer() - before
		}()
		if by := <-done; by != c.by {
			t.Errorf("%s: YieldTo raised the niceness by %d, want %d", name, by, c.by)
		}
	}
}

// A load needs one of Go's processors for each event loop, plus one. In an agent it needs one more
// for each thread with low priority, because such a thread may have to wait long for a CPU.
func TestSetsGoProcessors(t *testing.T) {
	had := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(had) })
	lookup := func(string) (store.Store, error) { return etcd.New(), nil }
	l := base(kv.Put, kv.NoConsistency)
	l.Threads, l.Connections = 3, 6
	for attended, want := range map[bool]int{false: 4, true: 6} {
		runtime.GOMAXPROCS(1)
		a := &load.Assignment{Store: "etcd", Load: l, Endpoints: []string{"127.0.0.1:1"}}
		job, err := (&load.Local{Stores: lookup, InAgent: attended}).Prepare(t.Context(), a, load.Reports{})
		if err != nil {
			t.Fatal(err)
		}
		if got := runtime.GOMAXPROCS(0); got != want {
			t.Errorf("InAgent %v: GOMAXPROCS is %d, want %d", attended, got, want)
		}
		job.Close()
	}
}
