// Package agents runs agents in the test process and connects to them over loopback with mutual
// TLS. It also collects the one-second results that a load's workers report.
package agents

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// AgentVersion is the version of these agents and of the controllers that AgentTarget configures.
const AgentVersion = "test"

// longHeartbeat is a heartbeat interval that is long enough for a busy machine.
const longHeartbeat = 20 * time.Second

// Certificates creates the certificates for an agent at 127.0.0.1 and for a controller.
func Certificates(t testing.TB) agent.Certificates {
	t.Helper()
	made, err := agent.MakeCertificates(t.TempDir(), []string{"127.0.0.1"}, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// AgentTarget returns the settings with which a controller reaches an agent that uses these
// certificates.
func AgentTarget(address string, c agent.Certificates) agent.Target {
	return agent.Target{
		Name: "there", Address: address, CACert: c.CA, Cert: c.Controller + ".crt", Key: c.Controller + ".key", Version: AgentVersion,
	}
}

// StartAgent starts an agent that serves until the test ends, and returns the settings with which a
// controller reaches the agent. If change is not nil, it may modify the agent's settings before the
// agent starts.
func StartAgent(t testing.TB, change func(*agent.Options)) agent.Target {
	t.Helper()
	c := Certificates(t)
	config, err := agent.ServerTLS(c.CA, c.Hosts[0]+".crt", c.Hosts[0]+".key")
	if err != nil {
		t.Fatal(err)
	}
	o := agent.Options{
		Folder: filepath.Join(t.TempDir(), "agent"), Version: AgentVersion, Stores: registry.Lookup, TLS: config, Heartbeat: longHeartbeat,
		Logf: func(format string, args ...any) { t.Logf("agent: "+format, args...) },
	}
	if change != nil {
		change(&o)
	}
	s, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return AgentTarget(ServeAgent(t, s), c)
}

// ServeAgent runs the agent s until the test ends, and returns the agent's address.
func ServeAgent(t testing.TB, s *agent.Server) (address string) {
	t.Helper()
	return servers.Serve(t, servers.Loopback(t), s.Serve)
}

// DialAgent opens a session with an agent and closes it when the test ends.
func DialAgent(t testing.TB, to agent.Target) *agent.Remote {
	t.Helper()
	r, err := agent.Dial(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // the agent may have ended before the session
	return r
}

// Worker starts an agent and returns a worker that uses the agent over the network. The agent
// passes the load to w. If w is nil, the agent runs the load in its own process.
func Worker(t testing.TB, w load.Worker) load.Worker {
	t.Helper()
	return DialAgent(t, StartAgent(t, func(o *agent.Options) { o.Worker = w })).Worker()
}
