package verify

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestJepsenHistories checks histories that Jepsen recorded with an early version of etcd. The
// module porcupine contains these histories and the expected results.
func TestJepsenHistories(t *testing.T) {
	settle.SkipUnderRace(t)
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	if err != nil {
		t.Skip("go list did not find the module porcupine: ", err)
	}
	root := strings.TrimSpace(string(dir))
	source, err := os.ReadFile(filepath.Join(root, "porcupine_test.go"))
	if err != nil {
		t.Skip("the module porcupine has no tests: ", err)
	}
	all := regexp.MustCompile(`checkJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(source), -1)
	if len(all) < 100 {
		t.Fatalf("there are %d histories", len(all))
	}
	for _, m := range all {
		number, _ := strconv.Atoi(m[1])
		log, err := os.ReadFile(filepath.Join(root, "test_data", "jepsen", "etcd_"+strings.Repeat("0", 3-len(m[1]))+m[1]+".log"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]porcupine.CheckResult{"true": porcupine.Ok, "false": porcupine.Illegal}[m[2]]
		if got := findOrder(jepsen(t, string(log)), register(history.Absent), time.Minute); got != want {
			t.Errorf("history %d: want %s, got %s", number, want, got)
		}
	}
}

// jepsen reads a log from Jepsen. Its values are numbers, which may occur more than once.
func jepsen(t *testing.T, log string) (ops []porcupine.Operation) {
	line := regexp.MustCompile(`jepsen\.util - (\d+)\s+:(\w+)\s+:(\w+)\s+(.*)`)
	value := func(s string) uint64 {
		if s == "nil" {
			return history.Absent
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n + 1
	}
	open := map[string]int{}
	for at, text := range strings.Split(log, "\n") {
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		client, what, kind, arg := m[1], m[2], m[3], m[4]
		if what == "invoke" {
			o := &searchOperation{kind: kv.Get, outcome: indefinite, value: history.UnknownValue}
			switch kind {
			case "write":
				o.kind, o.value = kv.Put, value(arg)
			case "cas":
				a, b, _ := strings.Cut(strings.Trim(arg, "[]"), " ")
				o.kind, o.expected, o.value = kv.CAS, value(a), value(b)
			}
			open[client] = len(ops)
			ops = append(ops, porcupine.Operation{Input: o, Call: int64(at), Return: 1<<63 - 1})
			continue
		}
		i := open[client]
		o := ops[i].Input.(*searchOperation)
		switch {
		case strings.Contains(arg, "timed-out") || what == "info":
			continue // nothing is known about this operation
		case what == "fail" && kind == "cas":
			o.outcome = read
		case what == "fail":
			continue
		case kind == "read":
			o.value, o.outcome = value(arg), read
		default:
			o.outcome = wrote
		}
		ops[i].Return = int64(at)
	}
	return ops
}

// TestWithoutRevisionsAnOrderIsSearched checks that the search for a valid order finds violations
// of a simulated store that does not return the revisions of writes.
func TestWithoutRevisionsAnOrderIsSearched(t *testing.T) {
	settle.SkipUnderRace(t)
	wrong := 0
	for seed := range uint64(8) {
		kind, rate := noLie, 0.0
		if seed%2 == 1 {
			kind, rate = lieStaleRead, 0.05
		}
		m, lies := simulated(seed, 3000, kind, rate)
		for i := range m.ops {
			if m.ops[i].Revision = 0; m.ops[i].IsExecutedWrite() {
				m.ops[i].ModRevision = 0
			}
		}
		r, found := checked(t, m, Options{Samples: 1000, SearchTimeLimit: 3 * time.Second})
		if kind == noLie && len(r.WrongByKind) > 0 {
			t.Errorf("seed %d: %v\n%s", seed, r.WrongByKind, story(&r.Violations[0]))
		}
		if !strings.Contains(strings.Join(r.Undecided, ""), "returns no revisions") {
			t.Errorf("seed %d: the note about missing revisions is absent: %v", seed, r.Undecided)
		}
		for _, f := range found {
			wrong++
			watchKind := false
			for _, l := range lies {
				watchKind = watchKind || l.key == f.key
			}
			if !watchKind {
				t.Errorf("seed %d: key %d has a violation, but no response about this key was wrong", seed, f.key)
			}
		}
	}
	if wrong == 0 {
		t.Error("no lie was found")
	}
}

func TestResultNamesUndecidedKeys(t *testing.T) {
	m, _ := simulated(3, 4000, noLie, 0)
	for i := range m.ops {
		m.ops[i].Revision = 0
	}
	r, _ := checked(t, m, Options{SearchTimeLimit: time.Nanosecond})
	if last := r.Undecided[len(r.Undecided)-1]; len(r.WrongByKind) > 0 || !strings.HasPrefix(last, "undecided: ") {
		t.Errorf("%v, %q", r.WrongByKind, last)
	}
}

// TestFindingEndsAtTheTimeLimit checks that no further searches begin after the time limit. The
// finding then says that an earlier response may be wrong.
func TestFindingEndsAtTheTimeLimit(t *testing.T) {
	var k keyHistory
	for i := range int64(20) {
		k.add(uint32(i), &history.Op{Kind: kv.Put, Written: uint64(i + 1), Invoked: 10 * i, Done: 10*i + 5})
	}
	if f := k.finding(1, time.Now()); !strings.Contains(f.state, "the search timed out") || f.ords[f.operationCount-1] != 19 {
		t.Errorf("the finding is %+v, want one about operation 19 that says that the search timed out", f)
	}
}

// TestSearchIsCanceled checks that a canceled check does not search for valid orders.
func TestSearchIsCanceled(t *testing.T) {
	m, _ := simulated(3, 400, noLie, 0)
	for i := range m.ops {
		m.ops[i].Revision = 0
	}
	canceled := errors.New("canceled")
	if _, err := Check(m, Options{Canceled: func() error { return canceled }}); !errors.Is(err, canceled) {
		t.Errorf("the error is %v, want %v", err, canceled)
	}
}

// TestDataBeforeHistoryAreNotNamed checks a history that begins with a write for data from before
// the history. A finding must be about the read that is impossible after this write, and not about
// the write itself.
func TestDataBeforeHistoryAreNotNamed(t *testing.T) {
	var k keyHistory
	k.add(4, &history.Op{Kind: kv.Put, Written: 5})
	k.add(9, &history.Op{Kind: kv.Exists, Outcome: kv.Miss, Final: true, Invoked: 10, Done: 20})
	if got := findOrder(k.operations(), register(history.UnknownValue), time.Second); got != porcupine.Illegal {
		t.Fatalf("findOrder returns %v", got)
	}
	if f := k.finding(1, time.Now().Add(time.Minute)); f.operationCount != 2 || f.ords != [3]uint32{4, 9} {
		t.Errorf("named are %d of %v", f.operationCount, f.ords)
	}
}
