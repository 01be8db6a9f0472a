package kubernetes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/quorumbench/quorumbench/internal/files"
)

// kubeconfig contains the supported parts of a kubeconfig file. After the file was read, all paths
// are absolute.
type kubeconfig struct {
	Current  string `yaml:"current-context"`
	Clusters []struct {
		Name    string      `yaml:"name"`
		Cluster clusterInfo `yaml:"cluster"`
	} `yaml:"clusters"`
	Contexts []struct {
		Name    string         `yaml:"name"`
		Context clusterContext `yaml:"context"`
	} `yaml:"contexts"`
	Users []struct {
		Name string `yaml:"name"`
		User user   `yaml:"user"`
	} `yaml:"users"`
}

// clusterInfo contains the address of an API server and the information to verify its identity.
type clusterInfo struct {
	Server     string `yaml:"server"`
	ServerName string `yaml:"tls-server-name"`
	Insecure   bool   `yaml:"insecure-skip-tls-verify"`
	CA         pem    `yaml:"certificate-authority-data"`
	CAFile     string `yaml:"certificate-authority"`
	Proxy      string `yaml:"proxy-url"`
	Extensions []struct {
		Name      string `yaml:"name"`
		Extension any    `yaml:"extension"`
	} `yaml:"extensions"`
}

// clusterContext combines a cluster, a user and a namespace.
type clusterContext struct {
	Cluster   string `yaml:"cluster"`
	User      string `yaml:"user"`
	Namespace string `yaml:"namespace"`
}

// user contains a user's credentials.
type user struct {
	Cert      pem                 `yaml:"client-certificate-data"`
	CertFile  string              `yaml:"client-certificate"`
	Key       pem                 `yaml:"client-key-data"`
	KeyFile   string              `yaml:"client-key"`
	Token     string              `yaml:"token"`
	TokenFile string              `yaml:"tokenFile"`
	Name      string              `yaml:"username"`
	Password  string              `yaml:"password"`
	As        string              `yaml:"as"`
	AsUID     string              `yaml:"as-uid"`
	AsGroups  []string            `yaml:"as-groups"`
	AsExtra   map[string][]string `yaml:"as-user-extra"`
	Exec      *plugin             `yaml:"exec"`
	Provider  any                 `yaml:"auth-provider"`
}

// pem is a PEM text that is encoded as base64 in a kubeconfig file.
type pem []byte

// UnmarshalYAML decodes the base64 text.
func (p *pem) UnmarshalYAML(read func(any) error) error {
	var text string
	if err := read(&text); err != nil {
		return err
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	*p = b
	return err
}

// errNoKubeconfig reports that no access to Kubernetes is configured.
var errNoKubeconfig = errors.New("no kubeconfig was found, and quorumbench does not run in a pod; specify a kubeconfig file with --kubeconfig or KUBECONFIG")

// access contains the address of an API server, the user's credentials, and the default namespace.
type access struct {
	context   string // in the kubeconfig; empty in a pod
	cluster   clusterInfo
	user      user
	namespace string
}

// findAccess determines the API server and the credentials in the same way as kubectl. It uses the
// given file, otherwise the files in KUBECONFIG, and otherwise the file in the home folder. If no
// file exists, it uses the environment of the pod in which we run.
func findAccess(file, context string) (*access, error) {
	all, err := loadKubeconfigs(file)
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig: %w", err)
	}
	if len(all.Clusters)+len(all.Contexts)+len(all.Users) == 0 && all.Current == "" && context == "" {
		if inside := podAccess(serviceAccount); inside != nil {
			return inside, nil
		}
		return nil, errNoKubeconfig
	}
	a, err := all.resolve(context)
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig: %w", err)
	}
	return a, nil
}

// loadKubeconfigs reads the given file. If file is empty, it merges all existing kubeconfig files.
// If several files define the same name, the first definition takes precedence.
func loadKubeconfigs(file string) (*kubeconfig, error) {
	if file != "" {
		return readKubeconfig(file)
	}
	paths := filepath.SplitList(os.Getenv("KUBECONFIG"))
	if len(paths) == 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return &kubeconfig{}, nil // for example, a system service has no home folder
		}
		paths = []string{filepath.Join(home, ".kube", "config")}
	}
	all := &kubeconfig{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		k, err := readKubeconfig(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if all.Current == "" {
			all.Current = k.Current
		}
		all.Clusters = append(all.Clusters, k.Clusters...)
		all.Contexts = append(all.Contexts, k.Contexts...)
		all.Users = append(all.Users, k.Users...)
	}
	return all, nil
}

// maxFile is the maximum size in bytes of a kubeconfig, and of a file with a certificate, a key or a
// token. It is far larger than any real file of this kind.
const maxFile = 4 << 20

func readKubeconfig(path string) (*kubeconfig, error) {
	b, err := files.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	k := &kubeconfig{}
	if err := yaml.Unmarshal(b, k); err != nil {
		return nil, fmt.Errorf("%s: %s", path, yaml.FormatError(err, false, false))
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	absolutePath := func(paths ...*string) {
		for _, p := range paths {
			if *p != "" && !filepath.IsAbs(*p) {
				*p = filepath.Join(dir, *p)
			}
		}
	}
	for i := range k.Clusters {
		absolutePath(&k.Clusters[i].Cluster.CAFile)
	}
	for i := range k.Users {
		u := &k.Users[i].User
		absolutePath(&u.CertFile, &u.KeyFile, &u.TokenFile)
		if u.Exec != nil && strings.ContainsRune(filepath.ToSlash(u.Exec.Command), '/') {
			absolutePath(&u.Exec.Command)
		}
	}
	return k, nil
}

// resolve returns the access that a context describes. If context is empty, resolve uses the
// current context.
func (k *kubeconfig) resolve(context string) (*access, error) {
	if context == "" {
		context = k.Current
	}
	a := &access{context: context}
	var contextEntry *clusterContext
	for _, c := range k.Contexts {
		if c.Name == context {
			contextEntry = &c.Context
			break
		}
	}
	if contextEntry == nil {
		return nil, fmt.Errorf("the context %q does not exist", context)
	}
	if a.namespace = contextEntry.Namespace; a.namespace == "" {
		a.namespace = "default"
	}
	found := false
	for _, c := range k.Clusters {
		if found = c.Name == contextEntry.Cluster; found {
			a.cluster = c.Cluster
			break
		}
	}
	if !found {
		return nil, fmt.Errorf("the cluster %q in the context %q does not exist", contextEntry.Cluster, context)
	}
	found = contextEntry.User == ""
	for _, u := range k.Users {
		if found = found || u.Name == contextEntry.User; u.Name == contextEntry.User {
			a.user = u.User
			break
		}
	}
	switch {
	case !found:
		return nil, fmt.Errorf("the user %q in the context %q does not exist", contextEntry.User, context)
	case a.user.Provider != nil:
		return nil, fmt.Errorf("the user %q has an auth-provider, which Kubernetes no longer supports; use exec instead", contextEntry.User)
	}
	if u, err := url.Parse(a.cluster.Server); err != nil || u.Host == "" {
		a.cluster.Server = "https://" + a.cluster.Server
	}
	return a, nil
}

// serviceAccount is the folder in a pod that contains its service account.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// podAccess returns the access that Kubernetes gives to the pod in which we run, or nil if we do
// not run in a pod. The parameter `account` is the folder of the pod's service account.
func podAccess(account string) *access {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if _, err := os.Stat(account + "token"); err != nil || host == "" || port == "" {
		return nil
	}
	a := &access{
		cluster: clusterInfo{Server: "https://" + net.JoinHostPort(host, port), CAFile: account + "ca.crt"},
		user:    user{TokenFile: account + "token"}, namespace: os.Getenv("POD_NAMESPACE"),
	}
	if b, err := files.Read(account+"namespace", maxFile); err == nil && a.namespace == "" {
		a.namespace = strings.TrimSpace(string(b))
	}
	if a.namespace == "" {
		a.namespace = "default"
	}
	return a
}

// plugin describes a login program that a kubeconfig specifies, such as the program of a cloud
// provider.
type plugin struct {
	APIVersion  string   `yaml:"apiVersion"`
	Command     string   `yaml:"command"`
	Args        []string `yaml:"args"`
	InstallHint string   `yaml:"installHint"`
	Interactive string   `yaml:"interactiveMode"`
	ClusterInfo bool     `yaml:"provideClusterInfo"`
	Env         []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
}
