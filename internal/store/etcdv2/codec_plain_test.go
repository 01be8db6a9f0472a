package etcdv2

import (
	"bytes"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

// FuzzPlain compares the results of the fast parsers with those of the JSON scanner.
func FuzzPlain(f *testing.F) {
	const usual = `{"action":"get","node":{"key":"/b/c","value":"v","modifiedIndex":12,"createdIndex":7}}`
	if _, ok := parsePlain([]byte(usual + "\n")); !ok {
		f.Error("parsePlain rejected the usual form")
	}
	f.Add(usual)
	for _, change := range [][2]string{
		{`"v"`, `"\"v"`}, {`"v"`, `"v\\"`}, {`"v"`, `""`}, {`12`, `012`}, {`12`, `-1`}, {`12`, `1.5`}, {`12`, `99999999999999999999`},
		{`/b/c`, ``}, {`/b/c`, `\u002fb`}, {`}}`, `}} `}, {`}}`, `}}x`}, {`}}`, `,"ttl":3}}`}, {`"key"`, `"dir":true,"key"`},
		{`"v"`, "\"\x00\n\""}, {`"v"`, `"v","value":"w"`}, {`get`, `set`}, {`":`, `": `},
	} {
		f.Add(strings.Replace(usual, change[0], change[1], 1))
	}
	f.Fuzz(func(t *testing.T, in string) {
		quick, ok := parsePlain([]byte(in))
		if !ok {
			return
		}
		slow, ok := newCodec(store.ConnectionInfo{Endpoint: "h:1"}, "", "").parseOne([]byte(in))
		if !ok || !bytes.Equal(quick.key, slow.key) || !bytes.Equal(quick.value, slow.value) ||
			quick.modified != slow.modified || slow.folder {
			t.Errorf("parsePlain read %q as %+v, but the scanner read it as %+v, %v", in, quick, slow, ok)
		}
	})
}
