package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// nullFlags holds the flags of `null-server`.
type nullFlags struct {
	protocol   string
	listen     string
	members    int
	script     string
	scriptFile string
	options    store.NullOptions
	cert, key  string
}

func (a *commandLine) nullServerCommand() *cobra.Command {
	f := &nullFlags{protocol: "etcd", listen: "127.0.0.1:0", members: 1}
	f.options.Memory = true
	c := &cobra.Command{
		Use:   "null-server",
		Short: "Serve a store's protocol without a store",
		Long: `Serve a store's protocol without a store. The server responds at once, or as a script
specifies.

The first line on standard output has the members' endpoints, which "quorumbench bench
--endpoints" accepts. The server runs until it receives SIGINT, SIGTERM or SIGHUP.`,
		Example: `  quorumbench null-server --script 'delay=1ms'
  quorumbench null-server --script 'stall=800ms@3s; error=unavailable every 1000'`,
		Args: command.ArgsBetween(0, 0, ""),
	}
	r := command.NewFlags(c.Flags())
	r.Text("protocol", &f.protocol, "STORE", "store whose protocol the server speaks")
	r.Text("listen", &f.listen, "HOST:PORT", "address of the first member; other members use the ports that follow. Port 0 chooses free ports")
	r.Int("members", &f.members, "number of members; the first is the leader")
	r.Text("script", &f.script, "TEXT", "script that defines how the server responds, such as delay=1ms (docs/reference/null-server.md)")
	r.Text("script-file", &f.scriptFile, "FILE", "file with the script; - means standard input")
	r.Toggle("memory", &f.options.Memory, "store written values; with --memory=false, every key exists and has the same value")
	r.Size("value-size", &f.options.ValueSize, "with --memory=false: size of the value that every key has")
	r.Text("user", &f.options.User, "NAME:PASSWORD", "user and password that clients must log in with")
	r.Text("cert", &f.cert, "FILE", "serve over TLS with this certificate (PEM)")
	r.Text("key", &f.key, "FILE", "private key of the certificate (PEM)")
	r.Int("max-streams", &f.options.MaxStreams, "maximum number of requests in flight on one connection; 0 means no limit")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.nullServer(c.Context(), f, c.Flags().Changed("value-size"))
	}
	return c
}

func (a *commandLine) nullServer(ctx context.Context, f *nullFlags, sized bool) error {
	st, err := a.Lookup(f.protocol)
	if err != nil {
		return command.Usage("--protocol: %w", err)
	}
	served, ok := st.(store.NullServerProvider)
	if !ok {
		return command.Usage("--protocol: %s has no null server", st.Name())
	}
	o, err := a.nullOptions(f, sized)
	if err != nil {
		return err
	}
	server, err := served.NullServer(o)
	if err != nil {
		return command.Usage("%w", err)
	}
	listeners, err := listen(f.listen, f.members)
	if err != nil {
		return err
	}
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	var endpoints []string
	for _, l := range listeners {
		endpoints = append(endpoints, l.Addr().String())
	}
	a.Printf("%s\n", strings.Join(endpoints, ","))
	return server.Serve(ctx, listeners)
}

// nullOptions checks the flags and reads the files that they name.
func (a *commandLine) nullOptions(f *nullFlags, sized bool) (store.NullOptions, error) {
	o := f.options
	switch {
	case f.members < 1 || f.members > kv.MaxMembers:
		return o, command.Usage("--members must be from 1 to %d, not %d", kv.MaxMembers, f.members)
	case f.script != "" && f.scriptFile != "":
		return o, command.Usage("--script and --script-file both give the script; give only one of them")
	case sized && o.Memory:
		return o, command.Usage("--value-size applies only to a server that stores no values; add --memory=false")
	case o.ValueSize < 0 || o.ValueSize > scenario.MaxValueSize:
		return o, command.Usage("--value-size must be from 0 to %s, not %d", text.FormatSize(scenario.MaxValueSize), o.ValueSize)
	case o.MaxStreams < 0:
		return o, command.Usage("--max-streams must be at least 0, not %d", o.MaxStreams)
	case (f.cert == "") != (f.key == ""):
		return o, command.Usage("--cert and --key belong together; give both")
	case o.User != "" && strings.Index(o.User, ":") < 1:
		return o, command.Usage("--user must be NAME:PASSWORD") // the value is not shown, because it may be a password
	}
	o.Script = f.script
	if f.scriptFile != "" {
		text, err := a.readFile(f.scriptFile)
		if err != nil {
			return o, command.Usage("--script-file: %w", err)
		}
		o.Script = string(text)
	}
	if f.cert != "" {
		var err error
		if o.TLS, err = serverTLS(f.cert, f.key); err != nil {
			return o, command.Usage("%w", err)
		}
	}
	return o, nil
}

// serverTLS returns the TLS settings of a server whose certificate and key are in the given files.
func serverTLS(cert, key string) (*tls.Config, error) {
	pair, err := load.KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w", cert, key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// maxScript is the maximum size of a script in bytes. It is far larger than any real script.
const maxScript = 1 << 20

// readFile reads a file, or standard input if the path is "-".
func (a *commandLine) readFile(path string) ([]byte, error) {
	if path == "-" {
		return files.ReadAll(a.Stdin, maxScript)
	}
	b, err := files.Read(path, maxScript)
	var cause *os.PathError
	if errors.As(err, &cause) {
		err = fmt.Errorf("cannot read %s: %w", path, cause.Err)
	}
	return b, err
}

// listen opens one listener per member. The first member listens at the address in the parameter
// `first`, and the other members listen at the ports that follow. If the port in this address is 0,
// every member gets a free port.
func listen(first string, members int) ([]net.Listener, error) {
	host, text, err := net.SplitHostPort(first)
	port, bad := strconv.ParseUint(text, 10, 16)
	if err != nil || bad != nil {
		return nil, command.Usage("--listen: %q is not an address; write HOST:PORT", first)
	}
	if port > 0 && int(port)+members-1 > 65535 {
		return nil, command.Usage("--listen: %d consecutive ports are needed, but port %d is too high for that; choose a lower port", members, port)
	}
	var listeners []net.Listener
	for i := range members {
		at := uint64(0)
		if port > 0 {
			at = port + uint64(i)
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.FormatUint(at, 10)))
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return nil, fmt.Errorf("the null server cannot listen: %w", err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}
