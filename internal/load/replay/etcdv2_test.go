package replay_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// v2 is a client of etcd's v2 API.
type v2 struct {
	t       *testing.T
	address string
	client  *http.Client
}

func newV2(t *testing.T, address string) *v2 {
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return &v2{t, address, c}
}

// v2Answer holds those fields of a response that the test needs.
type v2Answer struct {
	ErrorCode int
	Node      v2Node
}

type v2Node struct {
	Key, Value    string
	ModifiedIndex uint64
	Dir           bool
	Nodes         []v2Node
}

func (c *v2) ask(method, key, query, form string) (a v2Answer) {
	request, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.address+"/v2/keys/"+key+"?"+query, strings.NewReader(form))
	if err != nil {
		c.t.Error(err)
		return a
	}
	if form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := c.client.Do(request)
	if err != nil {
		c.t.Error(err)
		return a
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(answer.Body).Decode(&a); err != nil {
		c.t.Errorf("%s %s: %v", method, key, err)
	}
	return a
}

// The test records calls from clients of etcd's v2 API, and then replays them on the same server,
// faster and below a different folder.
func TestGuardsHoldAgainOnEtcdV2(t *testing.T) {
	st := etcdv2.New()
	address := member(t, st, nil)
	direct := newV2(t, address)
	for _, name := range settle.Sample(t, 1, []string{"plain", "hashed"}) {
		redactor := &call.Redactor{}
		if name == "hashed" {
			redactor = call.NewRedactor()
		}
		t.Run(name, func(t *testing.T) {
			for i := range 5 { // these keys exist before the recording
				direct.ask("PUT", fmt.Sprintf("registry/k%d", i), "", "value=earlier")
			}
			path := relayed(t, st, address, redactor, func(relay string) { changeV2(t, relay, name) })
			plan, o := resend(t, st, path, address, replay.Options{Speed: 10, Prefix: "again-" + name + "/", Salt: 7})
			if o.HeldInRecording < 60 || o.HeldInBoth*100 < o.HeldInRecording*99 || o.HeldInRecording == o.Guarded {
				t.Errorf("guards held in the replay: %+v", o)
			}
			if plan.PreloadCount() < 5 || len(plan.Omitted) != 2 {
				t.Errorf("%d keys are preloaded; not replayed: %v", plan.PreloadCount(), plan.Omitted)
			}
			if !redactor.Plain() {
				checkHidden(t, path, "registry", "queue", "made", "secret")
				return
			}
			if want, got := leavesOf(direct, ""), leavesOf(direct, "again-"+name+"/"); strings.Join(want, "\n") != strings.Join(got, "\n") {
				t.Errorf("the store has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			profiled(t, path)
		})
	}
}

// changeV2 makes a call of each kind, and chains of guarded writes from several clients at once.
func changeV2(t *testing.T, address, name string) {
	var all sync.WaitGroup
	for client := range 3 {
		all.Go(func() { chainV2(newV2(t, address), client) })
	}
	all.Wait()
	c := newV2(t, address)
	folder := "queue-" + name
	made := c.ask("POST", folder, "", "value=secret")
	if at := strings.TrimPrefix(made.Node.Key, "/"); at == "" || c.ask("GET", at, "quorum=true", "").Node.Value != "secret" {
		t.Errorf("created %+v", made)
	}
	c.ask("PUT", folder+"/a", "prevExist=false", "value=secret")
	if again := c.ask("PUT", folder+"/a", "prevExist=false", "value=secret"); again.ErrorCode != 105 {
		t.Errorf("%+v", again)
	}
	c.ask("PUT", folder+"/a", "prevValue=secret", "value=secret+two&ttl=600")
	c.ask("PUT", folder+"/a", "", "ttl=900&refresh=true&prevExist=true")
	c.ask("PUT", folder+"/b", "", "value="+url.QueryEscape("a&b=ü"))
	c.ask("GET", folder, "", "")
	c.ask("GET", folder, "recursive=true&sorted=true", "")
	c.ask("GET", folder+"/none", "", "")
	c.ask("PUT", folder+"/sub/c", "", "value=secret")
	c.ask("DELETE", folder+"/sub", "recursive=true&dir=true", "")
	c.ask("DELETE", folder+"/b", "", "")
	// The replay omits the call that creates a folder and the call that waits.
	c.ask("PUT", folder+"/empty", "dir=true", "")
	at := c.ask("PUT", folder+"/a", "", "value=secret").Node.ModifiedIndex
	c.ask("GET", folder+"/a", fmt.Sprintf("wait=true&waitIndex=%d", at), "")
	c.ask("DELETE", folder+"/empty", "recursive=true&dir=true", "")
}

func chainV2(c *v2, client int) {
	r := rand.New(rand.NewPCG(3, uint64(client)))
	for n := range 40 {
		key := fmt.Sprintf("registry/k%d", (client+3*r.IntN(2))%5)
		value := fmt.Sprintf("value=made %d %d", client, n)
		got := c.ask("GET", key, fmt.Sprintf("quorum=%v", n%2 == 0), "")
		guard := fmt.Sprintf("prevIndex=%d", got.Node.ModifiedIndex)
		switch {
		case got.ErrorCode == 100:
			c.ask("PUT", key, "prevExist=false", value)
		case n%20 == 19:
			c.ask("DELETE", key, guard, "")
		default:
			c.ask("PUT", key, guard, value)
		}
	}
}

// leavesOf returns all keys below a folder and their values, except for the keys that replays
// wrote. If the store added a number to a name, leavesOf removes the number.
func leavesOf(c *v2, folder string) (all []string) {
	var add func(n v2Node)
	add = func(n v2Node) {
		key := strings.TrimPrefix(strings.TrimPrefix(n.Key, "/"), folder)
		switch {
		case key+"/" == folder:
			for _, one := range n.Nodes {
				add(one)
			}
		case strings.HasPrefix(key, "again-"), strings.HasPrefix(key, "queue-hashed"):
		case n.Dir:
			for _, one := range n.Nodes {
				add(one)
			}
		default:
			if parent, last, ok := strings.Cut(key, "/0000"); ok && last != "" {
				key = parent + "/#"
			}
			all = append(all, key+" = "+n.Value)
		}
	}
	add(c.ask("GET", folder, "recursive=true&sorted=true", "").Node)
	return all
}
