package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// ClientV3Command is the first argument with which our binary becomes a closed
// loop over etcd's official client.
const ClientV3Command = "client-v3"

type clientV3 struct{ self string }

// NewClientV3 returns a closed loop over etcd's official Go client, in a
// process of its own so that its processor time is its own. self is the binary
// that calls ClientV3Main when its first argument is ClientV3Command.
func NewClientV3(self string) Peer { return clientV3{self} }

func (clientV3) Name() string     { return ClientV3 }
func (clientV3) Available() error { return nil }

// Does leaves one client alone out: the goal there is h2load's.
func (clientV3) Does(c Case) bool { return closed(c) && c.Clients > 1 }

func (c clientV3) Run(ctx context.Context, w Work) (Figures, error) {
	f := runProcess(ctx, c.self, w.clientArguments()...)
	if f.err != nil {
		return Figures{}, f.err
	}
	var figures Figures
	if err := json.Unmarshal(f.stdout, &figures); err != nil {
		return Figures{}, fmt.Errorf("the loop over client/v3 printed no result: %w", err)
	}
	return figures, nil
}

func (w Work) clientArguments() []string {
	args := []string{
		ClientV3Command, "--endpoint", w.Endpoint,
		"--conns", strconv.Itoa(w.Connections), "--clients", strconv.Itoa(w.Clients),
		"--warmup", w.Warmup.String(), "--window", w.Window.String(),
	}
	if w.Kind == kv.Put {
		return append(args, "--put-prefix", w.PutSpace.Prefix, "--val-size", strconv.Itoa(w.ValueSize))
	}
	return append(args, "--key", w.Key, "--serializable="+strconv.FormatBool(w.Consistency == kv.Local))
}
