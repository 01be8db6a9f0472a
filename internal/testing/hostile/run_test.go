//go:build linux

package hostile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/hostile"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// A client of a hostile server may use more resources than the client of the undisturbed server, up
// to these limits.
const (
	moreMemory    = 64 << 20
	moreProcessor = 2 * time.Second
	window        = 400 * time.Millisecond
	floodWindow   = 2 * time.Second
	// hung is the time after which the test kills a client. It is far longer than the overtime
	// after which the client itself reports a call as late (see maxOvertime).
	hung = time.Minute
	// tooMuch is the memory in bytes at which the test kills a client, to protect the machine.
	tooMuch = 1 << 30
	// tries is the number of attempts per kind. On a busy machine, the servers and the goroutines
	// that monitor the clients may also be slow.
	tries = 3
	// atOnce is the number of clients that run concurrently. Most of them only wait.
	atOnce = 4
)

// Unless settle.Long is true, the test runs only a fixed sample of the kinds. The sample differs
// between stores and parts.
const (
	onlyEnv = "QUORUMBENCH_HOSTILE_KIND" // selects the kinds whose names contain its value
	sample  = 16
)

// realEtcd stands for a real etcd. It provides the correct responses for a protocol for which no
// null server exists.
const realEtcd = "a real etcd"

// protocols lists the protocols with their kinds, and the stores that speak each protocol.
var protocols = []struct {
	name  string
	kinds func() []hostile.Kind
	// stores maps each store to the server that provides the correct responses: a store with a null
	// server, or realEtcd. A store without a null server uses the null server of another store with
	// the same protocol.
	stores map[string]string
}{
	{"h2", hostile.H2, map[string]string{"etcd": "etcd"}},
	{"http1", hostile.HTTP1, map[string]string{"etcdv2": "etcdv2", "consul": "consul", "cetcd": "consul with empty lists", "etcd-gateway": realEtcd}},
	{"jute", hostile.Jute, map[string]string{"zookeeper": "zookeeper", "zetcd": "zookeeper"}},
}

// fewest is the minimum number of kinds per protocol, including the harmless kind.
const fewest = 60

// TestProtocolsContainEveryStore checks that protocols contains every store in the registry.
func TestProtocolsContainEveryStore(t *testing.T) {
	var named []string
	for _, p := range protocols {
		kinds := p.kinds()
		seen := map[string]bool{}
		for _, k := range kinds {
			if seen[k.Name] {
				t.Errorf("%s: two kinds are named %q", p.name, k.Name)
			}
			seen[k.Name] = true
		}
		if len(kinds) < fewest || kinds[0].Name != hostile.Undisturbed {
			t.Errorf("%s has %d kinds, want at least %d, and the first is %q", p.name, len(kinds), fewest, kinds[0].Name)
		}
		for s := range p.stores {
			named = append(named, s)
		}
	}
	for _, name := range registry.Names() {
		if !slices.Contains(named, name) {
			t.Errorf("no hostile server speaks the protocol of %s", name)
		}
	}
}

// TestHostileServers tests every store with every kind of hostile server that speaks the store's
// protocol. It runs the store's load and its administrative calls. The client is another process,
// which has no race detector in any case.
func TestHostileServers(t *testing.T) {
	settle.SkipUnderRace(t)
	binary := build(t)
	for _, p := range protocols {
		for name, upstream := range p.stores {
			for _, part := range []string{"load", "admin"} {
				t.Run(p.name+"/"+name+"/"+part, func(t *testing.T) {
					t.Parallel()
					s := suite{binary: binary, store: name, part: part, honest: nullServer(t, upstream)}
					s.run(t, p.kinds())
				})
			}
		}
	}
}

// build builds the client without the race detector, which would multiply the client's memory.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "client")
	c := exec.Command("go", "build", "-o", binary, "./client")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("the client cannot be built: %v: %s", err, out)
	}
	return binary
}

func nullServer(t *testing.T, name string) string {
	t.Helper()
	if name == realEtcd {
		return embedded.Etcd(t)
	}
	name, lists := strings.CutSuffix(name, " with empty lists")
	st, err := registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := storetest.ServeNull(t, st.(store.NullServerProvider), 1, store.NullOptions{Memory: true})[0]
	if !lists {
		return endpoint
	}
	s, err := hostile.Serve(hostile.EmptyLists(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.Address
}

// suite runs all clients for one store and one part (load or admin).
type suite struct {
	binary, store, part, honest string

	base outcome // outcome of the client of the undisturbed server
}

// outcome is the result of running a client.
type outcome struct {
	report    hostile.Report
	ended     string // why the client failed, or empty
	stderr    string
	stdout    string
	processor time.Duration
	took      time.Duration
}

// slots limits the number of concurrent clients.
var slots = make(chan struct{}, atOnce)

func (s *suite) run(t *testing.T, kinds []hostile.Kind) {
	for try := 1; ; try++ {
		s.base = s.client(t, 0, kinds[0])
		if s.undisturbed(t, try == tries) {
			break
		}
	}
	var all sync.WaitGroup
	for i, k := range kinds[1:] {
		if !s.isSelected(i, k) {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for try := 1; try <= tries; try++ {
				wrong := s.check(t, k, s.client(t, i+1, k))
				if len(wrong) == 0 {
					return
				}
				for _, w := range wrong {
					if t.Logf("try %d: %s", try, w); try == tries {
						t.Error(w)
					}
				}
			}
		})
	}
	all.Wait()
}

// isSelected reports whether the test runs a kind. It selects a sample that differs between stores
// and parts, unless onlyEnv or settle.Long selects otherwise.
func (s *suite) isSelected(i int, k hostile.Kind) bool {
	if only := os.Getenv(onlyEnv); only != "" {
		return strings.Contains(k.Name, only)
	}
	return settle.Long() || (i+len(s.store)+3*len(s.part))%sample == 0
}

// client runs a client against a server of the given kind, and waits until the client ends.
func (s *suite) client(t *testing.T, i int, k hostile.Kind) (o outcome) {
	server, err := hostile.Serve(k, s.honest)
	if err != nil {
		t.Error(err)
		return o
	}
	defer server.Close()
	length := window
	if k.Flood {
		length = floodWindow
	}
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	task, _ := json.Marshal(hostile.Task{ // a Task can always be encoded
		Store: s.store, Part: s.part, Ops: k.Ops, Honest: s.honest, Hostile: server.Address,
		Prefix: fmt.Sprintf("%s%03d/", s.part[:1], i), Window: length,
	})
	c := exec.CommandContext(ctx, s.binary, string(task))
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Error(err)
		return o
	}
	greedy := watchMemory(ctx, c)
	err = c.Wait()
	cancel()
	o.took, o.stdout, o.stderr = time.Since(began), stdout.String(), stderr.String()
	o.processor = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	switch {
	case <-greedy:
		o.ended = fmt.Sprintf("it was killed at more than %d MiB of memory", tooMuch>>20)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		o.ended = fmt.Sprintf("it was killed, for it had not ended after %v", hung)
	case err != nil:
		o.ended = err.Error()
	default:
		if err := json.Unmarshal(stdout.Bytes(), &o.report); err != nil {
			o.ended = "its report cannot be read: " + err.Error()
		}
	}
	return o
}

// watchMemory kills a client that uses too much memory. The returned channel receives true when
// watchMemory has killed the client, or false when the context has ended.
func watchMemory(ctx context.Context, c *exec.Cmd) <-chan bool {
	greedy := make(chan bool, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				greedy <- false
				return
			case <-tick.C:
			}
			if n, err := hostile.MaxRSSOf(c.Process.Pid); err == nil && n > tooMuch {
				_ = c.Process.Kill() // fails if the client has already ended
				greedy <- true
				return
			}
		}
	}()
	return greedy
}

// undisturbed reports whether the outcome can serve as a baseline. If it cannot, and this is the
// last attempt, undisturbed fails the test.
func (s *suite) undisturbed(t *testing.T, last bool) bool {
	t.Helper()
	b := &s.base
	t.Logf("the undisturbed client used %d MiB and %v of processor time in %v; its report is %+v", b.report.MaxRSS>>20, b.processor, b.took, b.report)
	failed := uint64(0)
	for _, n := range b.report.Errors {
		failed += n // on a busy machine some operations time out
	}
	good := b.ended == "" && (s.part != "load" || b.report.Wrong == 0 && 10*failed <= b.report.Due && b.report.Due >= 50)
	if !good && last {
		t.Fatalf("the undisturbed client failed (%s): %+v\n%s", b.ended, b.report, b.stderr)
	}
	return good
}

// trace matches a stack trace.
var trace = regexp.MustCompile(`goroutine \d+ \[|\.go:\d+|panic:|fatal error:`)

// check returns a description of each limit that a client exceeded and of each defect in its
// output.
func (s *suite) check(t *testing.T, k hostile.Kind, o outcome) (wrong []string) {
	bad := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%s: %s (%d MiB, %v of processor time, %v; verdict %s %.300q, due %d, errors %v with the texts %.400q)", k.Name, fmt.Sprintf(format, args...),
			o.report.MaxRSS>>20, o.processor.Round(time.Millisecond), o.took.Round(time.Millisecond), o.report.Verdict, o.report.Reasons, o.report.Due, o.report.Errors, o.report.Texts))
	}
	if o.ended != "" {
		bad("%s: %.2000s", o.ended, o.stderr)
		return wrong
	}
	if all := o.stdout + o.stderr; trace.MatchString(all) {
		bad("the output contains a stack trace: %.3000s", all)
	}
	if more := o.report.MaxRSS - s.base.report.MaxRSS; more > moreMemory {
		bad("the client used %d MiB more than the undisturbed client, want at most %d MiB more", more>>20, moreMemory>>20)
	}
	if more := o.processor - s.base.processor; more > moreProcessor {
		bad("the client used %v more processor time than the undisturbed client, want at most %v more", more, moreProcessor)
	}
	for _, late := range o.report.Late {
		bad("%s", late)
	}
	if k.Impossible && unharmed[s.store+"/"+k.Name] == "" && s.part == "load" && o.report.Verdict != "" && !condemned(&o.report) {
		bad("the verdict has no reason about the impossible responses")
	}
	for _, text := range o.report.Texts {
		if len(text) > maxText {
			bad("an error text has %d bytes, want at most %d", len(text), maxText)
		}
	}
	for _, reason := range o.report.Reasons {
		if strings.Contains(reason, "defect of quorumbench") {
			bad("the verdict reports a defect of quorumbench")
		}
	}
	if os.Getenv(onlyEnv) != "" {
		t.Logf("%s: %+v", k.Name, o)
	}
	return wrong
}

// maxText is the maximum length in bytes of a message about a server.
const maxText = 4 << 10

// ownRules lists the rules about the generator, its machine and the load's length. A short load on
// a busy machine always violates some of these rules.
var ownRules = []int{5, 6, 7, 8, 9, 10, 12, 15, 19, 23}

// condemned reports whether a verdict has a reason that concerns the server's responses.
func condemned(r *hostile.Report) bool {
	return slices.ContainsFunc(r.Reasons, func(reason string) bool {
		return !slices.ContainsFunc(ownRules, func(n int) bool { return strings.HasPrefix(reason, fmt.Sprintf("R%d:", n)) })
	})
}

// unharmed lists kinds that do not affect a store, because the store's protocol does not contain
// the data that the kind falsifies. The text is the reason.
var unharmed = map[string]string{
	"consul/puts at index 0":       "Consul's response to a put contains no index",
	"etcd-gateway/puts at index 0": "the responses of etcd's gateway have no field for an index",
	"cetcd/puts at index 0":        "no response of cetcd contains an index",
}
