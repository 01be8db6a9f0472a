package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Namespaces in which distributions run the pods of a control plane.
const (
	systemNamespace    = "kube-system"
	openShiftNamespace = "openshift-etcd"
)

// ControlPlane describes the etcd cluster in which Kubernetes stores its objects.
type ControlPlane struct {
	Layout    string // the distribution, or who runs the etcd members
	Namespace string // namespace for pods that connect to etcd
	Members   []Member
	Chosen    *Member // the member next to which a pod runs

	api *api
}

// Member is a member of a control plane's etcd cluster. If the members run outside the Kubernetes
// cluster, Member is an API server that connects to them.
type Member struct {
	Node     string
	Endpoint string // URLs for clients, separated by commas; may be empty
	Ready    bool
	Files    Files
	// ShellImage is an image on the node that contains a shell, or "".
	ShellImage string

	user    int64             // ID of the user who may read the files
	seLinux map[string]string // options of a process that may read the files; may be empty
}

// User describes the user that runs the pod's process.
func (m *Member) User() string {
	if m.user == 0 {
		return "root"
	}
	return "user " + strconv.FormatInt(m.user, 10)
}

// Files contains the paths of certificates on a node. All are empty if etcd does not use TLS.
type Files struct{ CACert, Cert, Key string }

// All returns each path together with the name of the flag that passes the path to a command.
func (f *Files) All() iter.Seq2[string, *string] {
	return func(yield func(flag string, path *string) bool) {
		_ = yield("cacert", &f.CACert) && yield("cert", &f.Cert) && yield("key", &f.Key)
	}
}

// hidden reports whether the kubelet cannot see the files, although pods can mount them. On Talos,
// the kubelet runs in a container.
func (f *Files) hidden() bool { return strings.HasPrefix(f.CACert, "/system/secrets/") }

// Endpoints returns the URLs of all members.
func (c *ControlPlane) Endpoints() (all []string) {
	for i := range c.Members {
		for endpoint := range strings.SplitSeq(c.Members[i].Endpoint, ",") {
			if endpoint != "" && !slices.Contains(all, endpoint) {
				all = append(all, endpoint)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Cluster describes the cluster: the context in the kubeconfig, and the address of the API server.
func (c *ControlPlane) Cluster() string {
	if c.api.context == "" {
		return c.api.server.Redacted()
	}
	return fmt.Sprintf("context %s, %s", c.api.context, c.api.server.Redacted())
}

// Nodes returns the nodes of all members.
func (c *ControlPlane) Nodes() (all []string) {
	for i := range c.Members {
		all = append(all, c.Members[i].Node)
	}
	return all
}

// FindControlPlane searches for the etcd of a Kubernetes cluster. It changes nothing in the
// cluster. The parameter `node` selects the member next to which a pod runs; if it is empty,
// FindControlPlane chooses a member that is ready.
func FindControlPlane(ctx context.Context, o Options, node string) (*ControlPlane, error) {
	api, err := connect(&o)
	if err != nil {
		return nil, err
	}
	c, err := api.findControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.Members, func(x, y Member) int { return strings.Compare(x.Node, y.Node) })
	chosen := slices.IndexFunc(c.Members, func(m Member) bool { return m.Node == node || node == "" && m.Ready })
	switch {
	case chosen < 0 && node != "":
		return nil, fmt.Errorf("etcd does not run on the node %q; choose one of: %s", node, strings.Join(c.Nodes(), ", "))
	case chosen < 0:
		chosen = 0 // the check will report what is wrong
	}
	c.Chosen = &c.Members[chosen]
	c.connect(api, o.Namespace)
	return c, nil
}

// NewControlPlane returns a control plane with the given member of etcd. It is for an etcd that
// FindControlPlane cannot find. The pod will run on the node of the given member.
func NewControlPlane(o Options, m Member) (*ControlPlane, error) {
	api, err := connect(&o)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{Layout: "as given", Namespace: systemNamespace, Members: []Member{m}}
	c.Chosen = &c.Members[0]
	c.connect(api, o.Namespace)
	return c, nil
}

// connect sets the connection to the namespace for the pod. If the parameter `namespace` is empty,
// the namespace of the control plane is used.
func (c *ControlPlane) connect(api *api, namespace string) {
	if namespace != "" {
		c.Namespace = namespace
	}
	c.api = api.withNamespace(c.Namespace)
}

// findControlPlane searches for pods of etcd, then for API servers that connect to another etcd,
// and then for nodes on which etcd runs without a pod.
func (a *api) findControlPlane(ctx context.Context) (*ControlPlane, error) {
	system, denied := a.withNamespace(systemNamespace).staticPods(ctx, "component in (etcd,kube-apiserver)")
	if denied != nil && !isForbidden(denied) {
		return nil, fmt.Errorf("cannot search for etcd: %w", denied)
	}
	if members := etcdPods(system, "component"); len(members) > 0 {
		return &ControlPlane{Layout: layout(members), Namespace: systemNamespace, Members: members}, nil
	}
	pods, err := a.withNamespace(openShiftNamespace).staticPods(ctx, "app=etcd")
	if err != nil && !isForbidden(err) {
		return nil, fmt.Errorf("cannot search for etcd: %w", err)
	}
	if members := etcdPods(pods, "app"); len(members) > 0 {
		return &ControlPlane{Layout: "OpenShift", Namespace: openShiftNamespace, Members: members}, nil
	}
	if members := apiServers(system); len(members) > 0 {
		return outsidePods(members)
	}
	if denied != nil {
		return nil, fmt.Errorf("cannot list the pods in namespace %s, where etcd usually runs: %w; deploy/kubernetes/check-rights.yaml grants the rights", systemNamespace, denied)
	}
	return a.findOnNodes(ctx)
}

// isForbidden reports whether the API responded that we lack a right.
func isForbidden(err error) bool {
	var said *apiError
	return errors.As(err, &said) && said.Code == http.StatusForbidden
}

// layout returns the distribution whose etcd runs in pods in the namespace kube-system.
func layout(members []Member) string {
	switch f := &members[0].Files; {
	case strings.HasSuffix(f.CACert, rancherCA):
		return "RKE2"
	case path.Base(f.Cert) == healthClient+".crt":
		return "kubeadm"
	}
	return "etcd in pods"
}

// outsidePods returns the etcd cluster to which API servers connect.
func outsidePods(members []Member) (*ControlPlane, error) {
	c := &ControlPlane{Layout: "etcd outside the Kubernetes cluster", Namespace: systemNamespace, Members: members}
	switch endpoint := members[0].Endpoint; {
	case strings.HasPrefix(endpoint, "unix"):
		return nil, errKine
	case members[0].Files.hidden():
		c.Layout = "Talos"
	}
	return c, nil
}

// errKine reports that Kubernetes connects to its store through kine. Therefore the API server does
// not reveal the store's address.
var errKine = errors.New("this cluster stores its objects in SQLite, another database or an external etcd; for an external etcd, give its addresses (--endpoints), the node of the pod (--node), and the paths of certificates on this node (--cacert, --cert and --key); for a database, run \"quorumbench check disk DIR\" on the database's machine, with the folder of the database")

// staticPod contains the fields of a control plane's pod that describe how to connect to etcd.
type staticPod struct {
	podState
	Spec struct {
		NodeName        string
		SecurityContext securityContext
		Containers      []container
		Volumes         []struct {
			Name     string
			HostPath struct{ Path string }
		}
	}
}

type container struct {
	Name, Image     string
	Command, Args   []string
	Env             []struct{ Name, Value string }
	VolumeMounts    []struct{ Name, MountPath string }
	SecurityContext securityContext
}

type securityContext struct {
	RunAsUser      *int64
	Privileged     bool
	SELinuxOptions map[string]string
}

func (a *api) staticPods(ctx context.Context, selector string) ([]staticPod, error) {
	var list struct{ Items []staticPod }
	err := a.list(ctx, "pods", labelSelector, selector, &list)
	return list.Items, err
}

// etcdPods returns the members that run in pods. It ignores pods in which the given label does not
// have the value etcd.
func etcdPods(pods []staticPod, label string) (members []Member) {
	for i := range pods {
		if p := &pods[i]; p.Metadata.Labels[label] == "etcd" && len(p.Spec.Containers) > 0 {
			members = append(members, p.etcd())
		}
	}
	return members
}

// etcd returns the member that runs in a pod. The files belong to root, even if etcd itself runs as
// another user, because the field Files contains the files of a client.
func (p *staticPod) etcd() Member {
	at := max(slices.IndexFunc(p.Spec.Containers, func(c container) bool { return c.Name == "etcd" }), 0)
	c := &p.Spec.Containers[at]
	m := Member{Node: p.Spec.NodeName, Ready: p.isReady(), Files: p.clientFiles(c), seLinux: p.seLinux(c)}
	if len(c.Command) > 0 && slices.Contains([]string{"sh", "bash"}, path.Base(c.Command[0])) {
		m.ShellImage = c.Image // as on OpenShift
	}
	m.Endpoint, _, _ = strings.Cut(c.flag("--advertise-client-urls"), ",")
	if m.Endpoint == "" && p.Status.PodIP != "" {
		m.Endpoint = "https://" + net.JoinHostPort(p.Status.PodIP, etcdPort)
	}
	if strings.HasPrefix(m.Endpoint, "http://") {
		m.Files = Files{}
	}
	return m
}

// healthClient is the name of the certificate that kubeadm creates for a client of etcd.
const healthClient = "healthcheck-client"

// etcdPort is the port for clients of etcd in all distributions.
const etcdPort = "2379"

// rancherCA is the path of the certificate of etcd's authority, below the data folder of RKE2 or
// k3s.
const rancherCA = "/server/tls/etcd/server-ca.crt"

// rancherFiles returns the certificates that RKE2 and k3s create for clients of etcd.
func rancherFiles(ca string) Files {
	dir := path.Dir(ca)
	return Files{ca, path.Join(dir, "client.crt"), path.Join(dir, "client.key")}
}

// clientFiles returns the paths that the certificates for clients of etcd have on the node. The
// pods of OpenShift state the paths in etcdctl's variables. kubeadm and RKE2 create these
// certificates next to those of the server.
func (p *staticPod) clientFiles(etcd *container) Files {
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		if ca := c.variable("ETCDCTL_CACERT"); ca != "" {
			return p.onNode(c, Files{ca, c.variable("ETCDCTL_CERT"), c.variable("ETCDCTL_KEY")})
		}
	}
	for _, v := range p.Spec.Volumes {
		if strings.HasSuffix(v.HostPath.Path, rancherCA) {
			return rancherFiles(v.HostPath.Path)
		}
	}
	f := Files{etcd.flag("--trusted-ca-file"), etcd.flag("--cert-file"), etcd.flag("--key-file")}
	if dir := path.Dir(f.Cert); path.Base(f.Cert) == "server.crt" && path.Dir(f.CACert) == dir {
		f.Cert, f.Key = path.Join(dir, healthClient+".crt"), path.Join(dir, healthClient+".key")
	}
	return p.onNode(etcd, f)
}

// apiServers returns those API servers among the pods that connect to an etcd.
func apiServers(pods []staticPod) (members []Member) {
	for i := range pods {
		p := &pods[i]
		if p.Metadata.Labels["component"] != "kube-apiserver" || len(p.Spec.Containers) == 0 {
			continue
		}
		c := &p.Spec.Containers[0]
		m := Member{
			Node: p.Spec.NodeName, Endpoint: c.flag("--etcd-servers"), Ready: p.isReady(), seLinux: p.seLinux(c),
			Files: p.onNode(c, Files{c.flag("--etcd-cafile"), c.flag("--etcd-certfile"), c.flag("--etcd-keyfile")}),
		}
		for _, user := range []*int64{p.Spec.SecurityContext.RunAsUser, c.SecurityContext.RunAsUser} {
			if user != nil {
				m.user = *user
			}
		}
		if m.Endpoint != "" {
			members = append(members, m)
		}
	}
	return members
}

// seLinux returns the SELinux options with which a container of the pod runs. Privileged containers
// have the type spc_t.
func (p *staticPod) seLinux(c *container) map[string]string {
	switch {
	case len(c.SecurityContext.SELinuxOptions) > 0:
		return c.SecurityContext.SELinuxOptions
	case len(p.Spec.SecurityContext.SELinuxOptions) > 0:
		return p.Spec.SecurityContext.SELinuxOptions
	case c.SecurityContext.Privileged:
		return map[string]string{"type": "spc_t"}
	}
	return nil
}

// onNode returns the paths that a container's files have on the node. It returns no paths if the
// container does not mount all files from its node.
func (p *staticPod) onNode(c *container, f Files) Files {
	for _, file := range f.All() {
		found, longest := "", 0
		for _, m := range c.VolumeMounts {
			below, ok := strings.CutPrefix(*file, strings.TrimSuffix(m.MountPath, "/"))
			if !ok || below != "" && below[0] != '/' || len(m.MountPath) <= longest {
				continue
			}
			for _, v := range p.Spec.Volumes {
				if v.Name == m.Name && v.HostPath.Path != "" {
					found, longest = path.Join(v.HostPath.Path, below), len(m.MountPath)
				}
			}
		}
		if found == "" {
			return Files{}
		}
		*file = found
	}
	return f
}

// flag returns the value of a flag in the container's command line, or "" if there is none.
func (c *container) flag(name string) string { return findFlag(slices.Concat(c.Command, c.Args), name) }

// findFlag returns the value of a flag. If the flag is repeated, the last value counts.
func findFlag(words []string, names ...string) (value string) {
	for i, word := range words {
		name, given, ok := strings.Cut(word, "=")
		switch {
		case !slices.Contains(names, name):
		case ok:
			value = given
		case i+1 < len(words):
			value = words[i+1]
		}
	}
	return value
}

// variable returns the value of an environment variable of the container, or "" if there is none.
func (c *container) variable(name string) string {
	for _, v := range c.Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}
