package scenario

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cluster is a cluster under test. Trials whose clusters have equal Keys can share a cluster.
type Cluster struct {
	Store   string
	Members int // number of members that quorumbench starts
	// Hosts lists the hosts on which the members run. Members are assigned to these hosts in turn.
	// If Hosts is empty, all hosts are used.
	Hosts   []string
	Exec    string // path of the server binary, if it is not the store's default server
	Version string // version of an installed server; empty for the store's default version
	// Label identifies this version or build of the store in reports. It is empty if the version
	// number is enough.
	Label string
	// Env holds additional environment variables for the members, by name.
	Env map[string]string
	// FaultDisks is set if the load has faults that need disks which fail on request.
	FaultDisks bool
	// SpareMember is set if the load has faults that need room for one more member.
	SpareMember bool
	// FaultNetwork is set if the load has network faults, for which each member needs its own
	// network with links that fail on request.
	FaultNetwork bool
	// Settings are the store's settings, in the type that the store's DecodeSettings returns.
	Settings any
	// Key identifies the settings with which the cluster is started or reached. Trials whose
	// clusters have equal keys can share a cluster.
	Key string
	// RunningCluster is set for a cluster that is already running.
	RunningCluster *RunningCluster
}

// RunningCluster describes how to connect to a running cluster.
type RunningCluster struct {
	Endpoints   []string // HOST:PORT
	TLS         bool     // use TLS, by default with the system's certificate authorities; see UsesTLS
	CACert      string   // files in PEM format
	Cert        string
	CertKey     string
	Authority   string // trusted certificate authorities in PEM format, instead of the file CACert; scenario files cannot set it
	SkipVerify  bool
	User        string // NAME:PASSWORD
	DialTimeout time.Duration
	// DataDir is a member's data folder on this machine, or empty if it is not known. The duration
	// of fdatasync is measured there after the load.
	DataDir string
}

// FullName returns the name of the store, followed by the first of these that was given: the label,
// the version, or the name of the binary.
func (c *Cluster) FullName() string {
	switch {
	case c.Label != "":
		return c.Store + " (" + c.Label + ")"
	case c.Version != "":
		return c.Store + " " + c.Version
	case c.Exec != "":
		return c.Store + " (" + filepath.Base(c.Exec) + ")"
	}
	return c.Store
}

// Environment returns the members' additional environment variables as NAME=VALUE, sorted by name.
func (c *Cluster) Environment() []string { return Variables(c.Env) }

// Variables returns the variables of a map as NAME=VALUE, sorted by name.
func Variables(env map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, fmt.Sprintf("%s=%s", name, env[name]))
	}
	return out
}

// clusterKey returns a text that identifies a cluster and, for a running cluster, the access to it.
// Trials whose clusters have equal texts can share a cluster. The text contains a hash of the
// password, so it must not be recorded.
func clusterKey(c Cluster) (string, error) {
	var parts any
	if a := c.RunningCluster; a != nil {
		user, password, _ := strings.Cut(a.User, ":")
		parts = struct {
			Store                                  string        `json:"store"`
			Endpoints                              []string      `json:"endpoints"`
			TLS                                    bool          `json:"tls,omitempty"`
			CACert, Authority, Cert, CertKey, User string        `json:",omitempty"`
			Password                               [32]byte      // a hash
			SkipVerify                             bool          `json:",omitempty"`
			DialTimeout                            time.Duration `json:",omitempty"`
		}{c.Store, a.Endpoints, a.TLS, a.CACert, a.Authority, a.Cert, a.CertKey, user, sha256.Sum256([]byte(password)), a.SkipVerify, a.DialTimeout}
	} else {
		parts = struct {
			Store    string            `json:"store"`
			Members  int               `json:"members"`
			Version  string            `json:"version,omitempty"`
			Exec     string            `json:"exec,omitempty"`
			Settings any               `json:"settings"`
			Env      map[string]string `json:"env,omitempty"`
			On       []string          `json:"on,omitempty"`
			Disks    bool              `json:"disks,omitempty"`
			Network  bool              `json:"network,omitempty"`
			Spare    bool              `json:"spare,omitempty"`
		}{c.Store, c.Members, c.Version, c.Exec, c.Settings, c.Env, c.Hosts, c.FaultDisks, c.FaultNetwork, c.SpareMember}
	}
	text, err := json.Marshal(parts) // Marshal sorts the keys of maps
	if err != nil {
		return "", fmt.Errorf("cannot compare the store's settings with those of other trials: %w", err)
	}
	return string(text), nil
}

// UsesTLS reports whether connections use TLS. They do if TLS or SkipVerify is set, or if the file
// of a certificate or key is given.
func (a *RunningCluster) UsesTLS() bool {
	return a.TLS || a.SkipVerify || a.CACert != "" || a.Cert != "" || a.CertKey != ""
}

// check returns the first error in the description of a running cluster. It opens no files and no
// connections.
func (a *RunningCluster) check(w keyNamer) *Problem {
	if len(a.Endpoints) == 0 {
		return newProblem("endpoints", "no endpoint is given; write HOST:PORT")
	}
	seen := make(map[string]bool)
	for _, e := range a.Endpoints {
		if err := checkEndpoint(e, w); err != nil {
			return err
		}
		if seen[e] {
			return newProblem("endpoints", "the endpoint %s is given twice", e)
		}
		seen[e] = true
	}
	switch {
	case (a.Cert == "") != (a.CertKey == ""):
		return newProblem("tls", "a client certificate needs both cert and key; give both")
	case a.SkipVerify && a.CACert != "":
		return newProblem("tls", "cacert verifies the server's certificate, but insecure-skip-tls-verify disables this verification; remove one of them")
	case a.User != "" && (!strings.Contains(a.User, ":") || a.User[0] == ':'):
		return &Problem{"user", w.fill("<user> must be NAME:PASSWORD")} // the text is not shown, because it may be a password
	case a.DialTimeout < 0 || a.DialTimeout > time.Hour:
		return &Problem{"dial-timeout", w.sprintf("<dial-timeout> is %v, but must be from 0 to 1h (0 means the default)", a.DialTimeout)}
	}
	return nil
}

// checkEndpoint checks an endpoint. Its error messages show no credentials, because those may
// contain a password.
func checkEndpoint(e string, w keyNamer) *Problem {
	scheme, address, hasScheme := strings.Cut(e, "://")
	if !hasScheme {
		address = e
	}
	address, hasCredentials := afterLast(address, "@")
	e = RedactedEndpoint(e)
	path := ""
	if i := strings.IndexAny(address, "/?#"); i >= 0 {
		address, path = address[:i], address[i:]
	}
	if !hasCredentials {
		if p := checkHostPort(e, address); p != nil {
			return p
		}
	}
	wrong := func(format string, args ...any) *Problem {
		return newProblem("endpoints", "%s", w.sprintf(format, args...))
	}
	trimmedPath, _, _ := strings.Cut(path, "?")
	trimmedPath, _, _ = strings.Cut(trimmedPath, "#")
	switch trimmedPath = strings.Trim(trimmedPath, "/"); {
	case hasCredentials:
		return wrong("the endpoint at %s contains a user name or password; write only %s, and give the credentials with <user>", address, address)
	case hasScheme && scheme == "https":
		return wrong("the endpoint %q has a scheme; write %s, and enable TLS with the key tls", e, address)
	case hasScheme:
		return wrong("the endpoint %q has a scheme; write %s", e, address)
	case trimmedPath != "":
		return wrong("the endpoint %q has a path; write %s; if all keys must begin with that path, also set <prefix> to /%s/", e, address, trimmedPath)
	case path != "":
		return wrong("the endpoint %q must end with its port; write %s", e, address)
	}
	return nil
}

// RedactedEndpoint returns an endpoint in the form that messages show: without credentials and
// without a query, because either may contain a password.
func RedactedEndpoint(e string) string {
	scheme, rest, hasScheme := strings.Cut(e, "://")
	if !hasScheme {
		scheme, rest = "", e
	} else {
		scheme += "://"
	}
	rest, _ = afterLast(rest, "@")
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i] + "..."
	}
	return scheme + rest
}

// afterLast returns the text after the last separator, and whether there is a separator.
func afterLast(text, separator string) (rest string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[i+len(separator):], true
	}
	return text, false
}

// checkHostPort checks the HOST:PORT of an endpoint.
func checkHostPort(e, address string) *Problem {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || strings.Contains(host, " ") {
		return newProblem("endpoints", "%q is not an endpoint; write HOST:PORT", e)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return newProblem("endpoints", "the endpoint %q does not have a port from 1 to 65535; write HOST:PORT", e)
	}
	return nil
}

// variantKeys returns the keys that a mapping with the key "store" may contain in addition to
// "name". These keys select another version, build or setting of the same store.
func variantKeys() []string {
	return []string{"version", "exec", "label", "settings", "env", "members"}
}

// settingField is a field of a struct with a store's settings: its key in YAML, and its type.
type settingField struct {
	name string
	kind reflect.Type
}

// settingNames returns the YAML keys of the struct that target points to.
func settingNames(target any) (names []string) {
	for _, f := range settingFields(target) {
		names = append(names, f.name)
	}
	return names
}

// settingFields returns the fields of the struct that target points to.
func settingFields(target any) []settingField {
	t := reflect.TypeOf(target)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var fields []settingField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		if f.IsExported() && name != "-" {
			fields = append(fields, settingField{name, f.Type})
		}
	}
	return fields
}
