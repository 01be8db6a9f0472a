package etcd

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
)

// FuzzTapRequest checks that no request, of any method, causes a panic or results in too many
// parts.
func FuzzTapRequest(f *testing.F) {
	for i := range tapMethods {
		f.Add(uint8(i), []byte{1<<3 | pbBytes, 1, 'a'})
	}
	f.Fuzz(func(t *testing.T, method uint8, body []byte) {
		c := &call.Call{}
		r := message.Reader{Redactor: &call.Redactor{}, Call: c}
		name := tapMethods[int(method)%len(tapMethods)]
		if readRequest(&r, name, body) && len(c.Parts) > call.MaxParts {
			t.Fatalf("%d parts", len(c.Parts))
		}
		a := tapAnswer{c: &call.Call{}}
		if a.read(name, body); a.c.KeyCount < 0 || a.c.Revision < 0 {
			t.Fatalf("%+v", a.c)
		}
	})
}

var tapMethods = []string{methodRange, methodRangeStream, methodPut, methodDelete, methodTxn, methodCompact, methodWatch, methodGrant, methodRevoke, methodKeepAlive}
