package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Suggest returns a question that names the known word nearest to the given
// one, with the prefix before it, or nothing when none is near.
func Suggest(word string, known []string, prefix string) string {
	plain := strings.ReplaceAll(strings.ToLower(word), "_", "-")
	if flag, ok := elsewhere[plain]; ok && slices.Contains(known, flag) {
		return fmt.Sprintf("; did you mean %s%s?", prefix, flag)
	}
	best := scenario.Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// elsewhere maps what scenario files and other tools call something to the
// flag that it is here.
var elsewhere = map[string]string{
	"connections": "conns", "value-size": "val-size", "key-space": "key-space-size", "keyspace": "key-space-size",
	"operations": "total", "requests": "total", "ops": "total", "time": "duration", "sequential": "sequential-keys",
	"ca-cert": "cacert", "ca": "cacert", "insecure": "insecure-skip-tls-verify", "tls-key": "key", "tls-cert": "cert",
	"qps": "rate", "output": "out", "host": "endpoints", "hosts": "endpoints", "endpoint": "endpoints",
	"warm-up": "warmup", "runs": "runs-dir", "data": "data-dir", "directory": "dir", "nodes": "members",
}
