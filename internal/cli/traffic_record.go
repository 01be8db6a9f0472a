package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/passive"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/text"
)

// recordFlags holds the flags of `traffic record`.
type recordFlags struct {
	store, listen, memberAddress, out string
	capture                           string
	plain                             bool
	duration                          time.Duration
	cert, key                         string
	memberTLS                         bool
	cacert                            string
}

func (a *commandLine) recordCommand() *cobra.Command {
	f := &recordFlags{store: "etcd"}
	c := &cobra.Command{
		Use:   "record --listen HOST:PORT --to HOST:PORT | --capture HOST:PORT",
		Short: "Record the traffic between clients and a member",
		Long: `Record the calls between clients and a member of a store: kind, time, duration, outcome
and keys. Unless --plain is given, keys and values are hashed with a secret that is then
discarded.

With --listen and --to, clients connect to quorumbench, which forwards their traffic
unchanged. With --capture, clients still connect to the member, and quorumbench reads
copies of the packets, on the machine of the member or of its clients. Capturing needs
Linux and the permission to read packets, and cannot decode TLS or connections that were
already open.

The recording continues until the command receives SIGINT, SIGTERM or SIGHUP, or for
--duration. "quorumbench traffic profile" derives a scenario from the recording.`,
		Example: `  quorumbench traffic record --listen 127.0.0.1:12379 --to 127.0.0.1:2379 --duration 10m \
      --out monday.qbrec
  quorumbench traffic record --capture 10.0.0.5:2379 --duration 10m --out monday.qbrec`,
		Args: command.ArgsBetween(0, 0, ""),
	}
	r := command.NewFlags(c.Flags())
	r.Text("store", &f.store, "STORE", "kind of store that the member runs")
	r.Text("listen", &f.listen, "HOST:PORT", "address to which clients connect instead of the member's address; port 0 chooses a free port")
	r.Text("to", &f.memberAddress, "HOST:PORT", "address of the member")
	r.Text("capture", &f.capture, "HOST:PORT", "capture packets of the member at this address, instead of using --listen and --to; :PORT matches every address")
	r.Text("out", &f.out, "FILE", "file for the recording, which must not exist yet (default: recording-TIME.qbrec)")
	r.Toggle("plain", &f.plain, "record keys and values unchanged instead of hashing them")
	r.Duration("duration", &f.duration, "stop after this time (default: record until interrupted)")
	r.Text("cert", &f.cert, "FILE", "serve clients over TLS with this certificate (PEM)")
	r.Text("key", &f.key, "FILE", "private key of the certificate (PEM)")
	r.Toggle("to-tls", &f.memberTLS, "connect to the member over TLS; --cacert implies this flag")
	r.Text("cacert", &f.cacert, "FILE", "connect to the member over TLS; this authority (PEM) must have signed the member's certificate")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.record(c.Context(), f) }
	return c
}

// trafficSource is a source of observed traffic that is already open: a relay or a packet capture.
type trafficSource interface {
	// address returns the observed address, such as the address at which the relay listens.
	address() string
	// record decodes the traffic until ctx ends, and writes the decoded calls to tapConfig.Sink.
	// The times of calls are relative to began. record returns the number of connections and, if
	// traffic is missing, a sentence that explains why.
	record(ctx context.Context, tapConfig *passive.TapConfig, began time.Time) (connections uint32, missing string, err error)
	close()
}

func (a *commandLine) record(ctx context.Context, f *recordFlags) error {
	if f.duration < 0 {
		return command.Usage("--duration must be at least 0")
	}
	st, err := a.Lookup(f.store)
	if err != nil {
		return command.Usage("--store: %w", err)
	}
	tapConfig := passive.TapConfig{Redactor: call.NewRedactor()}
	if f.plain {
		tapConfig.Redactor = &call.Redactor{}
	}
	var ok bool
	if tapConfig.Provider, ok = st.(store.Replayer); !ok {
		return command.Usage("--store: quorumbench cannot decode traffic of %s; choose another store", st.Name())
	}
	begin := a.relay
	if f.capture != "" {
		begin = a.capture
	}
	h, err := begin(ctx, f, st)
	if err != nil {
		return err
	}
	defer h.close()
	began := time.Now()
	if f.out == "" {
		f.out = "recording-" + began.UTC().Format("20060102T150405Z") + ".qbrec"
	}
	w, err := call.CreateRecording(f.out, &call.Header{Store: f.store, Tool: command.Tool().Version, Started: began.UTC(), Plain: f.plain})
	if err != nil {
		return err
	}
	tapConfig.Sink = w
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	a.Printf("%s\n", h.address())
	all, missing, err := h.record(ctx, &tapConfig, began)
	if closing := w.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	n := w.Counts()
	a.PrintNote("%s over %s in %s: %s, %s", text.Plural(n.Calls, "call"), text.Plural(uint64(all), "connection"),
		text.FormatDuration(time.Since(began).Round(time.Second)), filepath.Base(f.out), text.Bytes(uint64(w.Bytes())))
	if missing != "" {
		a.Warn(missing)
	}
	if n.Gaps > 0 {
		a.Warn(fmt.Sprintf("the recording has %s; \"quorumbench traffic profile\" shows what is missing", text.Plural(n.Gaps, "gap")))
	}
	a.SuggestNext("quorumbench traffic profile %s (derives a scenario with the same load)", text.ShellQuote(f.out))
	return nil
}
