package command

import (
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// defaultEndpoint is the address on which etcd listens by default.
const defaultEndpoint = "127.0.0.1:2379"

// AttachFlags holds the flags that select a running cluster.
type AttachFlags struct {
	Store     string
	endpoints endpointsFlag
	Cluster   scenario.Attach
	Target    kv.Target
}

// NewAttachFlags returns AttachFlags with the defaults of the flags.
func NewAttachFlags() AttachFlags {
	return AttachFlags{Store: "etcd", endpoints: endpointsFlag{list: []string{defaultEndpoint}}}
}

// Register adds the flags to r.
func (f *AttachFlags) Register(r Flags) {
	r.Text("store", &f.Store, "NAME", "kind of store")
	f.endpoints.flags = f
	r.Set.Var(&f.endpoints, "endpoints", "members to connect to; https:// in front switches TLS on")
	Value(r, "target", &f.Target, "WHICH", kv.ParseTarget, kv.Target.String,
		"members that the load goes to: any (the endpoints as given), all (every member in turn), leader, followers or member:N")
	r.Text("cert", &f.Cluster.Cert, "FILE", "client certificate (PEM)")
	r.Text("key", &f.Cluster.CertKey, "FILE", "private key of the certificate (PEM)")
	r.Text("cacert", &f.Cluster.CACert, "FILE", "authorities that the servers' certificates must be from (PEM)")
	r.Toggle("insecure-skip-tls-verify", &f.Cluster.SkipVerify, "take any server certificate")
	r.Text("user", &f.Cluster.User, "NAME:PASSWORD", "authenticate")
	r.Span("dial-timeout", &f.Cluster.DialTimeout, "timeout of connecting; 0 is 5s")
}

// RegisterOptional adds the flags to a command that starts a cluster unless it is given
// endpoints. There are no default endpoints.
func (f *AttachFlags) RegisterOptional(r Flags) {
	*f = AttachFlags{}
	f.Register(r)
}

// Running returns the cluster that the flags select; nil without endpoints.
func (f *AttachFlags) Running() (*scenario.Attach, error) {
	if len(f.endpoints.list) > 0 {
		return f.attached()
	}
	if c := &f.Cluster; c.CACert != "" || c.Cert != "" || c.CertKey != "" || c.SkipVerify || c.User != "" || c.DialTimeout != 0 {
		return nil, Usage("flags about reaching a cluster that runs are given without --endpoints; name its members")
	}
	return nil, nil
}

// attached returns the cluster at the endpoints. Scheme https:// and flags about TLS enable TLS.
func (f *AttachFlags) attached() (*scenario.Attach, error) {
	a := f.Cluster
	var plain, secure string
	for _, given := range f.endpoints.list {
		scheme, rest, found := strings.Cut(given, "://")
		given = scenario.ShownEndpoint(given)
		switch {
		case !found:
			rest = scheme
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
		return nil, Usage("the endpoints %s and %s contradict each other: TLS is for all of them or for none; give all the same scheme", plain, secure)
	case plain != "" && (options || a.TLS):
		return nil, Usage("the endpoint %s is without TLS, and other flags are about TLS; write https:// or drop them", plain)
	}
	a.TLS = a.TLS || secure != "" || options
	return &a, nil
}

// Scenario returns the scenario of a preset, changed by its flags, on the cluster that f selects.
// Its error is one sentence that names the flags.
func (f *AttachFlags) Scenario(preset *scenario.Command, catalog scenario.Catalog, ask scenario.Ask) (s *scenario.Scenario, err error) {
	if ask.Attach, err = f.attached(); err != nil {
		return nil, err
	}
	if err := CheckStore(f.Store, catalog); err != nil {
		return nil, err
	}
	ask.Store = f.Store
	if s, err = preset.Scenario(catalog, ask); err != nil {
		return nil, Usage("%w", err)
	}
	return s, nil
}

// CheckStore returns a usage error if there is no store with the name.
func CheckStore(name string, catalog scenario.Catalog) error {
	if stores := catalog.Stores(); !slices.Contains(stores, name) {
		return Usage("--store: there is no store %q; choose one of: %s%s", name, strings.Join(stores, ", "), Suggest(name, stores, ""))
	}
	return nil
}

// endpointsFlag is the flag --endpoints, a list of members of a cluster.
type endpointsFlag struct {
	list  []string     // as given, with or without a scheme
	flags *AttachFlags // the flags that this flag belongs to
}

// Set implements pflag.Value.
func (e *endpointsFlag) Set(s string) error {
	e.list = nil
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			e.list = append(e.list, part)
		}
	}
	return nil
}

// String implements pflag.Value. Help shows the string as the default.
func (e *endpointsFlag) String() string { return strings.Join(e.list, ",") }

// Type implements pflag.Value. Help shows the string as the name of the value.
func (e *endpointsFlag) Type() string { return "HOST:PORT,..." }
