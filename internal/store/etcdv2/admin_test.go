package etcdv2

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

// startMember starts an HTTP server that responds like the follower of an etcd cluster with the
// given ID, and returns its endpoint. Its folder f has a longer list than an admin may read.
func startMember(t *testing.T, clusterID string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			_, _ = io.WriteString(w, `{"etcdserver":"3.5.0"}`)
		case "/v2/stats/self":
			_, _ = fmt.Fprintf(w, `{"name":"m\u001b[0m","id":"1%s","state":"StateFollower","leaderInfo":{"leader":"7"}}`, clusterID)
		case "/v2/members":
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("X-Etcd-Cluster-Id", clusterID)
			_, _ = io.WriteString(w, `{"members":[{"id":"2","name":"b\u001b[0m","clientURLs":["http://h:2"]},{"id":"1","name":"a","clientURLs":["http://h:1"]}]}`)
		case "/v2/keys/f":
			_, _ = io.WriteString(w, listOf(`{"key":"/f/a","value":"`+strings.Repeat("v", 16<<20)+`"}`)) // fails if the client closes the connection
		case "/v2/keys/f/g":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, apiErrorText(keyNotFound, "/f/g"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func adminOf(t *testing.T, endpoints ...string) *admin {
	t.Helper()
	a, err := New().Admin(store.Access{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a.(*admin)
}

// TestDifferentClustersAreNoticed checks that Status reports the members' cluster IDs, so that
// members of different clusters are noticed even if nothing else shows the difference.
func TestDifferentClustersAreNoticed(t *testing.T) {
	first, second := startMember(t, "c1"), startMember(t, "c2")
	s, err := adminOf(t, first, second).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CheckOneCluster(s.Members); err == nil || !strings.Contains(err.Error(), "(cluster c1 and cluster c2)") {
		t.Errorf("the status of two clusters is %+v, %v; want an error that names both cluster IDs", s, err)
	}
	s, err = adminOf(t, first, first).Status(t.Context())
	if err != nil || s.Members[0].Cluster != "cluster c1" || s.Members[0].Name != `m\x1b[0m` {
		t.Errorf("the status of one cluster is %+v, %v; want the cluster c1 and an escaped name", s, err)
	}
}

func TestMembersAreSortedByName(t *testing.T) {
	m, err := adminOf(t, startMember(t, "c1")).Members(t.Context())
	if err != nil || len(m) != 2 || m[0].Name != "a" || m[1].Name != `b\x1b[0m` || m[1].ID != 2 || m[1].Endpoint != "h:2" {
		t.Errorf("the members are %+v, %v; want a and b, with an escaped name", m, err)
	}
}

// TestMissingFoldersOfLargeFolders checks that MissingFolders does not read the list of an existing
// folder.
func TestMissingFoldersOfLargeFolders(t *testing.T) {
	missing, err := adminOf(t, startMember(t, "c1")).MissingFolders(t.Context(), "f/g/h/")
	if err != nil || strings.Join(missing, " ") != "f/g f/g/h" {
		t.Errorf("MissingFolders returned %q, %v; want f/g and f/g/h", missing, err)
	}
}
