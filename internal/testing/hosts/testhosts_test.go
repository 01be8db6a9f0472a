//go:build linux

package hosts

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// If the process that created the hosts is killed, nothing remains of the hosts.
func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	if IsRestarted() {
		n, err := New(AssignAddresses("a")...)
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
	c := RestartCommand(t.Context(), "-test.run=^"+t.Name()+"$")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if refused := ExplainRefusal(err); refused != nil {
		t.Skip(refused)
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanned := fmt.Sscanf(line, "child %d\n", &pid); err != nil || scanned != nil {
		t.Fatalf("the output is %q, %v", line, err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // Wait returns an error because the process was killed
	deadline := time.After(time.Minute)
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || strings.Contains(string(status), "State:\tZ") {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("process %d is still running", pid)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
