package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/readfile"
	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/relay"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// recordFlags are the flags of `record`.
type recordFlags struct {
	store, listen, to, out string
	plain                  bool
	duration               time.Duration
	cert, key              string
	toTLS                  bool
	cacert                 string
}

func (a *app) recordCommand() *cobra.Command {
	f := &recordFlags{store: "etcd"}
	c := &cobra.Command{
		Use:   "record --listen HOST:PORT --to HOST:PORT",
		Short: "Pass clients' connections on to a member, and record what passes",
		Long: `Pass clients' connections on to a member of a store, as they are, and record the
calls that pass: what, when, how long, how they ended, and of which keys. Keys and
values are hashed with a secret that is thrown away, unless --plain is given.

It goes on until SIGINT, SIGTERM or SIGHUP, or for --duration. "quorumbench profile"
makes a scenario of the recording.`,
		Example: `  quorumbench record --listen 127.0.0.1:12379 --to 127.0.0.1:2379 --duration 10m --out monday.qbrec`,
		Args:    command.Takes(0, 0, ""),
	}
	r := command.NewFlags(c.Flags())
	r.Text("store", &f.store, "STORE", "the store that the member is of")
	r.Text("listen", &f.listen, "HOST:PORT", "where clients connect to, in the member's place; port 0 is any that is free")
	r.Text("to", &f.to, "HOST:PORT", "the member")
	r.Text("out", &f.out, "FILE", "the recording, which must not be there; recording-TIME.qbrec unless given")
	r.Toggle("plain", &f.plain, "record keys and values as they are")
	r.Span("duration", &f.duration, "how long; until it is interrupted unless given")
	r.Text("cert", &f.cert, "FILE", "serve clients over TLS with this certificate (PEM)")
	r.Text("key", &f.key, "FILE", "its private key (PEM)")
	r.Toggle("to-tls", &f.toTLS, "speak TLS with the member; --cacert says so, too")
	r.Text("cacert", &f.cacert, "FILE", "speak TLS with the member, whose certificate this authority (PEM) signed")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.record(c.Context(), f) }
	return c
}

func (a *app) record(ctx context.Context, f *recordFlags) error {
	cfg, err := a.relayConfig(f)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("the relay cannot listen: %w", err)
	}
	defer func() { _ = l.Close() }() // Serve did, unless it was not begun
	began := time.Now()
	if f.out == "" {
		f.out = "recording-" + began.UTC().Format("20060102T150405Z") + ".qbrec"
	}
	w, err := recording.Create(f.out, &recording.Header{Store: f.store, Tool: command.Tool().Version, Started: began.UTC(), Plain: f.plain})
	if err != nil {
		return err
	}
	cfg.Sink, cfg.Now = w, func() int64 { return int64(time.Since(began)) }
	cfg.Say = func(why string) { a.Warn(why) }
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	a.Printf("%s\n", l.Addr())
	r := relay.New(cfg)
	err = r.Serve(ctx, l)
	if closing := w.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	all, _ := r.Connections()
	n := w.Counts()
	a.Remark("%s over %s in %s: %s, %s", readable.Plural(n.Calls, "call"), readable.Plural(uint64(all), "connection"),
		scenario.FormatDuration(time.Since(began).Round(time.Second)), filepath.Base(f.out), scenario.FormatSize(int(w.Bytes())))
	if n.Gaps > 0 {
		a.Warn(fmt.Sprintf("the recording has %s; \"quorumbench profile\" says what is missing", readable.Plural(n.Gaps, "gap")))
	}
	return nil
}

// relayConfig checks the flags and reads the files that they name.
func (a *app) relayConfig(f *recordFlags) (relay.Config, error) {
	cfg := relay.Config{To: f.to, Veil: recording.NewVeil()}
	if f.plain {
		cfg.Veil = &recording.Veil{}
	}
	st, err := a.Lookup(f.store)
	if err != nil {
		return cfg, command.Usage("--store: %w", err)
	}
	tapped, ok := st.(store.Tapped)
	if !ok {
		return cfg, command.Usage("--store: what passes between clients and %s is not understood here", st.Name())
	}
	cfg.Tapped, cfg.ALPN = tapped, st.Capabilities().ALPN
	for _, at := range [...]struct{ flag, value string }{{"--listen", f.listen}, {"--to", f.to}} {
		if _, _, err := net.SplitHostPort(at.value); err != nil {
			return cfg, command.Usage("%s: %q is not an address; write HOST:PORT", at.flag, at.value)
		}
	}
	switch {
	case (f.cert == "") != (f.key == ""):
		return cfg, command.Usage("--cert and --key belong together; give both")
	case f.duration < 0:
		return cfg, command.Usage("--duration must not be negative")
	}
	if f.cert != "" {
		pair, err := load.KeyPair(f.cert, f.key)
		if err != nil {
			return cfg, command.Usage("the certificate %s with the key %s cannot be used: %w", f.cert, f.key, err)
		}
		cfg.Listen = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	if f.cacert != "" || f.toTLS {
		cfg.Dial = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if f.cacert != "" {
		pem, err := readfile.Read(f.cacert, maxScript)
		if err != nil {
			return cfg, command.Usage("--cacert: %w", err)
		}
		if cfg.Dial.RootCAs = x509.NewCertPool(); !cfg.Dial.RootCAs.AppendCertsFromPEM(pem) {
			return cfg, command.Usage("--cacert: %s has no certificate in PEM", f.cacert)
		}
	}
	return cfg, nil
}
