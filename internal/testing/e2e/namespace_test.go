//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/testing/hosts"
)

// inNetwork runs the current test again in a new process that has its own network namespace. It
// returns true in the new process and false in the original process. It skips the test if the user
// may not create namespaces.
func inNetwork(t *testing.T) bool {
	t.Helper()
	if hosts.IsRestarted() {
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*lifetime)
	defer cancel()
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	again := hosts.RestartCommand(ctx, "-test.run="+pattern, "-test.v", "-test.timeout="+(2*lifetime).String())
	again.WaitDelay = time.Second
	out, err := again.CombinedOutput()
	refused := hosts.ExplainRefusal(err)
	switch {
	case refused != nil:
		t.Skip(refused)
	case err != nil || !strings.Contains(string(out), "\nPASS\n"):
		t.Errorf("in a separate network, the test ended with %v:\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()):
		t.Skipf("%s", out)
	default:
		t.Logf("%s", out)
	}
	return false
}

// hub turns this process into a router between members, each of which has its own network
// namespace. Thus a member that is cut off from the other members remains reachable from this
// process.
type hub struct{ members []string } // paths of the members' namespaces

// newHub creates a network namespace for each member. The namespaces are removed when this process
// and the processes in the namespaces have ended.
func newHub(t *testing.T, members int) *hub {
	t.Helper()
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("separate networks need %s, which is missing: install Debian's iproute2 and util-linux", tool)
		}
	}
	h := &hub{}
	run(t, "ip", "link", "set", "lo", "up")
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		t.Skipf("this machine does not route between namespaces: %v", err)
	}
	for i := range members {
		space := newNamespace(t)
		h.members = append(h.members, space)
		link := h.link(i)
		run(t, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
		run(t, "ip", "address", "add", h.subnet(i, ".1/30"), "dev", link)
		run(t, "ip", "link", "set", link, "up")
		for _, line := range []string{
			"link set lo up", "address add " + h.host(i) + "/30 dev eth0", "link set eth0 up", "route add default via " + h.subnet(i, ".1"),
		} {
			run(t, "nsenter", append([]string{"--net=" + space, "ip"}, strings.Fields(line)...)...)
		}
	}
	return h
}

func (*hub) link(i int) string                { return fmt.Sprintf("member%d", i+1) }
func (*hub) subnet(i int, rest string) string { return fmt.Sprintf("10.99.%d%s", i+1, rest) }
func (h *hub) host(i int) string              { return h.subnet(i, ".2") }
func (h *hub) commandIn(i int, cmd ...string) []string {
	return append([]string{"--net=" + h.members[i]}, cmd...)
}

// cut silently drops all packets between a member and the other members.
func (h *hub) cut(t *testing.T, member int) {
	t.Helper()
	run(t, "ip", "rule", "add", "pref", "10", "iif", h.link(member), "blackhole")
	for i := range h.members {
		if i != member {
			run(t, "ip", "rule", "add", "pref", "10", "iif", h.link(i), "to", h.subnet(member, ".0/30"), "blackhole")
		}
	}
}

// newNamespace creates a network namespace and returns a path to it. The namespace exists until
// this test and all processes in it have ended.
func newNamespace(t *testing.T) string {
	t.Helper()
	made := make(chan *os.File)
	go func() {
		defer close(made)
		runtime.LockOSThread() // never unlocked, so that the thread ends when the goroutine ends
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return
		}
		if f, err := os.Open("/proc/thread-self/ns/net"); err == nil {
			made <- f
		}
	}()
	f := <-made
	if f == nil {
		t.Skip("the test cannot create a second network namespace")
	}
	t.Cleanup(func() { _ = f.Close() })
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
}

// run runs a program that is installed on the system.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
