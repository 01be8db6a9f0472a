package scenario

import (
	"net"
	"strconv"
	"strings"
	"time"
)

// UsesTLS reports whether to speak TLS: TLS says so, or a certificate or
// SkipVerify is given.
func (a *Attach) UsesTLS() bool {
	return a.TLS || a.SkipVerify || a.CACert != "" || a.Cert != "" || a.CertKey != ""
}

// Validate returns the first thing that is wrong with how a running cluster is
// to be reached, as a *Problem, or nil. It opens no file and no connection.
func (a *Attach) Validate() error { return a.validate(words{}) }

// ValidateFlags is Validate with the names of the flags of bench.
func (a *Attach) ValidateFlags() error { return a.validate(flagWords()) }

func (a *Attach) validate(w words) error {
	if len(a.Endpoints) == 0 {
		return problem("endpoints", "no endpoint is given; write HOST:PORT")
	}
	seen := make(map[string]bool)
	for _, e := range a.Endpoints {
		if err := checkEndpoint(e); err != nil {
			return err
		}
		if seen[e] {
			return problem("endpoints", "the endpoint %s is given twice", e)
		}
		seen[e] = true
	}
	switch {
	case (a.Cert == "") != (a.CertKey == ""):
		return problem("tls", "a client certificate needs both cert and key")
	case a.SkipVerify && a.CACert != "":
		return problem("tls", "cacert says whom to trust and insecure-skip-tls-verify says everybody; give one of them")
	case a.User != "" && (!strings.Contains(a.User, ":") || a.User[0] == ':'):
		return &Problem{"user", w.fill("<user> must be NAME:PASSWORD")} // its text may be a password: never shown
	case a.DialTimeout < 0 || a.DialTimeout > time.Hour:
		return &Problem{"dial-timeout", w.sprintf("<dial-timeout> is %v and must be from 0 to 1h; 0 is the default", a.DialTimeout)}
	}
	return nil
}

func checkEndpoint(e string) error {
	if scheme, rest, ok := strings.Cut(e, "://"); ok {
		if scheme == "https" {
			return problem("endpoints", "the endpoint %q has a scheme; write %s and switch TLS on with tls", e, rest)
		}
		return problem("endpoints", "the endpoint %q has a scheme; write %s", e, rest)
	}
	host, port, err := net.SplitHostPort(e)
	if err != nil || host == "" || strings.ContainsAny(host, " /@") {
		return problem("endpoints", "%q is not an endpoint; write HOST:PORT", e)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return problem("endpoints", "the endpoint %q has no port from 1 to 65535", e)
	}
	return nil
}
