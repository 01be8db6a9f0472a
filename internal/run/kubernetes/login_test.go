package kubernetes

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/certs"
)

// write writes a file and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // executable, because some of the files are programs
		t.Fatal(err)
	}
	return path
}

// startLogin starts an API server that responds to each request with the name of the user who sent
// it.
func startLogin(t *testing.T) (url string, authority *certs.Authority) {
	t.Helper()
	authority = certs.NewAuthority(t, "test authority")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := r.Header.Get("Authorization")
		if len(r.TLS.PeerCertificates) > 0 {
			who += "certificate of " + r.TLS.PeerCertificates[0].Subject.CommonName
		}
		for _, name := range []string{"User", "Group", "Uid", "Extra-Scopes"} {
			if as := r.Header["Impersonate-"+name]; as != nil {
				who += " as " + strings.Join(as, "+")
			}
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"kind":"Status","reason":"Unauthorized","message":`+strconv.Quote(who+" in "+r.URL.Path)+`}`)
	}))
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{authority.Issue(t, "server", time.Now().Add(time.Hour)).TLS(t)}, ClientAuth: tls.VerifyClientCertIfGiven,
		ClientCAs: authority.Pool(), MinVersion: tls.VersionTLS12,
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, authority
}

// firstResponse connects to the server, sends a request, and returns the response.
func firstResponse(t *testing.T, o Options) string {
	t.Helper()
	a, err := connect(&o)
	if err == nil {
		err = a.list(t.Context(), "pods", labelSelector, "a=b", nil)
	}
	if err == nil {
		t.Fatal("the request succeeded, want an error")
	}
	return err.Error()
}

// The API server receives the credentials, whatever kind of credentials a kubeconfig contains.
func TestLogin(t *testing.T) {
	server, authority := startLogin(t)
	dir := t.TempDir()
	pair := authority.Issue(t, "client", time.Now().Add(time.Hour))
	pair.Write(t, filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key"))
	certs.WriteFile(t, filepath.Join(dir, "ca.crt"), authority.PEM)
	write(t, dir, "token", "of-a-file\n")
	in64 := base64.StdEncoding.EncodeToString
	const status = `{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": `
	write(t, dir, "plugin", "#!/bin/sh\ncase $KUBERNETES_EXEC_INFO in *my-config*"+server+"*) ;; *) exit 3;; esac\n"+
		`echo '`+status+`{"token": "'$1$SUFFIX'"}}'`)
	certifying, err := json.Marshal(map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "status": map[string]any{
		"clientCertificateData": string(pair.Cert), "clientKeyData": string(pair.Key), "expirationTimestamp": time.Now().Add(time.Hour),
	}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "certifying", string(certifying))
	const exec = "exec: {apiVersion: client.authentication.k8s.io/v1, "
	for user, want := range map[string]string{
		"{}":                             "",
		"{token: abc}":                   "Bearer abc",
		"{tokenFile: token, token: abc}": "Bearer of-a-file",
		"{username: a, password: b}":     "Basic " + in64([]byte("a:b")),
		"{client-certificate: client.crt, client-key: client.key}":                                                                     "certificate of client",
		"{client-certificate-data: " + in64(pair.Cert) + ", client-key-data: " + in64(pair.Key) + "}":                                  "certificate of client",
		"{token: abc, as: x, as-groups: [g, h], as-uid: u, as-user-extra: {Scopes: [s]}}":                                              "Bearer abc as x as g+h as u as s",
		"{" + exec + "command: ./plugin, args: [said], env: [{name: SUFFIX, value: -here}], provideClusterInfo: true}}":                "Bearer said-here",
		"{" + exec + "command: cat, args: [" + dir + "/certifying], interactiveMode: Never}}":                                          "certificate of client",
		"{" + exec + "command: none-such, installHint: install it}}":                                                                   "the kubeconfig's exec plug-in none-such: exec: \"none-such\": executable file not found in $PATH (install it)",
		"{" + exec + "command: echo, args: ['{}']}}":                                                                                   `the kubeconfig's exec plug-in echo: the output has apiVersion "", but the kubeconfig requires "client.authentication.k8s.io/v1"`,
		"{" + exec + "command: echo, args: ['" + strings.ReplaceAll(status, `"`, `\u0022`) + "']}}":                                    "the output is not an ExecCredential",
		"{" + exec + `command: echo, args: ["{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": {\"token\": \"\"}}"]}}`: "neither a token nor a certificate",
		"{auth-provider: {name: gcp}}":     `user "u" has an auth-provider`,
		"{client-certificate: none}":       "cannot use the kubeconfig: open " + dir + "/none",
		"{client-certificate-data: '???'}": "cannot use the kubeconfig: ",
	} {
		path := write(t, dir, "config", `
apiVersion: v1
clusters: [{name: c, cluster: {server: `+server+`, certificate-authority: ca.crt, extensions: [{name: client.authentication.k8s.io/exec, extension: my-config}]}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: n}}]
current-context: x
users: [{name: u, user: `+user+`}]
`)
		if got := firstResponse(t, Options{Kubeconfig: path}); !strings.Contains(got, want) || !strings.HasPrefix(want, "the ") && strings.HasPrefix(want, "Bearer") && got != want+" in /api/v1/namespaces/n/pods" {
			t.Errorf("%s: the response is %q, want %q", user, got, want)
		}
	}
}

// A kubeconfig, and each file that it names, must be a regular file of limited size.
func TestOnlyRegularFilesOfLimitedSizeAreRead(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "folder"), 0o700), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(write(t, dir, "large", ""), maxFile+1); err != nil {
		t.Fatal(err)
	}
	for name, reason := range map[string]string{
		"folder": "it is a folder and not a regular file", "pipe": "it is a pipe and not a regular file", "large": "it is larger than 4 MiB, the limit for such a file",
	} {
		bad := filepath.Join(dir, name)
		want := "read " + bad + ": " + reason
		if got := firstResponse(t, Options{Kubeconfig: bad}); got != "cannot use the kubeconfig: "+want {
			t.Errorf("the kubeconfig %s: %q", bad, got)
		}
		for _, fields := range [][2]string{
			{"certificate-authority: " + name, ""}, {"", "client-certificate: " + name}, {"", "client-key: " + name}, {"", "tokenFile: " + name},
		} {
			path := write(t, dir, "config", "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1', "+fields[0]+"}}]\n"+
				"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\nusers: [{name: u, user: {"+fields[1]+"}}]\n")
			if got := firstResponse(t, Options{Kubeconfig: path}); !strings.HasSuffix(got, want) {
				t.Errorf("%s: %q does not end with %q", fields, got, want)
			}
		}
	}
}

// The files in KUBECONFIG are merged, and the first definition of a name takes precedence. The
// flags can select definitions from all files.
func TestKubeconfigs(t *testing.T) {
	server, authority := startLogin(t)
	one, two := t.TempDir(), t.TempDir()
	certs.WriteFile(t, filepath.Join(two, "ca.crt"), authority.PEM)
	first := write(t, one, "config", "contexts: [{name: x, context: {cluster: c, user: u}}, {name: lost, context: {cluster: nowhere}}]\nusers: [{name: u, user: {token: first}}]\n")
	second := write(t, two, "config", `{"clusters": [{"name": "c", "cluster": {"server": "`+server+`", "certificate-authority": "ca.crt"}}], "current-context": "x",
		"users": [{"name": "u", "user": {"token": "second"}}, {"name": "v", "user": {"token": "v"}}], "contexts": [{"name": "y", "context": {"cluster": "c", "user": "v", "namespace": "n"}}]}`)
	t.Setenv("KUBECONFIG", strings.Join([]string{filepath.Join(one, "none"), first, second}, string(filepath.ListSeparator)))
	for want, o := range map[string]Options{
		"Bearer first in /api/v1/namespaces/default/pods":                                               {},
		"Bearer v in /api/v1/namespaces/n/pods":                                                         {Context: "y"},
		"Bearer v in /api/v1/namespaces/m/pods":                                                         {Context: "y", Namespace: "m"},
		`cannot use the kubeconfig: the context "z" does not exist`:                                     {Context: "z"},
		`cannot use the kubeconfig: the cluster "nowhere" in the context "lost" does not exist`:         {Context: "lost"},
		"cannot use the kubeconfig: open " + filepath.Join(one, "none") + ": no such file or directory": {Kubeconfig: filepath.Join(one, "none")},
	} {
		if got := firstResponse(t, o); got != want {
			t.Errorf("%+v: the response is %q, want %q", o, got, want)
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(one, "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if got := firstResponse(t, Options{}); got != errNoKubeconfig.Error() {
		t.Errorf("the error without a kubeconfig is %q", got)
	}
}

// An error names the file that grants a right only if the right is missing.
func TestNodesNameARightOnlyIfItIsMissing(t *testing.T) {
	for code, want := range map[int]bool{http.StatusForbidden: true, http.StatusInternalServerError: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		defer server.Close()
		path := write(t, t.TempDir(), "config", "{clusters: [{name: c, cluster: {server: '"+server.URL+"'}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}")
		a, err := connect(&Options{Kubeconfig: path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.nodes(t.Context(), "etcd"); err == nil || strings.Contains(err.Error(), "grants the right") != want {
			t.Errorf("HTTP status %d: the error is %v; does it name the file that grants the right: want %v", code, err, want)
		}
	}
}

// If the credentials are missing, or if the API server's certificate or address is wrong, a request
// is not sent. The creation of a Job then ends immediately, because nothing must be removed.
func TestUnsentRequestsCreateNothing(t *testing.T) {
	server, authority := startLogin(t)
	dir := t.TempDir()
	certs.WriteFile(t, filepath.Join(dir, "ca.crt"), authority.PEM)
	for name, fields := range map[string][2]string{
		"no plug-in":          {"server: '" + server + "', certificate-authority: ca.crt", "exec: {apiVersion: client.authentication.k8s.io/v1, command: none-such}"},
		"no token":            {"server: '" + server + "', certificate-authority: ca.crt", "tokenFile: none"},
		"unknown certificate": {"server: '" + server + "'", "token: abc"},
		"wrong name":          {"server: '" + server + "', certificate-authority: ca.crt, tls-server-name: other.example", "token: abc"},
		"no server":           {"server: 'http://127.0.0.1:1'", "token: abc"},
		"no proxy":            {"server: '" + server + "', certificate-authority: ca.crt, proxy-url: 'http://127.0.0.1:1'", "token: abc"},
	} {
		path := write(t, dir, "config", "{clusters: [{name: c, cluster: {"+fields[0]+"}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x, users: [{name: u, user: {"+fields[1]+"}}]}")
		a, err := connect(&Options{Kubeconfig: path})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := a.create(t.Context(), "jobs", object{}, nil); err == nil || isRefused(err) || !isNothingCreated(err) {
			t.Errorf("%s: the error %v does not show that nothing was created", name, err)
		}
	}
}

// In a pod, the service account is in a folder, and the server's address is in the environment.
func TestPodAccess(t *testing.T) {
	server, authority := startLogin(t)
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/"
	t.Setenv("KUBERNETES_SERVICE_HOST", at.Hostname())
	t.Setenv("KUBERNETES_SERVICE_PORT", at.Port())
	t.Setenv("POD_NAMESPACE", "")
	if podAccess(dir) != nil {
		t.Error("podAccess returned an account for a folder without a token")
	}
	write(t, dir, "token", "pod")
	write(t, dir, "namespace", "mine\n")
	certs.WriteFile(t, dir+"ca.crt", authority.PEM)
	a := podAccess(dir)
	if a == nil || a.namespace != "mine" || a.cluster.Server != server {
		t.Fatalf("the access is %+v", a)
	}
	l, err := newLogin(a)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&http.Client{Transport: authorized{l, &http.Transport{TLSClientConfig: l.tls}}}).Get(server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), "Bearer pod") {
		t.Errorf("the server's response is %s, %v", b, err)
	}
}

// Requests use the proxy in the kubeconfig. They are sent again if the API responds that they must
// be sent later.
func TestProxyAndTryingLater(t *testing.T) {
	var asked, through atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{"items":[]}`)
	}))
	defer server.Close()
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) { through.Add(1) }})
	defer proxy.Close()
	path := write(t, t.TempDir(), "config", "{clusters: [{name: c, cluster: {server: '"+server.URL+"', proxy-url: '"+proxy.URL+"'}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}")
	a, err := connect(&Options{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.list(t.Context(), "pods", labelSelector, "a=b", nil); err != nil || asked.Load() != 3 || through.Load() != 3 {
		t.Errorf("%v after %d requests, %d through the proxy", err, asked.Load(), through.Load())
	}
}
