package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// maxList bounds an answer to the library's client, in bytes: a list of keys to
// be removed.
const maxList = 64 << 20

// configNode holds the members, since 3.5.
const configNode = "/zookeeper/config"

// Members implements store.Admin, in the order of their numbers. The endpoints are those that the cluster's
// configuration names; where it names none, those that were given.
func (a *admin) Members(ctx context.Context) ([]string, error) {
	err := errNotAllowed
	for _, e := range a.access.Endpoints {
		asking, cancel := context.WithTimeout(ctx, a.timeout)
		var text string
		text, err = word(asking, a.access, e, "conf")
		cancel()
		if err == nil {
			return a.membersOr(clientAddresses(text)), nil
		}
	}
	if !errors.Is(err, errNotAllowed) {
		return nil, fmt.Errorf("ZooKeeper's members cannot be read: %s", reason(ctx, err))
	}
	c, err := a.connected(ctx)
	if err != nil {
		return nil, err
	}
	b, _, err := c.Get(configNode)
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper's members cannot be read from %s: %s", configNode, reason(ctx, err))
	}
	return a.membersOr(clientAddresses(string(b))), nil
}

func (a *admin) membersOr(found []string) []string {
	if len(found) == 0 {
		return append(found, a.access.Endpoints...)
	}
	return found
}

// clientAddresses reads lines such as
// server.1=10.0.0.1:2888:3888:participant;10.0.0.1:2181, and sorts them by the
// members' numbers.
func clientAddresses(config string) []string {
	byID := map[int]string{}
	for line := range strings.Lines(config) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "server.")
		if !ok {
			continue
		}
		number, server, _ := strings.Cut(line, "=")
		server, client, known := strings.Cut(server, ";")
		id, err := strconv.Atoi(number)
		if err != nil || !known {
			return nil // where clients find a member is in its own file alone
		}
		if !strings.Contains(client, ":") || strings.HasPrefix(client, "0.0.0.0:") {
			host, _, _ := strings.Cut(server, ":")
			client = host + ":" + client[strings.LastIndexByte(client, ':')+1:]
		}
		byID[id] = client
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, byID[id])
	}
	return out
}

// connected returns the library's client with a session.
func (a *admin) connected(ctx context.Context) (*zk.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errors.New("this connection to the ZooKeeper cluster was closed")
	}
	if a.client == nil {
		c, _, err := zk.Connect(a.access.Endpoints, sessionTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithDialer(a.dialer(ctx)), zk.WithMaxBufferSize(maxList))
		if err != nil {
			return nil, fmt.Errorf("cannot connect to the ZooKeeper cluster: %s", reason(ctx, err))
		}
		a.client = c
		if a.access.User != "" {
			if err := c.AddAuth("digest", []byte(a.access.User+":"+a.access.Password)); err != nil {
				return nil, fmt.Errorf("ZooKeeper does not take user %s: %s", a.access.User, reason(ctx, err))
			}
		}
	}
	if err := awaitSession(ctx, a.client, a.timeout); err != nil {
		return nil, fmt.Errorf("no session at the ZooKeeper cluster at %s: %s", strings.Join(a.access.Endpoints, ", "), reason(ctx, err))
	}
	return a.client, nil
}

// dialer is how the library connects: as everything here does.
func (a *admin) dialer(ctx context.Context) zk.Dialer {
	lasting := context.WithoutCancel(ctx)
	return func(_, endpoint string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(lasting, timeout)
		defer cancel()
		conn, err := dial(ctx, a.access, endpoint)
		if err != nil {
			return nil, err
		}
		return &greeted{Conn: conn}, nil
	}
}

// minSession is the shortest session that the library's client is let have, in
// milliseconds. It pings at each half of it, and cannot do so at 0.
const minSession = 100

// greeted is a connection whose server's first answer, ConnectResponse{
// protocolVersion int, timeOut int, sessionId long, ...} behind its length, is looked at before
// the library does.
type greeted struct {
	net.Conn
	head []byte // what was read ahead
	read bool
}

// Read implements io.Reader.
func (g *greeted) Read(p []byte) (int, error) {
	if !g.read {
		g.read, g.head = true, make([]byte, 20)
		n, err := io.ReadFull(g.Conn, g.head)
		if g.head = g.head[:n]; err == nil {
			session := binary.BigEndian.Uint64(g.head[12:]) // 0: it is over, as the library knows
			if t := int32(binary.BigEndian.Uint32(g.head[8:])); t < minSession && session != 0 {
				return 0, fmt.Errorf("the server grants a session of %d ms, and none below %d ms is taken", t, minSession)
			}
		}
		if n == 0 {
			return 0, err
		}
	}
	if len(g.head) > 0 {
		n := copy(p, g.head)
		g.head = g.head[n:]
		return n, nil
	}
	return g.Conn.Read(p)
}

// silent keeps the library's log from the user's terminal.
type silent struct{}

// Printf implements zk.Logger.
func (silent) Printf(string, ...any) {}

// awaitSession asks until the library has a session: it offers no other way to
// wait with an end.
func awaitSession(ctx context.Context, c *zk.Conn, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for c.State() != zk.StateHasSession {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// Compact implements store.Maintainer: there is nothing to do.
func (*admin) Compact(context.Context) (int64, error) {
	return 0, errors.New("ZooKeeper has no compaction: it keeps one version of each node, and its snapshots replace its logs")
}

// Defragment implements store.Maintainer: there is nothing to do.
func (*admin) Defragment(context.Context) error {
	return errors.New("ZooKeeper has no defragmentation: its data is in memory, and each snapshot is written anew")
}

// MoveLeader implements store.Maintainer: there is no such request.
func (*admin) MoveLeader(context.Context, uint64) error {
	return errors.New("ZooKeeper's leadership cannot be moved: stop or restart the leader, and another member is elected")
}
