package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/run/passive"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// relaySource is a relay whose listener is open.
type relaySource struct {
	cfg passive.RelayConfig
	l   net.Listener
}

func (r *relaySource) address() string { return r.l.Addr().String() }

// close closes the listener of a relay that has not begun to serve. Otherwise Serve closes it.
func (r *relaySource) close() { _ = r.l.Close() }

func (r *relaySource) record(ctx context.Context, tapConfig *passive.TapConfig, began time.Time) (uint32, string, error) {
	r.cfg.Tap, r.cfg.Now = *tapConfig, func() int64 { return int64(time.Since(began)) }
	running := passive.NewRelay(r.cfg)
	err := running.Serve(ctx, r.l)
	return running.Connections(), "", err
}

func (a *commandLine) relay(_ context.Context, f *recordFlags, st store.Store) (trafficSource, error) {
	cfg, err := f.relayConfig()
	if err != nil {
		return nil, err
	}
	cfg.ALPN, cfg.Notify = st.Capabilities().ALPN, func(why string) { a.Warn(why) }
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, fmt.Errorf("the relay cannot listen: %w", err)
	}
	return &relaySource{cfg: cfg, l: l}, nil
}

// maxCertificates is the maximum size of a file with certificates in bytes. It is far larger than
// any real file.
const maxCertificates = 1 << 20

// relayConfig checks the flags and reads the files that they name.
func (f *recordFlags) relayConfig() (passive.RelayConfig, error) {
	cfg := passive.RelayConfig{MemberAddress: f.memberAddress}
	for _, at := range [...]struct{ flag, value string }{{"--listen", f.listen}, {"--to", f.memberAddress}} {
		if _, _, err := net.SplitHostPort(at.value); err != nil {
			return cfg, command.Usage("%s: %q is not an address; write HOST:PORT", at.flag, scenario.RedactedEndpoint(at.value))
		}
	}
	if (f.cert == "") != (f.key == "") {
		return cfg, command.Usage("--cert and --key belong together; give both")
	}
	if f.cert != "" {
		var err error
		if cfg.Listen, err = serverTLS(f.cert, f.key); err != nil {
			return cfg, command.Usage("%w", err)
		}
	}
	if f.cacert != "" || f.memberTLS {
		cfg.Dial = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if f.cacert != "" {
		pem, err := files.Read(f.cacert, maxCertificates)
		if err != nil {
			return cfg, command.Usage("--cacert: %w", err)
		}
		if cfg.Dial.RootCAs = x509.NewCertPool(); !cfg.Dial.RootCAs.AppendCertsFromPEM(pem) {
			return cfg, command.Usage("--cacert: %s has no certificate in PEM format; give a file with the authority's certificate", f.cacert)
		}
	}
	return cfg, nil
}
