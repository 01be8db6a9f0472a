package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/quorumbench/quorumbench/internal/files"
)

// login authenticates us to an API server, with request headers or with a TLS certificate.
type login struct {
	user  user
	proxy func(*http.Request) (*url.URL, error)
	tls   *tls.Config
	exec  *execLogin // nil if the kubeconfig specifies no plug-in
}

func newLogin(a *access) (*login, error) {
	l := &login{user: a.user, proxy: http.ProxyFromEnvironment}
	if a.cluster.Proxy != "" {
		to, err := url.Parse(a.cluster.Proxy)
		if err != nil {
			return nil, fmt.Errorf("the cluster's proxy-url is invalid: %w", err)
		}
		l.proxy = http.ProxyURL(to)
	}
	if a.user.Exec != nil {
		l.exec = &execLogin{plugin: *a.user.Exec, cluster: &a.cluster}
	}
	l.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.cluster.ServerName, InsecureSkipVerify: a.cluster.Insecure} //nolint:gosec // only if the user's kubeconfig requests this
	if err := a.cluster.readCA(); err != nil {
		return nil, err
	}
	if len(a.cluster.CA) > 0 {
		l.tls.RootCAs = x509.NewCertPool()
		if !l.tls.RootCAs.AppendCertsFromPEM(a.cluster.CA) {
			return nil, errors.New("the cluster's certificate authority is not a certificate")
		}
	}
	if _, err := l.certificate(); err != nil {
		return nil, err
	}
	if l.exec != nil || a.user.CertFile != "" || len(a.user.Cert) > 0 {
		l.tls.GetClientCertificate = func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c, err := l.clientCertificate(r.Context())
			if err != nil {
				return nil, &loginError{err}
			}
			return c, nil
		}
	}
	return l, nil
}

// clientCertificate returns the certificate of the plug-in or of the user.
func (l *login) clientCertificate(ctx context.Context) (*tls.Certificate, error) {
	if l.exec == nil {
		return l.certificate()
	}
	c, err := l.exec.credential(ctx)
	if err != nil {
		return nil, err
	}
	return c.certificate()
}

// loginError reports that a request was not sent, because the credentials for it are missing.
type loginError struct{ cause error }

// Error returns the cause.
func (e *loginError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *loginError) Unwrap() error { return e.cause }

// readCA reads the certificate authority from its file, unless the kubeconfig contains the
// certificate authority itself.
func (c *clusterInfo) readCA() (err error) {
	if len(c.CA) == 0 && c.CAFile != "" {
		c.CA, err = files.Read(c.CAFile, maxFile)
	}
	return err
}

// certificate returns the user's certificate. It reads the files at each call, because they may
// have been renewed.
func (l *login) certificate() (*tls.Certificate, error) {
	u, err := &l.user, error(nil)
	cert, key := []byte(u.Cert), []byte(u.Key)
	if len(cert) == 0 && u.CertFile != "" {
		if cert, err = files.Read(u.CertFile, maxFile); err != nil {
			return nil, err
		}
	}
	if len(key) == 0 && u.KeyFile != "" {
		if key, err = files.Read(u.KeyFile, maxFile); err != nil {
			return nil, err
		}
	}
	return keyPair(cert, key)
}

// keyPair parses a certificate and its key. If cert is empty, it returns an empty certificate.
func keyPair(cert, key []byte) (*tls.Certificate, error) {
	if len(cert) == 0 {
		return &tls.Certificate{}, nil
	}
	c, err := tls.X509KeyPair(cert, key)
	return &c, err
}

// authorize sets the request headers that authenticate us.
func (l *login) authorize(ctx context.Context, h http.Header) error {
	h.Set("User-Agent", "quorumbench")
	u := &l.user
	token := u.Token
	if u.TokenFile != "" { // read at each call, because the file may have been renewed
		b, err := files.Read(u.TokenFile, maxFile)
		if err != nil {
			return err
		}
		token = strings.TrimSpace(string(b))
	}
	if l.exec != nil {
		c, err := l.exec.credential(ctx)
		if err != nil {
			return err
		}
		token = c.Status.Token
	}
	switch {
	case token != "":
		h.Set("Authorization", "Bearer "+token)
	case u.Name != "":
		r := http.Request{Header: h}
		r.SetBasicAuth(u.Name, u.Password)
	}
	if u.As != "" {
		h.Set("Impersonate-User", u.As)
	}
	if u.AsUID != "" {
		h.Set("Impersonate-Uid", u.AsUID)
	}
	for _, group := range u.AsGroups {
		h.Add("Impersonate-Group", group)
	}
	for name, values := range u.AsExtra {
		for _, v := range values {
			h.Add("Impersonate-Extra-"+url.PathEscape(strings.ToLower(name)), v)
		}
	}
	return nil
}

// authorized is an http.RoundTripper that adds credentials to each request.
type authorized struct {
	login *login
	base  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if err := a.login.authorize(r.Context(), r.Header); err != nil {
		return nil, &loginError{err}
	}
	answer, err := a.base.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusUnauthorized && a.login.exec != nil {
		a.login.exec.discardCredential()
	}
	return answer, err
}

// credential is the output of a login plug-in.
type credential struct {
	APIVersion string
	Status     *struct {
		Expires time.Time `json:"expirationTimestamp"`
		Token   string
		Cert    string `json:"clientCertificateData"`
		Key     string `json:"clientKeyData"`
	}
}

func (c *credential) certificate() (*tls.Certificate, error) {
	return keyPair([]byte(c.Status.Cert), []byte(c.Status.Key))
}

// execLogin runs a login plug-in. It runs the plug-in again when the credential has expired or was
// rejected.
type execLogin struct {
	plugin  plugin
	cluster *clusterInfo

	mu   sync.Mutex
	last *credential
}

func (e *execLogin) discardCredential() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = nil
}

func (e *execLogin) credential(ctx context.Context) (*credential, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last != nil && (e.last.Status.Expires.IsZero() || time.Now().Before(e.last.Status.Expires)) {
		return e.last, nil
	}
	c, err := e.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig's exec plug-in %s: %w", e.plugin.Command, err)
	}
	e.last = c
	return c, nil
}

func (e *execLogin) run(ctx context.Context) (*credential, error) {
	interactive := e.plugin.Interactive != "Never" && term.IsTerminal(int(os.Stdin.Fd()))
	if e.plugin.Interactive == "Always" && !interactive {
		return nil, errors.New("the plug-in requires a terminal for its questions, but standard input is not a terminal")
	}
	info, err := json.Marshal(map[string]any{"kind": "ExecCredential", "apiVersion": e.plugin.APIVersion, "spec": e.spec(interactive)})
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, e.plugin.Command, e.plugin.Args...)
	command.Env = os.Environ()
	for _, v := range e.plugin.Env {
		command.Env = append(command.Env, v.Name+"="+v.Value)
	}
	command.Env = append(command.Env, "KUBERNETES_EXEC_INFO="+string(info))
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, os.Stderr
	if interactive {
		command.Stdin = os.Stdin
	}
	if err := command.Run(); err != nil {
		if hint := strings.TrimSpace(e.plugin.InstallHint); errors.Is(err, exec.ErrNotFound) && hint != "" {
			err = fmt.Errorf("%w (%s)", err, hint)
		}
		return nil, err
	}
	c := &credential{}
	switch err := json.Unmarshal(output.Bytes(), c); {
	case err != nil:
		return nil, fmt.Errorf("the output is not an ExecCredential: %w", err)
	case c.APIVersion != e.plugin.APIVersion:
		return nil, fmt.Errorf("the output has apiVersion %q, but the kubeconfig requires %q", c.APIVersion, e.plugin.APIVersion)
	case c.Status == nil || c.Status.Token == "" && (c.Status.Cert == "" || c.Status.Key == ""):
		return nil, errors.New("the output contains neither a token nor a certificate with its key")
	}
	return c, nil
}

// spec returns the field "spec" of the plug-in's input.
func (e *execLogin) spec(interactive bool) map[string]any {
	spec := map[string]any{"interactive": interactive}
	if !e.plugin.ClusterInfo {
		return spec
	}
	c := map[string]any{"server": e.cluster.Server, "insecure-skip-tls-verify": e.cluster.Insecure}
	for name, value := range map[string]string{"tls-server-name": e.cluster.ServerName, "proxy-url": e.cluster.Proxy} {
		if value != "" {
			c[name] = value
		}
	}
	if len(e.cluster.CA) > 0 {
		c["certificate-authority-data"] = []byte(e.cluster.CA)
	}
	for _, x := range e.cluster.Extensions {
		if x.Name == "client.authentication.k8s.io/exec" {
			c["config"] = x.Extension
		}
	}
	spec["cluster"] = c
	return spec
}
