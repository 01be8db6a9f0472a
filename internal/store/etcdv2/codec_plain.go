package etcdv2

import "bytes"

// The exact form of etcd's response about one key.
var (
	plainKey      = []byte(`{"action":"get","node":{"key":"`)
	plainValue    = []byte(`","value":"`)
	plainModified = []byte(`","modifiedIndex":`)
	plainCreated  = []byte(`,"createdIndex":`)
	plainEnd      = []byte("}}")
)

// parsePlain parses a response in that form without escapes in its strings.
// Nearly all responses are in this form, and it takes a third of the JSON
// scanner's time. It returns false for all other responses, which may be valid;
// the scanner decides.
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

// cutPlain cuts off a string without escapes. after starts with the quote that
// ends the string.
func cutPlain(b, after []byte) (text, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '"')
	if end < 0 || bytes.IndexByte(b[:end], '\\') >= 0 {
		return nil, b, false
	}
	rest, ok = bytes.CutPrefix(b[end:], after)
	return b[:end], rest, ok
}

// cutNumber cuts off an integer of up to 18 digits without leading zeros.
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

// The forms of etcd's response to a write: without the key if the value is not
// requested, and otherwise with it.
var (
	plainAction = []byte(`{"action":"`)
	plainBare   = []byte(`"}`)
	plainNode   = []byte(`","node":{"key":"`)
)

// plainWrite parses the response to a write in one of those forms, which nearly
// all have. It returns false for all other responses, as parsePlain does.
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
