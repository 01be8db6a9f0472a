package etcdv2

import "bytes"

// The form in which etcd writes the answer about one key, member for member.
var (
	plainKey      = []byte(`{"action":"get","node":{"key":"`)
	plainValue    = []byte(`","value":"`)
	plainModified = []byte(`","modifiedIndex":`)
	plainCreated  = []byte(`,"createdIndex":`)
	plainEnd      = []byte("}}")
)

// parsePlain reads an answer in that form whose strings have no escapes, which
// is nearly every one, in a third of the time that reading JSON takes. It
// reports false for all others: they may be right, and the scanner decides.
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

// cutPlain cuts a string without escapes, which the quote at the beginning of
// after ends.
func cutPlain(b, after []byte) (text, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '"')
	if end < 0 || bytes.IndexByte(b[:end], '\\') >= 0 {
		return nil, b, false
	}
	rest, ok = bytes.CutPrefix(b[end:], after)
	return b[:end], rest, ok
}

// cutNumber cuts a whole number of up to 18 digits, without leading zeros.
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

// The forms in which etcd writes the answer to a write: without the key where
// the value is not asked for, and else with it.
var (
	plainAction = []byte(`{"action":"`)
	plainBare   = []byte(`"}`)
	plainNode   = []byte(`","node":{"key":"`)
)

// plainWrite reads an answer to a write in one of those forms, which nearly every
// one has. It reports false for all others, as parsePlain does.
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
