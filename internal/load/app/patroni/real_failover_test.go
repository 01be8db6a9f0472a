package patroni_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	data "github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcdgateway"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// formOfCall returns a call in a failover together with its form. It omits the fields of the JSON
// object in a member's key, because these fields change from call to call with PostgreSQL's state.
func (h *observed) formOfCall() string {
	said := h.call + ": " + h.form
	if h.call == "put member" {
		said, _, _ = strings.Cut(said, " of api_url")
	}
	return said
}

// loopsOf returns a member's loops in order. Each loop starts with a read of the cluster or, if
// members do not read the cluster, with the renewal of the lease. Pings and watch requests are
// omitted, because they are not synchronized with the loops.
func loopsOf(all []observed, who string, way data.Way) (loops [][]observed) {
	begin := "read cluster"
	if way == data.Leases {
		begin = "renew"
	}
	for _, h := range all {
		switch {
		case h.who != who, way == data.Nodes && h.call == "renew", strings.HasPrefix(h.call, "watch "):
			continue
		case h.call == begin:
			loops = append(loops, nil)
		}
		if last := len(loops) - 1; last >= 0 {
			loops[last] = append(loops[last], h)
		}
	}
	return loops
}

// lastWith returns the index of the last loop that contains the given call. It returns -1 if no
// loop contains it.
func lastWith(loops [][]observed, call string) int {
	for i, loop := range slices.Backward(loops) {
		if slices.ContainsFunc(loop, func(h observed) bool { return strings.HasSuffix(h.call, call) }) {
			return i
		}
	}
	return -1
}

// failover maps the name of a loop, such as "the winner's race", to the calls in that loop.
type failover map[string][]string

// raceSuffix is the suffix in the names of the calls with which members race.
const raceSuffix = " leader"

// races reports whether a loop contains the call with which a member races.
func races(loop []observed) bool {
	return slices.ContainsFunc(loop, func(h observed) bool {
		return strings.HasSuffix(h.call, raceSuffix) && !strings.HasPrefix(h.call, "read ")
	})
}

// failoverOf returns the failover that the observed requests contain. The failover has four loops
// of the winner: the loop with the race, the loop after it, the loop that reports the promotion,
// and the loop after that, which is like any leader's loop. It also has two loops of a loser: the
// loop with the race, and the loop after it. Loops between these, during PostgreSQL's promotion,
// write only the members' keys. If a member is late and finds that the leader's key is taken, it
// does not race.
func failoverOf(t *testing.T, all []observed, way data.Way) (f failover, ok bool) {
	t.Helper()
	slices.SortStableFunc(all, func(a, b observed) int { return a.at.Compare(b.at) })
	reported := slices.IndexFunc(all, func(h observed) bool { return h.call == "put history" })
	if reported < 0 {
		return nil, false
	}
	winner := all[reported].who
	won := loopsOf(all, winner, way)
	race, history := slices.IndexFunc(won, races), lastWith(won, "put history")
	if race < 0 || race >= history || history+2 >= len(won) { // the last loop may be incomplete
		return nil, false
	}
	f = failover{"the winner's race": formsOf(won[race]), "its promotion": formsOf(won[history]), "the loop after that": formsOf(won[history+1])}
	f.addLoopAfter(way, "the winner after its race", won[race+1:history])
	for _, loop := range won[race+1 : history] {
		for _, h := range loop {
			if strings.HasPrefix(h.call, "put ") && h.call != "put member" {
				t.Errorf("the winner sends %q between its race and its promotion", h.call)
			}
		}
	}
	over := won[history+1][0].at
	for _, who := range otherCallers(all, winner) {
		loops := loopsOf(all, who, way)
		race := slices.IndexFunc(loops, races)
		if race < 0 {
			continue
		}
		if race+2 >= len(loops) {
			return nil, false
		}
		lost := loops[race]
		if way == data.Leases { // this call is sent only if the member's value has changed
			lost = slices.DeleteFunc(lost, func(h observed) bool { return h.call == "put member" })
		}
		f["a loser's race"] = formsOf(lost)
		f.addLoopAfter(way, "a loser after its race", loops[race+1:])
	}
	return f, all[len(all)-1].at.After(over.Add(time.Second))
}

// addLoopAfter adds the loop after a race, unless members wake each other. If they do, other
// members' writes start this loop, and it writes the member's key only if the key's value has
// changed.
func (f failover) addLoopAfter(way data.Way, name string, loops [][]observed) {
	if way == data.Leases || len(loops) == 0 {
		return
	}
	f[name] = formsOf(loops[0])
}

// otherCallers returns the names of all callers except the given one.
func otherCallers(all []observed, one string) (names []string) {
	for _, h := range all {
		if h.who != one && !slices.Contains(names, h.who) {
			names = append(names, h.who)
		}
	}
	return names
}

// formsOf returns the calls in a loop together with their forms.
func formsOf(loop []observed) (all []string) {
	for _, h := range loop {
		all = append(all, h.formOfCall())
	}
	return all
}

// compareFailovers starts a real cluster with three members, kills the leader and its PostgreSQL,
// and observes the failover. Then it sends the load of one such cluster whose leader dies. The
// winner and the loser of the race must send the same calls in the real cluster and in the load.
func compareFailovers(t *testing.T, c *data.Config, st store.Store, theirs servers.PatroniConfig, endpoint string, real, ours *calls) {
	t.Helper()
	// Without this call, the started processes could be killed early, because they end with the
	// thread that started them.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	theirs.Members, theirs.LoopWait, theirs.RetryTimeout, theirs.TTL = c.Members, c.LoopWait, c.RetryTimeout, c.TTL
	cluster := servers.StartPatroni(t, theirs)
	wait(t, "replicas that follow the leader", func() bool {
		follow := map[string]bool{}
		for _, h := range real.requests() {
			if strings.Contains(h.form, "replication_state") {
				follow[h.who] = true
			}
		}
		return len(follow) == c.Members-1
	})
	cluster.Write(t)
	leader, began := -1, time.Now()
	real.forget()
	wait(t, "loops of a database that is written to", func() bool {
		n := 0
		for _, h := range real.requests() {
			if h.call == "put status" {
				leader, _ = strconv.Atoi(h.who)
				n++
			}
		}
		return n > 1
	})
	cluster.Kill(leader)
	sent := make(chan error, 1)
	go func() { sent <- sendFailover(t, st, endpoint, *c) }()
	var found failover
	defer func() {
		if t.Failed() {
			show(t, "Patroni", real.requests())
			show(t, "the load", ours.requests())
		}
	}()
	wait(t, "calls of a failover", func() bool {
		all, ok := real.requests(), false
		found, ok = failoverOf(t, all, c.Way)
		return ok
	})
	t.Logf("the test needed %v until the new leader's loops were observed", time.Since(began).Round(time.Second))
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	mine, ok := failoverOf(t, ours.loadCalls(), c.Way)
	if !ok {
		t.Fatal("the load's calls contain no failover")
	}
	for loop, calls := range found {
		if d := cmp.Diff(calls, mine[loop]); d != "" {
			t.Errorf("%s (-Patroni +load): %s", loop, d)
		}
		t.Logf("%s: %q", loop, calls)
	}
	if _, ok := found["a loser's race"]; !ok {
		t.Log("no member lost the race")
	}
}

// show logs the calls after the race.
func show(t *testing.T, sender string, all []observed) {
	t.Helper()
	var text strings.Builder
	slices.SortStableFunc(all, func(a, b observed) int { return a.at.Compare(b.at) })
	for _, h := range all {
		fmt.Fprintf(&text, "%s %s %s\n", h.at.Format("05.000"), h.who, h.formOfCall())
	}
	t.Logf("%s:\n%s", sender, text.String())
}

// forget discards the requests observed so far.
func (l *calls) forget() {
	l.mu.Lock()
	l.all = nil
	l.mu.Unlock()
}

// loadCalls returns the calls of the load, without the calls that prepare the load. It omits the
// reads that only set one-shot watches, because Patroni sets these watches when it reads the
// leader's key.
func (l *calls) loadCalls() []observed {
	all := slices.DeleteFunc(l.requests(), func(h observed) bool { return h.sets })
	slices.SortStableFunc(all, func(a, b observed) int { return a.at.Compare(b.at) })
	renewed := slices.IndexFunc(all, func(h observed) bool { return h.call == "renew" })
	return all[max(renewed-1, 0):]
}

// sendFailover sends the load of a single cluster whose leader dies.
func sendFailover(t *testing.T, st store.Store, endpoint string, c data.Config) error {
	length := c.TTL + 2*c.LoopWait
	for c.LeaderDeath(length) == 0 {
		length += time.Second
	}
	res, err := sent(t, st, endpoint, c, length+c.LoopWait)
	if err != nil {
		return err
	}
	for _, call := range res.Calls {
		if call.Failed() > 0 {
			return fmt.Errorf("%d calls %q due, some failed: %v %v", call.Due, call.Name, call.Outcomes, res.Measured.ErrorTexts)
		}
		if call.Name == c.Way.CallName(data.Race) && call.Outcomes[kv.OK] != 1 {
			return fmt.Errorf("outcomes of the race: %v", call.Outcomes)
		}
	}
	return nil
}

// After a leader's death, real Patroni members and the load send the same calls to etcd.
func TestCallsOfAFailoverAreThoseOfARealPatroni(t *testing.T) {
	settle.LongOnly(t, "TestCallsPerLoopAreThoseOfARealPatroni")
	c := data.Config{Clusters: 1, Members: 3, WrittenClusters: 1, LeaderFailures: 1, LoopWait: 2 * time.Second, TTL: 20 * time.Second, RetryTimeout: 3 * time.Second, Seed: 3}
	etcd := embedded.Etcd(t)
	theirs, ours := new(calls), listener{calls: new(calls)}
	var through []string
	for i := range c.Members {
		through = append(through, (&listener{theirs, strconv.Itoa(i)}).listen(t, etcd))
	}
	compareFailovers(t, &c, etcdgateway.New(), servers.PatroniConfig{Etcd: through}, ours.listen(t, etcd), theirs, ours.calls)
}

// After a leader's death, real Patroni members and the load send the same calls to Consul.
func TestCallsOfAFailoverOnConsulAreThoseOfARealPatroni(t *testing.T) {
	settle.LongOnly(t, "TestCallsPerLoopAreThoseOfARealPatroni")
	if testing.Short() {
		t.Skip("-short: no real Consul is started")
	}
	st, endpoint := consul.New(), startConsul(t)
	through, theirs := overhearEach(t, endpoint, st)
	overheardFailover(t, data.Locks, st, servers.PatroniConfig{Consul: through}, theirs, endpoint)
}

// After a leader's death, real Patroni members and the load send the same calls to ZooKeeper.
func TestCallsOfAFailoverOnZooKeeperAreThoseOfARealPatroni(t *testing.T) {
	settle.LongOnly(t, "TestCallsPerLoopAreThoseOfARealPatroni")
	if testing.Short() {
		t.Skip("-short: no real ZooKeeper is started")
	}
	st, endpoint := zookeeper.New(), startZooKeeper(t)
	through, theirs := overhearEach(t, endpoint, st)
	overheardFailover(t, data.Nodes, st, servers.PatroniConfig{ZooKeeper: through}, theirs, endpoint)
}

// A race with three members has a winner and a loser.
const members = 3

// overhearEach starts a recording relay in front of each member.
func overhearEach(t *testing.T, endpoint string, st store.TapProvider) (through []string, observed *calls) {
	observed = new(calls)
	for i := range members {
		o := &overheard{calls: observed, who: strconv.Itoa(i)}
		through = append(through, o.listen(t, endpoint, st))
	}
	return through, observed
}

func overheardFailover(t *testing.T, way data.Way, st store.Store, c servers.PatroniConfig, theirs *calls, endpoint string) {
	t.Helper()
	ours := overheard{calls: new(calls)}
	through := ours.listen(t, endpoint, st.(store.TapProvider))
	compareFailovers(t, &data.Config{
		Way: way, Clusters: 1, Members: members, WrittenClusters: 1, LeaderFailures: 1, LoopWait: 3 * time.Second, TTL: 20 * time.Second, RetryTimeout: 3 * time.Second, Seed: 3,
	}, st, c, through, theirs, ours.calls)
}
