package patroni_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	data "github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// observed holds a request that passed through a proxy or relay.
type observed struct {
	at   time.Time
	who  string // name of the sender: a member or a connection
	call string // such as "put member"
	sets bool   // the call is a read that sets a watch
	form string // names of the JSON fields in the request and in the value that it writes
}

// calls holds all observed requests.
type calls struct {
	mu  sync.Mutex
	all []observed
}

func (l *calls) add(h observed) {
	l.mu.Lock()
	l.all = append(l.all, h)
	l.mu.Unlock()
}

func (l *calls) requests() []observed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// form returns the names of the fields of a JSON object.
func form(m map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}

// formOf returns the form of a value that is a JSON object. For other values, it returns an empty
// string.
func formOf(value []byte) string {
	var v map[string]any
	if json.Unmarshal(value, &v) != nil {
		return ""
	}
	delete(v, "slots") // the number of its entries depends on the number of members
	return " of " + form(v)
}

// loop counts the calls of each kind in one loop of a cluster.
type loop map[string]int

// loops returns, for each write of the status by a leader, the calls in the loop that contains this
// write. The calls of a loop, such as pings, may continue after the start of the next loop, but for
// at most a little more than a third of loopWait.
func loops(all []observed, loopWait time.Duration) (found [][]observed) {
	var begins []time.Time
	for _, h := range all {
		if h.call == "put status" {
			begins = append(begins, h.at.Add(-loopWait*59/100))
		}
	}
	for i := 0; i+1 < len(begins); i++ {
		var one []observed
		for _, h := range all {
			if !h.at.Before(begins[i]) && h.at.Before(begins[i+1]) {
				one = append(one, h)
			}
		}
		found = append(found, one)
	}
	return found
}

// usual returns the most frequent loop, the number of times that it occurs, and the forms of its
// calls.
func usual(all [][]observed) (most loop, times int, forms map[string]map[string]bool) {
	n, said := map[string]int{}, map[string]map[string]map[string]bool{}
	for _, calls := range all {
		one := loop{}
		for _, h := range calls {
			one[h.call]++
		}
		key := fmt.Sprint(one)
		if said[key] == nil {
			said[key] = map[string]map[string]bool{}
		}
		for _, h := range calls {
			if said[key][h.call] == nil {
				said[key][h.call] = map[string]bool{}
			}
			said[key][h.call][h.form] = true
		}
		if n[key]++; n[key] > times {
			most, times, forms = one, n[key], said[key]
		}
	}
	return most, times, forms
}

// compareLoops starts a cluster of real members with the given configuration and writes to its
// database. Then it sends the load of one such cluster. In each loop, the real members and the load
// must send the same calls in the same form.
func compareLoops(t *testing.T, c *data.Config, st store.Store, theirs servers.PatroniConfig, endpoint string, real, ours *calls) {
	t.Helper()
	const enough = 5
	theirs.Members, theirs.LoopWait, theirs.RetryTimeout, theirs.TTL = c.Members, c.LoopWait, c.RetryTimeout, c.TTL
	cluster := servers.StartPatroni(t, theirs)
	wait(t, "two running members", func() bool {
		return slices.ContainsFunc(real.requests(), func(h observed) bool { return strings.Contains(h.form, "replication_state") })
	})
	cluster.Write(t)
	real.forget()
	var theirLoop loop
	var said map[string]map[string]bool
	wait(t, "equal loops", func() bool {
		var times int
		theirLoop, times, said = usual(loops(real.requests(), c.LoopWait))
		return times >= enough
	})
	// The load must not be started earlier, because started processes end with the thread that
	// started them.
	res := send(t, st, endpoint, *c, 10*c.LoopWait)
	if res.Measured.Outcomes[kv.OK] != res.Measured.Due {
		t.Errorf("the load failed: %v %v", res.Measured.Outcomes, res.Measured.ErrorTexts)
	}
	mine, times, forms := usual(loops(ours.requests(), c.LoopWait))
	if d := cmp.Diff(theirLoop, mine); d != "" || times < enough {
		t.Errorf("the calls of the load's most frequent loop, which occurs %d times, differ from Patroni's, or the loop is too rare (-Patroni +load): %s", times, d)
	}
	for call, of := range forms {
		for f := range of {
			if !said[call][f] {
				t.Errorf("the load sends %q in the form %q, and Patroni sends it in the forms %v", call, f, said[call])
			}
		}
	}
	t.Logf("the calls in each loop of a cluster of %d members are %v", c.Members, theirLoop)
}

// wait waits until a condition is true. It fails the test after three minutes.
func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	end := time.After(3 * time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("timed out after three minutes while waiting for %s", what)
		}
	}
}
