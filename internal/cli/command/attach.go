package command

import (
	"errors"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// defaultEndpoint is the address at which etcd listens by default.
const defaultEndpoint = "127.0.0.1:2379"

// AttachFlags holds the flags that select a running cluster.
type AttachFlags struct {
	Store     string
	endpoints endpointsFlag
	Cluster   scenario.RunningCluster
	Target    kv.Target
	// Elsewhere reports whether the command runs in a pod, to which the variables of this machine's
	// environment do not apply. It is nil if the command cannot run in a pod.
	Elsewhere func() bool
}

// NewAttachFlags returns AttachFlags with the defaults of the flags.
func NewAttachFlags() AttachFlags {
	return AttachFlags{Store: "etcd", endpoints: endpointsFlag{list: []string{defaultEndpoint}}}
}

// Register adds the flags to r.
func (f *AttachFlags) Register(r Flags) {
	r.Text("store", &f.Store, "NAME", "kind of store")
	f.endpoints.flags = f
	r.Set.Var(&f.endpoints, "endpoints", "addresses of the members to connect to; a leading https:// enables TLS")
	Value(r, "target", &f.Target, "WHICH", kv.ParseTarget, kv.Target.String,
		"members that receive the load: any (the given endpoints), all (every member in turn), leader, followers or member:N")
	r.Text("cert", &f.Cluster.Cert, "FILE", "client certificate (PEM)")
	r.Text("key", &f.Cluster.CertKey, "FILE", "private key of the certificate (PEM)")
	r.Text("cacert", &f.Cluster.CACert, "FILE", "certificates (PEM) of the authorities that may have signed the servers' certificates")
	r.Toggle("insecure-skip-tls-verify", &f.Cluster.SkipVerify, "accept any server certificate")
	r.Text("user", &f.Cluster.User, "NAME:PASSWORD", "user name and password for logging in")
	r.Duration("dial-timeout", &f.Cluster.DialTimeout, "timeout for connecting; 0 means 5s")
}

// RegisterOptional adds the flags to a command that starts a cluster unless the user gives
// endpoints. These flags have no default endpoints.
func (f *AttachFlags) RegisterOptional(r Flags) {
	*f = AttachFlags{}
	f.Register(r)
}

// HasEndpoints reports whether a flag, a variable of the environment or a default names endpoints.
func (f *AttachFlags) HasEndpoints() bool { return len(f.endpoints.list) > 0 }

// Running returns the cluster that the flags select, or nil if there are no endpoints.
func (f *AttachFlags) Running() (*scenario.RunningCluster, error) {
	if f.HasEndpoints() {
		return f.attached()
	}
	if c := &f.Cluster; c.CACert != "" || c.Cert != "" || c.CertKey != "" || c.SkipVerify || c.User != "" || c.DialTimeout != 0 {
		return nil, Usage("the flags for connecting to a running cluster apply only with --endpoints; add --endpoints with the cluster's members")
	}
	return nil, nil
}

// attached returns the cluster at the endpoints. TLS is enabled by the scheme https:// or by a TLS
// flag.
func (f *AttachFlags) attached() (*scenario.RunningCluster, error) {
	a := f.Cluster
	var plain, secure string
	for _, given := range f.endpoints.list {
		scheme, rest, found := strings.Cut(given, "://")
		given = scenario.RedactedEndpoint(given)
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
		return nil, Usage("--cacert limits which certificates are trusted, but --insecure-skip-tls-verify trusts all; give only one of them")
	case plain != "" && secure != "":
		return nil, Usage("the endpoints %s and %s have different schemes, but either all endpoints use TLS or none does; give all endpoints the same scheme", plain, secure)
	case plain != "" && (options || a.TLS):
		return nil, Usage("the endpoint %s does not use TLS, but other flags enable TLS; write https:// or remove those flags", plain)
	}
	a.TLS = a.TLS || secure != "" || options
	return &a, nil
}

// Scenario returns the scenario that a preset and its flags describe, on the cluster that f
// selects. An error is one sentence that names the flags.
func (f *AttachFlags) Scenario(preset *scenario.Command, catalog scenario.Catalog, ask scenario.CommandOptions) (s *scenario.Scenario, err error) {
	if ask.RunningCluster, err = f.attached(); err != nil {
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

// endpointsFlag is the flag --endpoints, which lists members of a cluster.
type endpointsFlag struct {
	list  []string     // as given; each may start with a scheme
	flags *AttachFlags // the AttachFlags that contain this flag
}

// Set implements pflag.Value.
func (e *endpointsFlag) Set(s string) error {
	e.list = nil
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			e.list = append(e.list, part)
		}
	}
	if len(e.list) == 0 {
		return errors.New("no endpoint is given; write HOST:PORT")
	}
	return nil
}

// String implements pflag.Value. Help shows the result as the default value.
func (e *endpointsFlag) String() string { return strings.Join(e.list, ",") }

// Type implements pflag.Value. Help shows the result as the name of the value.
func (e *endpointsFlag) Type() string { return "HOST:PORT,..." }
