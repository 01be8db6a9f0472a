package etcd

// parseStreamed reads a RangeStreamResponse{range_response: 1}.
func (c *codec) parseStreamed(b []byte, s *scan) bool {
	for i := 0; i < len(b); {
		if b[i] != 1<<3|pbBytes {
			if i = skipField(b, i); i < 0 {
				return false
			}
			continue
		}
		var part []byte
		if part, i = getBytes(b, i+1); i < 0 || !c.parsePage(part, s) {
			return false
		}
	}
	return true
}

// parsePage reads a RangeResponse{header: 1, kvs: 2, more: 3, count: 4} that is
// a part of a range.
func (c *codec) parsePage(b []byte, s *scan) bool {
	var part []byte
	s.more, s.last = false, nil
	for i := 0; i < len(b); {
		ok := true
		var v uint64
		switch b[i] {
		case 1<<3 | pbBytes:
			if part, i = getBytes(b, i+1); i > 0 {
				var revision int64
				revision, ok = c.parseHeader(part, &s.found)
				if s.finished = true; s.revision == 0 {
					s.revision = revision
				}
			}
		case 2<<3 | pbBytes:
			s.last, i = getBytes(b, i+1)
			if s.found.Count++; i > 0 && s.found.Count == 1 {
				ok = s.keepFirst(s.last)
			}
			if i > 0 && ok && s.listed {
				ok = c.handOut(s.tag, s.last, s.values)
			}
		case 3<<3 | pbVarint:
			v, i = getVarint(b, i+1)
			s.more = v != 0
		case 4<<3 | pbVarint:
			v, i = getVarint(b, i+1)
			s.counted = int64(v)
		default:
			i = skipField(b, i)
		}
		if !ok || i < 0 {
			return false
		}
	}
	return true
}

// keepFirst keeps the first key and value, which come before the range's end.
func (s *scan) keepFirst(b []byte) bool {
	if !parseKV(b, &s.found) {
		return false
	}
	n := len(s.found.Key)
	s.first = append(append(s.first[:0], s.found.Key...), s.found.Value...)
	s.found.Key, s.found.Value = s.first[:n:n], s.first[n:]
	return true
}
