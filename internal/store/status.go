package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// defaultDialTimeout is the default of Access.DialTimeout.
const defaultDialTimeout = 5 * time.Second

// Timeout returns the time limit for connecting: DialTimeout, or the default if it is not set.
func (a Access) Timeout() time.Duration {
	if a.DialTimeout <= 0 {
		return defaultDialTimeout
	}
	return a.DialTimeout
}

// IsConnectionRefused reports whether an error means that no process listens at an endpoint. It
// also looks at the error's text, because some clients do not wrap the original error.
func IsConnectionRefused(err error) bool {
	return err != nil && (errors.Is(err, syscall.ECONNREFUSED) || strings.HasSuffix(err.Error(), "connection refused"))
}

// If a server refuses a request because it has received too many requests, the request is sent
// again after a pause. The first pause lasts firstPause; each further pause is twice as long as the
// previous one. After maxPauses pauses the request fails.
const (
	firstPause = 50 * time.Millisecond
	maxPauses  = 6
)

// WaitAfterRefusal pauses after a server has refused a request because of too many requests. pauses
// is the number of pauses so far for this request. WaitAfterRefusal returns true if the request
// should then be sent again. It returns false after maxPauses pauses, or if ctx has ended.
func WaitAfterRefusal(ctx context.Context, pauses int) bool {
	return pauses < maxPauses && measure.Pause(ctx, firstPause<<pauses)
}

// Limits for data that servers report about themselves, because servers are not trusted.
// kv.MaxMembers limits the number of members.
const (
	// MaxName limits the length in bytes of a member's name, its version, and the text of an alarm.
	MaxName = 200
	// MaxAlarms limits the number of alarms that are kept for each member.
	MaxAlarms = 16
	// MaxErrorText limits the length in bytes of a member's error text.
	MaxErrorText = 1000
)

// AskMembers returns the cluster's members, sanitized. It returns an error if the list or an
// endpoint is too long.
func AskMembers(ctx context.Context, a Admin) ([]Member, error) {
	list, err := a.Members(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) > kv.MaxMembers {
		return nil, fmt.Errorf("the cluster reports %d members, but quorumbench supports at most %d members; give the endpoints to use, or connect to another member", len(list), kv.MaxMembers)
	}
	for i, m := range list {
		list[i] = m.Sanitized()
		if n := len(m.Endpoint); n > MaxName {
			return nil, fmt.Errorf("the cluster reports a member whose endpoint is %d bytes long, but quorumbench supports at most %d bytes", n, MaxName)
		}
	}
	return list, nil
}

// Endpoints returns the members' endpoints, in the order of the members.
func Endpoints(members []Member) []string {
	var out []string
	for i := range members {
		out = append(out, members[i].Endpoint)
	}
	return out
}

// Sanitized returns a copy of the member in which all texts from the server are printable and
// limited in length and number.
func (m Member) Sanitized() Member {
	m.Name, m.Version = text.Line(m.Name, MaxName), text.Line(m.Version, MaxName)
	m.HiddenData = text.Line(m.HiddenData, MaxErrorText)
	m.Cluster = text.Line(m.Cluster, MaxErrorText)
	m.Alarms = sanitizedList(m.Alarms, MaxAlarms)
	m.Peers = sanitizedList(m.Peers, kv.MaxMembers)
	if m.Err != nil {
		if line := text.Line(m.Err.Error(), MaxErrorText); line != m.Err.Error() {
			m.Err = errors.New(line)
		}
	}
	return m
}

// sanitizedList returns a copy of the first texts, at most `limit` of them, in printable form.
func sanitizedList(texts []string, limit int) []string {
	out := slices.Clone(texts[:min(len(texts), limit)])
	for i, t := range out {
		out[i] = text.Line(t, MaxName)
	}
	return out
}

// AskAll calls the function ask concurrently for n endpoints and returns the cluster's Status. The
// argument of ask is the endpoint's index. AskAll returns an error if no endpoint responds. All
// members in the Status are sanitized.
func AskAll(n int, ask func(i int) Member) (Status, error) {
	s := Status{Members: make([]Member, n)}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { s.Members[i] = ask(i).Sanitized() })
	}
	wg.Wait()
	var versions, errs []string
	for _, m := range s.Members {
		if m.Err != nil {
			errs = append(errs, m.Err.Error())
			continue
		}
		s.Term = max(s.Term, m.Term)
		if m.Version != "" && !slices.Contains(versions, m.Version) {
			versions = append(versions, m.Version)
		}
	}
	s.Version = strings.Join(versions, ", ")
	if len(errs) == n {
		return s, errors.New(strings.Join(errs, "; "))
	}
	return s, nil
}

// lookupTime limits the time for looking up a host name if an earlier address of the host is known.
const lookupTime = time.Second

// NewRememberingDial returns a Dial that connects directly and remembers the address of each
// endpoint. If a host name no longer resolves, the Dial connects to the remembered address. TLS
// still verifies the server by its host name.
func NewRememberingDial() Dial {
	r := &rememberingDialer{addresses: map[string]*knownAddress{}}
	return r.dial
}

// rememberingDialer holds the most recent address of each endpoint.
type rememberingDialer struct {
	mu        sync.Mutex
	addresses map[string]*knownAddress
}

// knownAddress is the address at which an endpoint was most recently reached.
type knownAddress struct {
	address      string
	unresolvable bool // the host name no longer resolved at that time, so it is not looked up again
}

func (r *rememberingDialer) dial(ctx context.Context, endpoint string) (net.Conn, error) {
	r.mu.Lock()
	before := r.addresses[endpoint]
	r.mu.Unlock()
	to := endpoint
	lost := before != nil && (before.unresolvable || !resolves(ctx, endpoint))
	if lost {
		to = before.address
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.addresses[endpoint] = &knownAddress{conn.RemoteAddr().String(), lost}
	case before != nil:
		r.addresses[endpoint] = &knownAddress{before.address, false} // look up the host name again, because the endpoint may have moved
	}
	return conn, err
}

// resolves reports whether the host name of an endpoint resolves.
func resolves(ctx context.Context, endpoint string) bool {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	_, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return err == nil
}

// CheckOneCluster returns an error if two members that responded belong to different clusters.
// The error contains both endpoints. Members that report neither a cluster ID nor peers are
// assumed to belong to the same cluster, unless both report that they are the leader in the same
// term. A term of 0 is unknown, and is not compared.
func CheckOneCluster(members []Member) error {
	for i := range members {
		for j := range i {
			a, b := &members[j], &members[i]
			if a.Err != nil || b.Err != nil {
				continue
			}
			if reason := differenceReason(a, b); reason != "" {
				return fmt.Errorf("the endpoints %s and %s belong to different clusters (%s); give only endpoints of one cluster", a.Endpoint, b.Endpoint, reason)
			}
		}
	}
	return nil
}

// differenceReason returns the reason why two members cannot belong to one cluster, or "" if they
// can.
func differenceReason(a, b *Member) string {
	switch {
	case a.Cluster != "" && b.Cluster != "":
		if a.Cluster != b.Cluster {
			return a.Cluster + " and " + b.Cluster
		}
		return ""
	case len(a.Peers) > 0 && len(b.Peers) > 0 && !slices.ContainsFunc(a.Peers, func(p string) bool { return slices.Contains(b.Peers, p) }):
		return fmt.Sprintf("the first member reports the peer %s, the second member reports the peer %s, and they have no peer in common", a.Peers[0], b.Peers[0])
	case (a.Cluster != "") != (b.Cluster != ""):
		if a.Cluster == "" {
			a, b = b, a
		}
		if len(b.Peers) > 0 || b.Role == kv.Follower {
			return a.Cluster + " and a member of an ensemble"
		}
	case a.Role == kv.Leader && b.Role == kv.Leader && a.ID != b.ID && a.Term == b.Term && a.Term > 0:
		return "both members report that they are the leader in the same term"
	}
	return ""
}
