package verify

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// porcupineDir is where the module's own test data are.
func porcupineDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	if err != nil {
		t.Fatalf("the folder of porcupine's module is not known: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// TestPorcupinesOwnData: the histories of Jepsen's runs of etcd that come with porcupine
// are decided as its tests say. It has others, of a store that appends, as none of ours
// does.
func TestPorcupinesOwnData(t *testing.T) {
	dir := porcupineDir(t)
	tests, err := os.ReadFile(filepath.Join(dir, "porcupine_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	jepsen := regexp.MustCompile(`checkJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(tests), -1)
	if len(jepsen) < 100 {
		t.Fatalf("porcupine's tests are of %d histories", len(jepsen))
	}
	right := 0
	for _, c := range jepsen {
		n, _ := strconv.Atoi(c[1])
		name := fmt.Sprintf("jepsen/etcd_%03d.log", n)
		got := decide(jepsenOps(t, filepath.Join(dir, "test_data", name)), register(history.Absent), time.Minute)
		if want := answerOf(c[2]); got != want {
			t.Errorf("%s is %s, and porcupine says %s", name, got, want)
		}
		if got == porcupine.Ok {
			right++
		}
	}
	if right == 0 || right == len(jepsen) {
		t.Errorf("%d of %d histories are right: there is nothing to tell apart", right, len(jepsen))
	}
}

func answerOf(correct string) porcupine.CheckResult {
	if correct == "true" {
		return porcupine.Ok
	}
	return porcupine.Illegal
}

// calls pairs a log's invocations with their answers. A process has one at a time;
// the line's number is the time.
type calls struct {
	ops  []porcupine.Operation
	open map[string]int
}

func (c *calls) call(process string, at int, in *searched) {
	if c.open == nil {
		c.open = map[string]int{}
	}
	c.open[process] = len(c.ops)
	c.ops = append(c.ops, porcupine.Operation{ClientId: len(c.ops), Input: in, Call: int64(at), Return: math.MaxInt64})
}

// ended returns what a process had invoked.
func (c *calls) ended(process string, at int) *searched {
	i := c.open[process]
	delete(c.open, process)
	c.ops[i].Return = int64(at)
	return c.ops[i].Input.(*searched)
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

var jepsenLine = regexp.MustCompile(`^INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(invoke|ok|fail|info)\s+:(read|write|cas)\s+(nil|:timed-out|\[?\d+(?:\s+(\d+)\])?)$`)

// jepsenOps are a log's operations on its one register. What was never answered may
// have been done at any time, or not at all.
func jepsenOps(t *testing.T, path string) []porcupine.Operation {
	t.Helper()
	var c calls
	number := func(text string) uint64 { // 0 is the key that is not there
		n, _ := strconv.ParseUint(strings.Trim(strings.Fields(text)[0], "[]"), 10, 64)
		return n + 1
	}
	for at, line := range linesOf(t, path) {
		m := jepsenLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		process, what, kind, args := m[1], m[2], m[3], m[4]
		switch {
		case what == "invoke" && kind == "read":
			c.call(process, at, &searched{kind: kv.Get, value: history.Unseen, outcome: read})
		case what == "invoke" && kind == "write":
			c.call(process, at, &searched{kind: kv.Put, value: number(args), outcome: maybe})
		case what == "invoke":
			c.call(process, at, &searched{kind: kv.CAS, expected: number(args), value: number(m[5]), outcome: maybe})
		case what == "info": // it goes on without its process
			delete(c.open, process)
		default:
			switch in := c.ended(process, at); {
			case kind == "read" && what == "fail":
			case kind == "read" && args == "nil":
				in.value = history.Absent
			case kind == "read":
				in.value = number(args)
			case what == "fail": // of a compare-and-set: the value was another
				in.outcome = read
			default:
				in.outcome = wrote
			}
		}
	}
	// A read without an answer says nothing.
	return slices.DeleteFunc(c.ops, func(o porcupine.Operation) bool {
		in := o.Input.(*searched)
		return in.kind == kv.Get && in.value == history.Unseen
	})
}
