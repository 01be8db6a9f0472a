package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// maxWords limits the response to a four-letter word, in bytes.
const maxWords = 1 << 20

// notInWhitelist is part of the response to a word that the member is not configured to answer.
const notInWhitelist = "is not executed because it is not in the whitelist"

// errNotAllowed reports that a member is not configured to answer a word.
var errNotAllowed = errors.New("add it to 4lw.commands.whitelist in the server's configuration")

// errNotServing reports that a member knows no leader.
var errNotServing = errors.New("it is not serving requests: it knows no leader")

// word sends a four-letter word, such as srvr, to a member and returns its text response. The
// member closes the connection after it.
func word(ctx context.Context, a store.Access, endpoint, word string) (string, error) {
	conn, err := a.ConnectSecure(ctx, endpoint)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err = conn.Write([]byte(word)); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(conn, maxWords))
	text := string(b)
	switch {
	case err != nil && len(b) == 0:
		return "", err
	case len(b) == 0:
		return "", errors.New("it closed the connection without a response: is this a ZooKeeper client port without TLS?")
	case strings.Contains(text, notInWhitelist):
		return "", fmt.Errorf("it is not configured to answer the word %s: %w", word, errNotAllowed)
	case strings.HasPrefix(text, "This ZooKeeper instance is not currently serving requests"):
		return "", errNotServing
	}
	return text, nil
}

// field returns the rest of the first line that begins with name.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// reason describes an error to a user.
func reason(ctx context.Context, err error) string {
	var op *net.OpError
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return "it was cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no response within the time limit"
	case store.IsRefused(err):
		return "no process listens there"
	case errors.As(err, &op):
		return fmt.Sprintf("%s: %v", op.Op, op.Err)
	}
	return strings.TrimPrefix(err.Error(), "zk: ")
}
