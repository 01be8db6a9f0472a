package cli

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/passive"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// captureSource is a capture that is already collecting packets.
type captureSource struct {
	cfg         passive.CaptureConfig
	addressText string
	packets     *passive.Packets
}

func (c *captureSource) address() string { return c.addressText }

func (c *captureSource) close() { c.packets.Close() }

func (c *captureSource) record(ctx context.Context, tapConfig *passive.TapConfig, began time.Time) (all uint32, missing string, err error) {
	c.cfg.Tap, c.cfg.StartTime = *tapConfig, began
	running := passive.NewCapture(c.cfg)
	err = running.Serve(ctx, c.packets)
	summary := running.Summary()
	all = summary.Connections
	switch {
	case all == 0 && len(summary.OtherAddresses) > 0:
		missing = fmt.Sprintf("no connection to %s was seen, but this port had traffic at other addresses (%v); give the address to which clients connect, or :PORT for any address", c.addressText, summary.OtherAddresses)
	case summary.AlreadyOpen > 0:
		n, was, is := uint64(summary.AlreadyOpen), "were", "are"
		if n == 1 {
			was, is = "was", "is"
		}
		missing = fmt.Sprintf("%s %s already open when the capture began, and %s not recorded: a connection can be decoded only from its first byte; let the clients reconnect",
			text.Plural(n, "connection"), was, is)
	}
	return all, missing, err
}

func (a *commandLine) capture(ctx context.Context, f *recordFlags, _ store.Store) (trafficSource, error) {
	for _, other := range [...]struct {
		flag  string
		given bool
	}{{"--listen", f.listen != ""}, {"--to", f.memberAddress != ""}, {"--cert", f.cert != ""}, {"--key", f.key != ""}, {"--to-tls", f.memberTLS}, {"--cacert", f.cacert != ""}} {
		if other.given {
			return nil, command.Usage("--capture cannot be combined with %s, because with --capture, clients connect to the member directly; remove one of the two flags", other.flag)
		}
	}
	host, service, err := net.SplitHostPort(f.capture)
	if err != nil {
		return nil, command.Usage("--capture: %q is not an address; write HOST:PORT", scenario.RedactedEndpoint(f.capture))
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil || port == 0 {
		return nil, command.Usage("--capture: %q is not a port; write HOST:PORT, such as 10.0.0.5:2379", scenario.RedactedEndpoint(service))
	}
	c := &captureSource{cfg: passive.CaptureConfig{LowPriority: true}, addressText: f.capture}
	if host != "" {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("--capture: %w", err)
		}
		for _, one := range found {
			if one = one.Unmap().WithZone(""); one.IsUnspecified() {
				c.cfg.Hosts = nil
				break
			}
			c.cfg.Hosts = append(c.cfg.Hosts, one)
		}
	}
	if c.packets, err = passive.Open(uint16(port)); err != nil {
		return nil, err
	}
	if !passive.CanRestorePriority() {
		a.PrintNote("the recorder runs at the same priority as other programs, because lowering and restoring its priority needs the capability CAP_SYS_NICE")
	}
	return c, nil
}
