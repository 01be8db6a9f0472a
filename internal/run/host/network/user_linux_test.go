package network

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// againEnv is the environment variable with which the test binary runs the test again in a user
// namespace.
const againEnv = "QUORUMBENCH_TEST_USER_NAMESPACE"

// A user other than root can create networks inside a user namespace that has its own network
// namespace.
func TestNetworksOfAUserNamespace(t *testing.T) {
	if os.Getenv(againEnv) != "" {
		n := joined(t)
		if _, err := ping(n.dial(t, "tcp", -1, 0), "from here", generous); err != nil {
			t.Error(err)
		}
		if _, err := ping(n.dial(t, "udp", 1, 2), "between", generous); err != nil {
			t.Error(err)
		}
		return
	}
	if err := CheckSupport(); err != nil {
		t.Skip(err)
	}
	again := exec.Command(os.Args[0], "-test.run=^TestNetworksOfAUserNamespace$", "-test.v")
	again.Env = append(os.Environ(), againEnv+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	out, err := again.CombinedOutput()
	if err != nil && again.Process == nil {
		t.Skipf("this machine does not permit user namespaces: %v", err)
	}
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%s", out)
}
