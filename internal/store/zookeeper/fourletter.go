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

// maxWordResponse limits the size of the response to a four-letter word, in bytes.
const maxWordResponse = 1 << 20

// notInWhitelist is part of a member's response to a four-letter word that it is configured not to
// answer.
const notInWhitelist = "is not executed because it is not in the whitelist"

// errNotAllowed means that a member is configured not to answer a four-letter word.
var errNotAllowed = errors.New("add the word to 4lw.commands.whitelist in the server's configuration")

// errNotServing means that a member does not serve requests because it knows no leader.
var errNotServing = errors.New("the member is not serving requests, because it knows no leader")

// sendWord sends a four-letter word, such as srvr, to a member and returns the text response. The
// member closes the connection after its response.
func sendWord(ctx context.Context, a store.Access, endpoint, word string) (string, error) {
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
	b, err := io.ReadAll(io.LimitReader(conn, maxWordResponse))
	text := string(b)
	switch {
	case err != nil && len(b) == 0:
		return "", err
	case len(b) == 0:
		return "", errors.New("the server closed the connection without a response; check that the endpoint is a ZooKeeper client port without TLS")
	case strings.Contains(text, notInWhitelist):
		return "", fmt.Errorf("the member is not configured to answer the four-letter word %s: %w", word, errNotAllowed)
	case strings.HasPrefix(text, "This ZooKeeper instance is not currently serving requests"):
		return "", errNotServing
	}
	return text, nil
}

// field finds the first line that begins with name and returns the rest of that line.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// reason converts an error into text that users understand.
func reason(ctx context.Context, err error) string {
	var op *net.OpError
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return "the request was cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no response within the time limit"
	case store.IsConnectionRefused(err):
		return "no process listens at this address"
	case errors.As(err, &op):
		return fmt.Sprintf("%s: %v", op.Op, op.Err)
	}
	return err.Error()
}
