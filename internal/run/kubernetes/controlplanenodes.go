package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// node contains the fields of a node that describe how to connect to an etcd on it.
type node struct {
	Metadata metadata
	Status   struct {
		NodeInfo   struct{ KubeletVersion string }
		Conditions []condition
		Addresses  []struct{ Type, Address string }
	}
}

func (a *api) nodes(ctx context.Context, role string) ([]node, error) {
	var list struct{ Items []node }
	err := a.withNamespace("").list(ctx, "nodes", labelSelector, "node-role.kubernetes.io/"+role, &list)
	switch {
	case isForbidden(err):
		err = fmt.Errorf("found no pods of etcd, and cannot list the nodes: %w; deploy/kubernetes/check-rights.yaml grants the right", err)
	case err != nil:
		err = fmt.Errorf("found no pods of etcd, and cannot list the nodes: %w", err)
	}
	return list.Items, err
}

// findOnNodes searches for nodes on which etcd runs without a pod, as in k3s. If there are none,
// the error states why.
func (a *api) findOnNodes(ctx context.Context) (*ControlPlane, error) {
	nodes, err := a.nodes(ctx, "etcd")
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{Namespace: systemNamespace}
	for i := range nodes {
		if program := nodes[i].program(); program != "" {
			c.Layout = program
			c.Members = append(c.Members, nodes[i].etcd(program))
		}
	}
	if len(c.Members) > 0 {
		return c, nil
	}
	nodes, err = a.nodes(ctx, "control-plane")
	switch {
	case err != nil:
		return nil, err
	case len(nodes) == 0:
		return nil, errors.New("this cluster has no control-plane nodes: the provider of a managed Kubernetes, such as EKS, GKE or AKS, runs etcd where pods cannot reach it; check the disks of your own nodes with \"quorumbench check disk\", or another cluster with --context")
	case nodes[0].program() != "":
		return nil, errKine
	}
	return nil, fmt.Errorf("found no etcd: the control-plane node %s runs no pod with the label component=etcd or app=etcd, and is no node of k3s; give the addresses (--endpoints), the node of the pod (--node), and the paths of certificates on this node (--cacert, --cert and --key)", nodes[0].Metadata.Name)
}

// program returns the distribution of a node that may run etcd without a pod, or "".
func (n *node) program() string {
	for _, program := range []string{"k3s", "rke2"} {
		if strings.Contains(n.Status.NodeInfo.KubeletVersion, "+"+program) {
			return program
		}
	}
	return ""
}

// etcd returns the member that runs on a node. The annotations of the node contain the address of
// the member, the flags of the server, and environment variables. The flags include those in the
// configuration file. A variable applies only if the corresponding flag is missing.
func (n *node) etcd(program string) Member {
	notes := n.Metadata.Annotations
	var flags []string
	_ = json.Unmarshal([]byte(notes[program+".io/node-args"]), &flags) // without flags, the default applies
	var variables map[string]string
	_ = json.Unmarshal([]byte(notes[program+".io/node-env"]), &variables) // without variables, the default applies
	dir := findFlag(flags, "--data-dir", "-d")
	if dir == "" {
		dir = variables[strings.ToUpper(program)+"_DATA_DIR"]
	}
	if dir = strings.TrimSuffix(dir, "/"); dir == "" {
		dir = "/var/lib/rancher/" + program
	}
	m := Member{Node: n.Metadata.Name, Files: rancherFiles(dir + rancherCA)}
	m.Ready = slices.ContainsFunc(n.Status.Conditions, func(c condition) bool { return c.Type == "Ready" && c.Status == "True" })
	address := notes["etcd."+program+".cattle.io/node-address"]
	for _, a := range n.Status.Addresses {
		if address == "" && a.Type == "InternalIP" {
			address = a.Address
		}
	}
	if address != "" {
		m.Endpoint = "https://" + net.JoinHostPort(address, etcdPort)
	}
	return m
}
