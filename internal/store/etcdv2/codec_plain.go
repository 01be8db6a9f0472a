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

// parsePlain parses a response that has exactly this form and whose strings contain no escapes.
// Nearly all responses do, and parsePlain needs a third of the JSON scanner's time. For any
// other response it returns false. Such a response may still be valid, so it must then be
// parsed by the scanner.
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

// cutPlain cuts off a string that contains no escapes. after is the text that must follow,
// starting with the string's closing quote.
func cutPlain(b, after []byte) (text, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '"')
	if end < 0 || bytes.IndexByte(b[:end], '\\') >= 0 {
		return nil, b, false
	}
	rest, ok = bytes.CutPrefix(b[end:], after)
	return b[:end], rest, ok
}

// cutNumber cuts off an integer that has at most 18 digits and no leading zeros.
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

// The parts of etcd's usual responses to a write. The response contains no key if the request
// asked for no value; otherwise it contains the key.
var (
	plainAction = []byte(`{"action":"`)
	plainBare   = []byte(`"}`)
	plainNode   = []byte(`","node":{"key":"`)
)

// plainWrite parses the response to a write that has one of these two forms, as nearly all
// responses have. For any other response it returns false, like parsePlain.
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
