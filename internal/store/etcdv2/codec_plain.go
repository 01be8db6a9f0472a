package etcdv2

import "bytes"

// The parts of etcd's usual response to a read of one key.
var (
	plainKey      = []byte(`{"action":"get","node":{"key":"`)
	plainValue    = []byte(`","value":"`)
	plainModified = []byte(`","modifiedIndex":`)
	plainCreated  = []byte(`,"createdIndex":`)
	plainEnd      = []byte("}}")
)

// parsePlain parses a response that consists of exactly these parts and whose strings contain no
// escapes. Nearly all responses have this form, and parsePlain takes only a third of the JSON
// scanner's time. For any other response, parsePlain returns false. Such a response may be valid,
// so the caller must parse it with the JSON scanner.
func parsePlain(body []byte) (n node, ok bool) {
	rest, ok := bytes.CutPrefix(body, plainKey)
	if !ok {
		return n, false
	}
	if n.key, rest, ok = cutPlain(rest, plainValue); !ok || len(n.key) == 0 {
		return n, false
	}
	if n.value, rest, ok = cutPlain(rest, plainModified); !ok {
		return n, false
	}
	if n.modified, rest, ok = cutNumber(rest, plainCreated); !ok {
		return n, false
	}
	if _, rest, ok = cutNumber(rest, plainEnd); !ok {
		return n, false
	}
	return n, len(rest) == 0 || len(rest) == 1 && rest[0] == '\n'
}

// cutPlain cuts a string off the start of b. The string must not contain escapes. The text
// `after`, which begins with the string's closing quote, must follow the string.
func cutPlain(b, after []byte) (text, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '"')
	if end < 0 || bytes.IndexByte(b[:end], '\\') >= 0 {
		return nil, b, false
	}
	rest, ok = bytes.CutPrefix(b[end:], after)
	return b[:end], rest, ok
}

// cutNumber cuts an integer off the start of b. The integer must have at most 18 digits and no
// leading zeros, and the text `after` must follow it.
func cutNumber(b, after []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	if i == 0 || i > 18 || i > 1 && b[0] == '0' {
		return 0, b, false
	}
	rest, ok = bytes.CutPrefix(b[i:], after)
	return n, rest, ok
}

// The parts of etcd's two usual responses to a write. One form contains no key; etcd sends it if
// the request sets noValueOnSuccess. The other form contains the key.
var (
	plainAction = []byte(`{"action":"`)
	plainBare   = []byte(`"}`)
	plainNode   = []byte(`","node":{"key":"`)
)

// plainWrite parses the response to a write if it has one of these two forms. Nearly all
// responses do. For any other response, plainWrite returns false, like parsePlain.
func plainWrite(body []byte) (action []byte, n node, ok bool) {
	body = bytes.TrimSuffix(body, []byte("\n"))
	rest, ok := bytes.CutPrefix(body, plainAction)
	if !ok {
		return nil, n, false
	}
	if action, end, ok := cutPlain(rest, plainBare); ok {
		return action, n, len(end) == 0
	}
	if action, rest, ok = cutPlain(rest, plainNode); !ok {
		return nil, n, false
	}
	if n.key, rest, ok = cutPlain(rest, plainModified); !ok || len(n.key) == 0 {
		return nil, n, false
	}
	if n.modified, rest, ok = cutNumber(rest, plainCreated); !ok {
		return nil, n, false
	}
	_, rest, ok = cutNumber(rest, plainEnd)
	return action, n, ok && len(rest) == 0
}
