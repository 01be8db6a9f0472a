// Package kubernetes makes agents in pods, and removes them. The API is asked
// through client-go's REST client, with the types of two of its groups: its whole
// set of clients would make a third of our binary.
package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// api is a namespace of a Kubernetes.
type api struct {
	client    rest.Interface
	config    *rest.Config
	namespace string
	inside    bool // we run in a pod of it
}

// connect finds the API as kubectl does: in the file named, in those of KUBECONFIG
// or the home folder's, or in the pod that we are in. It asks nothing yet.
func connect(o *Options) (*api, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	given := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := given.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("there is no kubeconfig, and we are in no pod: name a file with --kubeconfig or KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	a := &api{config: config, namespace: o.Namespace}
	if a.namespace == "" {
		if a.namespace, _, err = given.Namespace(); err != nil {
			return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
		}
	}
	in, err := rest.InClusterConfig()
	a.inside = err == nil && in.Host == config.Host
	version := schema.GroupVersion{Version: "v1"}
	known := runtime.NewScheme()
	metav1.AddToGroupVersion(known, version) // what an error is
	config.GroupVersion, config.NegotiatedSerializer = &version, serializer.NewCodecFactory(known).WithoutConversion()
	config.UserAgent = "quorumbench"
	config.WarningHandler = rest.NoWarnings{}
	a.client, err = rest.UnversionedRESTClientFor(config)
	return a, err
}

// The kinds of objects, and where the API has them.
var groups = map[string]string{"jobs": "/apis/batch/v1", "pods": "/api/v1", "secrets": "/api/v1", "events": "/api/v1", "persistentvolumeclaims": "/api/v1"}

// ask carries out a request for objects of a kind and reads the answer into into,
// unless that is nil.
func (a *api) ask(ctx context.Context, r *rest.Request, kind, name string, into any) error {
	path := []string{groups[kind], "namespaces", a.namespace, kind}
	if name != "" {
		path = append(path, name)
	}
	answer := r.AbsPath(path...).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx)
	if err := answer.Error(); err != nil {
		return err // in the API's words, which Raw's error does not have
	}
	b, err := answer.Raw()
	if err == nil && into != nil {
		err = json.Unmarshal(b, into)
	}
	return err
}

func (a *api) create(ctx context.Context, kind string, object, made any) error {
	b, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return a.ask(ctx, a.client.Post().SetHeader("Content-Type", runtime.ContentTypeJSON).Body(b), kind, "", made)
}

// list reads a list of those that a selector names, by labels or by fields.
func (a *api) list(ctx context.Context, kind, by, selector string, into any) error {
	return a.ask(ctx, a.client.Get().Param(by, selector), kind, "", into)
}

const (
	byLabels = "labelSelector"
	byFields = "fieldSelector"
)

// log is the end of what a pod's container wrote.
func (a *api) log(ctx context.Context, pod string) string {
	r := a.client.Get().AbsPath(groups["pods"], "namespaces", a.namespace, "pods", pod, "log").Param("tailLines", "5")
	b, err := r.Do(ctx).Raw()
	if err != nil {
		return ""
	}
	return string(b)
}

// hostname is how the agents' owner says where it was made.
func hostname() string {
	name, _ := os.Hostname() // it is a note
	return name
}
