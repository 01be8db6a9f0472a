package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// defaultDialTimeout is that of store.Access.
const defaultDialTimeout = 5 * time.Second

// admin asks members their four-letter words, each over a connection of its
// own, and maintains the cluster through the client library that Go programs
// use. Its client is made at the first use.
type admin struct {
	access  store.Access
	timeout time.Duration // bounds one question to one endpoint

	mu     sync.Mutex
	ids    map[string]uint64 // of members, by endpoint
	client *zk.Conn
	closed bool
}

var (
	_ store.Admin      = (*admin)(nil)
	_ store.Maintainer = (*admin)(nil)
)

// Admin implements store.Store; the result is a store.Maintainer too.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	if len(a.Endpoints) == 0 {
		return nil, errors.New("no endpoint of the ZooKeeper cluster was given")
	}
	timeout := a.DialTimeout
	if timeout <= 0 {
		timeout = defaultDialTimeout
	}
	return &admin{access: a, timeout: timeout, ids: map[string]uint64{}}, nil
}

// Close implements store.Admin.
func (a *admin) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.client != nil {
		a.client.Close()
		a.client = nil
	}
	return nil
}

// Status implements store.Admin. Every endpoint is asked by itself and at the
// same time, within the dial timeout.
func (a *admin) Status(ctx context.Context) (store.Status, error) {
	s, err := a.ask(ctx)
	if err != nil {
		return s, err
	}
	// A follower's newest transaction is from before the election until the
	// next write. A session that begins and ends at the leader is one.
	if l := s.Leader(); l != nil && behind(&s, l.Term) {
		ctx, cancel := context.WithTimeout(ctx, a.timeout)
		defer cancel()
		if a.touch(ctx, l.Endpoint) == nil {
			return a.ask(ctx)
		}
	}
	return s, nil
}

func behind(s *store.Status, term uint64) bool {
	for i := range s.Members {
		if m := &s.Members[i]; m.Err == nil && m.Role == kv.Follower && m.Term < term {
			return true
		}
	}
	return false
}

func (a *admin) ask(ctx context.Context) (store.Status, error) {
	members := make([]store.Member, len(a.access.Endpoints))
	var wg sync.WaitGroup
	for i, e := range a.access.Endpoints {
		wg.Go(func() { members[i] = a.askOne(ctx, e) })
	}
	wg.Wait()
	return summarize(members)
}

// askOne asks srvr, which every member answers unless it was told not to, and
// what else it is allowed to answer.
func (a *admin) askOne(ctx context.Context, endpoint string) store.Member {
	m := store.Member{Endpoint: endpoint}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	text, err := word(ctx, a.access, endpoint, "srvr")
	if err == nil && field(text, "Mode:") == "" {
		err = errors.New("it answers srvr as no ZooKeeper server does")
	}
	if err != nil {
		m.Err = fmt.Errorf("%s does not answer as ZooKeeper: %s", endpoint, reason(ctx, err))
		return m
	}
	m.Version, _, _ = strings.Cut(field(text, "Zookeeper version:"), "-")
	m.Version, _, _ = strings.Cut(m.Version, ",")
	zxid, _ := strconv.ParseUint(strings.TrimPrefix(field(text, "Zxid:"), "0x"), 16, 64)
	m.Term = zxid >> 32
	switch field(text, "Mode:") {
	case "leader", "standalone":
		m.Role = kv.Leader
	case "follower":
		m.Role = kv.Follower
	}
	m.ID, m.Name = a.identify(ctx, endpoint)
	if text, err := word(ctx, a.access, endpoint, "dirs"); err == nil {
		data, _ := strconv.ParseInt(field(text, "datadir_size:"), 10, 64)
		logs, _ := strconv.ParseInt(field(text, "logdir_size:"), 10, 64)
		if m.DBSize = data; logs != data { // the same folder is counted once
			m.DBSize += logs
		}
	}
	return m
}

// identify is a member's number, which conf tells; it does not change, so it is
// asked once. A standalone server has none, and a member may be told not to
// answer conf: the endpoint then stands for it.
func (a *admin) identify(ctx context.Context, endpoint string) (id uint64, name string) {
	a.mu.Lock()
	id = a.ids[endpoint]
	a.mu.Unlock()
	if id == 0 {
		text, err := word(ctx, a.access, endpoint, "conf")
		if err != nil && !errors.Is(err, errNotAllowed) {
			return endpointID(endpoint), ""
		}
		if id, _ = strconv.ParseUint(field(text, "serverId="), 10, 64); id == 0 {
			id = endpointID(endpoint)
		}
		a.mu.Lock()
		a.ids[endpoint] = id
		a.mu.Unlock()
	}
	if id < 1<<8 { // what myid may hold
		name = fmt.Sprintf("server.%d", id)
	}
	return id, name
}

// endpointID is a number for a member that has none, beyond those of myid.
func endpointID(endpoint string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(endpoint))
	return h.Sum64() | 1<<63
}

func summarize(members []store.Member) (store.Status, error) {
	s := store.Status{Members: members}
	var versions, errs []string
	for _, m := range members {
		if m.Err != nil {
			errs = append(errs, m.Err.Error())
			continue
		}
		s.Term = max(s.Term, m.Term)
		if !slices.Contains(versions, m.Version) {
			versions = append(versions, m.Version)
		}
	}
	s.Version = strings.Join(versions, ", ")
	if len(errs) == len(members) {
		return s, errors.New(strings.Join(errs, "; "))
	}
	return s, nil
}
