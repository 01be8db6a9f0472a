package scenario

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// SelectionFlags returns the flags with which a command connects to the cluster, quoted for a shell
// and without a password. Each flag follows a space.
func (a *RunningCluster) SelectionFlags() string {
	var b strings.Builder
	add := func(flag, value string) {
		if value != "" {
			fmt.Fprintf(&b, " --%s %s", flag, text.ShellQuote(value))
		}
	}
	byScheme := a.TLS && !a.SkipVerify && a.CACert == "" && a.Cert == "" && a.CertKey == "" // nothing else enables TLS
	var endpoints []string
	for _, e := range a.Endpoints {
		if e = RedactedEndpoint(e); byScheme && !strings.Contains(e, "://") {
			e = "https://" + e
		}
		endpoints = append(endpoints, e)
	}
	add("endpoints", strings.Join(endpoints, ","))
	add("cacert", a.CACert)
	add("cert", a.Cert)
	add("key", a.CertKey)
	if a.SkipVerify {
		b.WriteString(" --insecure-skip-tls-verify")
	}
	add("user", PrintableUser(a.User))
	return b.String()
}

// PrintableUser returns the value of --user without a password. The name of an environment variable
// is no secret.
func PrintableUser(given string) string {
	if _, secret, _ := strings.Cut(given, ":"); given == "" || strings.HasPrefix(secret, "env:") {
		return given
	}
	return "NAME:PASSWORD"
}
