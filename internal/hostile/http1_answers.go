package hostile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// h1For answers one operation by what change makes of the right answer, and the
// others rightly. An empty operation is every request, those of the
// administration too.
func h1For(name, ops string, change func(c *h1Conn, r *http.Request, a *h1Answer)) Kind {
	k := h1Kind(name, func(c *h1Conn, r *http.Request) bool {
		of := operation(r)
		a := c.right(r)
		if (ops == "" || of == ops) && a.status < 300 {
			change(c, r, &a)
		}
		return c.send(a)
	})
	k.Ops, k.Impossible = ops, true
	return k
}

// h1Answers are answers that cannot be true, or say nothing.
func h1Answers() (kinds []Kind) {
	for _, ops := range []string{"put", "get", "list", "delete", "cas", "txn"} {
		kinds = append(kinds, h1For("an empty body to each "+ops, ops, func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.body = nil }))
	}
	for name, body := range map[string]string{
		"{} to everything": "{}", "[] to everything": "[]", "null to everything": "null",
		"half of an object to everything":   `{"action":"get","node":{"key":"/`,
		"objects nested 100,000 deep":       strings.Repeat(`{"node":`, 100_000),
		"lists nested 100,000 deep":         strings.Repeat("[", 100_000),
		"a number of a million digits":      strings.Repeat("9", 1_000_000),
		"a string that is no UTF-8":         "\"\xff\xfe\xfd\"",
		"an error as if all had been well":  `{"errorCode":300,"message":"Raft Internal Error","cause":"","index":0}`,
		"an object of 100,000 keys":         "{" + strings.Repeat(`"k":1,`, 100_000) + `"k":1}`,
		"a list of 100,000 members":         "[" + strings.Repeat(`{"Name":"m","Addr":"10.0.0.1","Tags":{"role":"consul"}},`, 100_000) + `{}]`,
		"members of 100,000 places each":    `{"members":[{"name":"m","clientURLs":[` + strings.Repeat(`"http://10.0.0.1:1",`, 100_000) + `"http://10.0.0.1:1"]}]}`,
		"a version of 3 MiB":                `{"etcdserver":"` + strings.Repeat("v", 3<<20) + `","Config":{"NodeID":"00000000-0000-0000-0000-000000000001","Version":"` + strings.Repeat("v", 3<<20) + `"}}`,
		"a version with control characters": `{"etcdserver":"3.5\u001b]0;owned\u0007","Config":{"NodeID":"00000000-0000-0000-0000-000000000001","Version":"1\u001b[2J"}}`,
	} {
		kinds = append(kinds, h1For(name, "", func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.body = []byte(body) }))
	}
	return append(append(kinds, h1Keys()...), h1Numbers()...)
}

// h1Keys are reads of what was not asked for.
func h1Keys() []Kind {
	held, lock := h1Answer{}, make(chan struct{}, 1) // the answer before, of any connection
	swap := func(_ *h1Conn, _ *http.Request, a *h1Answer) {
		lock <- struct{}{}
		defer func() { <-lock }()
		if held.status == 0 {
			held = *a
		}
		held, *a = *a, held
	}
	json := func(name, ops string, change func(name string, value any) any) Kind {
		return h1For(name, ops, func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.body = walked(a.body, change) })
	}
	keyed := func(as func(key string) string) func(string, any) any {
		return func(name string, value any) any {
			if key, ok := value.(string); ok && strings.EqualFold(name, "key") {
				return as(key)
			}
			return value
		}
	}
	return []Kind{
		h1For("the answers of one get to another", "get", swap),
		h1For("damaged values", "get", func(_ *h1Conn, _ *http.Request, a *h1Answer) {
			if damaged := walked(a.body, valued); !bytes.Equal(damaged, a.body) {
				a.body = damaged
				return
			}
			a.body = bytes.Repeat([]byte("x"), len(a.body))
		}),
		h1For("no key, although all are there", "get", func(_ *h1Conn, _ *http.Request, a *h1Answer) {
			a.status, a.body = http.StatusNotFound, nil
		}),
		json("keys before those that were asked for", "list", keyed(func(key string) string { return "!" + key })),
		json("keys behind those that were asked for", "list", keyed(func(key string) string { return "~" + key })),
		json("the same key again and again", "list", keyed(func(key string) string { return key[:strings.LastIndexByte(key, '/')+1] + "00000099" })),
		json("keys of no bytes", "list", keyed(func(string) string { return "" })),
		json("damaged values in a list", "list", valued),
		json("values that are no base64", "list", func(name string, value any) any {
			if name == "Value" || name == "value" {
				return "\x01 no base64 !"
			}
			return value
		}),
		h1For("a list without keys", "list", func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.body = []byte("[]") }),
	}
}

// valued damages a value, which is itself or in base64.
func valued(name string, value any) any {
	text, ok := value.(string)
	if !ok || !strings.EqualFold(name, "value") {
		return value
	}
	if name == "Value" {
		return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 64))
	}
	return strings.Repeat("x", len(text))
}

// walked is JSON with each member's value replaced by what change says.
func walked(body []byte, change func(name string, value any) any) []byte {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	var walk func(name string, v any) any
	walk = func(name string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				v[k] = walk(k, x)
			}
		case []any:
			for i, x := range v {
				v[i] = walk(name, x)
			}
		}
		return change(name, v)
	}
	b, err := json.Marshal(walk("", v))
	if err != nil {
		return body
	}
	return b
}

// h1Numbers are indexes and terms that cannot be.
func h1Numbers() []Kind {
	field := func(name, ops string, value func(c *h1Conn) string) Kind {
		return h1For(name, ops, func(c *h1Conn, _ *http.Request, a *h1Answer) {
			for f := range a.fields {
				if strings.HasSuffix(f, "-Index") || strings.HasSuffix(f, "-Term") {
					a.fields.Set(f, value(c))
				}
			}
		})
	}
	number := func(c *h1Conn) string { return fmt.Sprint(c.served * 7919) }
	terms := h1For("a term of its own for each answer", "", func(c *h1Conn, _ *http.Request, a *h1Answer) {
		if a.fields.Get("X-Raft-Term") != "" {
			a.fields.Set("X-Raft-Term", number(c))
		}
	})
	terms.Impossible = false // a protocol without terms has none to invent
	terms.Flood = true
	kinds := []Kind{terms,
		field("indexes of 2^64", "", func(*h1Conn) string { return "18446744073709551616" }),
		field("indexes of 50 KiB", "", func(*h1Conn) string { return strings.Repeat("7", 50<<10) }),
		field("indexes below 0", "", func(*h1Conn) string { return "-1" }),
		field("an index of its own for each answer", "", number),
	}
	for i := range kinds {
		kinds[i].Impossible = false // not every store needs them
	}
	return append(kinds, field("puts at index 0", "put", func(*h1Conn) string { return "0" }))
}
