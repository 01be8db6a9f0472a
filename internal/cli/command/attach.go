package command

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// defaultEndpoint is where etcd listens.
const defaultEndpoint = "127.0.0.1:2379"

// AttachFlags say which running cluster a command is about.
type AttachFlags struct {
	Store     string
	endpoints []string // as given: perhaps with a scheme
	attach    scenario.Attach
	Target    kv.Target
}

// NewAttachFlags returns the flags with their defaults.
func NewAttachFlags() AttachFlags {
	return AttachFlags{Store: "etcd", endpoints: []string{defaultEndpoint}}
}

// Register gives a command the flags.
func (f *AttachFlags) Register(r Flags) {
	r.Text("store", &f.Store, "NAME", "the store's kind")
	add(r, "endpoints", &f.endpoints, "HOST:PORT,...", parseList, showList, "the members to connect to; https:// before one switches TLS on")
	add(r, "target", &f.Target, "WHICH", kv.ParseTarget, kv.Target.String,
		"any (the endpoints as given), all (every member in turn), leader, followers or member:N")
	r.Text("cert", &f.attach.Cert, "FILE", "client certificate (PEM)")
	r.Text("key", &f.attach.CertKey, "FILE", "its private key (PEM)")
	r.Text("cacert", &f.attach.CACert, "FILE", "the authorities that the servers' certificates must be from (PEM)")
	r.Toggle("insecure-skip-tls-verify", &f.attach.SkipVerify, "take any server certificate")
	r.Text("user", &f.attach.User, "NAME:PASSWORD", "authenticate")
	r.Span("dial-timeout", &f.attach.DialTimeout, "how long connecting may take; 0 is 5s")
}

// Attach reads the endpoints: a scheme says whether TLS is meant.
func (f *AttachFlags) Attach() (*scenario.Attach, error) {
	a := f.attach
	var plain, secure string
	for _, given := range f.endpoints {
		scheme, rest, found := strings.Cut(given, "://")
		switch {
		case !found:
			rest = given
		case scheme == "http":
			plain = given
		case scheme == "https":
			secure = given
		default:
			return nil, Usage("the endpoint %q begins with neither http:// nor https://; write HOST:PORT", given)
		}
		a.Endpoints = append(a.Endpoints, strings.TrimSuffix(rest, "/"))
	}
	options := a.CACert != "" || a.Cert != "" || a.CertKey != "" || a.SkipVerify
	switch {
	case (a.Cert == "") != (a.CertKey == ""):
		return nil, Usage("--cert and --key belong together; give both")
	case a.SkipVerify && a.CACert != "":
		return nil, Usage("--cacert says whom to trust and --insecure-skip-tls-verify trusts everybody; give one of them")
	case plain != "" && secure != "":
		return nil, Usage("the endpoints %s and %s contradict each other: TLS is for all of them or for none", plain, secure)
	case plain != "" && options:
		return nil, Usage("the endpoint %s is without TLS, and other flags are about TLS; write https:// or drop them", plain)
	}
	a.TLS = secure != "" || options
	return &a, nil
}

// CheckStore asks the catalog whether the store is there and has the operations.
func (f *AttachFlags) CheckStore(mix []scenario.Operation, catalog scenario.Catalog) error {
	stores := catalog.Stores()
	if !slices.Contains(stores, f.Store) {
		return Usage("--store: there is no store %q; choose one of: %s%s", f.Store, strings.Join(stores, ", "), Suggest(f.Store, stores, ""))
	}
	for _, op := range mix {
		if err := catalog.Capabilities(f.Store).Operation(f.Store, op.Kind, op.Consistency); err != nil {
			return Usage("%w", err)
		}
	}
	return nil
}

// Given reports whether a flag was on the command line.
func Given(set *pflag.FlagSet, name string) bool {
	flag := set.Lookup(name)
	return flag != nil && flag.Changed
}

func parseList(s string) ([]string, error) {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list, nil
}

func showList(list []string) string { return strings.Join(list, ",") }
