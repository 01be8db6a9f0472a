package cli

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/agent/overssh"
)

// agentFlags holds the flags of `agent`.
type agentFlags struct {
	listen, address  string
	ca, cert, key    string
	dir              string
	execs            []string
	heartbeat, lease time.Duration
	once, reach      bool
}

func (a *commandLine) agentCommand() *cobra.Command {
	f := &agentFlags{heartbeat: agent.DefaultHeartbeat, lease: agent.DefaultLease}
	c := &cobra.Command{
		Use:   "agent",
		Short: "Run members and load generators on this machine for a controller on another machine",
		Long: `Run members and load generators on this machine for a controller on another machine.
Scenarios assign members and load to this machine (docs/how-to/many-machines.md).

The agent starts only the stores' servers and writes only in the folder --dir. It serves
one controller at a time, and accepts only a controller whose certificate is from the same
authority as its own. The first line on standard output is the address at which the agent
listens. The agent runs until it receives SIGINT, SIGTERM or SIGHUP.`,
		Example: `  quorumbench agent certs --hosts 10.0.0.1,10.0.0.2 --dir certs
  quorumbench agent --listen 10.0.0.1:7420 --ca ca.crt --cert 10.0.0.1.crt --key 10.0.0.1.key \
      --dir /var/lib/quorumbench
  quorumbench agent --listen unix:/run/user/1000/agent.sock --dir /tmp/agent`,
		Args: command.ArgsBetween(0, 0, ""),
	}
	r := command.NewFlags(c.Flags())
	r.Text("listen", &f.listen, "ADDR", "address at which the agent listens: HOST:PORT, or unix:PATH for a socket that only this user can open")
	r.Text("ca", &f.ca, "FILE", "certificate (PEM) of the authority that must have signed the controller's certificate")
	r.Text("cert", &f.cert, "FILE", "this machine's certificate (PEM)")
	r.Text("key", &f.key, "FILE", "private key of the certificate (PEM)")
	r.Text("dir", &f.dir, "DIR", "folder in which the agent keeps all its files")
	r.Text("address", &f.address, "IP", "IP address at which this machine's servers listen; default: the address of --listen")
	command.Repeated(r, "exec", &f.execs, "PATH", filepath.Abs, "path of another server binary on this machine; scenarios may select this binary with the key exec")
	r.Duration("heartbeat", &f.heartbeat, "interval between the controller's heartbeats; if two successive heartbeats are missing, the load on this machine stops")
	r.Duration("lease", &f.lease, "how long servers keep running after the connection to the controller is lost")
	r.Toggle("once", &f.once, "serve one controller, then exit; if the controller is lost, exit when the lease expires; also exit at the end of standard input, or if no controller connects within one minute")
	r.Toggle("reach", &f.reach, "read the state and metrics of members on behalf of a controller that cannot connect to them")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.agent(c.Context(), f) }
	c.AddCommand(a.agentCertsCommand())
	return c
}

func (a *commandLine) agent(ctx context.Context, f *agentFlags) error {
	o, err := a.agentOptions(f)
	if err != nil {
		return err
	}
	if f.once {
		overssh.ClaimOwnFolder(o.Self, a.logf)
	}
	s, err := agent.New(o)
	if err != nil {
		return err
	}
	l, err := agent.Listen(f.listen)
	if err != nil {
		return err
	}
	defer command.ReduceMemory()()
	if f.once {
		go func() {
			_, _ = io.Copy(io.Discard, a.Stdin) // the session ends at the end of standard input, or at the first read error
			s.StopAfterSession()
		}()
	}
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	if agent.IsUnix(f.listen) {
		a.Printf("%s\n", f.listen)
	} else {
		a.Printf("%s\n", l.Addr())
	}
	return s.Serve(ctx, l)
}

// agentOptions checks the flags and reads the files that they name.
func (a *commandLine) agentOptions(f *agentFlags) (agent.Options, error) {
	o := agent.Options{
		Folder: f.dir, Address: f.address, Version: agentVersion(), Stores: a.Lookup, Execs: f.execs, Heartbeat: f.heartbeat, Lease: f.lease, SingleSession: f.once, AllowConnections: f.reach, Logf: a.logf,
	}
	host, _, err := net.SplitHostPort(f.listen)
	ip := net.ParseIP(host)
	certificates := f.ca != "" || f.cert != "" || f.key != ""
	switch {
	case f.listen == "":
		return o, command.Usage("--listen is missing; give HOST:PORT or unix:PATH")
	case f.dir == "":
		return o, command.Usage("--dir is missing; give the folder in which the agent keeps all its files")
	case f.address != "" && net.ParseIP(f.address) == nil:
		return o, command.Usage("--address: %q is not an IP address", f.address)
	case f.heartbeat < 10*time.Millisecond || f.heartbeat > time.Minute:
		return o, command.Usage("--heartbeat must be from 10ms to 1m, not %v", f.heartbeat)
	case f.lease < time.Second || f.lease > time.Hour:
		return o, command.Usage("--lease must be from 1s to 1h, not %v", f.lease)
	case agent.IsUnix(f.listen) && certificates:
		return o, command.Usage("--listen %s: a Unix socket does not use certificates; omit --ca, --cert and --key", f.listen)
	case agent.IsUnix(f.listen):
	case err != nil:
		return o, command.Usage("--listen: %q is not an address; write HOST:PORT or unix:PATH", f.listen)
	case !certificates:
		return o, command.Usage("--listen %s: without certificates, anybody could use this machine; give --ca, --cert and --key (quorumbench agent certs creates them), or --listen unix:PATH", f.listen)
	case f.ca == "" || f.cert == "" || f.key == "":
		return o, command.Usage("--ca, --cert and --key belong together; give all three")
	case f.address == "" && ip != nil && !ip.IsUnspecified():
		o.Address = ip.String()
	}
	if certificates {
		if err := agent.CheckOutsideFolder(f.dir, f.cert, f.key, f.ca); err != nil {
			return o, command.Usage("%w", err)
		}
		if o.TLS, err = agent.ServerTLS(f.ca, f.cert, f.key); err != nil {
			return o, command.Usage("%w", err)
		}
	}
	o.Self, err = command.Self()
	return o, err
}

// logf prints a message to standard error.
func (a *commandLine) logf(format string, args ...any) { a.PrintNote(format, args...) }

// agentVersion returns the program's version and revision. Both must be the same in the agent and
// in the controller.
func agentVersion() string {
	t := command.Tool()
	if t.Revision == "" {
		return t.Version
	}
	return t.Version + " (" + t.Revision + ")"
}

// agentCertsFlags holds the flags of `agent certs`.
type agentCertsFlags struct {
	hosts, dir string
	valid      time.Duration
}

func (a *commandLine) agentCertsCommand() *cobra.Command {
	f := &agentCertsFlags{valid: 7 * 24 * time.Hour}
	c := &cobra.Command{
		Use:   "certs",
		Short: "Create the certificates for agents and a controller",
		Long: `Create the certificates for agents and a controller: an authority, a certificate for
each host, and one for the controller. The authority's key is not kept. Copy
HOST.crt, HOST.key and ca.crt to each host.`,
		Example: `  quorumbench agent certs --hosts 10.0.0.1,db2.example.org --dir certs`,
		Args:    command.ArgsBetween(0, 0, ""),
	}
	r := command.NewFlags(c.Flags())
	r.Text("hosts", &f.hosts, "HOST,...", "names or IP addresses of the hosts, as the controller reaches them")
	r.Text("dir", &f.dir, "DIR", "folder for the new files, which only this user can read; existing files are not overwritten")
	r.Duration("valid", &f.valid, "how long the certificates are valid")
	c.RunE = func(*cobra.Command, []string) error { return a.agentCerts(f) }
	return c
}

func (a *commandLine) agentCerts(f *agentCertsFlags) error {
	switch {
	case f.hosts == "":
		return command.Usage("--hosts is missing; give HOST,HOST,...")
	case f.dir == "":
		return command.Usage("--dir is missing; give a folder for the files")
	case f.valid < time.Minute || f.valid > 365*24*time.Hour:
		return command.Usage("--valid must be from 1m to 8760h, not %v", f.valid)
	}
	made, err := agent.MakeCertificates(f.dir, strings.Split(f.hosts, ","), f.valid, time.Now())
	if err != nil {
		return err
	}
	a.Printf("authority   %s\ncontroller  %s.crt, %s.key\n", made.CA, made.Controller, made.Controller)
	for _, h := range made.Hosts {
		a.Printf("agent       %s.crt, %s.key\n", h, h)
	}
	return nil
}
