//go:build linux

package hosts

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// again runs a test once more where it may make hosts, or skips, and reports whether
// this already is there.
func again(t *testing.T) bool {
	t.Helper()
	if Inside() {
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := Again(ctx, "-test.run=^"+t.Name()+"$", "-test.v").CombinedOutput()
	if refused := Refused(err); refused != nil {
		t.Skip(refused)
	}
	if err != nil || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("in a network of its own: %v\n%s", err, out)
	}
	return false
}

// links are the names of this process's network devices.
func links(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return fmt.Sprint(names)
}

// Hosts reach each other by their addresses and have names of their own, and nothing
// is seen of them in the machine's network.
func TestHostsReachEachOther(t *testing.T) {
	before := links(t)
	if !again(t) {
		if after := links(t); after != before {
			t.Errorf("the machine had %s, and has %s", before, after)
		}
		return
	}
	n, err := New(Places("a", "b")...)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	a, b := n.Hosts[0], n.Hosts[1]
	var l net.Listener
	if err := a.do(func() (err error) { l, err = net.Listen("tcp", a.Address+":0"); return err }); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "%s", c.RemoteAddr())
			_ = c.Close()
		}
	}()
	for want, dial := range map[string]func(func() error) error{
		b.Address: b.do, Here: func(do func() error) error { return do() },
	} {
		err := dial(func() error {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				return err
			}
			heard, err := io.ReadAll(c)
			if got, _, _ := net.SplitHostPort(string(heard)); got != want {
				t.Errorf("%s comes from %s", want, got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	c := exec.Command("uname", "-n")
	out, err := c.StdoutPipe()
	if err == nil {
		err = b.Start(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	name, err := io.ReadAll(out)
	if strings.TrimSpace(string(name)) != "b" || err != nil || c.Wait() != nil {
		t.Errorf("b is called %q, %v", name, err)
	}
	if name, err := os.Hostname(); err != nil || name == "a" || name == "b" {
		t.Errorf("this process is called %q, %v", name, err)
	}
}

// When the process that made the hosts is killed, nothing of them is left.
func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	if Inside() {
		n, err := New(Places("a")...)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("sleep", "1000")
		if err := n.Hosts[0].Start(c); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("child %d\n", c.Process.Pid)
		select {}
	}
	c := Again(t.Context(), "-test.run=^"+t.Name()+"$")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if refused := Refused(err); refused != nil {
		t.Skip(refused)
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanned := fmt.Sscanf(line, "child %d\n", &pid); err != nil || scanned != nil {
		t.Fatalf("it says %q, %v", line, err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	deadline := time.After(time.Minute)
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || strings.Contains(string(status), "State:\tZ") {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("process %d is left", pid)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
