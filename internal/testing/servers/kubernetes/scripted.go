package kubernetes

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

//go:embed layouts/*.yaml
var layouts embed.FS

// Layouts returns the names of the control planes that Scripted can simulate. The file of a layout
// contains only those fields of the distribution's objects that locate etcd.
func Layouts(t testing.TB) (names []string) {
	t.Helper()
	entries, err := layouts.ReadDir("layouts")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Scripted is an API server that serves the objects of one layout. It creates a pod for each Job,
// but runs nothing: the test chooses the status and the log of the pod. Set the fields before the
// first request.
type Scripted struct {
	Kubeconfig string
	PodStatus  string            // JSON; empty if no pod is created
	EndStatus  string            // JSON; replaces PodStatus after a program was copied into the pod
	Log        string            // of the pod
	Warnings   map[string]string // the warning "REASON: MESSAGE" about an object; the key is a part of the object's name
	Forbidden  string            // regular expression; matching rights are missing
	JobStatus  string            // JSON; empty if Jobs have no status
	// Dropped contains the number of requests that the server neither executes nor answers.
	// TimedOut contains the number of requests that the server executes, but answers with a
	// timeout. The keys are rights, as in Used.
	Dropped, TimedOut map[string]int

	t  testing.TB
	mu sync.Mutex
	// used contains the rights that were used, as "NAMESPACE GROUP RESOURCE VERB", without the
	// empty parts.
	used    map[string]bool
	objects []map[string]any
	created []string // the bodies of the created Jobs
	// received contains what was written to the standard input of the pods.
	received []byte
}

// StartScripted starts a Scripted that ends with the test.
func StartScripted(t testing.TB, layout string) *Scripted {
	t.Helper()
	s := &Scripted{t: t, used: map[string]bool{}, PodStatus: "{}"}
	text, err := layouts.ReadFile("layouts/" + layout + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var object map[string]any
		if b, err := yaml.YAMLToJSON([]byte(part)); err != nil || json.Unmarshal(b, &object) != nil {
			t.Fatalf("%s: %v: %s", layout, err, part)
		}
		s.objects = append(s.objects, object)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: '%s'}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}", server.URL)
	if err := os.WriteFile(s.Kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Used returns the rights that were used, as "NAMESPACE GROUP RESOURCE VERB", without empty parts.
func (s *Scripted) Used() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.used))
}

// Created returns the Jobs that were created, as JSON.
func (s *Scripted) Created() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.created)
}

// Received returns what was written to the standard input of the pods.
func (s *Scripted) Received() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// Remaining returns the number of Jobs and of their pods that exist.
func (s *Scripted) Remaining() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.objects {
		if o["created"] == true {
			n++
		}
	}
	return n
}

// scriptedPath matches the path of a request: group, namespace, resource, name and subresource.
var scriptedPath = regexp.MustCompile(`^(?:/api|/apis/([^/]+))/v1(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?(?:/([^/]+))?$`)

// ServeHTTP implements http.Handler.
func (s *Scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := scriptedPath.FindStringSubmatch(r.URL.Path)
	if path == nil {
		s.t.Errorf("%s %s is not a request to the Kubernetes API", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	namespace, kind, name := path[2], strings.TrimSuffix(path[3]+"/"+path[5], "/"), path[4]
	verb := map[string]string{http.MethodPost: "create", http.MethodDelete: "delete", http.MethodGet: "get"}[r.Method]
	if verb == "get" && name == "" {
		verb = "list"
	}
	right := strings.Join(strings.Fields(namespace+" "+path[1]+" "+kind+" "+verb), " ")
	s.used[right] = true
	if s.Forbidden != "" && regexp.MustCompile(s.Forbidden).MatchString(right) {
		s.refuse(w, http.StatusForbidden, "Forbidden", right+" is forbidden")
		return
	}
	if s.Dropped[right] > 0 {
		s.Dropped[right]--
		panic(http.ErrAbortHandler) // closes the connection
	}
	if s.TimedOut[right] > 0 {
		s.TimedOut[right]--
		defer s.refuse(w, http.StatusGatewayTimeout, "Timeout", right+" timed out")
		w = httptest.NewRecorder()
	}
	switch kind + " " + verb {
	case "jobs create":
		s.createJob(w, r, namespace)
	case "jobs delete":
		s.objects = slices.DeleteFunc(s.objects, func(o map[string]any) bool { return o["created"] == true })
		s.answer(w, map[string]any{})
	case "pods/attach create":
		s.mu.Unlock()
		s.receive(w, r)
		s.mu.Lock()
	case "pods/log get":
		_, _ = io.WriteString(w, s.Log) // an error is possible only if the caller has disconnected
	case "events list":
		s.answer(w, map[string]any{"items": s.events(r.URL.Query().Get("fieldSelector"))})
	default:
		s.answer(w, map[string]any{"items": s.list(kind, namespace, r.URL.Query().Get("labelSelector"))})
	}
}

func (s *Scripted) createJob(w http.ResponseWriter, r *http.Request, namespace string) {
	b, err := io.ReadAll(r.Body)
	var job map[string]any
	if err != nil || json.Unmarshal(b, &job) != nil {
		s.t.Errorf("%v: %s", err, b)
	}
	s.created = append(s.created, string(b))
	job["created"] = true
	if s.JobStatus != "" {
		job["status"] = json.RawMessage(s.JobStatus)
	}
	s.objects = append(s.objects, job)
	if s.PodStatus != "" {
		meta := maps.Clone(job["metadata"].(map[string]any))
		meta["name"], meta["namespace"] = fmt.Sprint(meta["name"], "-x"), namespace
		s.objects = append(s.objects, map[string]any{"kind": "Pod", "created": true, "metadata": meta, "status": json.RawMessage(s.PodStatus)})
	}
	w.WriteHeader(http.StatusCreated)
	s.answer(w, job)
}

// programSize matches the size of the program in a Job that reads a program from standard input.
var programSize = regexp.MustCompile(`"sh","(\d+)","`)

// receive reads a program from a connection to a pod's streams, and then writes a line to standard
// output, as the shell in the pod does.
func (s *Scripted) receive(w http.ResponseWriter, r *http.Request) {
	size := 0
	if found := programSize.FindStringSubmatch(s.Created()[0]); found != nil {
		size, _ = strconv.Atoi(found[1]) // the pattern matches only numbers
	}
	if _, err := httpstream.Handshake(r, w, []string{"v4.channel.k8s.io"}); err != nil {
		s.t.Error(err)
		return
	}
	streams := make(chan httpstream.Stream, 3)
	c := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	defer func() { _ = c.Close() }() // the client has everything that it needs
	kinds := map[string]httpstream.Stream{}
	for range cap(streams) {
		stream := <-streams
		kinds[stream.Headers().Get("streamType")] = stream
	}
	received := make([]byte, size)
	if n, err := io.ReadFull(kinds["stdin"], received); err != nil {
		s.t.Errorf("after %d of %d bytes: %v", n, size, err)
	}
	s.mu.Lock()
	s.received = append(s.received, received...)
	for _, o := range s.objects {
		if o["created"] == true && o["kind"] == "Pod" {
			o["status"] = json.RawMessage(s.EndStatus)
		}
	}
	s.mu.Unlock()
	_, _ = io.WriteString(kinds["stdout"], "copied\n") // the test fails if the client does not continue
	<-c.CloseChan()
}

func (s *Scripted) list(kind, namespace, selector string) []any {
	matches, err := labels.Parse(selector)
	if err != nil {
		s.t.Error(err)
	}
	found := []any{}
	for _, o := range s.objects {
		meta, _ := o["metadata"].(map[string]any)
		set := labels.Set{}
		given, _ := meta["labels"].(map[string]any)
		for key, value := range given {
			set[key] = fmt.Sprint(value)
		}
		in, _ := meta["namespace"].(string)
		if strings.ToLower(fmt.Sprint(o["kind"]))+"s" == kind && in == namespace && matches.Matches(set) {
			found = append(found, o)
		}
	}
	return found
}

func (s *Scripted) events(selector string) []any {
	found := []any{}
	for name, warning := range s.Warnings {
		if reason, message, _ := strings.Cut(warning, ": "); warning != "" && strings.Contains(selector, name) {
			found = append(found, map[string]any{"reason": reason, "message": message})
		}
	}
	return found
}

func (s *Scripted) refuse(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	s.answer(w, map[string]any{"kind": "Status", "code": code, "reason": reason, "message": message})
}

func (*Scripted) answer(w http.ResponseWriter, body any) {
	_ = json.NewEncoder(w).Encode(body) // an error is possible only if the caller has disconnected
}
