package kubernetes

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// API provides access to the API of a Kubernetes cluster.
type API struct {
	Host, Port string
	dir        string
}

// StartControlPlane starts an API server and the controllers that a run's objects need, but no
// node. So the cluster creates objects, sets their owners and removes them, but never runs pods.
// The programs end with the test. If they have not been built, StartControlPlane skips the test.
// The parameter `etcd` is the HOST:PORT of the etcd to use.
func StartControlPlane(t testing.TB, etcd string) *API {
	t.Helper()
	source, err := Source()
	if err != nil {
		t.Fatal(err)
	}
	binary, ok, err := install.Installed(source)
	if err != nil || !ok {
		t.Skip("there is no Kubernetes, which make test-kubernetes builds: ", err)
	}
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release) // runs after the cleanups that stop the programs
	a := &API{Host: lease.Address, Port: strconv.Itoa(lease.Ports[0]), dir: t.TempDir()}
	if err := a.configure(); err != nil {
		t.Fatal(err)
	}
	a.start(t, binary, "kube-apiserver", append(a.server(etcd), "--bind-address", a.Host))
	a.await(t, a.ready)
	a.start(t, binary, "kube-controller-manager", append(a.controllers(), "--controllers",
		"job-controller,ttl-after-finished-controller,garbage-collector-controller,ephemeral-volume-controller,persistentvolumeclaim-protection-controller,serviceaccount-controller"))
	a.await(t, a.accountReady)
	return a
}

func (a *API) start(t testing.TB, binary, name string, args []string) {
	t.Helper()
	servers.Process(t, store.Process{Name: name, Path: binary, Args: append([]string{name}, args...), Dir: a.dir, LogFile: a.path(name + ".log")})
}

func (a *API) await(t testing.TB, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	storetest.Poll(ctx, t, ask)
}

// Kubeconfig returns the path of a kubeconfig file for a user with all permissions.
func (a *API) Kubeconfig() string { return a.path("kubeconfig") }

func (a *API) path(name string) string { return filepath.Join(a.dir, name) }

// server returns the API server's flags.
func (a *API) server(etcd string) []string {
	return []string{
		"--etcd-servers", "http://" + etcd, "--authorization-mode", "RBAC", "--token-auth-file", a.path("tokens.csv"),
		"--service-account-key-file", a.path("accounts.key"), "--service-account-signing-key-file", a.path("accounts.key"),
		"--service-account-issuer", "https://localhost", "--cert-dir", a.path("certs"),
		"--advertise-address", a.Host, "--secure-port", a.Port, "--service-cluster-ip-range", "198.18.2.0/24",
	}
}

// controllers returns the flags of the program that runs the controllers.
func (a *API) controllers() []string {
	return []string{
		"--kubeconfig", a.Kubeconfig(), "--service-account-private-key-file", a.path("accounts.key"), "--root-ca-file", a.path("certs/apiserver.crt"),
		"--leader-elect=false", "--secure-port", "0",
	}
}

// Get returns the object at a path, as a user with all permissions.
func (a *API) Get(path string) (string, error) {
	return a.ask(http.MethodGet, path, "application/yaml", "")
}

// Create creates an object from its YAML text.
func (a *API) Create(path, object string) error {
	_, err := a.ask(http.MethodPost, path, "application/yaml", object)
	return err
}

// Merge applies a JSON merge patch to the object at a path.
func (a *API) Merge(path, change string) error {
	_, err := a.ask(http.MethodPatch, path, "application/merge-patch+json", change)
	return err
}

// Delete removes the object at a path. Later, Kubernetes also removes the objects that the deleted
// object owns.
func (a *API) Delete(path string) error {
	_, err := a.ask(http.MethodDelete, path, "application/json", "")
	return err
}

func (a *API) ask(method, path, kind, body string) (string, error) {
	r, err := http.NewRequest(method, "https://"+a.Host+":"+a.Port+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Accept", "application/json")
	t := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: t, Timeout: waitLimit}).Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }() // the body was only read
	b, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.300s", answer.Status, b)
	}
	return string(b), err
}

// waitLimit is the limit for every wait.
const waitLimit = 2 * time.Minute

func (a *API) ready() error {
	_, err := a.Get("/readyz")
	return err
}

// accountReady returns an error until the service account that pods use by default exists. Without
// that account, no pod can be created.
func (a *API) accountReady() error {
	_, err := a.Get("/api/v1/namespaces/default/serviceaccounts/default")
	return err
}
