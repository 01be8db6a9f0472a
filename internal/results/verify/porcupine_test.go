package verify

import (
	"cmp"
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

// TestPorcupinesOwnData: the histories that come with porcupine, of Jepsen's runs of
// etcd and of a key-value store that appends, are decided as its tests say.
func TestPorcupinesOwnData(t *testing.T) {
	dir := porcupineDir(t)
	tests, err := os.ReadFile(filepath.Join(dir, "porcupine_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	jepsen := regexp.MustCompile(`checkJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(tests), -1)
	appends := regexp.MustCompile(`checkKv\(t, "(\S+)", (true|false), true\)`).FindAllStringSubmatch(string(tests), -1)
	if len(jepsen) < 100 || len(appends) < 6 {
		t.Fatalf("porcupine's tests are of %d and %d histories", len(jepsen), len(appends))
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
	for _, c := range appends {
		got := porcupine.Ok
		for _, ops := range appendOps(t, filepath.Join(dir, "test_data", "kv", c[1]+".txt")) {
			if one := decide(ops, register(emptyString), time.Minute); one != porcupine.Ok {
				got = one
			}
		}
		if want := answerOf(c[2]); got != want {
			t.Errorf("%s is %s, and porcupine says %s", c[1], got, want)
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

const emptyString = 1 // the identity of the value that all keys have at first

var appendLine = regexp.MustCompile(`{:process (\d+), :type :(invoke|ok), :f :(get|put|append), :key "(.*)", :value (?:nil|"(.*)")}`)

// appendOps are a log's operations, by key. An append is a compare-and-set from what
// stands before its text wherever that was read; where it was read nowhere, from
// anything, to what nobody read.
func appendOps(t *testing.T, path string) map[string][]porcupine.Operation {
	t.Helper()
	lines := linesOf(t, path)
	values := map[string][]string{} // that were read, by key
	for _, line := range lines {
		if m := appendLine.FindStringSubmatch(line); m != nil && m[2] == "ok" && m[3] == "get" {
			values[m[4]] = append(values[m[4]], m[5])
		}
	}
	known := map[string]uint64{"": emptyString}
	identity := func(value string) uint64 {
		known[value] = cmp.Or(known[value], uint64(len(known))+1)
		return known[value]
	}
	keys := map[string]*calls{}
	for at, line := range lines {
		m := appendLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		process, what, kind, key, value := m[1], m[2], m[3], m[4], m[5]
		c := keys[key]
		if c == nil {
			c = &calls{}
			keys[key] = c
		}
		switch {
		case what == "invoke" && kind == "get":
			c.call(process, at, &searched{kind: kv.Get, outcome: read})
		case what == "invoke" && kind == "put":
			c.call(process, at, &searched{kind: kv.Put, value: identity(value), outcome: wrote})
		case what == "invoke":
			in := &searched{kind: kv.CAS, expected: history.Unseen, value: identity(fmt.Sprint("unread ", at)), outcome: wrote}
			for _, v := range values[key] {
				if i := strings.Index(v, value); i >= 0 {
					in.expected, in.value = identity(v[:i]), identity(v[:i+len(value)])
					break
				}
			}
			c.call(process, at, in)
		default:
			if in := c.ended(process, at); kind == "get" {
				in.value = identity(value)
			}
		}
	}
	out := map[string][]porcupine.Operation{}
	for key, c := range keys {
		out[key] = c.ops
	}
	return out
}
