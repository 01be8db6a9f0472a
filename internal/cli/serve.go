package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/results/serve"
	"github.com/quorumbench/quorumbench/internal/text"
)

// serveFlags holds the flags of `serve`.
type serveFlags struct {
	runs, listen     string
	cert, key, token string
}

func (a *commandLine) serveCommand() *cobra.Command {
	f := &serveFlags{runs: "runs", listen: "127.0.0.1:7422"}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Show a folder of runs as web pages, and follow active runs",
		Example: `  quorumbench serve
  quorumbench serve --runs /srv/runs --listen 10.0.0.1:7422 --cert web.crt --key web.key \
      --token-file token`,
		Long: `Show the run directories in a folder as web pages: a searchable list, the report of each
run, one report for several runs, and the files for download. The page of an active run is
updated every second. The server never slows down or changes a run. The list is also
available as JSON at /runs.json.

On a loopback address, no token is needed. On any other address, the server needs a
certificate and a token. Users enter the token in the browser; scripts send it in a header
"Authorization: Bearer TOKEN".`,
		Args: command.ArgsBetween(0, 0, ""),
	}
	r := command.NewFlags(c.Flags())
	r.Text("runs", &f.runs, "DIR", "show the run directories in this folder and its subfolders")
	r.Text("listen", &f.listen, "ADDR", "HOST:PORT at which to serve; port 0 selects a free port")
	r.Text("cert", &f.cert, "FILE", "certificate of the server (PEM)")
	r.Text("key", &f.key, "FILE", "private key of the certificate (PEM)")
	r.Text("token-file", &f.token, "FILE", "file that contains the token, which has at least 16 characters")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), f) }
	return c
}

// serve serves pages until it is interrupted.
func (a *commandLine) serve(ctx context.Context, f *serveFlags) error {
	o, certificates, err := f.options()
	if err != nil {
		return err
	}
	cache := ""
	if dir, err := os.UserCacheDir(); err == nil { // without a cache folder, each start reads all runs
		cache = filepath.Join(dir, "quorumbench")
	}
	index, err := serve.NewIndex(f.runs, cache, time.Now)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: cannot listen at this address: %w; choose an address of this machine and a free port", f.listen, err)
	}
	defer func() { _ = l.Close() }() // Shutdown has already closed the listener, unless the scan failed
	began := time.Now()
	read, err := index.Scan()
	switch {
	case err != nil && index.Scanned().IsZero():
		return err
	case err != nil:
		a.Warn(err.Error())
	}
	o.Now, o.Warn = time.Now, func(problem string) { a.Warn(problem) }
	pages := serve.New(index, o)
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10, TLSConfig: certificates}
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	ended := make(chan error, 1)
	scheme := "http"
	if certificates == nil {
		go func() { ended <- server.Serve(l) }()
	} else {
		scheme = "https"
		go func() { ended <- server.ServeTLS(l, "", "") }()
	}
	a.Printf("%s://%s/ serves %s in the folder %s (%s read in %s). Ctrl-C stops the server.\n", scheme, l.Addr(), text.Plural(uint64(len(index.Runs())), "run"), f.runs, text.Count(uint64(read)), text.MeasuredSeconds(time.Since(began).Seconds()))
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	pages.Close()
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(closing); errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // a download is still under way
	}
	return nil
}

// minToken is the minimum length of a token in bytes.
const minToken = 16

// options checks the flags and reads the files that they name.
func (f *serveFlags) options() (o serve.Options, certificates *tls.Config, err error) {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return o, nil, command.Usage("--listen: %q is not an address; write HOST:PORT, for example 127.0.0.1:7422", f.listen)
	}
	ip := net.ParseIP(host)
	o.Loopback = host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case (f.cert == "") != (f.key == ""):
		return o, nil, command.Usage("--cert and --key belong together; give both")
	case !o.Loopback && f.cert == "":
		return o, nil, command.Usage("--listen %s: other machines can reach this address, and without TLS other users of the network could read the token; give --cert and --key, or listen at 127.0.0.1", f.listen)
	case !o.Loopback && f.token == "":
		return o, nil, command.Usage("--listen %s: other machines can reach this address; give --token-file, or listen at 127.0.0.1", f.listen)
	}
	if f.token != "" {
		b, err := files.Read(f.token, 4<<10)
		if err != nil {
			return o, nil, command.Usage("--token-file: cannot read the token: %w", err)
		}
		if o.Token = strings.TrimSpace(string(b)); len(o.Token) < minToken {
			return o, nil, command.Usage("--token-file: the token in %s is too short; write a token of at least %d characters to the file, for example the output of: openssl rand -hex 16", f.token, minToken)
		}
	}
	if f.cert != "" {
		if certificates, err = serverTLS(f.cert, f.key); err != nil {
			return o, nil, command.Usage("--cert and --key: %w", err)
		}
	}
	return o, certificates, nil
}
