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

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Admin implements store.Store.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	if len(a.Endpoints) == 0 {
		return nil, errors.New("no endpoint of the ZooKeeper cluster was given")
	}
	return &admin{access: a, timeout: a.Timeout(), identities: map[string]identity{}}, nil
}

// Close implements store.Admin. It does nothing, because every query closes its own connection.
func (*admin) Close() error { return nil }

// Status implements store.Admin. It queries all endpoints concurrently. The dial timeout limits
// each query.
func (a *admin) Status(ctx context.Context) (store.Status, error) {
	s, err := store.AskAll(len(a.access.Endpoints), func(i int) store.Member { return a.queryMember(ctx, a.access.Endpoints[i]) })
	if err != nil {
		return s, err
	}
	// Between an election and the next write, the newest transaction of each follower is still from
	// an earlier term. Opening and closing a session at the leader creates a transaction in the new
	// term.
	l := s.Leader()
	if l != nil && slices.ContainsFunc(s.Members, func(m store.Member) bool { return isLagging(m, l.Term) }) {
		asked, cancel := context.WithTimeout(ctx, a.timeout)
		defer cancel()
		if a.createTransactions(asked, l.Endpoint) == nil {
			a.requeryLagging(ctx, &s, l.Term)
		}
	}
	return s, nil
}

// requeryLagging repeats the query of each member whose newest transaction is from an earlier term.
// If a member does not respond this time, requeryLagging keeps the member's previous response. (A
// silent member may have used up the time limit.)
func (a *admin) requeryLagging(ctx context.Context, s *store.Status, term uint64) {
	var asked sync.WaitGroup
	for i := range s.Members {
		if m := &s.Members[i]; isLagging(*m, term) {
			asked.Go(func() {
				if now := a.queryMember(ctx, m.Endpoint); now.Err == nil {
					*m = now.Sanitized()
				}
			})
		}
	}
	asked.Wait()
	for i := range s.Members {
		s.Term = max(s.Term, s.Members[i].Term)
	}
}

func isLagging(m store.Member, term uint64) bool {
	return m.Err == nil && (m.Role == kv.Follower || m.Role == kv.NonVoter) && m.Term < term
}

// Role implements store.Admin. It sends the four-letter word srvr and, on the first call for an
// endpoint, also conf.
func (a *admin) Role(ctx context.Context, i int) store.Member {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	m := a.queryServing(ctx, a.access.Endpoints[i])
	if m.Err == nil {
		a.identify(ctx, &m)
	}
	return m
}

// queryMember sends the four-letter words srvr, conf and dirs. It ignores an error from conf or
// dirs, because a member may be configured not to answer them.
func (a *admin) queryMember(ctx context.Context, endpoint string) store.Member {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	m := a.queryServing(ctx, endpoint)
	if m.Err != nil {
		return m
	}
	a.identify(ctx, &m)
	if text, err := sendWord(ctx, a.access, endpoint, "dirs"); err == nil {
		data, _ := strconv.ParseInt(field(text, "datadir_size:"), 10, 64)
		logs, _ := strconv.ParseInt(field(text, "logdir_size:"), 10, 64)
		if m.DBSize = data; logs != data { // if both are in the same folder, count it once
			m.DBSize += logs
		}
	}
	return m
}

// queryServing sends the four-letter word srvr, which every member answers unless its configuration
// forbids it. If a member reports that it is not serving requests, for example during an election,
// queryServing still treats it as responding.
func (a *admin) queryServing(ctx context.Context, endpoint string) store.Member {
	m, _ := a.queryZxid(ctx, endpoint)
	return m
}

// Applied implements store.Applier. It cannot use a sync instead: the leader answers a sync at
// once, so the leader may not yet have applied a write that a follower has acknowledged.
func (a *admin) Applied(ctx context.Context, i int) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	m, zxid := a.queryZxid(ctx, a.access.Endpoints[i])
	if m.Err == nil && zxid == 0 {
		return 0, fmt.Errorf("%s is not serving requests at present", m.Endpoint)
	}
	return zxid, m.Err
}

// Newest implements store.Applier. A member has applied each write that it acknowledges. Newest
// first calls Status, so that at least one transaction follows an election. (The leader reports the
// new term at once, but a follower reports it only after the next transaction.)
func (a *admin) Newest(ctx context.Context) (newest int64, err error) {
	if _, err := a.Status(ctx); err != nil {
		return 0, err
	}
	for i := range a.access.Endpoints {
		if zxid, failed := a.Applied(ctx, i); failed == nil {
			newest = max(newest, zxid)
		} else {
			err = failed
		}
	}
	if newest > 0 {
		err = nil // ignore the errors of members that do not serve
	}
	return newest, err
}

// queryZxid does the work of queryServing. It also returns the zxid of the last transaction that
// the member applied.
func (a *admin) queryZxid(ctx context.Context, endpoint string) (m store.Member, zxid int64) {
	m.Endpoint = endpoint
	text, err := sendWord(ctx, a.access, endpoint, "srvr")
	if errors.Is(err, errNotServing) {
		return m, 0
	}
	if err == nil && field(text, "Mode:") == "" {
		err = errors.New("the response to the four-letter word srvr is not in ZooKeeper's format")
	}
	if err != nil {
		m.Err, m.ProcessEnded = fmt.Errorf("%s did not respond like ZooKeeper: %s", endpoint, reason(ctx, err)), store.IsConnectionRefused(err)
		return m, 0
	}
	m.Version, _, _ = strings.Cut(field(text, "Zookeeper version:"), "-")
	m.Version, _, _ = strings.Cut(m.Version, ",")
	zxid, _ = strconv.ParseInt(strings.TrimPrefix(field(text, "Zxid:"), "0x"), 16, 64)
	m.Term = uint64(zxid) >> 32
	switch field(text, "Mode:") {
	case "standalone":
		m.Role, m.Cluster = kv.Leader, "standalone server "+endpoint
	case "leader":
		m.Role = kv.Leader
	case "follower":
		m.Role = kv.Follower
	case "observer":
		m.Role = kv.NonVoter
	}
	return m, zxid
}

// identify fills in a member's number and peers, which the four-letter word conf reports. The
// number and the peers do not change, so identify queries each endpoint only once. A standalone
// server has no number, and a member may be configured not to answer conf. In these two cases
// identify derives a number from the endpoint.
func (a *admin) identify(ctx context.Context, m *store.Member) {
	a.mu.Lock()
	known := a.identities[m.Endpoint]
	a.mu.Unlock()
	if known.id == 0 {
		text, err := sendWord(ctx, a.access, m.Endpoint, "conf")
		switch {
		case errors.Is(err, errNotServing):
			return // ask again once the member serves requests
		case err != nil && !errors.Is(err, errNotAllowed):
			m.ID = endpointID(m.Endpoint)
			return
		}
		known.peers = peerAddresses(text)
		if known.id, _ = strconv.ParseUint(field(text, "serverId="), 10, 64); known.id == 0 {
			known.id = endpointID(m.Endpoint)
		}
		a.mu.Lock()
		a.identities[m.Endpoint] = known
		a.mu.Unlock()
	}
	m.ID = known.id
	if m.ID < 1<<8 { // the number is a myid; derive a name from it, because members have no names
		m.Name = fmt.Sprintf("m%d", m.ID)
	}
	if m.Cluster == "" { // a standalone server has no peers, even if its configuration lists some
		m.Peers = known.peers
	}
}

// endpointID derives a number from the endpoint, for a member whose myid is unknown. The number is
// outside the range of myid.
func endpointID(endpoint string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(endpoint))
	return h.Sum64() | 1<<63
}

// peerAddresses parses the server lines in the response to conf. It returns the members'
// replication addresses (host and port), sorted.
func peerAddresses(config string) (peers []string) {
	for line := range strings.Lines(config) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "server.")
		if !ok {
			continue
		}
		_, server, _ := strings.Cut(line, "=")
		host, rest, found := cutHost(server)
		port, _, _ := strings.Cut(rest, ":")
		if found && host != "" && !isUnspecified(host) && len(peers) < kv.MaxMembers {
			peers = append(peers, host+":"+port)
		}
	}
	slices.Sort(peers)
	return peers
}

// UncheckedUserReason implements store.Admin.
func (*admin) UncheckedUserReason(context.Context) (string, error) {
	return "ZooKeeper has no list of users and accepts any name and password; the load's nodes are accessible only to that user", nil
}
